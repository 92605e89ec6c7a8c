"""Tail of a designed drive: what its slowest requests wait for, and the keys that bear on it."""

from __future__ import annotations

from typing import Any, NamedTuple

from nandlab.design.race import Candidate
from nandlab.drive.simulate import run
from nandlab.explained.causes import keys_of
from nandlab.study.task import Task


class Tail(NamedTuple):
    """The largest part of the latency of the slowest requests."""

    target: str
    """The percentile that is limited, as ``read_us_p99_9``."""
    cause: str
    share: float
    """Part of their mean latency."""
    keys: dict[str, Any]
    """Keys of the drive that bear on the cause, with their values."""


def tail_of(one: Candidate, task: Task) -> Tail | None:
    """Runs a drive once more for its tail; None where no percentile is limited.

    Of several percentiles it is the one with the least margin.
    """
    ranks = [name for name in one.figures if "_us_p" in name and " " not in name]
    if not ranks:
        return None
    name = min(ranks, key=lambda each: one.figures[each].margin)
    op, _, rank = name.partition("_us_p")
    plan = task.plan
    is_trace = plan.kind == "trace"
    options: Any = dict(plan.options) or None
    result = run(
        task.drive,
        workload=None if is_trace else plan.source,
        trace=plan.source if is_trace else None,
        trace_options=options,
        format=plan.format,
        iodepth=plan.iodepth,
        precondition=plan.precondition,
        skip=plan.skip,
        until=plan.until,
        set=list(task.sets),
        explain=True,
    )
    found = result.explain(float(rank.replace("_", ".")), op)
    cause, time_us = next(iter(found.causes_us.items()))
    return Tail(name, cause, time_us / found.mean_us, keys_of(cause, result.report.nandlab.config))
