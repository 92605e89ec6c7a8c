"""Certainty of a front: which of its points are surely better than others, by their replicates.

Two points are compared by Welch's interval of 95 % for the difference of their means in an
objective (Biometrika 34, 1947), as `nandlab compare` does with ratios. Replicates of both points
have the same seeds; where that makes them alike, the interval is wider than it has to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nandlab.drive.trust.figures import is_number
from nandlab.study.findings.frame import CONFIDENCE
from nandlab.study.given import Given, Objective
from nandlab.study.task import canonical

Row = Mapping[str, Any]
Costs = tuple[float, ...]


def cost(wanted: Sequence[Objective], row: Row) -> Costs:
    """What is to be low of a row."""
    return tuple(-row[one.column.name] if one.is_max else row[one.column.name] for one in wanted)


class Mean(NamedTuple):
    """A mean of several values."""

    value: float
    variance: float
    """Of the mean."""
    freedom: int
    """Degrees of freedom of the variance."""

    @classmethod
    def of(cls, seen: Sequence[float]) -> Mean:
        """Of two values or more."""
        count, value = len(seen), math.fsum(seen) / len(seen)
        squares = math.fsum((one - value) ** 2 for one in seen)
        return cls(value, squares / (count - 1) / count, count - 1)


def is_below(one: Mean, other: Mean) -> bool:
    """Whether the interval of the difference leaves out that a mean is as high as another one."""
    difference, variance = other.value - one.value, one.variance + other.variance
    if difference <= 0 or variance == 0:
        return difference > 0
    from scipy.special import stdtrit

    squares = sum(each.variance**2 / each.freedom for each in (one, other))
    # Tiny variances have squares that are 0.
    freedom = variance**2 / squares if squares else min(one.freedom, other.freedom)
    return difference > float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)


class Certainty:
    """Points of a study with the means of their objectives."""

    def __init__(self, given: Given, records: Iterable[Row]) -> None:
        """Of the rows of single replicates."""
        self._paths = [one.path for one in given.axes]
        names = [one.column.name for one in given.objectives]
        found: dict[str, list[Costs]] = {}
        for row in records:
            if row["error"] is None and all(is_number(row[name]) for name in names):
                found.setdefault(self._key(row), []).append(cost(given.objectives, row))
        self._means = {
            key: [Mean.of(seen) for seen in zip(*every, strict=True)]
            for key, every in found.items()
            if len(every) > 1
        }

    def _key(self, row: Row) -> str:
        return canonical([row[path] for path in self._paths])

    def is_better(self, row: Row, other: Row) -> bool:
        """Whether a point is surely better than another one in an objective; not by one value."""
        own, others = (self._means.get(self._key(one), ()) for one in (row, other))
        return any(map(is_below, own, others))
