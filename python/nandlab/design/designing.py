"""Walk of a design: candidates by their price, cheapest first, until one holds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from itertools import groupby, islice
from os import PathLike
from pathlib import Path

from nandlab._core import NandlabError
from nandlab.catalogue import load_config
from nandlab.design.answer import Answer
from nandlab.design.life import check_life
from nandlab.design.price import parts_of
from nandlab.design.race import FAILED, HOLDS, MISSES, Candidate, Figure, Race
from nandlab.design.tail import tail_of
from nandlab.design.target import METRICS, Target, target_of
from nandlab.display.progress import Progress
from nandlab.drive.device import Drive
from nandlab.given.arguments import called, path_of, path_or_none, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.study.definition import Study
from nandlab.study.task import Task, Tasks

MOST_CANDIDATES = 100_000
"""Largest space whose drives are priced."""


@names_checked
def design(
    target: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    workers: int | None = None,
    executor: str | Executor = "local",
    progress: Callable[[Progress], object] | None = None,
) -> Answer:
    """Finds the cheapest drive of a space that keeps to a target.

    Args:
        target: a target file; docs/design.md describes it.
        out: folder of the rows, with which a design goes on; beside the file if left out.
        workers: runs at the same time; one for each processor if left out.
        executor: as for `nandlab.Study.run`.
        progress: called about ten times a second.

    Raises:
        NandlabError: the target is refused, or no drive of the space can be built.
        StudyUnfinished: Ctrl-C; rows are kept.
        LifeUnfinished: Ctrl-C during a life.
        OSError: a row cannot be written.
    """
    if workers is not None:
        workers = whole("workers", workers, 1, 4096)
    called("progress", progress)
    file = path_of("target", target)
    asked = target_of(file)
    folder = path_or_none("out", out) or file.with_suffix(".design")
    folder.mkdir(parents=True, exist_ok=True)
    race = Race(asked, Study.of(asked.given, folder), workers, executor, progress)
    candidates, tasks, refused = _priced(asked, folder)
    answer = partial(Answer, asked, drives=len(candidates), refused=refused)
    tried: list[Candidate] = []
    for _, same in groupby(candidates, lambda one: round(one.price, 9)):
        group = list(same)
        tried += group
        race.decide([one for one in group if _has_capacity(asked, one, tasks)])
        while holding := [one for one in group if one.verdict == HOLDS]:
            best = max(holding, key=_least_margin)
            if asked.life:
                check_life(asked, best, tasks[id(best)], folder, progress)
            if best.verdict == HOLDS:
                tail = tail_of(best, tasks[id(best)])
                return answer(tried, best, tail, runs=race.runs, run_s=race.run_s)
    return answer(tried, None, None, runs=race.runs, run_s=race.run_s)


def _priced(target: Target, folder: Path) -> tuple[list[Candidate], dict[int, Task], list[str]]:
    """All candidates by their price, the task of each, and why the other drives are refused."""
    made = Tasks(target.given, str(folder.resolve()))
    space = (one for group in target.given.design.groups() for one in group)
    points = list(islice(space, MOST_CANDIDATES + 1))
    if not points:
        raise refusal(f"{target.path}: constraints", "they leave no drive", hint="loosen them")
    if len(points) > MOST_CANDIDATES:
        raise refusal(str(target.path), "a larger space", f"{MOST_CANDIDATES:,} drives at most")
    candidates, tasks, refused = [], {}, []
    for point in points:
        task = made.task(point.combination, 0)
        if task.error:
            refused.append(task.error)
            continue
        loaded = load_config(task.drive, task.sets)
        if any(one.startswith("drive.scale") for one in loaded.notices):
            problem = "a share of a drive has neither the price nor the capacity of the whole one"
            raise refusal("drive.scale", problem, hint="leave it out of the space")
        parts = parts_of(loaded.config, target.prices)
        one = Candidate(point.combination, sum(parts.values()), parts)
        candidates.append(one)
        tasks[id(one)] = task
    if not candidates:
        raise NandlabError(refused[0])
    return sorted(candidates, key=lambda one: one.price), tasks, refused


def _has_capacity(target: Target, one: Candidate, tasks: dict[int, Task]) -> bool:
    """Whether a drive is large enough, known without a run."""
    limit = target.limits.get("capacity_gb")
    if limit is None:
        return True
    task = tasks[id(one)]
    try:
        size = Drive(task.drive, set=list(task.sets)).capacity_bytes / 1e9
    except NandlabError as error:
        one.verdict, one.stage, one.why = FAILED, "capacity", str(error)
        return False
    figure = Figure(size, size, size, limit, METRICS["capacity_gb"].is_least)
    one.figures["capacity_gb"] = figure
    if figure.verdict == HOLDS:
        return True
    one.verdict, one.stage = MISSES, "capacity"
    return False


def _least_margin(one: Candidate) -> float:
    return min(figure.margin for figure in one.figures.values())
