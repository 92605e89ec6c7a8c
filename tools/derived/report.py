"""`docs/formats/report.md`: its tables of keys, from the JSON Schema of the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from derived import ROOT
from derived.markdown import code, table
from nandlab.explained.report import names, properties, report_schema, target

PAGE = "docs/formats/report.md"

_COLUMNS = 120
"""Columns of prose."""


def report_page() -> str:
    """The page, with its tables made anew."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    begin, end = (f"<!-- keys: {what} -->\n" for what in ("python tools/regen.py report", "end"))
    made = "\n".join([begin, *_Tables().sections()]) + end
    return re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: made, text, flags=re.S)


class _Tables:
    """Tables of keys; a table that stands in several places is described where it stands first."""

    def __init__(self) -> None:
        tables = [report_schema(), *report_schema()["$defs"].values()]
        self.uses = Counter(_title(value) for one in tables for value in properties(one).values())
        self.described: set[str] = set()

    def sections(self) -> Iterator[str]:
        """A section for each table of the report, and one for its other keys."""
        rest: list[list[str]] = []
        for key, value in properties(report_schema()).items():
            if "properties" not in target(value):
                rest.append([code(key), meaning(value)])
                continue
            about, *prose = value["description"].split("\n\n")
            yield from [f"## {code(key)}: {about[0].lower()}{about[1:].rstrip('.')}", ""]
            for part in prose:
                yield from [*wrap(part, _COLUMNS), ""]
            yield from self.section(value)
        yield from ["## Other keys of fio", "", *table(["key", "meaning"], rest)]

    def section(self, value: dict[str, Any]) -> Iterator[str]:
        """The table of a section, and those of the shared tables in it."""
        self.described.add(_title(value))
        shared: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        yield from table(["key", "meaning"], list(self.rows(value, "", shared)))
        while shared:
            [(_, of), *_] = places = shared.pop(next(iter(shared)))
            whose = ", ".join(dict.fromkeys(code(key) for key, _ in places))
            yield from table([f"key of {whose}", "meaning"], list(self.rows(of, "", shared)))

    def rows(
        self, value: dict[str, Any], prefix: str, shared: dict[str, list[tuple[str, Any]]]
    ) -> Iterator[list[str]]:
        """A row for each key, also of tables below that stand here alone."""
        for key, inner in properties(target(value)).items():
            yield [code(f"{prefix}{key}"), meaning(inner)]
            below, path = target(inner), f"{prefix}{key}."
            if isinstance(of_names := below.get("additionalProperties"), dict):
                inner, path = (of_names, f"{path}NAME.") if "$ref" in of_names else (inner, path)
            title = _title(inner)
            if "properties" not in target(inner) or title in self.described:
                continue
            if self.uses[title] > 1 and title not in shared:
                self.described.add(title)
                shared[title] = [
                    (name, one)
                    for name, one in properties(target(value)).items()
                    if _title(one) == title
                ]
            else:
                yield from self.rows(inner, path, shared)


def meaning(value: dict[str, Any]) -> str:
    """What a key says, in one line, with the names that its keys may be."""
    listed = ", ".join(map(code, names(target(value))))
    return _joined(value.get("description", "")) + (f" Keys: {listed}." if listed else "")


def _joined(text: str) -> str:
    return " ".join(text.split())


def _title(value: dict[str, Any]) -> str:
    """Name of the table that a key has, alone, in a list or where it is not null; else nothing."""
    for one in (value, value.get("items", {}), *value.get("anyOf", [])):
        if "$ref" in one:
            return str(one["$ref"]).rsplit("/", 1)[-1]
    return ""
