"""Nested tables given as mappings, as a TOML file would hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nandlab.given.arguments import to_json
from nandlab.given.refusal import refusal


def tables_json(place: str, given: Mapping[Any, Any]) -> str:
    """JSON of nested tables; numpy's numbers and paths are those of Python.

    Raises:
        NandlabError: what a TOML file could not hold; `place` stands before the key.
    """
    return to_json(place, _checked(place, given, ""))


def _checked(place: str, given: Mapping[Any, Any], path: str) -> dict[str, Any]:
    """The same tables as dictionaries; `a.b` as a key is `b` of the table `a`, as in TOML."""
    tables: dict[str, Any] = {}
    for key, value in given.items():
        if not isinstance(key, str):
            raise refusal(place, f"{key!r}: a key that is not text", "names of keys, as in TOML")
        here = f"{path}.{key}" if path else key
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise refusal(f"{place}: {here}", f"{value}", "a value, or leave the key out")
        if isinstance(value, Mapping):
            value = _checked(place, value, here)
        first, *rest = key.split(".")
        for inner in reversed(rest):
            value = {inner: value}
        tables = merged(tables, {first: value})
    return tables


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables laid over others: the upper ones win, key by key."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        is_table = isinstance(value, Mapping) and isinstance(below, Mapping)
        result[key] = merged(below, value) if is_table else value  # type: ignore[arg-type]
    return result
