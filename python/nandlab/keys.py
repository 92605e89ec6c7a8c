"""Keys of a drive file: what each one means, its type, unit, default and valid values."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    "hours": "hours",
    "bytes": "bytes",
    "mb_s": "10^6 bytes per second",
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


class Key(NamedTuple):
    """A key, as ``--set`` takes it."""

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


class Written(NamedTuple):
    """The value of a key in a drive, and its source."""

    value: str
    """As JSON has it."""
    place: str
    """File and line, or the assignment; empty for a default."""
    comment: str
    """Comment behind it in that line: where the number comes from."""


def keys() -> list[Key]:
    """Every key of a drive file, those of all members of families among them, sorted by path."""
    return list(_keys())


@cache
def _keys() -> tuple[Key, ...]:
    schema = catalogue.schema()
    found: dict[str, Key] = {}
    _walk(schema, schema, "", (), found)
    return tuple(sorted(found.values()))


def key(path: str) -> Key:
    """One key by its path.

    Raises:
        NandlabError: there is no such key; names the nearest one.
    """
    known = {one.path: one for one in keys()}
    if path not in known:
        below = [one for one in known if one.startswith(f"{path}.")]
        if below:
            raise refusal("explain", f"`{path}` is a table", below)
        expected = "a key of docs/reference.md, such as gc.start_free_blocks"
        raise refusal("explain", f"unknown key `{path}`", expected, given=path, names=known)
    return known[path]


def written(path: str, drive: str | PathLike[str] | Mapping[str, Any]) -> Written | None:
    """The value that a drive has for a key; None where its members do not have it.

    Raises:
        NandlabError: there is no such drive, or it is refused.
    """
    loaded = catalogue.load_config(catalogue.drive_of(drive))
    value: Any = loaded.config
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    place = loaded.native.origin(path) or ""
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


def _walk(
    schema: dict[str, Any],
    node: dict[str, Any],
    prefix: str,
    members: tuple[str, ...],
    found: dict[str, Key],
) -> None:
    for name, value in node.get("properties", {}).items():
        path, target = f"{prefix}{name}", resolved(schema, value)
        if "properties" in target:
            _walk(schema, target, f"{path}.", members, found)
            for one in target.get("anyOf", []):
                if "title" in one:
                    _walk(schema, one, f"{path}.", (*members, one["title"]), found)
            continue
        meaning = value.get("description") or target.get("description", "")
        default = shown_default(value)
        if path in found:
            # The same key of another member, perhaps with a default of its own.
            known = found[path]
            if "const" not in value and known.members:
                shared = default if default == known.default else ""
                found[path] = known._replace(members=(*known.members, *members), default=shared)
            continue
        found[path] = Key(path, meaning, kind(schema, target), _unit(name), default, members)


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
