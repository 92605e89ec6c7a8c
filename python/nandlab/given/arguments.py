"""Arguments of functions, Python's or numpy's, checked where they enter."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from nandlab.given.refusal import refusal

MOST_SEED = 2**63 - 1
"""The largest whole number that a drive file can hold: TOML has no larger ones."""


def _is_number(given: object) -> bool:
    """Whether it is a number of Python or numpy; truth values and text are none."""
    return isinstance(given, Real | Decimal) and not isinstance(given, bool)


def _single(given: Any) -> Any:
    """The value of an array without axes; other objects unchanged."""
    return given.item() if getattr(given, "shape", None) == () else given


def _is_one(given: object) -> bool:
    """Whether it is one thing; text, a path and a mapping are one, lists and arrays several."""
    is_whole = isinstance(given, str | bytes | PathLike | Mapping)
    return is_whole or not isinstance(given, Iterable) or getattr(given, "shape", None) == ()


def number(place: str, given: object) -> float:
    """The number that an argument holds.

    Raises:
        NandlabError: it is none, or one that has no room in a float.
    """
    one = _single(given)
    if _is_number(one):
        try:
            return float(one)
        except OverflowError:
            pass
    raise refusal(place, f"{given!r}", "a number")


def several(place: str, given: object) -> list[Any]:
    """What an argument holds, one thing or several; text, a path and a mapping are one.

    Raises:
        NandlabError: nothing.
    """
    found = [given] if _is_one(given) else list(cast("Iterable[Any]", given))
    if not found:
        raise refusal(place, "none", "one or more")
    return found


def listed(place: str, given: object, expected: str) -> list[Any]:
    """The items of a list, an array or the like, or none; `expected` is for messages.

    Raises:
        NandlabError: it is one thing.
    """
    if _is_one(given):
        raise refusal(place, f"{given!r}", expected)
    return list(cast("Iterable[Any]", given))


def numbers(place: str, given: object) -> list[float]:
    """The number or the numbers that an argument holds.

    Raises:
        NandlabError: an item is not a number, or there are no items.
    """
    return [number(place, one) for one in several(place, given)]


def whole(place: str, given: Any, least: int, most: int, why: str = "") -> int:
    """The whole number that an argument holds, also as 4.0 or numpy's.

    Args:
        place: what messages call it.
        given: the argument.
        least: that is expected.
        most: that is expected.
        why: behind the range in messages.

    Raises:
        NandlabError: it is none, or out of range.
    """
    expected = f"{least} to {most}{why}"
    one = _single(given)
    # A whole number of Python may be too long for a float.
    is_finite = _is_number(one) and (isinstance(one, Integral) or math.isfinite(one))
    if not (is_finite and int(one) == one):
        raise refusal(place, f"{given!r}: not a whole number", expected)
    if not least <= one <= most:
        raise refusal(place, f"{given} is out of range", expected)
    return int(one)


def seeded(given: object) -> int:
    """The seed that an argument holds.

    Raises:
        NandlabError: it is none.
    """
    return whole("seed", given, 0, MOST_SEED)


def flag(place: str, given: object, also: str = "") -> bool:
    """The truth value that an argument holds; None is False.

    Args:
        place: what messages call it.
        given: the argument.
        also: further expected values for messages.

    Raises:
        NandlabError: it is none.
    """
    one = _single(given)
    if one is None or isinstance(one, bool):
        return bool(one)
    raise refusal(place, f"{given!r}", f"True, False{also}")


def as_text(place: str, given: object, expected: str = "text") -> str:
    """The text in an argument; `expected` is for messages.

    Raises:
        NandlabError: it is none.
    """
    if isinstance(given, str):
        return given
    raise refusal(place, f"{given!r}", expected)


def called(place: str, given: object) -> None:
    """Refuses an argument that is neither callable nor None.

    Raises:
        NandlabError: it is so.
    """
    if given is not None and not callable(given):
        raise refusal(place, f"{given!r}", "a function, or None")


def named(place: str, given: object, expected: str = "a preset's name, or a path") -> str:
    """The name or path in an argument, as text; `expected` is for messages.

    Raises:
        NandlabError: it is neither.
    """
    if isinstance(given, str | PathLike) and isinstance(path := fspath(given), str):
        return path
    raise refusal(place, f"{given!r}", expected)


def path_of(place: str, given: object) -> Path:
    """The path that an argument holds.

    Raises:
        NandlabError: it is none.
    """
    return Path(named(place, given, "a path"))


def path_or_none(place: str, given: object) -> Path | None:
    """The path in an argument, if given.

    Raises:
        NandlabError: it is none.
    """
    return None if given is None else path_of(place, given)


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
        raise refusal(place, f"{value!r}", "numbers, text, lists and tables")

    def check(where: str, value: Any) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            raise refusal(where, f"{value:g} is out of range", "a finite number")
        if isinstance(value, dict):
            for key, item in value.items():
                check(f"{where}.{key}", item)
        if isinstance(value, list):
            for item in value:
                check(where, item)

    text = json.dumps(given, default=plain)
    check(place, json.loads(text))
    return text
