"""Sweep of a study: hands points to workers and writes their rows, until all are done.

Few points are under way at a time. A drive that several points begin with is prepared once and
saved; its points follow when it is there.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import BrokenExecutor as Broken
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.display.progress import Meter, Progress
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.study.executors import Workers
from nandlab.study.own_ftl import check_sent
from nandlab.study.rows import Rows, Writer
from nandlab.study.share import Share
from nandlab.study.task import Batch, Task
from nandlab.study.work import STATES, STOP, Row, Stopped, failed, prepare, run_task

_LOOK_S = 0.1
"""How often progress and Ctrl-C are looked at."""

_AHEAD = 3
"""Points that wait for each worker, so that none has to wait for a point."""

_END_S = 5.0
"""How long points under way may take to end."""

_BREAKS = 2
"""Times in a row that workers may die before any of them has done something."""


@dataclass
class Tally:
    """What a sweep has done."""

    total: int
    """Points of the study."""
    known: int = 0
    """Those that had a row before."""
    done: int = 0
    """Those that were run, with a result."""
    failed: int = 0
    """Those that were run, without."""
    first_error: str = ""
    interrupted: bool = False

    @property
    def left(self) -> int:
        """Points without a row."""
        return max(self.total - self.known - self.done - self.failed, 0)


@dataclass
class _Open:
    """A batch whose points are being handed out."""

    batch: Batch
    tasks: deque[Task]
    """Those that were looked at already."""
    is_ready: bool
    under_way: int = 0
    saved: bool = False


@dataclass
class Sweep:
    """One start of a study."""

    folder: Path
    """Of preconditioned drives, and of the file that ends the points under way."""
    make: Callable[[], Workers]
    """Starts the workers, when the first point needs them."""
    is_known: Callable[[Task], bool]
    """Whether a point needs no run."""
    tally: Tally
    writer: Writer
    meter: Meter
    _under_way: dict[Future[Row | bool], tuple[_Open, Task | None]] = field(default_factory=dict)
    _open: list[_Open] = field(default_factory=list)
    _again: deque[tuple[_Open, Task]] = field(default_factory=deque)
    """Points that were under way when a worker died: each runs alone."""
    _seen: set[bytes] = field(default_factory=set)
    _breaks: int = 0
    _workers: Workers | None = None

    @property
    def workers(self) -> Workers:
        """The workers, which are there from the first point on."""
        if self._workers is None:
            self._workers = self.make()
        return self._workers

    def run(self, batches: Iterator[Batch], stop: Stop) -> None:
        """Does all points of `batches`.

        Raises:
            NandlabError: workers cannot be started.
            OSError: a row cannot be written.
        """
        with suppress(OSError):
            (self.folder / STOP).unlink()
        is_over = False
        try:
            while not stop.asked:
                self._fill(batches)
                if not self._under_way:
                    is_over = True
                    break
                ended, _ = wait(self._under_way, _LOOK_S, FIRST_COMPLETED)
                self._take(ended)
                self._tell()
        finally:
            self.tally.interrupted = not is_over
            if not is_over:
                self._end()
            if self._workers is not None:
                self._workers.close(is_over=is_over)
            with suppress(OSError):
                (self.folder / STOP).unlink()
            if is_over:
                shutil.rmtree(self.folder / STATES, ignore_errors=True)
        self._tell(last=True)

    def _tell(self, *, last: bool = False) -> None:
        tally = self.tally
        ran, skipped = tally.done + tally.failed, tally.known
        self.meter.tell(ran, tally.total - skipped, last=last, failed=tally.failed)

    def _end(self) -> None:
        """Ends the points under way; those that are done by now keep their rows."""
        with suppress(OSError):
            (self.folder / STOP).touch()
        waiting = [future for future in self._under_way if not future.cancel()]
        # A full disk is told already, and a second Ctrl-C ends the waiting.
        with suppress(KeyboardInterrupt, OSError):
            ended, _ = wait(waiting, _END_S)
            for future in ended:
                if future.exception() is None and isinstance(row := future.result(), Row):
                    self._keep(row)

    # --- Handing out ------------------------------------------------------------------------------

    def _fill(self, batches: Iterator[Batch]) -> None:
        """Keeps the workers busy."""
        if self._again:
            # One of them may kill its worker: then it is known which.
            if not self._under_way:
                self._submit(*self._again.popleft())
            return
        if not self._open and not self._begin(batches):
            return
        while len(self._under_way) < self.workers.count * _AHEAD:
            opened = next((one for one in self._open if one.is_ready), None)
            if opened is None:
                # Each worker may prepare a drive.
                if len(self._open) >= self.workers.count or not self._begin(batches):
                    return
                continue
            task = self._next(opened)
            if task is None:
                self._close(opened)
            else:
                self._submit(opened, task)

    def _begin(self, batches: Iterator[Batch]) -> bool:
        """Opens the next batch with points to do: whether there is one."""
        for batch in batches:
            opened = _Open(batch, deque(), is_ready=True)
            first = self._next(opened)
            if first is None:
                continue
            second = self._next(opened) if batch.state else None
            opened.tasks.extend(task for task in (first, second) if task is not None)
            self._open.append(opened)
            # A worker alone keeps its drive in memory.
            if second is not None and self.workers.count > 1:
                opened.is_ready = False
                self._hand(opened, None, prepare, first)
            return True
        return False

    def _next(self, opened: _Open) -> Task | None:
        """The next point of a batch that is to be run."""
        if opened.tasks:
            return opened.tasks.popleft()
        for task in opened.batch.tasks:
            key = bytes.fromhex(task.id)
            if key in self._seen or self.is_known(task):
                self.tally.known += 1
                continue
            self._seen.add(key)
            if not task.error:
                return task
            self._keep(run_task(task))
        return None

    def _submit(self, opened: _Open, task: Task) -> None:
        self._hand(opened, task, run_task, task)

    def _hand(
        self, opened: _Open, task: Task | None, call: Callable[[Task], Row | bool], given: Task
    ) -> None:
        """Hands something to a worker; where these have died already, it fails like the others."""
        future: Future[Row | bool]
        try:
            future = self.workers.submit(call, given)
        except Broken as error:
            future = Future()
            future.set_exception(error)
        except Exception as error:
            check_sent(error)
            raise
        opened.under_way += 1
        self._under_way[future] = (opened, task)

    def _close(self, opened: _Open) -> None:
        """Forgets a batch without points to hand out; its saved drive goes with its last point."""
        if opened in self._open:
            self._open.remove(opened)
        if opened.under_way == 0 and opened.saved:
            with suppress(OSError):
                (self.folder / STATES / f"{opened.batch.state}.nldrive").unlink()

    # --- Taking in --------------------------------------------------------------------------------

    def _take(self, ended: set[Future[Row | bool]]) -> None:
        for future in ended:
            if future not in self._under_way:
                continue
            opened, task = self._under_way.pop(future)
            opened.under_way -= 1
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or isinstance(error, Broken):
                self._broken(opened, task)
                return
            check_sent(error)
            if isinstance(error, Stopped):
                pass
            elif task is None:
                # Where it was not prepared, each worker makes it itself.
                opened.is_ready = True
                opened.saved = error is None and bool(future.result())
                self._breaks = 0
            elif error is not None:
                said = f"{type(error).__name__}: {error}"
                self._keep(failed(task, said, is_final=False))
            else:
                self._breaks = 0
                row = future.result()
                if isinstance(row, Row):
                    self._keep(row)
            if opened not in self._open:
                self._close(opened)

    def _broken(self, opened: _Open, task: Task | None) -> None:
        """A worker has died, and all points under way with it: they are done again."""
        lost = [(opened, task), *self._under_way.values()]
        for other, _ in self._under_way.values():
            other.under_way -= 1
        self._under_way.clear()
        self._breaks += 1
        if self._breaks > _BREAKS and self.tally.done == 0:
            raise refusal(
                "executor",
                "the workers end before they have done anything",
                hint="in a script, start the study below `if __name__ == '__main__':`",
            )
        for one, point in lost:
            if point is None:
                one.is_ready = True
            elif len(lost) == 1:
                said = "the process that ran it has ended (killed, or out of memory)"
                self._keep(failed(point, said, is_final=False))
            else:
                self._again.append((one, point))
        if not self.workers.renew():
            raise refusal("executor", "it is broken, and takes no more points")

    def _keep(self, row: Row) -> None:
        self.writer.add(row)
        if row.is_done:
            self.tally.done += 1
        else:
            self.tally.failed += 1
            self.tally.first_error = self.tally.first_error or row.error


def sweep(
    folder: Path,
    batches: Callable[[], Iterator[Batch]],
    total: int,
    wants: tuple[str, ...],
    workers: Callable[[], Workers],
    *,
    check: Callable[[], object] | None = None,
    share: Share | None = None,
    study: str = "",
    is_retried: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Tally:
    """Does the points of a study that have no row yet.

    Args:
        folder: of the study.
        batches: its points.
        total: how many there are.
        wants: the expressions that a row needs.
        workers: starts the workers; called where there is a point to run.
        check: raises where no point is to be run; called while the workers start.
        share: whose points these are, where several processes do shares of the study.
        study: fingerprint of the study, for a share.
        is_retried: whether points that were refused are run again.
        progress: called about ten times a second and at the end.

    Raises:
        NandlabError: another process works in the folder, or workers cannot be started.
        OSError: the folder cannot be written.
    """
    tally = Tally(total)
    with Writer(folder, share, study) as writer:
        rows = Rows(folder)

        def is_known(task: Task) -> bool:
            worth = rows.worth(task.id)
            if worth < 2:
                return worth == 1 and not is_retried
            if rows.has_report(task.id):
                return True
            row = next(rows.get([task.id]))
            return row is not None and set(wants) <= set(row["values"])

        own = folder if share is None else share.work_folder(folder)
        own.mkdir(parents=True, exist_ok=True)
        one = Sweep(own, workers, is_known, tally, writer, Meter("sweep", progress))
        every = (task for batch in batches() for task in batch.tasks)
        if check is not None and not all(map(is_known, every)):
            _ = one.workers
            try:
                check()
            except BaseException:
                one.workers.close(is_over=False)
                raise
        with Stop() as stop:
            one.run(batches(), stop)
        if share is not None:
            # The last of the shares leaves none of their folders.
            with suppress(OSError):
                own.rmdir()
                own.parent.rmdir()
    return tally
