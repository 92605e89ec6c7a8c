"""Timeline for Perfetto or chrome://tracing: hosts, channels, dies, decoders, encoders.

Format: the JSON of the Trace Event Format, complete events ("X"), microseconds with decimals.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nandlab.given.replacement import replacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRACKS = ("Host", "Channels", "Dies", "Decoders", "Encoders", "Exchanges")
"""Meaning of the numbers in the column ``track``: one process each, in this order."""

HOST, CHANNELS, DIES, DECODERS, ENCODERS, EXCHANGES = PIDS = (4, 1, 2, 3, 5, 6)
"""Their process numbers: those of the column, but to Perfetto 0 is the idle process of Linux."""

COLOURS = {
    "gc read": "yellow",
    "gc program": "bad",
    "erase": "terrible",
    "suspend": "black",
    "read": "good",
    "soft read": "olive",
    "program": "thread_state_running",
    "map read": "rail_response",
    "map program": "rail_animation",
    "merge read": "rail_idle",
    "merge program": "rail_load",
    "refresh read": "cq_build_attempt_passed",
    "refresh program": "cq_build_attempt_failed",
    "patrol read": "grey",
}
"""Names of chrome://tracing's palette; Perfetto colours by name instead."""

LANES = 4096
"""Lanes of one part: overlapping requests of a job are on separate lanes."""


@dataclass(frozen=True)
class Timeline:
    """Spans of simulated time on the parts of a drive."""

    spans: dict[str, NDArray[np.uint64]]
    """``start_ns``, ``end_ns``, ``track`` (of `TRACKS`), ``index``, ``kind``: shape (spans,)."""
    kinds: list[str]
    dropped: int
    """Spans that came after the limit."""
    jobs: list[str]
    channels: int
    metadata: dict[str, str]

    def __repr__(self) -> str:
        return f"<timeline of {len(self.spans['kind']):,} spans, {self.dropped:,} dropped>"

    def write(self, path: Path) -> None:
        """Writes the file, event by event.

        Raises:
            OSError: it cannot be written.
        """
        with replacing(path, is_text=True) as file:
            self._write(file)

    def _write(self, file: IO[str]) -> None:
        facts = {**self.metadata, "spans": len(self.spans["kind"]), "dropped_spans": self.dropped}
        file.write('{"displayTimeUnit":"ns","otherData":')
        json.dump(facts, file)
        file.write(',"traceEvents":[\n')
        has_exchange = bool((self.spans["track"] == TRACKS.index("Exchanges")).any())
        for place, (pid, name) in enumerate(zip(PIDS, TRACKS, strict=True)):
            if pid == EXCHANGES and not has_exchange:
                continue
            file.write(_name("process_name", pid, 1, name) + ",\n")
            file.write(_sort("process_sort_index", pid, 1, place) + ",\n")
        threads: dict[tuple[int, int], None] = {}
        for line, thread in self._events():
            threads[thread] = None
            file.write(line)
        for pid, tid in threads:
            name, place = self._thread(pid, tid)
            file.write(_name("thread_name", pid, tid, name) + ",\n")
            file.write(_sort("thread_sort_index", pid, tid, place) + ",\n")
        # The last event has no comma after it.
        file.write(_sort("process_sort_index", HOST, 1, 0) + "\n]}\n")

    def _events(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Lines of the file in the order of their start, and the thread that each belongs to."""
        import numpy as np

        order = np.lexsort((self.spans["end_ns"], self.spans["start_ns"]))
        columns = [
            self.spans[name][order].tolist()
            for name in ("start_ns", "end_ns", "track", "index", "kind")
        ]
        heads = [_head(kind) for kind in self.kinds]
        lanes: dict[int, _Lanes] = {}
        for start, end, track, index, kind in zip(*columns, strict=True):
            pid = PIDS[track]
            lane = lanes.setdefault(index, _Lanes()).take(start, end) if pid == HOST else 0
            tid = index * LANES + lane + 1
            yield f'{heads[kind]}{pid},"tid":{tid},{_times(start, end)}}},\n', (pid, tid)

    def _thread(self, pid: int, tid: int) -> tuple[str, int]:
        """What a thread is called, and its place among those of its process."""
        index, lane = divmod(tid - 1, LANES)
        if pid == HOST:
            return f"{self.jobs[index]} (job {index}) lane {lane}", tid
        if pid == DIES:
            # Dies are counted through the channels first.
            die, channel = divmod(index, self.channels)
            return f"channel {channel} die {die}", channel * LANES + die
        names = {
            CHANNELS: "channel",
            DECODERS: "decoder",
            ENCODERS: "encoder",
            EXCHANGES: "die",
        }
        return f"{names[pid]} {index}", index


class _Lanes:
    """Lays spans that overlap side by side: always on the lowest lane that is free."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self._count = 0

    def take(self, start: int, end: int) -> int:
        """The lane of a span; spans come in the order of their start."""
        while self._busy and self._busy[0][0] <= start:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane = min(self._count, LANES - 1)
            self._count += 1
        heapq.heappush(self._busy, (end, lane))
        return lane


def _head(kind: str) -> str:
    colour = f'"cname":"{COLOURS[kind]}",' if kind in COLOURS else ""
    return f'{{"name":{json.dumps(kind)},{colour}"ph":"X","pid":'


def _times(start: int, end: int) -> str:
    return f'"ts":{_us(start)},"dur":{_us(end - start)}'


def _us(ns: int) -> str:
    """Nanoseconds as microseconds, every digit."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def _name(kind: str, pid: int, tid: int, name: str) -> str:
    return _meta(kind, pid, tid, {"name": name})


def _sort(kind: str, pid: int, tid: int, index: int) -> str:
    return _meta(kind, pid, tid, {"sort_index": index})


def _meta(kind: str, pid: int, tid: int, args: dict[str, Any]) -> str:
    event = {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": args}
    return json.dumps(event, separators=(",", ":"))
