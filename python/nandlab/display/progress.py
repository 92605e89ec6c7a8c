"""Progress of a run: the arguments of callbacks, and their rate."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

Phase = Literal[
    "precondition",
    "age",
    "skip",
    "start-up",
    "alone",
    "run",
    "board",
    "curve",
    "sweep",
    "life",
    "calibrate",
]


@dataclass(frozen=True)
class Progress:
    """How far a phase of a run has come."""

    phase: Phase
    """``precondition`` counts mapping units written, ``age`` erases, ``run`` requests completed,
    ``board`` steps of a procedure, ``curve`` thousandths of points, ``sweep`` points of a study,
    ``life`` thousandths of the way to the next window, ``calibrate`` points that were run."""
    done: int
    total: int | None
    """None where only the end can tell, as with a runtime."""
    per_s: float
    """Done per second of wall time, in the mean since the phase began."""
    eta_s: float | None
    """Seconds of wall time left at that rate; None where `total` is."""
    failed: int = 0
    """Points of a study, among those done, that ended with an error."""


class Meter:
    """Calls back about ten times a second, and at the end of a phase."""

    INTERVAL_S = 0.1

    def __init__(self, phase: Phase, callback: Callable[[Progress], object] | None) -> None:
        self._phase: Phase = phase
        self._callback = callback
        self._start = self._last = perf_counter()

    def tell(self, done: int, total: int | None, *, last: bool = False, failed: int = 0) -> None:
        """Reports, if it is time to."""
        now = perf_counter()
        if self._callback is None or (not last and now - self._last < self.INTERVAL_S):
            return
        self._last = now
        per_s = done / max(now - self._start, 1e-9)
        eta_s = None if total is None or per_s == 0 else max(total - done, 0) / per_s
        self._callback(Progress(self._phase, done, total, per_s, eta_s, failed))
