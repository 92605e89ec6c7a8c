"""Points of a study as tasks: what a worker needs to run one, and the hash that identifies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.catalogue import presets
from nandlab.drive.simulate import Source
from nandlab.drive.workload import Plan, is_job_text, plan
from nandlab.ftl.given import GivenFtl
from nandlab.given.assignments import assignments
from nandlab.given.refusal import refusal
from nandlab.options.option import among
from nandlab.options.run import PlanOptions
from nandlab.options.trace import TraceOptions
from nandlab.study.given import Given
from nandlab.study.jobs import changed, contents, job_text
from nandlab.study.own_ftl import PATH, StudyFtl
from nandlab.study.points import Combination, is_of_workload
from nandlab.study.share import Share

SHARED = ("fill", "steady", "rested")
"""States that points can share: a drive is brought there without its workload."""

_TEXTS = 32
"""Job files that are kept."""


@dataclass(frozen=True)
class Task:
    """A point, as a worker takes it. It can be pickled."""

    id: str
    """What identifies its result."""
    axes: Combination
    replicate: int
    drive: str | Mapping[str, Any]
    sets: tuple[str, ...]
    ftl: StudyFtl | None
    """An FTL in Python."""
    plan: Plan
    wants: tuple[str, ...]
    """Expressions that its row has."""
    keeps_report: bool
    config: str
    """Hash of the configuration of its drive."""
    state: str
    """Hash of the drive before the run; empty where no other point can share it."""
    error: str = ""
    """Why it cannot run, where that is known already."""
    folder: str = ""
    """Of the study, or of its share, for preconditioned drives."""
    version: str = ""
    """Of nandlab."""


class Known(NamedTuple):
    """What is known of a drive."""

    sets: tuple[str, ...]
    """All of its assignments."""
    run: Mapping[str, Any]
    """Its ``[run]`` table."""
    identity: str
    """Hash of its configuration."""
    seed: int


class Batch(NamedTuple):
    """Tasks that share a drive."""

    state: str
    tasks: Iterator[Task]


def canonical(value: Any) -> str:
    """JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Any) -> str:
    """Hash of the canonical JSON of a value, as 32 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:32]


class Tasks:
    """The tasks of a study. Drive files are read once: an object is of one moment."""

    def __init__(self, given: Given, folder: str = "", share: Share | None = None) -> None:
        """Of a study, or of its `share`, whose preconditioned drives lie in `folder`."""
        self._given = given
        self._share = share
        self._folder = folder
        self._known: dict[bytes, Known] = {}
        self._ftls: dict[StudyFtl, GivenFtl] = {}
        self._texts = lru_cache(maxsize=_TEXTS)(job_text)
        self._presets = {preset.name for preset in presets("drive")}

    def batches(self) -> Iterator[Batch]:
        """All of them, in groups that share a drive.

        Raises:
            NandlabError: the design has too few points.
        """
        design = self._given.design
        for group in design.groups() if self._share is None else self._share.groups(design):
            tasks = (self.task(point.combination, point.replicate) for point in group)
            first = next(tasks, None)
            if first is not None:
                yield Batch(first.state, _with(first, tasks))

    def task(self, combination: Combination, replicate: int) -> Task:
        """A point as a task; one that is refused has an `error`."""
        given = self._given
        settings: dict[str, Any] = {}
        for one in given.axes:
            settings.update(one.settings(combination[one.path]))
        drive = self._drive(settings.pop("drive", given.drive))
        of_job = {key[4:]: settings[key] for key in settings if key.startswith("job.")}
        of_run = {key[4:]: settings[key] for key in settings if key.startswith("run.")}
        of_drive = {
            key: value
            for key, value in settings.items()
            if not is_of_workload(key) and not key.startswith("run.")
        }
        ftl, of_study = given.ftl, given.sets
        if isinstance(of_drive.get(PATH), StudyFtl):
            ftl = of_drive.pop(PATH)
            # As of every axis: what the study sets at all points goes behind.
            of_study = [text for text in of_study if text.partition("=")[0].strip() != PATH]
        sets = (*of_study, *assignments(of_drive))
        what, config, state, error = Plan("fio_text", ""), "", "", ""
        hashed: dict[str, Any] = {}
        try:
            known = self._load(drive, sets, ftl, given.seed)
            what = self._plan(known.run, drive, of_run, of_job)
            is_apart = what.precondition not in (*SHARED, "none")
            if is_apart and replicate:
                known = self._load(drive, sets, ftl, known.seed + replicate)
            sets, config = known.sets, known.identity
            workload = list(contents(what.kind, what.source))
            hashed = {
                "version": _core.version(),
                "config": config,
                "precondition": what.precondition,
                "workload": workload,
                "options": {**what.facts(), "source": None},
            }
            if what.precondition in SHARED:
                keys = ("version", "config", "precondition")
                state = digest({key: hashed[key] for key in keys})
            if replicate and not is_apart:
                hashed["replicate"] = replicate
        except NandlabError as refused:
            error = str(refused)
            hashed = {"version": _core.version(), "drive": drive, "sets": sets, "error": error}
            if ftl is not None:
                # Variants tell FTLs of one name apart.
                settings = {**settings, PATH: ftl.name, "axes": combination}
            hashed |= {"settings": settings, "replicate": replicate, "place": given.place}
        return Task(
            id=digest(hashed),
            axes=combination,
            replicate=replicate,
            drive=drive,
            sets=sets,
            ftl=ftl,
            plan=what,
            wants=given.wants,
            keeps_report=given.reports,
            config=config,
            state=state,
            error=error,
            folder=self._folder,
            version=_core.version(),
        )

    def _drive(self, drive: Any) -> str | Mapping[str, Any]:
        """A preset's name, an absolute path, or tables."""
        if isinstance(drive, Mapping) or drive in self._presets:
            return drive  # type: ignore[no-any-return]
        if not isinstance(drive, str | PathLike):
            raise refusal("drive", f"{drive!r}", "a preset's name, or a path")
        path = self._given.folder / drive
        return str(path.resolve()) if path.is_file() else str(drive)

    def _load(
        self, drive: Any, sets: tuple[str, ...], ftl: StudyFtl | None, seed: int | None
    ) -> Known:
        own = None if ftl is None else self._own(ftl)
        about = [drive, sets, seed, own and [own.name, own.facts]]
        key = bytes.fromhex(digest(about))
        if key not in self._known:
            source = Source.of(drive, sets, seed, own)
            self._known[key] = Known(
                tuple(source.sets),
                source.loaded.run,
                digest(_identity(source.loaded.config)),
                int(source.loaded.config["seed"]),
            )
        return self._known[key]

    def _own(self, ftl: StudyFtl) -> GivenFtl:
        if ftl not in self._ftls:
            self._ftls[ftl] = ftl.load()
        return self._ftls[ftl]

    def _plan(
        self,
        own: Mapping[str, Any],
        drive: Any,
        of_run: dict[str, Any],
        of_job: dict[str, Any],
    ) -> Plan:
        """The run: the study's table or else the drive's, with axes on top; jobs as their text."""
        given = self._given
        table = dict(given.run or own)
        place = given.place if given.run else str(drive)
        if is_job_text(table.get("workload")) and not {"workload", "trace"} & of_run.keys():
            of_run = {**of_run, "workload": table.pop("workload")}
        options = among(PlanOptions, of_run)
        options["trace_options"] = among(TraceOptions, of_run)
        for key in ("workload", "trace"):
            options[key] = self._path(of_run.get(key))
        what = plan(place, table, **options)
        if what.kind == "trace":
            if of_job:
                option = next(iter(of_job))
                raise refusal(f"job.{option}", "not supported: an option of jobs, with a trace")
            path = str(Path(what.source).resolve())
            return replace(what, source=path)
        text = changed(self._texts(what.source), of_job, given.place)
        return replace(what, kind="fio_text", source=text)

    def _path(self, workload: Any) -> str | None:
        if not isinstance(workload, str) or is_job_text(workload):
            return workload  # type: ignore[no-any-return]
        return str(self._given.folder / workload)


def _with(first: Task, rest: Iterator[Task]) -> Iterator[Task]:
    yield first
    yield from rest


def _identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without names of files whose contents it holds by their hash."""
    ecc = dict(config["ecc"])
    if ecc.get("code_hash"):
        ecc.pop("code", None)
    return {**config, "ecc": ecc}
