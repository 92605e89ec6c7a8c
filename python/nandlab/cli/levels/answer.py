"""Answer of a command on levels: a table or JSON on the screen, figures and a chip file on disk."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nandlab.cli.files import Files
from nandlab.given.replacement import write_text


def answer(
    made: Any, out: Path | None, json: Path | None, json_out: Path | None, **more: object
) -> None:
    """Writes what was asked for of a result with ``text`` (its chip file) and ``write``."""
    figures = {key: value for key, value in asdict(made).items() if key != "text"}
    text = json_text.dumps({**figures, **more}, indent=2)
    with Files() as files:
        files.write(out, made.write)
        files.write(json_out, lambda path: write_text(path, text + "\n"))
        print(text if json == Path("-") else made)
