"""Power: what a cut of it takes from a drive, and what the start-up after it costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from nandlab.display.progress import Meter, Progress
from nandlab.process.interrupt import Stop
from nandlab.report import tables

_EVENTS = 20_000
"""Events of a start-up between two looks at Ctrl-C: some milliseconds."""


@dataclass(frozen=True)
class Cut:
    """What a cut of the power has taken."""

    at_s: float
    """Simulated time of the cut, in seconds."""
    requests: int
    """Requests that the drive had taken and not answered."""
    buffered_units: int
    """Units of acknowledged data that were in the write buffer alone."""
    torn_programs: int
    """Programs that were broken off; their pages cannot be read."""
    torn_erases: int
    """Erases that were broken off."""
    held_up_s: float
    """How long capacitors have kept the drive at work, in seconds."""

    @classmethod
    def of(cls, text: str) -> Cut:
        """From the JSON of the engine."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class StartUp:
    """A start-up after a power cut."""

    time_s: float
    """Time to ready, in seconds."""
    log_reads: int
    """Pages read of the drive's log and of its copies."""
    page_reads: int
    """Pages read of other blocks, those that turned out to be empty too."""
    summary_reads: int
    """Pages of summaries read."""
    erased_blocks: int
    """Blocks of which nothing could be read, and that were erased."""
    restored_units: int
    """Units that the cut had spoilt, and of which there was a copy."""
    mapped_units: int
    """Units found with data."""

    @classmethod
    def of(cls, text: str) -> StartUp:
        """From the JSON of the engine."""
        return cls(**json.loads(text))


def start_up(
    advance: Callable[[int], str | None],
    stop: Stop,
    progress: Callable[[Progress], object] | None,
) -> tables.StartUp | None:
    """Starts a drive up: what that took, or None where it was interrupted."""
    meter, events = Meter("start-up", progress), 0
    while not stop.asked:
        started = advance(_EVENTS)
        events += _EVENTS
        meter.tell(events, None, last=started is not None)
        if started is not None:
            return tables.StartUp.of(json.loads(started))
    return None
