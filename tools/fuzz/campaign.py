"""Campaign: cases one after another on all cores, until their number or the time is up."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from time import monotonic

from fuzz import child, keeper, running
from fuzz.case import Case, Command
from fuzz.inputs.kinds import draw
from fuzz.laws import command, files


@dataclass
class Verdict:
    """What is told of a case."""

    kind: str
    number: int
    codes: list[int | None] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: int = 0
    """Commands that were interrupted because they took long."""
    problems: list[str] = field(default_factory=list)
    folder: str = ""
    """Where the failure is kept."""


@dataclass
class Count:
    """What is told of all cases."""

    cases: Counter[str] = field(default_factory=Counter)
    codes: Counter[int | None] = field(default_factory=Counter)
    long: int = 0
    failures: list[Verdict] = field(default_factory=list)
    is_interrupted: bool = False

    def add(self, verdict: Verdict) -> None:
        """Counts a case."""
        self.cases[verdict.kind] += 1
        self.codes.update(verdict.codes)
        self.long += verdict.interrupted
        if verdict.problems:
            self.failures.append(verdict)


def judge(case: Case, is_stopped: Callable[[], bool], kept: Path) -> Verdict | None:
    """Runs a case, holds its laws, and keeps it where one is broken; None where it was stopped."""
    verdict = Verdict(case.kind, case.number)
    start = monotonic()
    with tempfile.TemporaryDirectory(prefix="nandlab-fuzz-") as folder:
        # Messages name files by their place: the second run is in the same one.
        outcomes = running.run(case, Path(folder), is_stopped)
        if outcomes is None:
            return None
        problems = list(command.broken(outcomes))
        for each in outcomes:
            problems += files.broken(each)
        if case.is_repeated:
            again = running.run(case, Path(folder), is_stopped)
            if again is None:
                return None
            problems += (f"repeat: {said}" for said in files.differences(outcomes, again))
    verdict.codes = [each.code for each in outcomes]
    verdict.seconds = monotonic() - start
    verdict.interrupted = sum(
        each.is_interrupted and each.command.interrupt_s is None for each in outcomes
    )
    verdict.problems = problems
    if problems:
        verdict.folder = str(keeper.keep(case, outcomes, problems, kept))
    return verdict


_stop: Event | None = None


def _begin(stop: Event, patience_s: float) -> None:
    """In each worker: Ctrl-C is for the campaign, which says when to stop."""
    global _stop
    _stop = stop
    running.PATIENCE_S = patience_s
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child.prepare()


def _work(seed: int, number: int, only: str | None, kept: str, *, is_calm: bool) -> Verdict | None:
    """Draws and judges a case, in a worker."""
    try:
        case = draw(seed, number, only)
        for step in case.steps:
            if is_calm and isinstance(step, Command):
                step.interrupt_s = None
        return judge(case, lambda: _stop is not None and _stop.is_set(), Path(kept))
    except Exception:
        # A mistake of the generators: told with its case, which can be drawn again.
        lines = traceback.format_exc().strip().splitlines()
        return Verdict("generator", number, problems=[" | ".join(reversed(lines))])


def campaign(
    seed: int,
    *,
    cases: int | None,
    minutes: float | None,
    only: str | None,
    kept: Path,
    workers: int | None = None,
    patience_s: float = running.PATIENCE_S,
    is_calm: bool = False,
    tell: Callable[[Verdict, Count], object],
) -> Count:
    """Runs cases 0, 1, 2 ... of a seed; Ctrl-C ends it with what was found until then.

    Args:
        seed: decides every case.
        cases: how many.
        minutes: for how long new ones begin.
        only: the kind of all of them.
        kept: folder of failures.
        workers: cases at a time; as many as cores.
        patience_s: how long a command may take before it is interrupted.
        is_calm: no case sends signals, whose time differs from run to run.
        tell: called after each case.
    """
    count = Count()
    end = None if minutes is None else monotonic() + 60 * minutes
    cores = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    context = get_context("spawn")
    stop = context.Event()
    numbers = iter(range(cases)) if cases is not None else iter(range(sys.maxsize))
    with ProcessPoolExecutor(cores, context, _begin, (stop, patience_s)) as pool:
        under_way: set[Future[Verdict | None]] = set()

        def fill() -> Iterator[Future[Verdict | None]]:
            while len(under_way) < 2 * cores and (end is None or monotonic() < end):
                number = next(numbers, None)
                if number is None:
                    return
                yield pool.submit(_work, seed, number, only, str(kept), is_calm=is_calm)

        try:
            under_way.update(fill())
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for each in done:
                    verdict = each.result()
                    if verdict is not None:
                        count.add(verdict)
                        tell(verdict, count)
                under_way.update(fill())
        except KeyboardInterrupt:
            count.is_interrupted = True
            stop.set()
            pool.shutdown(cancel_futures=True)
    count.failures.sort(key=lambda verdict: verdict.number)
    return count


def again(folder: Path, kept: Path) -> Verdict | None:
    """Runs a kept failure once more."""
    child.prepare()
    case = keeper.kept(folder)
    for step in case.steps:
        if isinstance(step, Command):
            step.is_fresh = True
    return judge(case, lambda: False, kept)
