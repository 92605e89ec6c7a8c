"""The JSON Schema of a life: from the types and docstrings of `Life`, `Facts` and `Window`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_origin, get_type_hints

from nandlab.life.result import FIGURES, Facts, Life, Window
from nandlab.options.option import field_texts

_TYPES: dict[Any, str] = {
    **{float: "number", int: "integer", str: "string"},
    **{dict: "object", list: "array", type(None): "null"},
}


def life_schema() -> dict[str, Any]:
    """The JSON Schema of what `nandlab life --json` writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nandlab life",
        **_table(Life, _keys(Facts) | _keys(Life, (*FIGURES, "windows"))),
        "$defs": {"Window": _table(Window, _keys(Window))},
    }


def _table(of: type, keys: dict[str, Any]) -> dict[str, Any]:
    return {"description": of.__doc__, "type": "object", "required": [*keys], "properties": keys}


def _keys(of: type, names: Sequence[str] = ()) -> dict[str, Any]:
    """Schemas of the fields of a class, or of these of its fields and properties."""
    texts, hints = dict(field_texts(of)), get_type_hints(of)
    for name, one in vars(of).items():
        if isinstance(one, property) and name in names:
            texts[name], hints[name] = one.__doc__ or "", get_type_hints(one.fget)["return"]
    return {name: {"description": texts[name], **_value(hints[name])} for name in names or hints}


def _value(hint: Any) -> dict[str, Any]:
    if hasattr(hint, "_fields"):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if get_origin(hint) is list:
        return {"type": "array", "items": _value(get_args(hint)[0])}
    members = [hint] if get_origin(hint) is dict else get_args(hint) or [hint]
    kinds = [_TYPES[get_origin(one) or one] for one in members]
    return {"type": kinds if len(kinds) > 1 else kinds[0]}
