"""Reading of inputs: which kind of file it is, and what checks look at in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.catalogue import Config, config_of, drive_of, load_config, presets, schema, show
from nandlab.compare.groups import checked_report
from nandlab.drive.result import Result
from nandlab.drive.simulate import ready_arrays
from nandlab.drive.workload import Plan, is_job_text, plan
from nandlab.given.inputs import input_text
from nandlab.given.refusal import nearest, refusal
from nandlab.given.tables import tables_json
from nandlab.given.toml import parse_toml
from nandlab.lint.jobs import Job, jobs_of
from nandlab.lint.subject import Run, Subject
from nandlab.process.memory import memory_limit_bytes
from nandlab.study.given import KEYS, Given, given_study
from nandlab.study.task import Tasks
from nandlab.trace.options import native_options

EXPECTED = "a drive file or preset, a fio job file, a study, or a report of `nandlab run --json`"


@dataclass(frozen=True)
class Planned:
    """How jobs will be run, where their own file cannot say it."""

    drive: str | PathLike[str] | Mapping[str, Any] | None = None
    precondition: str = "none"
    until: str | None = None


def read(given: object, planned: Planned) -> Subject:
    """What checks look at in one input.

    Raises:
        NandlabError: it is no input of the linter, or is refused.
    """
    if isinstance(given, Result):
        return _report(given.report, given.title)
    if isinstance(given, Mapping):
        if "sim" in given and "host" in given and "nandlab" in given:
            return _report(dict(given), "report")
        if _is_study(given):
            return _study(dict(given), "study", "", Path())
        native = _core.Config.of_tables(tables_json("drive", given), "drive", [])
        return _drive(config_of(native), "drive", "")
    if not isinstance(given, str | PathLike) or not isinstance(name := fspath(given), str):
        raise refusal("lint", f"{given!r}", EXPECTED)
    if name in [preset.name for preset in presets("drive")]:
        return _drive(load_config(name), f"params/drives/{name}.toml", show(f"drive/{name}"))
    if is_job_text(name):
        return _jobs(name, "jobs", planned)
    return _file(name, planned)


def _file(name: str, planned: Planned) -> Subject:
    path = Path(name)
    if "\0" in name or not path.is_file():
        names = [preset.name for preset in presets("drive")]
        raise refusal("", f"no file or preset `{name}`", EXPECTED + nearest(path.stem, names))
    text = input_text(path, EXPECTED)
    if text.lstrip().startswith("{"):
        return _report(_loaded(text, name), name)
    tables = _tables(text, name)
    if tables is None:
        return _jobs(text, name, planned)
    if _is_study(tables):
        return _study(tables, name, text, path.parent)
    for key, kind in (("geometry", "chip"), ("levels", "cell"), ("code", "code")):
        if key in tables and not {"drive", "drive_preset"} & tables.keys():
            raise refusal(name, f"a {kind} file", hint=f"lint a drive that has this {kind}")
    return _drive(load_config(name), name, text)


def _loaded(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal(name, f"not JSON: {str(error).splitlines()[0]}", EXPECTED) from None


def _tables(text: str, name: str) -> dict[str, Any] | None:
    """The tables of a drive or study; None of a job file, some of which read as TOML too."""
    if name.endswith(".toml"):
        return parse_toml(text, name)
    try:
        tables = parse_toml(text, name)
    except NandlabError:
        return None
    known = {*KEYS, *schema()["properties"], "drive_preset", "run"}
    return tables if known & tables.keys() else None


def _is_study(tables: Mapping[str, Any]) -> bool:
    """Whether tables are a study: of both kinds only a study has axes, or a drive by its name."""
    own = {*KEYS} - {"summary", "drive", "run", "ftl", "seed"}
    return isinstance(tables.get("drive"), str) or bool(own & tables.keys())


def _drive(loaded: Config, place: str, text: str) -> Subject:
    if not {"workload", "trace"} & loaded.run.keys():
        return Subject("drive", place, text, loaded)
    what = plan(place, loaded.run)
    jobs, jobs_place = _planned_jobs(what, place)
    return Subject("drive", place, text, loaded, _run(what), jobs, jobs_place)


def _planned_jobs(what: Plan, place: str) -> tuple[list[Job], str]:
    if what.kind == "trace":
        return [], ""
    if what.kind == "fio_text":
        return _checked_jobs(what.source, place), ""
    return _checked_jobs(input_text(what.source, "a fio job file"), what.source), what.source


def _run(what: Plan) -> Run:
    return Run(what.precondition, what.skip, what.until, what.kind == "trace")


def _jobs(text: str, place: str, planned: Planned) -> Subject:
    jobs = _checked_jobs(text, place)
    if planned.drive is None:
        return Subject("job", place, text, jobs=jobs, jobs_place=place)
    loaded = load_config(drive_of(planned.drive))
    run = Run(planned.precondition, None, planned.until)
    return Subject("job", place, text, loaded, run, jobs, place)


_LARGE = {
    "chip.geometry.blocks_per_plane": 16384,
    "chip.geometry.page_bytes": 1048576,
    "chip.geometry.spare_bytes": 0,
    "ftl.unit_bytes": 1048576,
    "ecc.payload_bytes": 4096,
    "buffer.bytes": 0,
}
"""A drive of 6 TiB in large units, which take little memory: jobs of most drives fit."""

_ZONED = {
    "chip.geometry.blocks_per_plane": 4096,
    "ftl.name": "zoned",
    "ftl.max_active_zones": 8,
    "ftl.zrwa_bytes": 65536,
}
"""A drive with zones and random write areas, for jobs that need one."""


def _checked_jobs(text: str, place: str) -> list[Job]:
    """The jobs of a text that the engine takes.

    Raises:
        NandlabError: it is refused; `place` is its file.
    """
    bare = re.sub(r"(?m)^\s*read_iolog\s*=.*$", "rw=read", text)
    ready_arrays()
    is_zoned = re.search(r"(?m)^\s*zonemode\s*=\s*zbd", text) is not None
    given = _ZONED if is_zoned else _LARGE
    sets = [f"{key}={value}" for key, value in given.items()]
    try:
        _core.Simulation(
            load_config("tiny", sets).native,
            "fio_text",
            bare if bare.endswith("\n") else f"{bare}\n",
            native_options(None, None),
            None,
            "none",
            memory_limit_bytes(),
        )
    except NandlabError as error:
        # The engine calls a text `workload`.
        raise NandlabError(re.sub(r"^workload(?=:)", lambda _: place, str(error))) from None
    return jobs_of(text)


def _study(tables: dict[str, Any], place: str, text: str, folder: Path) -> Subject:
    given: Given = given_study(tables, place, folder)
    # A search chooses its points: any one is a drive that it may come to.
    is_open = not all(axis.values for axis in given.axes)
    one = replace(given.design, kind="random", points=1) if is_open else given.design
    first = next(Tasks(replace(given, design=one)).batches(), None)
    task = None if first is None else next(first.tasks)
    if task is None:
        raise refusal(f"{place}: constraints", "they leave no point", hint="loosen them")
    if task.error:
        raise NandlabError(task.error)
    loaded = load_config(task.drive, task.sets)
    jobs: list[Job] = [] if task.plan.kind == "trace" else jobs_of(task.plan.source)
    workload = tables.get("run", {}).get("workload", "")
    file = folder / workload if isinstance(workload, str) and "\n" not in workload else folder
    if not jobs or not file.is_file():
        return Subject("study", place, text, loaded, _run(task.plan), jobs, "", given)
    # Lines are those of the file: axes have added some.
    of_file = {one.name: one for one in jobs_of(input_text(file, "a fio job file"))}
    jobs = [
        replace(one, lines=of_file[one.name].lines, line=of_file[one.name].line)
        if one.name in of_file
        else one
        for one in jobs
    ]
    return Subject("study", place, text, loaded, _run(task.plan), jobs, str(file), given)


def _report(report: Any, place: str) -> Subject:
    return Subject("report", place, report=checked_report(place, report)[1])
