"""`python/nandlab/report/tables.pyi`: types of the report's tables, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from nandlab.explained.report import meaning, properties, report_schema

STUB = "python/nandlab/report/tables.pyi"

_COLUMNS = 100
_TYPES = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "null": "None",
}


def report_view() -> str:
    """A class for each table, with the type and the meaning of each key."""
    head = [
        '"""Tables of the report, made by `python tools/regen.py report_view`: do not edit."""',
        "",
        "from typing import Any",
        "",
        "from nandlab.report.view import Table",
    ]
    schema = report_schema()
    tables = {**schema["$defs"], "Report": schema}
    for name, of in tables.items():
        head += ["", f"class {name}(Table):", *_class(of)]
    return "\n".join(head) + "\n"


def _class(of: dict[str, Any]) -> Iterator[str]:
    yield from _docstring(of["description"].partition("\n\n")[0])
    yield ""
    for key, value in properties(of).items():
        # Other keys are no attributes: they are read as `table["fio version"]`.
        if key.isidentifier():
            yield f"    {key}: {_type(value)}"
            yield from _docstring(meaning(value))


def _type(value: dict[str, Any]) -> str:
    """The Python type of a value."""
    if "$ref" in value:
        return str(value["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in value:
        return " | ".join(map(_type, value["anyOf"]))
    kinds = value.get("type", "any")
    several = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join(_plain(kind, value) for kind in several)


def _plain(kind: str, value: dict[str, Any]) -> str:
    if kind == "array":
        return f"list[{_type(value['items'])}]"
    if kind == "object":
        of = value.get("additionalProperties", True)
        return f"dict[str, {_type(of) if isinstance(of, dict) else 'Any'}]"
    return _TYPES.get(kind, "Any")


def _docstring(text: str) -> Iterator[str]:
    """Text as a docstring of a class or of an attribute."""
    quotes, indent = '"""', " " * 4
    if len(text) + 2 * len(quotes) + len(indent) <= _COLUMNS:
        yield f"{indent}{quotes}{text}{quotes}"
        return
    lines = wrap(quotes + text, _COLUMNS - len(indent), break_long_words=False)
    yield from (f"{indent}{line}" for line in [*lines, quotes])
