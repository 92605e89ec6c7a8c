"""Figures of a report by their paths: whether a figure exists, and how many requests are behind it.

A report has a 0 where nothing was measured: the latency of reads of a run that read nothing. Where
runs are set side by side, such a 0 would be the best of all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.drive.latency import requests_beyond

if TYPE_CHECKING:
    from nandlab.report.tables import Report

LEAST_BEYOND = 10
"""Requests that must exceed a percentile, so that it is not the luck of a few."""

FEW_MARK = "*"
"""Behind such a percentile in a table."""

FEW_BEYOND = f"{FEW_MARK} fewer than {LEAST_BEYOND} requests lie beyond this percentile"
"""What the mark means."""

_COUNTS = ("count", "N")
"""Keys of a distribution of latencies that say how many requests it is of."""

_PERCENTILE = re.compile(r"p(\d+)(?:_(\d+))?")


class Figure(NamedTuple):
    """A value of a report."""

    value: Any
    """None where the report has none, or nothing stands behind it."""
    few_beyond: bool = False
    """A percentile that fewer than `LEAST_BEYOND` requests exceed."""


_NONE = Figure(None)


def figure(report: Report, path: Sequence[str | int]) -> Figure:
    """What a report has at a path.

    These are None: latencies of no requests, percentiles that no request exceeds (they would be the
    maximum), write amplification where the host wrote nothing.
    """
    tables: list[Any] = []
    value: Any = report
    for key in path:
        tables.append(value)
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return _NONE
    if not path:
        return Figure(value)
    last = path[-1]
    if str(last).startswith("write_amplification") and not _writes(report):
        return _NONE
    requests = _requests(tables)
    if requests is None or last in _COUNTS:
        return Figure(value)
    percent = _percent(str(last))
    if requests == 0:
        return _NONE
    if percent is None:
        return Figure(value)
    beyond = requests_beyond(requests, percent)
    return _NONE if beyond < 1 else Figure(value, beyond < LEAST_BEYOND)


def _writes(report: Report) -> bool:
    """Whether the host has written anything, or nobody knows."""
    return "endurance_group" not in report or report.endurance_group.host_bytes > 0


def _requests(tables: Sequence[Any]) -> int | None:
    """How many requests the distribution is of that a value stands in; None where in none.

    fio's percentiles lie in a table of their own below it.
    """
    for table in tables[:-3:-1]:
        if isinstance(table, Mapping) and "mean" in table:
            for key in _COUNTS:
                if isinstance(count := table.get(key), int):
                    return count
    return None


def _percent(key: str) -> float | None:
    """The percentile that a key names: ``p99_9``, or ``99.900000`` as fio has it."""
    if named := _PERCENTILE.fullmatch(key):
        return float(f"{named[1]}.{named[2] or 0}")
    try:
        return float(key)
    except ValueError:
        return None


def is_number(value: object) -> bool:
    """Whether a value is a number that can be drawn."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and math.isfinite(float(value))  # type: ignore[arg-type]
