"""Start-up of a drive after a power cut."""

from __future__ import annotations

import json
from collections.abc import Callable

from nandlab.display.progress import Meter, Progress
from nandlab.process.interrupt import Stop
from nandlab.report import tables

_EVENTS = 20_000
"""Events of a start-up between two looks at Ctrl-C: some milliseconds."""


def start_up(
    advance: Callable[[int], str | None],
    stop: Stop,
    progress: Callable[[Progress], object] | None,
) -> tables.Started | None:
    """Starts a drive up: its time and reads, or None where it was interrupted."""
    meter, events = Meter("start-up", progress), 0
    while not stop.asked:
        started = advance(_EVENTS)
        events += _EVENTS
        meter.tell(events, None, last=started is not None)
        if started is not None:
            return tables.Started.of(json.loads(started))
    return None
