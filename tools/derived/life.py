"""`docs/life.md`: its tables of keys, from the JSON Schema of a life."""

from __future__ import annotations

from typing import Any

from derived import ROOT
from derived.markdown import code, table
from nandlab.explained.report import meaning
from nandlab.life.schema import life_schema

PAGE = "docs/life.md"


def life_page() -> str:
    """The page, with its tables made anew."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    schema = life_schema()
    for name, of in (("column", schema["$defs"]["Window"]), ("key", schema)):
        whats = ("python tools/regen.py life", "end")
        begin, end = (f"<!-- {name}s: {what} -->\n" for what in whats)
        made = "\n".join([begin, *_rows(name, of)]) + end
        before, rest = text.split(begin)
        text = before + made + rest.split(end)[1]
    return text


def _rows(name: str, of: dict[str, Any]) -> list[str]:
    rows = [[code(key), meaning(value)] for key, value in of["properties"].items()]
    return table([name, "meaning"], rows)
