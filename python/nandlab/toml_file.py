"""TOML as tables, by the engine's reader: Python 3.10 has none of its own."""

import json
from pathlib import Path
from typing import Any

from nandlab import _core


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file.

    Raises:
        NandlabError: it is no TOML; says the line.
        OSError: it cannot be read.
    """
    return parse_toml(path.read_text(encoding="utf-8"), str(path))


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """The tables of a text; `place` names it in errors.

    Raises:
        NandlabError: it is no TOML; says the line.
    """
    loaded: dict[str, Any] = json.loads(_core.toml_to_json(text, place))
    return loaded
