"""Lives under way: their steps, what they tell meanwhile, and Ctrl-C between two steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from nandlab import _core
from nandlab.display.progress import Meter, Phase, Progress
from nandlab.life.limit import Limit
from nandlab.life.result import Life, window_of
from nandlab.process.interrupt import Stop

MOST_STILL = 0.05
"""Share of blocks with data that stay, above which an accelerated life is marked."""

_PHASES: dict[str, Phase] = {
    "precondition": "precondition",
    "skip": "skip",
    "run": "run",
    "ageing": "life",
}
"""Phases of progress by the work that the engine is at."""

_LOOK_S = 0.1
"""Between two looks whether somebody has asked to stop."""


class Living:
    """A life that the engine lives, and its result so far."""

    def __init__(self, native: _core.Life, limit: Limit, result: Life) -> None:
        self.result = result
        self._native, self._limit = native, limit
        self._meter: tuple[str, Meter] | None = None

    def step(self) -> dict[str, Any]:
        """Advances by a step, on any thread: what the engine tells of it."""
        state: dict[str, Any] = json.loads(self._native.advance())
        return state

    def take(self, state: dict[str, Any], progress: Callable[[Progress], object] | None) -> bool:
        """Takes what a step has come to: whether the life is over."""
        result = self.result
        result.facts.acceleration = state["acceleration"] or 1.0
        for row in json.loads(self._native.windows(len(result.windows))):
            result.windows.append(window_of(row, self._limit.uber(row["most_worn_cycles"])))
        self._tell(state, progress)
        if state["end"] is None:
            return False
        result.end = state["end"]
        if state["worn_sets"]:
            worn = ", ".join(str(number + 1) for number in state["worn_sets"])
            result.notes.append(
                f"no spare block is left in NVM set {worn}: a life ends with the first such set,"
                " and the other sets still take writes"
            )
        still = self._native.still()
        if still > MOST_STILL:
            result.notes.append(
                f"{still:.0%} of the blocks hold static data, which static wear levelling mixes "
                "with other data slowly: an accelerated life sees too little of this "
                "(docs/life.md); a smaller accelerate sees more"
            )
        return True

    def _tell(self, state: dict[str, Any], progress: Callable[[Progress], object] | None) -> None:
        phase = _PHASES.get(state["phase"])
        if phase is None or progress is None:
            return
        if self._meter is None or self._meter[0] != phase:
            self._meter = (phase, Meter(phase, progress))
        self._meter[1].tell(state["done"], state["total"])


def live(
    begin: Callable[[int], Living],
    count: int,
    threads: int,
    progress: Callable[[Progress], object] | None,
) -> tuple[list[Life], bool]:
    """Lives `count` lives, some at a time: results in order, and whether all have come to an end.

    Of a life that was interrupted the windows until then are kept. Progress is that of the first
    life under way.
    """
    lives: list[Living] = []
    is_whole = False
    try:
        with Stop() as stop:
            if count == 1:
                lives.append(begin(0))
                is_whole = _alone(lives[0], progress, stop)
            else:
                is_whole = _together(lives, begin, count, threads, progress, stop)
    except KeyboardInterrupt:
        # A second Ctrl-C, or one in code of the user's own.
        if not lives:
            raise
    return [one.result for one in lives], is_whole


def _alone(one: Living, progress: Callable[[Progress], object] | None, stop: Stop) -> bool:
    """Lives one life on this thread: whether it has come to its end."""
    while not stop.asked:
        if one.take(one.step(), progress):
            return True
    return False


def _together(
    lives: list[Living],
    begin: Callable[[int], Living],
    count: int,
    threads: int,
    progress: Callable[[Progress], object] | None,
    stop: Stop,
) -> bool:
    """Lives several, a step of each at a time on a thread: whether all have come to their end."""
    with ThreadPoolExecutor(threads) as pool:
        steps: dict[Future[dict[str, Any]], int] = {}
        while (steps or len(lives) < count) and not stop.asked:
            while len(steps) < threads and len(lives) < count:
                lives.append(begin(len(lives)))
                steps[pool.submit(lives[-1].step)] = len(lives) - 1
            first = min(steps.values())
            for done in wait(steps, _LOOK_S, FIRST_COMPLETED).done:
                number = steps.pop(done)
                one = lives[number]
                if not one.take(done.result(), progress if number == first else None):
                    steps[pool.submit(one.step)] = number
    return not steps and len(lives) == count
