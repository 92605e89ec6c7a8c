"""A Python value as TOML: what stands right of the equals sign."""

import json
from collections.abc import Mapping
from os import PathLike, fspath


def toml_value(value: object) -> str:
    """Text is quoted, so that it stays text; numbers (numpy's too) are as Python prints them."""
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
    """Its truth values and arrays: Python prints them otherwise than TOML has them."""
    return str(getattr(value, "dtype", "")) == "bool" or bool(getattr(value, "ndim", 0))
