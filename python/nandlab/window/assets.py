"""Files of the page, by their paths: those that the engine carries, or those of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nandlab import _core

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Kinds of files that are given out."""

Assets = Mapping[str, bytes]
"""Contents by path below the folder, with ``/``: ``view/drive.js``."""


def carried() -> Assets:
    """Files of the page as they were when the engine was compiled."""
    return dict(_core.web())


def of_folder(folder: Path) -> Assets:
    """Files of a page that is worked on."""
    found = (path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def kind_of(path: str) -> str | None:
    """Type of a file as a browser is told; None of what is not given out."""
    return TYPES.get(Path(path).suffix)
