"""Onlookers of a run: the pages of a server, and a recording. They look between its steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter, sleep, thread_time
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.given.refusal import refusal
from nandlab.process.onlooker import Onlooker
from nandlab.window.desk import Desk, Looked
from nandlab.window.record import FIRST_REQUESTS, PERCENTILES, Recording

SHARE = 0.04
"""Share of the time that pages may take from a run."""

LOOK_S = 0.05
"""Between two looks at the pages that stay after a run."""

_TURN_S = 0.005
"""Between two looks at pages beside a served drive."""

_OFTEN = 1 << 20

PART_BLOCKS = 1 << 14
"""Blocks that a frame of a run looks at, at most. Larger drives are seen part by part: so a frame
takes no more of the run, and pages get more of them."""

REFUSED = ("build", "job", "act", "life", "trace", "save", "load")
"""Methods of a session that pages of a run may not call."""


class About(NamedTuple):
    """What pages call a run: its drive, and its job."""

    drive: str
    job: str


class Watched:
    """A drive that goes on by itself, as pages look at it: `advance` only says how far it is.

    A frame looks at `most_blocks` blocks at most, at all without it.
    """

    def __init__(
        self,
        native: _core.Simulation | _core.Server,
        about: About,
        most_blocks: int | None = PART_BLOCKS,
    ) -> None:
        self._native, self._most_blocks = native, most_blocks
        native.watch(*about)

    def call(self, request: str, /) -> str:
        """The answer to a call."""
        return self._native.window_call(request)

    def frame(self, layers: int, /) -> bytes:
        """A frame with these layers."""
        return self._native.window_frame(layers, self._most_blocks)

    def save(self, /) -> bytes:
        """Refused: a run is under way in the drive."""
        raise refusal("save", "not supported: a run is under way")

    def load(self, _saved: bytes, /) -> None:
        """Refused: a run is under way in the drive."""
        raise refusal("load", "not supported: a run is under way")


class Pages:
    """Pages that look on: they take `SHARE` of the time at most, whatever they ask for."""

    def __init__(self, desk: Desk, about: About) -> None:
        self.requests = _OFTEN
        self._desk, self._about = desk, about
        self._not_before_s = 0.0
        self._simulation: _core.Simulation | None = None
        self._watched: Watched | None = None

    def look(self, simulation: _core.Simulation) -> None:
        """Does what pages ask for, unless they have had their share."""
        if self._watched is None or simulation is not self._simulation:
            self._simulation, self._watched = simulation, Watched(simulation, self._about)
        self._look(self._watched)

    def _look(self, looked: Looked) -> None:
        if perf_counter() >= self._not_before_s:
            # Waits for the threads of the pages are not work for them.
            begin = thread_time()
            self._desk.work(looked)
            worked_s = thread_time() - begin
            self._not_before_s = perf_counter() + worked_s * (1 / SHARE - 1)

    def wait(self, looked: Looked, wait_s: float) -> None:
        """Waits beside a drive that others advance, and does meanwhile what pages ask for."""
        end = perf_counter() + wait_s
        while (left := min(end - perf_counter(), _TURN_S)) > 0:
            self._look(looked)
            sleep(left)

    def stay(self, is_over: Callable[[], bool]) -> None:
        """Answers pages after the run, until it is over for them too."""
        while self._watched is not None and not is_over():
            self._desk.work(self._watched, LOOK_S)


class Recorder:
    """A recording of the run under way."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._simulation: _core.Simulation | None = None
        self._watched: Watched
        self._recording: Recording
        self._layers = 0

    @property
    def requests(self) -> int:
        """Requests from one frame to the next."""
        return FIRST_REQUESTS if self._simulation is None else self._recording.requests

    def look(self, simulation: _core.Simulation) -> None:
        """Keeps a frame, and how far the run is."""
        if simulation is not self._simulation:
            self._simulation = simulation
            self._watched = Watched(simulation, self._about, most_blocks=None)
            hello = _asked(self._watched, "hello")["ok"]
            self._layers = sum(1 << layer["bit"] for layer in hello["layers"].values())
            self._recording = Recording(hello)
        state = _asked(self._watched, "advance", events=0)["ok"]
        if state["phase"] != "precondition":
            self._recording.add(self._watched.frame(self._layers), state)

    def packed(self) -> bytes | None:
        """The recording with answers about the run; None of a run that nobody looked at."""
        if self._simulation is None:
            return None
        answers = dict[str, object]()

        def keep(method: str, **params: object) -> Any:
            answer = _asked(self._watched, method, **params)
            asked = [method, sorted(params.items())]
            answers[json.dumps(asked, separators=(",", ":"))] = answer
            return answer.get("ok")

        keep("report")
        for op in OPERATIONS:
            keep("blame", op=op)
        for among in ("recent", "all"):
            for percentile in PERCENTILES:
                keep("slow", percentile=percentile, among=among)
                for op in OPERATIONS:
                    keep("slow", percentile=percentile, among=among, op=op)
        for one in keep("slowest", count=SLOWEST, among="all") or ():
            keep("slow", token=one["token"])
        return self._recording.packed(answers, sorted(REFUSED))


OPERATIONS = ("read", "write")
SLOWEST = 20
"""Slow requests whose waits a recording has."""


class All:
    """Several onlookers as one."""

    def __init__(self, *onlookers: Onlooker) -> None:
        self._onlookers = onlookers

    @property
    def requests(self) -> int:
        """Requests until the first of them wants to look."""
        return min(one.requests for one in self._onlookers)

    def look(self, simulation: _core.Simulation) -> None:
        """Lets each of them look."""
        for one in self._onlookers:
            one.look(simulation)


def _asked(looked: Looked, method: str, **params: object) -> dict[str, Any]:
    """The answer to a call."""
    answer: dict[str, Any] = json.loads(looked.call(json.dumps({**params, "method": method})))
    return answer
