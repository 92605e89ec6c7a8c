"""TOML: tables of a text or file by the engine's reader, and Python values as TOML."""

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from nandlab import _core
from nandlab.given.inputs import input_text


def read_toml(path: Path, expected: str = "a TOML file") -> dict[str, Any]:
    """The tables of a file; `expected` is for messages.

    Raises:
        NandlabError: it cannot be read, or is not TOML; names the line.
    """
    return parse_toml(input_text(path, expected), str(path))


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """The tables of a text; `place` names it in errors.

    Raises:
        NandlabError: it is not TOML; names the line.
    """
    loaded: dict[str, Any] = json.loads(_core.toml_to_json(text, place))
    return loaded


def toml_value(value: object) -> str:
    """A value as TOML: quoted text, numbers (numpy's too) as Python prints them."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | PathLike():
            return json.dumps(fspath(value))
        case Mapping():
            items = (f"{json.dumps(str(key))} = {toml_value(item)}" for key, item in value.items())
            return "{" + ", ".join(items) + "}"
        case list() | tuple():
            return "[" + ", ".join(toml_value(item) for item in value) + "]"
        case _ if _is_of_numpy(value):
            return toml_value(value.tolist())  # type: ignore[attr-defined]
        case _:
            return str(value)


def _is_of_numpy(value: object) -> bool:
    """Whether it is a truth value or an array of numpy, which prints otherwise than TOML."""
    return str(getattr(value, "dtype", "")) == "bool" or bool(getattr(value, "ndim", 0))
