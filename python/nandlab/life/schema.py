"""The JSON Schema of a life: from the types and docstrings of `Life`, `Facts` and `Window`."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from nandlab.life.result import FIGURES, Facts, Life, Window
from nandlab.options.option import field_texts

_TYPES = {
    float: "number",
    int: "integer",
    str: "string",
    dict: "object",
    list: "array",
    NoneType: "null",
}


def life_schema() -> dict[str, Any]:
    """The JSON Schema of what `nandlab life --json` writes."""
    windows = {"type": "array", "items": {"$ref": "#/$defs/Window"}}
    windows["description"] = field_texts(Life)["windows"]
    keys = {**_fields(Facts), **{name: _figure(name) for name in FIGURES}, "windows": windows}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nandlab life",
        **_table(Life, keys),
        "$defs": {"Window": _table(Window, _fields(Window))},
    }


def _table(of: type, keys: dict[str, Any]) -> dict[str, Any]:
    return {"description": of.__doc__, "type": "object", "required": [*keys], "properties": keys}


def _fields(of: type) -> dict[str, Any]:
    texts = field_texts(of)
    return {name: _value(hint, texts[name]) for name, hint in get_type_hints(of).items()}


def _figure(name: str) -> dict[str, Any]:
    """A key of a life that is a field or a property."""
    of = vars(Life).get(name)
    if isinstance(of, property):
        return _value(get_type_hints(of.fget)["return"], of.__doc__ or "")
    return _value(get_type_hints(Life)[name], field_texts(Life)[name])


def _value(hint: Any, text: str) -> dict[str, Any]:
    members = [hint] if get_origin(hint) in (dict, list) else [*get_args(hint)] or [hint]
    kinds = [_TYPES[get_origin(one) or one] for one in members]
    value: dict[str, Any] = {"description": text, "type": kinds if len(kinds) > 1 else kinds[0]}
    if kinds == ["array"]:
        value["items"] = {"type": "string"}
    return value
