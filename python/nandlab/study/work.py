"""One point of a study, run in a worker: its drive, preconditioned once for many, and its row."""

from __future__ import annotations

import base64
import json
import math
import os
import socket
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.display.progress import Progress
from nandlab.drive.device import Drive
from nandlab.drive.simulate import run
from nandlab.drive.trust.doubts import doubts
from nandlab.drive.trust.figures import Figure, figure
from nandlab.given.refusal import plain
from nandlab.process.memory import share_memory
from nandlab.report import Report, read
from nandlab.study.expression import Expression
from nandlab.study.expression import Path as ReportPath
from nandlab.study.task import SHARED, Task

STOP = "stop"
"""A file in the folder of a study that ends the points under way."""

STATES = "states"
"""Folder of preconditioned drives in that of a study."""

_LOOK_S = 1.0
"""How often a worker looks whether the process that started it is there."""


class Stopped(Exception):
    """The study is to end: the point is left undone."""


class Row(NamedTuple):
    """A point that has ended."""

    id: str
    is_done: bool
    """Whether it has a result."""
    line: bytes
    """As it stands in the file."""
    error: str = ""


_own = threading.local()
"""The last preconditioned drive of a thread, by its state."""


def begin_worker(parent: int, workers: int) -> None:
    """Makes a process a worker of `parent`: it ignores Ctrl-C and ends with its parent."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    share_memory(workers)
    # What every point needs; it takes longer than a small one.
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401

    def watch() -> None:
        pause = threading.Event()
        while os.getppid() == parent:
            pause.wait(_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def prepare(task: Task) -> bool:
    """Brings a drive into the state of a task and saves it for other workers: whether it is saved.

    What is refused here is refused again where the task runs.

    Raises:
        Unsent: as `run_task`.
    """
    with suppress(NandlabError, OSError):
        drive = _preconditioned(task)
        file = _state_file(task)
        file.parent.mkdir(exist_ok=True)
        if not file.is_file():
            drive.save(file)
        return True
    return False


def run_task(task: Task) -> Row:
    """Runs a point.

    Raises:
        Stopped: the study is to end.
        Unsent: the class of an FTL has not come here.
    """
    start = perf_counter()
    if task.error:
        return failed(task, task.error, is_final=True)
    try:
        if task.version != _core.version():
            problem = f"version {_core.version()} of nandlab on {socket.gethostname()}"
            return failed(task, f"{problem} is not the study's", is_final=False)
        report = _report(task)
    except NandlabError as error:
        return failed(task, str(error), is_final=True)
    except (MemoryError, OSError) as error:
        return failed(task, f"{type(error).__name__}: {error}", is_final=False)
    found = values(report, task.wants)
    row = _row(task) | {
        "values": found.of,
        "few_beyond": found.few_beyond,
        "doubts": doubts(report),
        "notices": len(report.nandlab.notices),
        "wall_s": round(perf_counter() - start, 4),
    }
    if task.keeps_report:
        row["report"] = packed(report)
    return Row(task.id, True, line(row))


def failed(task: Task, error: str, *, is_final: bool) -> Row:
    """The row of a point without a result; one that is not final is tried at the next start."""
    said = plain(error)
    return Row(task.id, False, line(_row(task) | {"error": said, "is_final": is_final}), said)


def _row(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "version": _core.version(),
        "axes": task.axes,
        "replicate": task.replicate,
    }


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line."""
    return (json.dumps(row, separators=(",", ":")) + "\n").encode()


def packed(report: Report) -> str:
    """A report as a row has it."""
    text = json.dumps(report, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def unpacked(text: str) -> Report:
    """The report of a row.

    Raises:
        ValueError: it is damaged.
    """
    try:
        return read(zlib.decompress(base64.b64decode(text)))
    except zlib.error as error:
        raise ValueError(str(error)) from None


class Values(NamedTuple):
    """What expressions are worth in a report."""

    of: dict[str, Any]
    """By expression; what has no value is None."""
    few_beyond: Sequence[str] = ()
    """Expressions with a percentile that fewer than ten requests exceed."""


def values(report: Report, wants: tuple[str, ...]) -> Values:
    """What expressions are worth in a report."""
    result: dict[str, Any] = {}
    few = []
    for text in wants:
        met: list[Figure] = []

        def find(path: ReportPath, met: list[Figure] = met) -> Any:
            met.append(figure(report, path))
            return met[-1].value

        value = None
        with suppress(NandlabError):
            value = Expression("columns", text).value(find)
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        result[text] = value
        if value is not None and any(one.few_beyond for one in met):
            few.append(text)
    return Values(result, few)


def _report(task: Task) -> Report:
    what = task.plan
    options: Any = dict(what.options) or None
    workload: dict[str, Any] = {
        "trace" if what.kind == "trace" else "workload": what.source,
        "format": what.format,
        "trace_options": options,
        "iodepth": what.iodepth,
        "skip": what.skip,
        "until": what.until,
        "tenants": what.tenants,
        "progress": _watching(task),
    }
    if what.precondition in (*SHARED, "none"):
        result = _preconditioned(task).clone().run_replicate(task.replicate, **workload)
    else:
        # By the trace itself: of no use to another point.
        result = run(
            task.drive,
            set=list(task.sets),
            ftl=_ftl(task),
            precondition=what.precondition,
            **workload,
        )
    report = result.report
    # Not the file of a shared drive, which another worker may have had.
    report.nandlab.drive = task.drive if isinstance(task.drive, str) else "drive"
    report.nandlab.run.set = list(task.sets)
    return report


def _preconditioned(task: Task) -> Drive:
    """The drive of a task before its run: that of the point before, a saved one, or a new one."""
    key = task.state or f"{task.config} {task.plan.precondition}"
    if getattr(_own, "key", None) == key:
        drive: Drive = _own.drive
        return drive
    # The old one goes first: two may not fit.
    _own.key = _own.drive = None
    drive = _loaded(task) or _made(task)
    _own.key, _own.drive = key, drive
    return drive


def _loaded(task: Task) -> Drive | None:
    if not task.state or not task.folder or not _state_file(task).is_file():
        return None
    try:
        return Drive.load(_state_file(task), ftl=_ftl(task))
    except (NandlabError, OSError):
        # One that is damaged, or that went away, is made anew.
        with suppress(OSError):
            _state_file(task).unlink()
        return None


def _made(task: Task) -> Drive:
    drive = Drive(task.drive, set=list(task.sets), ftl=_ftl(task))
    if task.plan.precondition != "none":
        drive.precondition(task.plan.precondition, progress=_watching(task))
    return drive


def _ftl(task: Task) -> Any:
    return None if task.ftl is None else task.ftl.load()


def _state_file(task: Task) -> Path:
    return Path(task.folder, STATES, f"{task.state}.nldrive")


def _watching(task: Task) -> Callable[[Progress], None]:
    """Ends a run when the study is to end."""
    stop = os.path.join(task.folder, STOP)

    def look(_progress: Progress) -> None:
        if task.folder and os.path.exists(stop):
            raise Stopped

    return look
