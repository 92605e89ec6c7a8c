"""Check of a study before it runs: refuses mistakes that would make every point fail."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.catalogue import load_config
from nandlab.drive.simulate import Source, ready_arrays, run
from nandlab.drive.workload import check_source
from nandlab.explained.report import keys_below, report_key
from nandlab.given.refusal import refusal
from nandlab.process.memory import memory_limit_bytes
from nandlab.report import Report
from nandlab.study.expression import Path, check_path, found, said
from nandlab.study.given import Given
from nandlab.study.task import Task, Tasks
from nandlab.trace.options import native_options

_JOB = "[a]\nrw=randrw\nnumber_ios=64\nfsync=8\n"
"""A run whose report shows which keys reports have."""


def check_study(given: Given, tasks: Tasks) -> None:
    """Refuses columns that no report has, unknown options of jobs, and studies that cannot begin.

    Single points may be refused later; a study is, where its first and its last point are.

    Raises:
        NandlabError: so.
    """
    place = f"{given.place}: columns"
    example = _example()
    for column in given.columns:
        for path in column.expression.paths:
            check_path(place, example, path)
            _check_described(place, example, path)
        column.expression.value(lambda path: found(example, path))
    for one in given.axes:
        of_variants = [path for sets in (one.variants or {}).values() for path in sets]
        for changed in of_variants if one.variants is not None else [one.path]:
            if changed.startswith("job."):
                _check_option(f"{given.place}: axis {one.path}", changed.rpartition(".")[2])
    _check_points(tasks)


def _check_described(place: str, example: dict[str, Any], path: Path) -> None:
    """Refuses a key that no report has, below a table that the example has only as null.

    Raises:
        NandlabError: so; names the nearest key.
    """
    value: Any = example
    null = 0
    while isinstance(value, dict) and null < len(path):
        value, null = value.get(path[null]), null + 1
    if value is not None or path[:2] == ("nandlab", "config"):
        return
    names = [key for key in path if isinstance(key, str)]
    for at in range(null, len(names)):
        table, key = ".".join(names[:at]), names[at]
        # Reasons and other words that are no names differ from run to run.
        if key.isidentifier() and report_key(f"{table}.{key}") is None:
            known = keys_below(table)
            raise refusal(place, f"`{said(path)}`: {table} has no `{key}`", known, given=key)


def _check_points(tasks: Tasks) -> None:
    """Refuses a study of which neither the first nor the last point can begin."""
    ends: list[Task] = []
    for batch in tasks.batches():
        ends += [next(batch.tasks)]
        break
    if not ends:
        return
    first = _refused(ends[0])
    if first is None:
        return
    groups = deque(tasks.batches(), maxlen=1)
    last = deque(groups[0].tasks, maxlen=1) if groups else None
    if not last or _refused(last[0]) is not None:
        raise first


def _refused(task: Task) -> NandlabError | None:
    """Why a point cannot begin, if it cannot: its drive is built and its workload opened."""
    if task.error:
        return NandlabError(task.error)
    what = task.plan
    try:
        check_source(what)
        ready_arrays()
        own = None if task.ftl is None else task.ftl.load()
        simulation = _core.Simulation(
            Source.of(task.drive, task.sets, None, own).loaded.native,
            what.kind,
            what.path,
            native_options(what.format, what.options),
            what.iodepth,
            "none",
            memory_limit_bytes(),
        )
        simulation.plan(what.skip, what.until)
    except NandlabError as error:
        return error
    return None


@cache
def _example() -> Report:
    """A report with every table that reports have."""
    return run("tiny", _JOB, precondition="fill").report


@cache
def _check_option(where: str, option: str) -> None:
    """Refuses an option of jobs that fio does not have."""
    native = load_config("tiny").native
    text = f"[a]\n{option}\n"
    try:
        ready_arrays()
        limit = memory_limit_bytes()
        _core.Simulation(native, "fio_text", text, native_options(None, None), None, "none", limit)
    except NandlabError as error:
        if "unknown" in str(error):
            raise refusal(where, str(error).partition(": ")[2] or str(error)) from None
