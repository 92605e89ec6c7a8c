"""Keys of a drive file: what each one means, its type, unit, default and valid values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nandlab import catalogue
from nandlab.given.refusal import refusal

_WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
}

_UNITS = {
    "us": "microseconds",
    "ns": "nanoseconds",
    "ms": "milliseconds",
    "hours": "hours",
    "bytes": "bytes",
    "mb_s": "10^6 bytes per second",
    "mw": "milliwatts",
    "v": "volts",
    "ma": "milliamperes",
    "ua": "microamperes",
    "c": "degrees Celsius",
    "ev": "electronvolts",
    "cycles": "program/erase cycles",
    "blocks": "blocks",
    "bits": "bits",
}
"""Units by the last part of a key."""


_NAME = "NAME"
"""Stands in a path for any name."""


class Key(NamedTuple):
    """A key of a drive file."""

    path: str
    meaning: str
    kind: str
    """Type or valid values, in words."""
    unit: str
    """Unit in words; empty without one."""
    default: str
    """As TOML has it; empty where a drive or its presets must give it."""
    members: tuple[str, ...] = ()
    """Members of a family that have it; empty for keys of every drive."""
    values: tuple[tuple[str, str], ...] = ()
    """Words that it takes, with their meanings."""
    rows_of: str = ""
    """The list whose rows have it, or the table of any names whose tables have it, with ``NAME`` in
    the path; empty for the keys that ``--set`` takes as they are."""
    section: str = ""
    """The section of a drive that a table in a row is like; the keys of both are the same."""


class Written(NamedTuple):
    """The value of a key in a drive, and its source."""

    value: str
    """As JSON has it."""
    place: str
    """File and line, or the assignment; empty for a default."""
    comment: str
    """Comment behind it in that line: where the number comes from."""


def keys() -> list[Key]:
    """Every key that ``--set`` takes, those of all members of families among them, by path."""
    return [one for one in _keys().values() if not one.rows_of]


def every_key() -> list[Key]:
    """Every key of a drive file, those of rows and of tables of any names too, sorted by path."""
    return list(_keys().values())


@cache
def _keys() -> dict[str, Key]:
    schema = catalogue.schema()
    found: dict[str, Key] = {}
    _walk(schema, schema, _Place(), found)
    return dict(sorted(found.items()))


def find(path: str) -> Key | None:
    """A key by its path, with any name in the place of ``NAME``; None where there is none.

    A table in a row that is like a section has the keys of the section.
    """
    if path in _keys():
        return _keys()[path]
    for one in every_key() if path.count(".") > 1 else []:
        form = re.escape(one.path).replace(_NAME, r"[^.]+")
        if one.rows_of and (found := re.match(rf"{form}(?:\.|$)", path)):
            if found.end() == len(path):
                return one
            if one.section:
                return find(f"{one.section}.{path[found.end() :]}")
    return None


def key(path: str) -> Key:
    """One key by its path.

    Raises:
        NandlabError: there is no such key; names the nearest one.
    """
    found = find(path)
    if found is None:
        below = [one for one in _keys() if one.startswith(f"{path}.")]
        if below:
            raise refusal("explain", f"`{path}` is a table", below)
        expected = "a key of docs/reference.md, such as gc.start_free_blocks"
        raise refusal("explain", f"unknown key `{path}`", expected, given=path, names=_keys())
    return found


def written(path: str, drive: str | PathLike[str] | Mapping[str, Any]) -> Written | None:
    """The value that a drive has for a key, of rows those of all; None where it does not have it.

    Raises:
        NandlabError: there is no such drive, or it is refused.
    """
    loaded = catalogue.load_config(catalogue.drive_of(drive))
    value: Any = loaded.config
    place = ""
    for part in path.split("."):
        if isinstance(value, list):
            value = [row[part] for row in value if isinstance(row, dict) and part in row]
        elif isinstance(value, dict) and part in value:
            place = f"{place}.{part}".removeprefix(".")
            value = value[part]
        else:
            return None
    place = loaded.native.origin(place) or ""
    return Written(json.dumps(value), place, _comment(place))


def _comment(place: str) -> str:
    """The comment of a line of a parameter file, or of the lines above that have nothing else."""
    name, _, line = place.rpartition(":")
    if not line.isdigit():
        return ""
    text = Path(name).read_text("utf-8-sig") if Path(name).is_file() else _preset(name)
    lines = text.splitlines()
    at = int(line) - 1
    if at >= len(lines):
        return ""
    _, hash_sign, behind = lines[at].partition("#")
    if hash_sign:
        return behind.strip()
    above: list[str] = []
    while at > 0 and lines[at - 1].startswith("#"):
        at -= 1
        above.insert(0, lines[at].lstrip("# "))
    return " ".join(above)


def _preset(place: str) -> str:
    names = {preset.name for preset in catalogue.presets()}
    stem = Path(place).stem
    return catalogue.show(stem) if stem in names else ""


class _Place(NamedTuple):
    """The table of a drive file that the keys of a schema stand in."""

    prefix: str = ""
    members: tuple[str, ...] = ()
    rows_of: str = ""

    def below(self, key: str, rows_of: str = "") -> _Place:
        """The place of the keys of a table, or of the rows of a list."""
        return self._replace(prefix=f"{self.prefix}{key}.", rows_of=rows_of or self.rows_of)


def _walk(
    schema: dict[str, Any], node: dict[str, Any], place: _Place, found: dict[str, Key]
) -> None:
    for name, value in node.get("properties", {}).items():
        path, target = f"{place.prefix}{name}", resolved(schema, value)
        section = name if place.rows_of and _is_section(schema, name, target) else ""
        if "properties" in target and not section:
            within = place.below(name)
            _walk(schema, target, within, found)
            for one in target.get("anyOf", []):
                if "title" in one:
                    of_member = within._replace(members=(*within.members, one["title"]))
                    _walk(schema, one, of_member, found)
            continue
        meaning = value.get("description") or target.get("description", "")
        default = shown_default(value)
        if path in found:
            # The same key of another member, perhaps with a default of its own.
            known = found[path]
            if "const" not in value and known.members:
                members = (*known.members, *place.members)
                shared = default if default == known.default else ""
                found[path] = known._replace(members=members, default=shared)
        else:
            found[path] = Key(
                path,
                meaning,
                f"table, as `{section}`" if section else kind(schema, target),
                _unit(name),
                default,
                place.members,
                tuple(_values(schema, target)),
                place.rows_of,
                section,
            )
        if not section:
            _walk_inside(schema, target, name, place, found)


def _walk_inside(
    schema: dict[str, Any], target: dict[str, Any], name: str, place: _Place, found: dict[str, Key]
) -> None:
    """Keys of a table that a drive may be without, of rows of a list, of a table of any names."""
    path = f"{place.prefix}{name}"
    if table := _optional(schema, target):
        _walk(schema, table, place.below(name), found)
    elif "items" in target:
        _walk(schema, resolved(schema, target["items"]), place.below(name, path), found)
    elif isinstance(of_names := target.get("additionalProperties"), dict):
        below = place.below(f"{name}.{_NAME}", path)
        _walk(schema, resolved(schema, of_names), below, found)


def _optional(schema: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    """The table that may be left out; empty where the target is none."""
    options = [resolved(schema, one) for one in target.get("anyOf", [])]
    tables = [one for one in options if one.get("type") != "null"]
    return tables[0] if len(tables) == 1 and "properties" in tables[0] else {}


def _is_section(schema: dict[str, Any], name: str, target: dict[str, Any]) -> bool:
    """Whether a table is like the section of this name."""
    is_table = "properties" in target or bool(_optional(schema, target))
    return is_table and name in schema["properties"]


def _values(schema: dict[str, Any], target: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Words that a key takes, with their meanings."""
    for one in (*target.get("oneOf", []), *target.get("anyOf", [])):
        one = resolved(schema, one)
        if isinstance(word := one.get("const"), str):
            yield word, " ".join(one.get("description", "").split())
        else:
            yield from _values(schema, one)


