"""An axis of a study: the values of one parameter, as a list, a range, or named variants.

A range is linear or logarithmic. In a grid it has steps; a design that draws takes any value
between its ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from nandlab.drive.workload import RUN_KEYS
from nandlab.given.arguments import flag, listed, number, whole
from nandlab.given.refusal import refusal
from nandlab.study.own_ftl import PATH, StudyFtl, is_own

MOST_VALUES = 1_000_000
"""Of an axis in a grid."""

_DIGITS = 12
"""Of values between the ends of a range: 0.07 + 0.07 is 0.14."""

_RANGE = ("from", "to", "points", "step", "factor", "scale", "whole")
_SCALES = ("linear", "log")


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, which are among them."""

    low: float
    high: float
    is_log: bool
    is_whole: bool
    steps: tuple[float, ...] | None
    """Its values in a grid; None where only designs that draw can take it."""

    def at(self, share: float) -> float:
        """The value at a share of the way, 0 to 1."""
        if self.is_whole:
            # Every whole number has the same room, those at the ends too.
            low, high = self.low - 0.5, self.high + 0.5
            low = max(low, self.low * 0.5) if self.is_log else low
            found = round(_between(low, high, share, self.is_log))
            return int(min(max(found, self.low), self.high))
        return _rounded(_between(self.low, self.high, share, self.is_log))


@dataclass(frozen=True)
class Axis:
    """One axis."""

    path: str
    """What is changed: a key of a drive, ``drive``, ``run.KEY``, ``job.OPTION``, or a name."""
    values: tuple[Any, ...]
    """Its values in a grid, in their order."""
    span: Range | None = None
    variants: Mapping[str, Mapping[str, Any]] | None = None
    """Assignments by the name of a variant; `path` is then the name of the axis."""

    def at(self, share: float) -> Any:
        """The value at a share of the way, 0 to 1."""
        if self.span is not None:
            return self.span.at(share)
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def settings(self, value: Any) -> list[tuple[str, Any]]:
        """What a value of the axis sets: pairs of path and value."""
        if self.variants is not None:
            return list(self.variants[value].items())
        return [(self.path, value)]

    @property
    def is_numeric(self) -> bool:
        """Whether all of its values are numbers."""
        return self.span is not None or all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in self.values
        )

    @property
    def is_log(self) -> bool:
        """Whether a picture of it is logarithmic."""
        if self.span is not None:
            return self.span.is_log
        if not self.is_numeric or len(self.values) < 3 or min(self.values) <= 0:
            return False
        ordered = sorted(self.values)
        ratios = [b / a for a, b in pairwise(ordered)]
        return bool(min(ratios) >= 1.5 and max(ratios) / min(ratios) < 3)


def axis(place: str, path: object, given: Any, folder: Path = Path()) -> Axis:
    """An axis from what a user gives: a list, a range (a table with ``from``), or variants.

    Args:
        place: what messages call the study.
        path: of the axis.
        given: its values.
        folder: where paths of FTLs in Python begin.

    Raises:
        NandlabError: it is refused; `place` names the study.
    """
    if not isinstance(path, str) or not path.strip():
        raise refusal(place, f"{path!r}", "a path, as ftl.overprovisioning or job.iodepth")
    where = f"{place}: axis {path}"
    if isinstance(given, Mapping):
        if "from" in given or "to" in given:
            check_path(where, path)
            span = _range(where, path, given)
            return Axis(path, span.steps or (), span)
        return _variants(where, path, given, folder)
    check_path(where, path)
    values = [_plain(value) for value in listed(where, given, "values, or a range `from`, `to`")]
    if path == PATH and any(map(is_own, values)):
        return _ftls(where, values, folder)
    if not values:
        raise refusal(where, "no values", "one or more")
    for index, value in enumerate(values):
        if isinstance(value, float) and not math.isfinite(value):
            raise refusal(where, f"{value}", "finite numbers")
        if not isinstance(value, bool | int | float | str | list):
            raise refusal(where, f"{value!r}", "numbers, text, true, false, or lists of these")
        if value in values[:index] and type(value) is type(values[values.index(value)]):
            raise refusal(where, f"{value!r} is given twice", "each value once")
    return Axis(path, tuple(values))


def check_path(where: str, path: str) -> None:
    """Refuses a path that nothing of a study has.

    Raises:
        NandlabError: so; names the nearest one.
    """
    first, _, rest = path.partition(".")
    if path == "drive" or (first == "job" and rest):
        return
    if first == "run":
        if rest not in RUN_KEYS:
            raise refusal(where, f"unknown key `{path}`", RUN_KEYS, given=rest)
        return
    if path not in _kinds():
        expected = "a key of docs/reference.md, drive, run.KEY, or job.OPTION"
        names = [*_kinds(), "drive", *(f"run.{key}" for key in RUN_KEYS)]
        # Who names a family means its member.
        meant = f"{path}.name" if f"{path}.name" in _kinds() else path
        raise refusal(where, f"unknown key `{path}`", expected, given=meant, names=names)


