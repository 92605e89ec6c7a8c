"""Walk of a design: candidates by their price, cheapest first, until one holds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from os import PathLike

from nandlab.design.answer import Answer
from nandlab.design.assumed import findings_of
from nandlab.design.life import check_life
from nandlab.design.race import HOLDS, Candidate, Race
from nandlab.design.space import ALIKE, Space
from nandlab.design.tail import tail_of
from nandlab.design.target import target_of
from nandlab.display.progress import Progress
from nandlab.given.arguments import called, path_of, path_or_none, whole
from nandlab.given.names import names_checked
from nandlab.study.definition import Study


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
        out: Folder of rows and lives, with which the design goes on. Left out: TARGET.design beside
            the file.
        workers: Number of runs at the same time. Left out: one for each processor.
        executor: Executor of the runs. As for `nandlab.Study.run`.
        progress: As for `nandlab.run`.

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
    space = Space.of(asked, folder)
    folder.mkdir(parents=True, exist_ok=True)
    race = Race(asked, Study.of(asked.given, folder), workers, executor, progress)
    tried: list[Candidate] = []
    best: Candidate | None = None
    for group in space.groups():
        # The price of power is known after a run: a drive with cheaper parts may cost more.
        if best is not None and min(one.price for one in group) >= best.price:
            break
        tried += group
        race.decide([one for one in group if not one.stage])
        holding = [one for one in group if one.verdict == HOLDS]
        while holding:
            least = min(one.price for one in holding)
            alike = [one for one in holding if one.price <= least * ALIKE]
            one = max(alike, key=_least_margin)
            if best is not None and one.price >= best.price:
                break
            if asked.life:
                check_life(asked, one, space.tasks[id(one)], folder, progress)
            if one.verdict == HOLDS:
                best = one
                break
            holding.remove(one)
    tail = None if best is None else tail_of(best, space.tasks[id(best)])
    assumed = [] if best is None else findings_of(space.tasks[id(best)])
    tried.sort(key=lambda one: one.price)
    return Answer(asked, space, tried, best, tail, assumed, race.runs, race.run_s)


def _least_margin(one: Candidate) -> float:
    return min(figure.margin for figure in one.figures.values())
