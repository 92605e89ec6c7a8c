"""Metrics of a measured row: their names, and where the report of a run has them."""

from __future__ import annotations

from typing import Any

from nandlab.study.expression import found

_RATES = ("iops", "bandwidth_mb_s")
_LATENCIES = ("mean_us", "p50_us", "p90_us", "p99_us", "p99_9_us", "p99_99_us")

PERCENTILES = {"p50_us": 50.0, "p90_us": 90.0, "p99_us": 99.0, "p99_9_us": 99.9, "p99_99_us": 99.99}
"""Percent of each percentile."""

PLAIN = (*_RATES, *_LATENCIES)
"""Metrics of requests. Without a prefix they are of the row's operation, or of all."""

DIRECTIONS = ("read", "write")

METRICS = (
    *PLAIN,
    *(f"{direction}_{name}" for direction in DIRECTIONS for name in PLAIN),
    "write_amplification",
)
"""Every metric, as a column of measurements has it."""

USUAL = ("iops", "mean_us", "p50_us", "p99_us", "write_amplification")
"""Those that are taken of fio's results, which have all, where none are named."""


def plain(metric: str) -> str:
    """A metric without the prefix of its direction."""
    direction, _, rest = metric.partition("_")
    return rest if direction in DIRECTIONS and rest in PLAIN else metric


def path_of(metric: str, direction: str) -> tuple[str, ...]:
    """Where a report has a metric.

    Args:
        metric: its name.
        direction: ``read`` or ``write``, of a row of one direction; empty of a mix.
    """
    if metric == "write_amplification":
        return ("ftl", "write_amplification")
    name = plain(metric)
    of = metric.partition("_")[0] if name != metric else direction
    below = (name,) if name in _RATES else ("latency_us", name.removesuffix("_us"))
    return ("host", *([of] if of else []), *below)


def value_in(report: dict[str, Any], path: tuple[str, ...]) -> float | None:
    """The value of a metric; None where nothing of its kind was done."""
    value = found(report, path)
    return float(value) if isinstance(value, int | float) and value > 0 else None
