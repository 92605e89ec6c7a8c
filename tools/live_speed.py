"""Cost of pages and recordings of a run: `python tools/live_speed.py [DRIVE [PAIRS]]`.

Runs in pairs, one of them seen and one plain: with a page that asks for what it shows as `--live`
has it, with waits kept beside (`--live --explain`), and with a recording (`--html`). Time is that
of the processor in the thread of the run, which a busy machine disturbs little. Prints the median
of the ratios with an interval that holds it at 95 % or more (six pairs at least), and the frames
a second of the page.
"""

from __future__ import annotations

import math
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import nandlab
from nandlab.window.desk import Desk
from nandlab.window.live import REFUSED, About, Pages, Recorder
from nandlab.window.server import PageServer

JOB = "[a]\nrw=randrw\nbs=4k\niodepth=32\nnumber_ios=1000000\nnorandommap=1\nrandrepeat=0\n"

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


def run_s(drive: str, **given: Any) -> float:
    """Processor time of a run."""
    begin = time.thread_time()
    nandlab.run(drive, JOB, precondition="fill", **given)
    return time.thread_time() - begin


def live(drive: str, **given: Any) -> tuple[float, float]:
    """Processor time of a run with a page, and the frames a second of the page."""
    desk = Desk()
    with PageServer(desk, {}, kind="run", refused=REFUSED) as server:
        watcher = Watcher(server.url)
        watcher.start()
        wall = time.perf_counter()
        took = run_s(drive, onlooker=Pages(desk, About(drive, "job")), **given)
        wall = time.perf_counter() - wall
        watcher.end()
    return took, watcher.frames / wall


def recorded(drive: str) -> tuple[float, float]:
    """Processor time of a run that is recorded, and of the file; no page."""
    recorder = Recorder(About(drive, "job"))
    took = run_s(drive, onlooker=recorder, explain=True)
    begin = time.thread_time()
    recorder.packed()
    return took + time.thread_time() - begin, math.nan


WAYS: dict[str, Callable[[str], tuple[float, float]]] = {
    "--live": live,
    "--live --explain": lambda drive: live(drive, explain=True),
    "--html": recorded,
    "--explain": lambda drive: (run_s(drive, explain=True), math.nan),
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
    for name, way in WAYS.items():
        ratios, rates = [], []
        for _ in range(pairs):
            plain = run_s(drive)
            took, rate = way(drive)
            ratios.append(took / plain)
            rates.append(rate)
        low, high = interval(ratios)
        middle = statistics.median(ratios)
        said = f"{drive} {name}: {middle:.3f} [{low:.3f}, {high:.3f}] times as long, {pairs} pairs"
        rate = statistics.median(rates)
        print(said if math.isnan(rate) else f"{said}; {rate:.1f} frames/s", flush=True)


if __name__ == "__main__":
    main()
