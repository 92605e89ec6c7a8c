"""Numbers and paths that functions are given, Python's or numpy's, checked where they enter."""

from __future__ import annotations

import json
import math
from numbers import Real
from os import PathLike, fspath
from typing import Any, SupportsFloat

from nandlab._core import NandlabError


def number(place: str, given: object) -> float:
    """The number that an argument holds.

    Raises:
        NandlabError: it is none.
    """
    try:
        if isinstance(given, SupportsFloat):
            return float(given)
    except TypeError:  # As of an array of several.
        pass
    raise NandlabError(f"{place}: {given!r}; allowed: a number")


def whole(place: str, given: Any, least: int, most: int, why: str = "") -> int:
    """The whole number that an argument holds, also as 4.0 or numpy's.

    Args:
        place: what messages call it.
        given: what was given.
        least: that is allowed.
        most: that is allowed.
        why: behind the range in messages.

    Raises:
        NandlabError: it is none, or out of range.
    """
    allowed = f"allowed: {least} to {most}{why}"
    # Neither truth values nor text, of Python or of numpy.
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if not (is_number and math.isfinite(given) and int(given) == given):
        raise NandlabError(f"{place}: {given!r}: no whole number; {allowed}")
    if not least <= given <= most:
        raise NandlabError(f"{place}: {given} is out of range; {allowed}")
    return int(given)


def named(place: str, given: object) -> str:
    """The name or path that an argument holds, as text.

    Raises:
        NandlabError: it is neither.
    """
    if isinstance(given, str | PathLike) and isinstance(path := fspath(given), str):
        return path
    raise NandlabError(f"{place}: {given!r}; allowed: a preset's name, or a path")


def to_json(place: str, given: object) -> str:
    """JSON of tables that may hold numpy's numbers and arrays.

    Raises:
        NandlabError: what JSON cannot hold, as not a number; says which key has it.
    """

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, PathLike):
            return fspath(value)
        raise NandlabError(f"{place}: {value!r}; allowed: numbers, text, lists and tables")

    def check(where: str, value: Any) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            raise NandlabError(f"{where}: {value:g} is out of range; allowed: a finite number")
        if isinstance(value, dict):
            for key, item in value.items():
                check(f"{where}.{key}", item)
        if isinstance(value, list):
            for item in value:
                check(where, item)

    text = json.dumps(given, default=plain)
    check(place, json.loads(text))
    return text
