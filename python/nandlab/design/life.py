"""Simulated life of a candidate: whether it keeps to the target at every age."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nandlab.design.race import MISSES, Candidate, Figure
from nandlab.design.target import METRICS, Target
from nandlab.display.progress import Progress
from nandlab.given.replacement import write_text
from nandlab.life.whole import life
from nandlab.study.task import Task

WINDOWS = 4
"""Timed runs along the years of a life."""


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
    asked = "_".join(f"{key}{value:g}" for key, value in sorted(target.life.items()))
    file = out / f"life-{task.id}-{asked}.json"
    if not file.is_file():
        plan = task.plan
        is_trace = plan.kind == "trace"
        what: dict[str, Any] = {"trace" if is_trace else "workload": plan.source}
        what["trace_options"] = dict(plan.options) or None
        found = life(
            task.drive,
            **what,
            set=list(task.sets),
            years=target.life["years"],
            dwpd=target.life["dwpd"],
            uber=target.life.get("uber"),
            windows=WINDOWS,
            skip=plan.skip,
            until=plan.until,
            iodepth=plan.iodepth,
            format=plan.format,
            progress=progress,
        )
        write_text(file, json.dumps({"end": found.end, "windows": found.rows()}))
    lived = json.loads(file.read_text())
    one.stage = "life"
    if lived["end"] != "years":
        years = lived["windows"][-1]["years"]
        one.verdict, one.why = MISSES, f"its life ends after {years:.3g} years: {lived['end']}"
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
