"""TOML as tables, by the engine's reader: Python 3.10 has none of its own."""

import json
from pathlib import Path
from typing import Any

from nandlab import _core
from nandlab.inputs import input_text


def read_toml(path: Path, allowed: str = "a TOML file") -> dict[str, Any]:
    """The tables of a file; `allowed` is what messages say may stand in its place.

    Raises:
        NandlabError: it cannot be read, or is no TOML; says the line.
    """
    return parse_toml(input_text(path, allowed), str(path))


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """The tables of a text; `place` names it in errors.

    Raises:
        NandlabError: it is no TOML; says the line.
    """
    loaded: dict[str, Any] = json.loads(_core.toml_to_json(text, place))
    return loaded