def _unit(name: str) -> str:
    parts = name.split("_")
    # A single letter by itself is no unit.
    ends = ["_".join(parts[-2:]), parts[-1]] if len(parts) > 1 or len(name) > 1 else []
    return next((_UNITS[end] for end in ends if end in _UNITS), "")


def resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """A node of a JSON Schema, or what it refers to."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def shown_default(value: dict[str, Any]) -> str:
    """A default as TOML has it."""
    if "default" not in value:
        return ""
    given = value["default"]
    return f"{given:g}" if isinstance(given, float) else json.dumps(given)


def kind(schema: dict[str, Any], target: dict[str, Any]) -> str:
    """The type of a value, in words."""
    target = resolved(schema, target)
    if "enum" in target:
        return ", ".join(str(one) for one in target["enum"])
    if "oneOf" in target:
        return ", ".join(_variant(schema, one) for one in target["oneOf"])
    if "anyOf" in target:
        kinds = (kind(schema, one) for one in target["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if target.get("type") == "array":
        return "list"
    types = target.get("type", "")
    if isinstance(types, list):
        return " or ".join(_WORDS.get(one, "table") for one in types if one != "null")
    return _WORDS.get(types, "table")


def _variant(schema: dict[str, Any], one: dict[str, Any]) -> str:
    """One value of several: a name, or a table with one key."""
    if "const" in one:
        return f"`{one['const']}`"
    given = ", ".join(
        f"{name} = {kind(schema, value)}" for name, value in one["properties"].items()
    )
    return f"`{{ {given} }}`"
