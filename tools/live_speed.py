"""Cost of pages and recordings of a run: `python tools/live_speed.py [DRIVE [PAIRS [WAY ..]]]`.

Time is that of the processor in the thread of the run. `--live`: a page asks for what it shows, and
is answered in every other turn of a run, of so many requests; each turn is compared with those
before and behind it, which have the same memory. `--live --explain`, `--html` and `--explain`: a
plain run and one with waits kept go on in turns, in one process. Prints the median of such runs or
pairs with an interval that holds it at 95 % or more (six at least), and the frames a second of the
page.
"""

from __future__ import annotations

import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Semaphore
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import nandlab
from nandlab import _core
from nandlab.process.onlooker import Onlooker
from nandlab.window.desk import Desk
from nandlab.window.live import REFUSED, About, Pages, Recorder
from nandlab.window.server import PageServer

JOB = "[a]\nrw=randrw\nbs=4k\niodepth=32\nnumber_ios=3000000\nnorandommap=1\nrandrepeat=0\n"

TURN_REQUESTS = 100_000
"""Requests of a turn."""

ALL_TURNS = 1 << 20
"""Turns of a run beside which no other is left."""

FRAME_S = 0.04
"""From one frame to the next, of a page that gets what it asks for at once."""

STATE = '{"id": 1, "method": "advance", "events": 0}'
SHOWN = '{"id": 2, "method": "frame", "layers": 3}'
"""Frame with the states of blocks and one layer more."""


class Watcher(threading.Thread):
    """A page that shows one frame after another."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url, self.frames, self._is_over = urlsplit(url), 0, threading.Event()

    def run(self) -> None:
        """Asks until it is told to end."""
        place = self._url.netloc
        origin: Any = f"http://{place}"
        with connect(f"ws://{place}/window", origin=origin, max_size=None) as page:
            page.send(f'{{"token": "{self._url.fragment.removeprefix("token=")}"}}')
            page.recv()
            with suppress(ConnectionClosed):
                while not self._is_over.is_set():
                    begin = time.perf_counter()
                    for asked in (STATE, SHOWN):
                        page.send(asked)
                        page.recv()
                    self.frames += 1
                    time.sleep(max(0.0, begin + FRAME_S - time.perf_counter()))

    def end(self) -> None:
        """Tells it to end."""
        self._is_over.set()


class Turns:
    """Onlooker of one of two runs: it waits for the other's turns, and passes its own looks on."""

    def __init__(self, onlooker: Onlooker | None, mine: Semaphore, other: Semaphore) -> None:
        self.requests = TURN_REQUESTS if onlooker is None else onlooker.requests
        self.requests = min(self.requests, TURN_REQUESTS)
        self.took_s: list[float] = []
        self.wall_s = 0.0
        self._onlooker, self._mine, self._other = onlooker, mine, other
        self._begin_s = self._begin_wall_s = 0.0
        self._begin_requests: int | None = None

    def begin(self) -> None:
        """Waits for a turn."""
        self._mine.acquire()
        self._begin_s, self._begin_wall_s = time.thread_time(), time.perf_counter()

    def end(self, turns: int = 1) -> None:
        """Ends a turn; the other run has so many."""
        self.wall_s += time.perf_counter() - self._begin_wall_s
        self._other.release(turns)

    def look(self, simulation: _core.Simulation) -> None:
        """Looks; after so many requests it is the other run's turn."""
        if self._onlooker is not None:
            self._onlooker.look(simulation)
        requests = simulation.progress()[0]
        if self._begin_requests is None or requests < self._begin_requests:
            # The requests of preconditioning are over.
            self._begin_s, self._begin_requests = time.thread_time(), requests
        elif requests - self._begin_requests >= TURN_REQUESTS:
            took_s = time.thread_time() - self._begin_s
            self.took_s.append(took_s / (requests - self._begin_requests))
            self.end()
            self.begin()
            self._begin_requests = requests


def pair(drive: str, onlooker: Onlooker | None, **given: Any) -> tuple[float, float]:
    """Times as long as a plain run that a run with this onlooker takes, and its seconds."""
    mine, other = Semaphore(1), Semaphore(0)
    plain, seen = Turns(None, mine, other), Turns(onlooker, other, mine)

    def run(turns: Turns, **given: Any) -> None:
        turns.begin()
        try:
            nandlab.run(drive, JOB, precondition="fill", onlooker=turns, **given)
        finally:
            turns.end(ALL_TURNS)

    first = threading.Thread(target=run, args=(plain,))
    first.start()
    run(seen, **given)
    first.join()
    # The first turn of each warms up.
    turns = zip(plain.took_s[1:], seen.took_s[1:], strict=False)
    return statistics.median(took / alone for alone, took in turns), seen.wall_s


