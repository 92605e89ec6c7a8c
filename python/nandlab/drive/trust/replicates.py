"""Replicates in a report: intervals of its figures, and the report of each replicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.drive.latency import is_exceeded
from nandlab.drive.trust.figures import is_number
from nandlab.report import Report

_OF_ALL = ("nandlab", "checks", "sim")
"""Tables without figures of one replicate."""


def spread(report: Report, path: str) -> str:
    """Half of the interval of a figure, relative to its mean, as text; empty where none is known.

    A percentile that no request of a replicate exceeds has none: it is the greatest latency there.
    """
    replicates = report.replicates
    figure = replicates and replicates.figures.get(path)
    if not figure or figure.half_width is None or figure.mean == 0:
        return ""
    percent = 100 * figure.half_width / abs(figure.mean)
    return f"±{'<0.1' if 0 < percent < 0.05 else f'{percent:.1f}'} %"


def percentile_spread(report: Report, path: str, percent: float) -> str:
    """The same of a percentile: ``host.read.latency_us`` and 99.9."""
    key = f"p{percent:g}".replace(".", "_")
    counts = report.replicates and report.replicates.figures.get(f"{path}.count")
    if not counts or not is_exceeded(int(min(counts.each)), percent):
        return ""
    return spread(report, f"{path}.{key}")


def told(report: Report) -> str:
    """Number and seeds of the replicates; empty for a run without."""
    replicates = report.replicates
    if not replicates:
        return ""
    seeds = replicates.seeds
    if not seeds:
        return "none has ended"
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    text = f"{len(seeds)} with {which}, together"
    if all(figure.half_width is None for figure in replicates.figures.values()):
        return text
    return f"{text}; ± is half of the 95 % interval of a mean"


def reports_of(report: Mapping[str, Any]) -> list[Report]:
    """The report of each replicate that has ended; of a run without, its report.

    Replicates that are alike in every figure tell nothing of their spread: only the first counts.
    """
    replicates = report.get("replicates")
    if not replicates or not replicates["seeds"]:
        return [Report.of(report)]
    figures = replicates["figures"]
    are_alike = all(figure["half_width"] is None for figure in figures.values())
    about = Report.of(report).nandlab
    return [
        Report.of(
            {
                **{key: _of_one(value, key, figures, index) for key, value in report.items()},
                "replicates": None,
                "nandlab": {**about, "seed": seed, "config": {**about["config"], "seed": seed}},
            }
        )
        for index, seed in enumerate(replicates["seeds"][: 1 if are_alike else None])
    ]


def _of_one(value: Any, path: str, figures: Mapping[str, Any], index: int) -> Any:
    """A value of the report of all as it is in one replicate; None where that is not known."""
    if path in _OF_ALL:
        return value
    if isinstance(value, Mapping):
        return {key: _of_one(one, f"{path}.{key}", figures, index) for key, one in value.items()}
    if isinstance(value, list):
        return [_of_one(one, f"{path}.{at}", figures, index) for at, one in enumerate(value)]
    if not is_number(value) or value == 0:
        return value
    if path not in figures:
        return None
    own = figures[path]["each"][index]
    # Counts stay whole numbers.
    return int(own) if isinstance(value, int) and own.is_integer() else own