@cache
def _kinds() -> dict[str, str]:
    """Kinds of the keys of a drive, by their paths."""
    from nandlab.keys import keys

    return {one.path: one.kind for one in keys()}


def _ftls(where: str, values: list[Any], folder: Path) -> Axis:
    """FTLs in Python, by the names of their classes, beside members of the roster."""
    found: dict[str, dict[str, Any]] = {}
    for value in values:
        own = StudyFtl.of(where, value, folder) if is_own(value) else value
        name = own.name if isinstance(own, StudyFtl) else own
        if not isinstance(name, str):
            raise refusal(where, f"{value!r}", "names, FILE.py:CLASS, or classes")
        if name in found:
            hint = "give each a name: variants instead of values"
            raise refusal(where, f"two FTLs `{name}`", hint=hint)
        found[name] = {PATH: own}
    return Axis(PATH, tuple(found), variants=found)


def _variants(where: str, path: str, given: Mapping[Any, Any], folder: Path) -> Axis:
    if not given:
        raise refusal(where, "no variants", "a table of assignments by name")
    checked: dict[str, dict[str, Any]] = {}
    for name, sets in given.items():
        if not isinstance(sets, Mapping) or not isinstance(name, str):
            expected = "values, a range (`from`, `to`), or variants (tables of assignments by name)"
            raise refusal(where, f"{name}: {sets!r}", expected)
        checked[name] = flat(sets)
        for key in checked[name]:
            check_path(f"{where}.{name}", key)
        if is_own(own := checked[name].get(PATH)):
            checked[name][PATH] = StudyFtl.of(f"{where}.{name}", own, folder)
    return Axis(path, tuple(checked), variants=checked)


def flat(tables: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Values of nested tables by their paths."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{path}.")
        else:
            found[path] = _plain(value)
    return found


def _range(where: str, path: str, given: Mapping[Any, Any]) -> Range:
    for key in given:
        if key not in _RANGE:
            raise refusal(where, f"unknown key `{key}`", _RANGE, given=key)
    for key in ("from", "to"):
        if key not in given:
            raise refusal(where, f"a range without `{key}`", "from and to")
    low, high = (number(f"{where}.{key}", given[key]) for key in ("from", "to"))
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise refusal(where, f"from {low:g} to {high:g}", "finite numbers, the lower one first")
    scale = given.get("scale", "linear")
    if scale not in _SCALES:
        raise refusal(f"{where}.scale", f"{scale!r}", _SCALES, given=scale)
    if "factor" in given:
        if "step" in given or "scale" in given:
            other = "step" if "step" in given else "scale"
            raise refusal(where, f"both factor and {other}", hint="give factor alone")
        # A factor is the step of a logarithmic range.
        given = {**given, "step": given["factor"]}
    is_log = scale == "log" or "factor" in given
    if is_log and low <= 0:
        raise refusal(where, f"a logarithmic range from {low:g}", "from above 0")
    ends_are_whole = all(isinstance(given[key], int) for key in ("from", "to"))
    kind = _kinds().get(path, "")
    is_whole = kind == "whole number" or (not kind and ends_are_whole)
    if "whole" in given:
        is_whole = flag(f"{where}.whole", given["whole"])
    if is_whole and not (low.is_integer() and high.is_integer()):
        raise refusal(where, f"from {low:g} to {high:g}", "whole numbers")
    return Range(low, high, is_log, is_whole, _steps(where, given, low, high, is_log, is_whole))


def _steps(
    where: str, given: Mapping[Any, Any], low: float, high: float, is_log: bool, is_whole: bool
) -> tuple[float, ...] | None:
    """The values of a range in a grid."""
    key = "factor" if "factor" in given else "step"
    if "points" in given and "step" in given:
        raise refusal(where, f"both points and {key}", hint="give one of them")
    if "points" in given:
        count = whole(f"{where}.points", given["points"], 2, MOST_VALUES)
        found = [_between(low, high, i / (count - 1), is_log) for i in range(count)]
    elif "step" in given:
        step = number(f"{where}.{key}", given["step"])
        least = 1.0 if is_log else 0.0
        if not step > least:
            factor = "a factor" if is_log else "a number"
            raise refusal(f"{where}.{key}", f"{step:g}", f"{factor} above {least:g}")
        ratio = math.log(high / low, step) if is_log else (high - low) / step
        if ratio > MOST_VALUES:
            raise refusal(f"{where}.{key}", f"{ratio:.3g} values", f"at most {MOST_VALUES}")
        count = math.floor(ratio + 1e-9) + 1
        found = [low * step**i if is_log else low + i * step for i in range(count)]
    else:
        return None
    if is_whole:
        return tuple(dict.fromkeys(round(value) for value in found))
    return tuple(dict.fromkeys(_rounded(value) for value in found))


def _between(low: float, high: float, share: float, is_log: bool) -> float:
    if is_log:
        return float(low * (high / low) ** share)
    return low + (high - low) * share


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _plain(value: Any) -> Any:
    """A value with Python's own numbers and lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