class EveryOther:
    """Onlooker that looks in every other turn of a run."""

    def __init__(self, onlooker: Onlooker) -> None:
        self.requests = min(onlooker.requests, TURN_REQUESTS)
        self.took_s: list[float] = []
        self.seen_wall_s = 0.0
        self._onlooker = onlooker
        self._begin: tuple[float, float, int] | None = None

    def look(self, simulation: _core.Simulation) -> None:
        """Looks, where this turn is a seen one."""
        is_seen = len(self.took_s) % 2 == 1
        if is_seen:
            self._onlooker.look(simulation)
        now_s, wall_s, requests = time.thread_time(), time.perf_counter(), simulation.progress()[0]
        if self._begin is None or requests < self._begin[2]:
            # The requests of preconditioning are over.
            self._begin, self.took_s = (now_s, wall_s, requests), []
        elif requests - self._begin[2] >= TURN_REQUESTS:
            self.took_s.append((now_s - self._begin[0]) / (requests - self._begin[2]))
            self.seen_wall_s += wall_s - self._begin[1] if is_seen else 0.0
            self._begin = now_s, wall_s, requests

    def ratio(self) -> float:
        """Times as long that seen turns take; the first turns warm up."""
        turns = range(3, len(self.took_s) - 1, 2)
        around = {turn: self.took_s[turn - 1] + self.took_s[turn + 1] for turn in turns}
        return statistics.median(2 * self.took_s[turn] / around[turn] for turn in turns)


@contextmanager
def page_of(drive: str) -> Iterator[tuple[Pages, Watcher]]:
    """A page that watches a run of this drive, and what answers it."""
    desk = Desk()
    with PageServer(desk, {}, kind="run", refused=REFUSED) as server:
        watcher = Watcher(server.url)
        watcher.start()
        yield Pages(desk, About(drive, "job")), watcher
        watcher.end()


def live(drive: str) -> tuple[float, float]:
    """Times as long that a run with a page takes, and the frames a second of the page."""
    with page_of(drive) as (pages, watcher):
        turns = EveryOther(pages)
        nandlab.run(drive, JOB, precondition="fill", onlooker=turns)
    return turns.ratio(), watcher.frames / turns.seen_wall_s


def live_explained(drive: str) -> tuple[float, float]:
    """Times as long that a run with a page and with waits kept takes, and the page's frames."""
    with page_of(drive) as (pages, watcher):
        ratio, wall_s = pair(drive, pages, explain=True)
    return ratio, watcher.frames / wall_s


def recorded(drive: str) -> tuple[float, float]:
    """Times as long that a recorded run takes, without the file at its end; no page."""
    return pair(drive, Recorder(About(drive, "job")), explain=True)[0], math.nan


WAYS: dict[str, Callable[[str], tuple[float, float]]] = {
    "--live": live,
    "--live --explain": live_explained,
    "--html": recorded,
    "--explain": lambda drive: (pair(drive, None, explain=True)[0], math.nan),
}


def interval(ratios: list[float]) -> tuple[float, float]:
    """Interval of the median at 95 % or more: between two of the ratios in order."""
    ordered, outside, cut = sorted(ratios), 0.0, 0
    while True:
        outside += 2 * math.comb(len(ordered), cut) / 2 ** len(ordered)
        if outside > 0.05:
            at = max(cut - 1, 0)
            return ordered[at], ordered[-1 - at]
        cut += 1


def main() -> None:
    """Prints the ratios of one drive."""
    drive, pairs = ([*sys.argv[1:], "tiny"][0], max(6, int([*sys.argv[2:], "7"][0])))
    for name in sys.argv[3:] or WAYS:
        way = WAYS[name]
        ratios, rates = [], []
        for _ in range(pairs):
            ratio, rate = way(drive)
            ratios.append(ratio)
            rates.append(rate)
        low, high = interval(ratios)
        middle = statistics.median(ratios)
        said = f"{drive} {name}: {middle:.3f} [{low:.3f}, {high:.3f}] times as long, {pairs} runs"
        rate = statistics.median(rates)
        print(said if math.isnan(rate) else f"{said}; {rate:.1f} frames/s", flush=True)


if __name__ == "__main__":
    main()
