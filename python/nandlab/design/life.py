"""Simulated life of a candidate: whether it keeps to the target at every age."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nandlab.design.race import MISSES, Candidate, Figure
from nandlab.design.target import METRICS, Target
from nandlab.display.progress import Progress
from nandlab.drive.workload import Plan
from nandlab.given.refusal import refusal
from nandlab.life.whole import life
from nandlab.study.task import Task

WINDOWS = 4
"""Timed runs along the years of a life."""

_BEGINS = {"none": "fill", "fill": "fill", "steady": "steady", "rested": "rested"}
"""States of a target, and those that its lives begin from: an empty drive is filled first."""


def begin_of(plan: Plan) -> str:
    """The state from which a life under a plan begins.

    Raises:
        NandlabError: no life can begin from the state that the plan names.
    """
    if plan.precondition not in _BEGINS:
        problem = f"no life begins from `{plan.precondition}`"
        raise refusal("run.precondition", problem, _BEGINS, given=plan.precondition)
    return _BEGINS[plan.precondition]


def check_life(
    target: Target,
    one: Candidate,
    task: Task,
    out: Path,
    progress: Callable[[Progress], object] | None,
) -> None:
    """Simulates a life of a candidate, and makes it one that misses where the life does.

    A life that ended is kept in `out` by the hash of its point and demand, and not simulated again.

    Raises:
        NandlabError: the life cannot be simulated.
        LifeUnfinished: Ctrl-C.
        OSError: the life cannot be written.
    """
    demand = "-".join(f"{key}_{value:g}" for key, value in sorted(target.life.items()))
    file = out / f"{task.id}-{demand}.life.json"
    if not file.is_file():
        plan = task.plan
        is_trace = plan.kind == "trace"
        what: dict[str, Any] = {"trace" if is_trace else "workload": plan.source}
        what["trace_options"] = dict(plan.options) or None
        per_day = target.life.get("writes_gb_per_day")
        found = life(
            task.drive,
            **what,
            set=list(task.sets),
            years=target.life["years"],
            dwpd=target.life.get("dwpd"),
            writes_per_day=None if per_day is None else per_day * 1e9,
            uber=target.life.get("uber"),
            windows=WINDOWS,
            precondition=begin_of(plan),
            skip=plan.skip,
            until=plan.until,
            iodepth=plan.iodepth,
            format=plan.format,
            progress=progress,
        )
        found.to_json(file)
    lived = json.loads(file.read_text())
    one.stage = "life"
    last = lived["windows"][-1]
    facts = ("years", "pe_cycles_mean", "pe_cycles_max", "uber", "failed_blocks")
    one.lived = {key: last[key] for key in facts}
    one.lived |= {key: lived[key] for key in ("write_amplification", "energy_kwh", "acceleration")}
    one.lived["asked"] = {key: lived[key] for key in ("uber", "retention_hours", "temperature_c")}
    one.lived["notes"] = lived["notes"]
    if lived["end"] != "years":
        one.verdict = MISSES
        one.why = f"its life ends after {last['years']:.3g} years: {lived['end']}"
        return
    for name, limit in target.limits.items():
        is_least = METRICS[name].is_least
        values = [row[name] for row in lived["windows"] if row.get(name) is not None]
        if values:
            worst = (min if is_least else max)(values)
            figure = Figure(worst, worst, worst, limit, is_least)
            if figure.verdict == MISSES:
                one.figures[f"{name} over its life"] = figure
                one.verdict = MISSES
