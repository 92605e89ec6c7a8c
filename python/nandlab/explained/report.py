"""Keys of the report with their meanings, from the JSON Schema of the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.keys import resolved

_DEEPEST = 20
"""Keys of a path: reports have fewer."""


class ReportKey(NamedTuple):
    """What is known of a key of the report."""

    path: str
    """Of the key that was asked for, or of the table above it whose keys are any names."""
    meaning: str


@cache
def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report. Keys that the engine itself writes are ``required``."""
    schema: dict[str, Any] = json.loads(_core.report_schema())
    return schema


def report_key(path: str) -> ReportKey | None:
    """A key of the report by its path; None where no report has it.

    ``jobs[0].read.iops`` is ``jobs.read.iops``. A key that is any name or number, as a page type in
    ``nand.program_us.lower`` and an edge in ``jobs[0].latency_us.100``, has the meaning of its
    table.
    """
    parts = re.sub(r"\[[^\]]*\]", "", path).split(".")
    if len(parts) > _DEEPEST:
        return None
    table, found, at = report_schema(), None, 0
    while at < len(parts):
        known, end = properties(table), at + 1
        # Keys such as `p99.9` and `99.000000` have a point of their own.
        while end < len(parts) and parts[end].isdigit():
            end += 1
        if ".".join(parts[at:end]) not in known and parts[at] in known:
            end = at + 1
        key = ".".join(parts[at:end])
        if key in known:
            found = ReportKey(".".join(parts[:end]), meaning(known[key]))
        elif not _takes(table, key):
            return None
        table = target(known.get(key) or table["additionalProperties"])
        at = end
    return found


def report_paths() -> list[str]:
    """Paths of all keys; ``NAME`` stands for any name of a table below."""
    return list(_paths(report_schema(), ""))


def keys_below(path: str) -> list[str]:
    """Keys of a table of the report."""
    table = report_schema()
    for key in path.split("."):
        table = target(properties(table).get(key, {}))
    return [*properties(table), *names(table)]


def properties(table: dict[str, Any]) -> dict[str, Any]:
    """Keys of a table with their schemas: first those that the engine writes, in its order."""
    known: dict[str, Any] = table.get("properties", {})
    order = [*table.get("required", []), *known]
    return {key: known[key] for key in dict.fromkeys(order)}


def names(table: dict[str, Any]) -> list[str]:
    """Names that the keys of a table may be, where they are names of the engine."""
    listed: list[str] = table.get("propertyNames", {}).get("enum", [])
    return listed


def target(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key's value: of an item of a list, of what may be ``null`` otherwise."""
    value = resolved(report_schema(), value)
    for other in value.get("anyOf", []):
        if other.get("type") != "null":
            return target(other)
    return target(value["items"]) if "items" in value else value


def meaning(value: dict[str, Any]) -> str:
    """Meaning of a key in the schema, without links and line breaks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", value.get("description", ""))
    return " ".join(text.split())


def _takes(table: dict[str, Any], key: str) -> bool:
    """Whether the keys of a table are names, and may be this one."""
    return isinstance(table.get("additionalProperties"), dict) and key in (names(table) or [key])


def _paths(table: dict[str, Any], prefix: str) -> Iterator[str]:
    for key, value in properties(table).items():
        yield f"{prefix}{key}"
        yield from _paths(target(value), f"{prefix}{key}.")
    of_names = table.get("additionalProperties")
    if isinstance(of_names, dict) and "properties" in target(of_names):
        yield from _paths(target(of_names), f"{prefix}NAME.")
