"""What a run costs more while pages look on: `python tools/live_speed.py [DRIVE [PAIRS]]`.

Runs in pairs, one with a page that asks for frames with all layers as fast as it gets them, and one
without; time is that of the processor in the thread of the run, which a busy machine disturbs
little. Prints the median of the ratios with its quartiles, and the frames a second of the page.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import nandlab
from nandlab.window.desk import Desk
from nandlab.window.live import REFUSED, About, Pages
from nandlab.window.server import PageServer

JOB = "[a]\nrw=randrw\nbs=4k\niodepth=32\nnumber_ios=1000000\nnorandommap=1\nrandrepeat=0\n"

ALL_LAYERS = '{"id": 1, "method": "frame", "layers": 63}'


class Watcher(threading.Thread):
    """A page that asks for one frame after another."""

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
                    page.send(ALL_LAYERS)
                    page.recv()
                    self.frames += 1

    def end(self) -> None:
        """Tells it to end."""
        self._is_over.set()


def alone(drive: str) -> float:
    """Processor time of a run that nobody sees."""
    begin = time.thread_time()
    nandlab.run(drive, JOB, precondition="fill")
    return time.thread_time() - begin


def seen(drive: str) -> tuple[float, float]:
    """Processor time of a run with a page, and the frames a second of the page."""
    desk = Desk()
    with PageServer(desk, {}, kind="run", refused=REFUSED) as server:
        watcher = Watcher(server.url)
        watcher.start()
        begin, wall = time.thread_time(), time.perf_counter()
        nandlab.run(drive, JOB, precondition="fill", onlooker=Pages(desk, About(drive, "job")))
        took, wall = time.thread_time() - begin, time.perf_counter() - wall
        watcher.end()
    return took, watcher.frames / wall


def main() -> None:
    """Prints the ratios of one drive."""
    drive, pairs = ([*sys.argv[1:], "tiny", "7"][0], int([*sys.argv[2:], "7"][0]))
    ratios, rates = [], []
    for _ in range(pairs):
        without = alone(drive)
        took, rate = seen(drive)
        ratios.append(took / without)
        rates.append(rate)
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{drive}: {middle:.3f} [{low:.3f}, {high:.3f}] times as long in {pairs} pairs; ", end="")
    print(f"{statistics.median(rates):.1f} frames/s")


if __name__ == "__main__":
    main()
