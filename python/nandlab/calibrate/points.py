"""Points of a calibration: the simulated values of all rows, for values of the knobs.

The rows of a point are run by workers, which share one preconditioned drive for each state. The
same point and seed give the same values, whatever the workers.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from nandlab._core import NandlabError
from nandlab.calibrate.knob import Knob, settings
from nandlab.calibrate.metric import value_in
from nandlab.calibrate.row import Row
from nandlab.display.progress import Meter, Progress
from nandlab.drive.device import Drive
from nandlab.given.assignments import assignments
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.study.executors import LocalWorkers, Workers
from nandlab.study.work import STOP, Stopped

Values = list[tuple[float | None, ...]]
"""Of each row: its metrics, in the order that the row has them."""

_LOOK_S = 0.1

BUFFERS = 2.0
"""Buffers full of writes that pass before a row of writes is measured."""

AHEAD = 4
"""Points that are handed out together, for each worker."""

SKIPPED = 0.1
"""Share of a row's requests that pass before it is measured."""


class Enough(Exception):
    """The calibration is to end: Ctrl-C, or no points are left."""


class Run(NamedTuple):
    """A row as a worker runs it."""

    place: str
    job: str
    skip: str | None
    until: str | None
    paths: tuple[tuple[str, ...], ...]


class Part(NamedTuple):
    """Some rows of a point that begin with a drive in one state."""

    drive: str | Mapping[str, Any]
    sets: tuple[str, ...]
    seed: int | None
    state: str
    runs: tuple[Run, ...]
    folder: str
    """Where the file lies that ends it."""


class Point(NamedTuple):
    """What a point has come to."""

    values: Values
    error: str
    """Why it could not run; empty where it could."""


def run_part(part: Part) -> tuple[Values, str]:
    """Runs the rows of a part, with an error where its drive or a job is refused.

    Raises:
        Stopped: the calibration is to end.
    """
    stop = os.path.join(part.folder, STOP)

    def look(_progress: Progress) -> None:
        if os.path.exists(stop):
            raise Stopped

    return _run(part, look)


def _run(part: Part, look: Callable[[Progress], object]) -> tuple[Values, str]:
    found: Values = []
    try:
        drive = Drive(part.drive, set=list(part.sets), seed=part.seed)
        if part.state != "none":
            drive.precondition(part.state, progress=look)
    except (NandlabError, MemoryError) as error:
        return [], str(error) or type(error).__name__
    for run in part.runs:
        try:
            result = drive.clone().run(
                run.job, skip=run.skip, until=run.until, progress=look, is_last=True
            )
        except NandlabError as error:
            return [], f"{run.place}: {error}"
        found.append(tuple(value_in(result.report, path) for path in run.paths))
    return found, ""


@dataclass
class Points:
    """The simulator as a function of the knobs."""

    drive: str | Mapping[str, Any]
    sets: tuple[str, ...]
    config: Mapping[str, Any]
    knobs: Sequence[Knob]
    rows: Sequence[Row]
    state: str
    """Of rows that name none."""
    requests: int
    """Of rows that name no number."""
    workers: Workers | None
    """None: points are run in this process."""
    stop: Stop
    meter: Meter
    folder: str
    done: int = 0

    @property
    def at_once(self) -> int:
        """Points that are best handed out together."""
        return 1 if self.workers is None else AHEAD * self.workers.count

    def at(self, values: Sequence[Sequence[float]], seeds: Sequence[int] = ()) -> list[Point]:
        """The points with these values of the knobs; seeds in the place of the drive's.

        Raises:
            Enough: Ctrl-C.
        """
        wanted = [(each, seeds[i] if seeds else None) for i, each in enumerate(values)]
        parts: list[tuple[int, list[int], Part]] = []
        for number, (each, seed) in enumerate(wanted):
            parts += [(number, *part) for part in self._parts(each, seed, len(wanted))]
        answers = self._answers([part for _, _, part in parts])
        points = [Point([()] * len(self.rows), "") for _ in wanted]
        for (number, places, _), (found, error) in zip(parts, answers, strict=True):
            if error:
                points[number] = points[number]._replace(error=error)
                continue
            for place, values_of_row in zip(places, found, strict=True):
                points[number].values[place] = values_of_row
        self.done += len(wanted)
        self.meter.tell(self.done, None)
        return points

    def assigned(self, values: Sequence[float]) -> list[str]:
        """All assignments of a point."""
        return [*self.sets, *assignments(settings(self.knobs, values, self.config))]

    def _parts(
        self, values: Sequence[float], seed: int | None, points: int
    ) -> Iterator[tuple[list[int], Part]]:
        """A point in parts, more than one for a state where workers would have nothing to do."""
        sets = tuple(self.assigned(values))
        states: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            states.setdefault(row.state or self.state, []).append(place)
        count = self.workers.count if self.workers is not None else 1
        pieces = max(math.ceil(count / (points * len(states))), 1)
        for state, places in states.items():
            for first in range(min(pieces, len(places))):
                mine = places[first::pieces]
                runs = tuple(self._run_of(self.rows[place]) for place in mine)
                yield mine, Part(self.drive, sets, seed, state, runs, self.folder)

    def _run_of(self, row: Row) -> Run:
        paths = tuple(row.path(metric) for metric in row.measured)
        if row.ends_itself:
            return Run(row.place, row.job, None, None, paths)
        requests = row.requests or self.requests
        skipped = round(requests * SKIPPED)
        if row.direction != "read":
            size = int(row.columns.get("block_bytes", 4096))
            buffer = float(self.config["buffer"]["bytes"])
            skipped = max(skipped, math.ceil(BUFFERS * buffer / size))
        return Run(row.place, row.job, str(skipped), str(requests), paths)

    def _answers(self, parts: list[Part]) -> list[tuple[Values, str]]:
        if self.workers is None:
            return [self._here(part) for part in parts]
        answers: dict[int, tuple[Values, str]] = {}
        under_way: dict[Future[tuple[Values, str]], int] = {}
        try:
            for number, part in enumerate(parts):
                under_way[self.workers.submit(run_part, part)] = number
            while under_way:
                ended, _ = wait(under_way, _LOOK_S, FIRST_COMPLETED)
                if self.stop.asked:
                    raise Enough
                for future in ended:
                    answers[under_way.pop(future)] = future.result()
                self.meter.tell(self.done, None)
        except BrokenExecutor:
            raise refusal(
                "workers",
                "a process that ran points has ended",
                hint="in a script, begin below `if __name__ == '__main__':`, or use workers=1",
            ) from None
        except Stopped:
            raise Enough from None
        finally:
            for future in under_way:
                future.cancel()
        return [answers[number] for number in range(len(parts))]

    def _here(self, part: Part) -> tuple[Values, str]:
        def look(_progress: Progress) -> None:
            if self.stop.asked:
                raise Stopped

        try:
            found = _run(part, look)
        except Stopped:
            raise Enough from None
        if self.stop.asked:
            raise Enough
        self.meter.tell(self.done, None)
        return found


@contextmanager
def workers_for(count: int, stop: Stop) -> Iterator[tuple[Workers | None, str]]:
    """Workers, none for one at a time, and the folder in which a file ends them."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as folder:
        if count <= 1:
            yield None, folder
            return
        workers = LocalWorkers(count)
        is_over = False
        try:
            yield workers, folder
            is_over = not stop.asked
        finally:
            if not is_over:
                with suppress(OSError):
                    open(os.path.join(folder, STOP), "w").close()
            workers.close(is_over=is_over)
