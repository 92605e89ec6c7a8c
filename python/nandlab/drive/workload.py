"""Plan of a run: the checked arguments and ``[run]`` table of a drive file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nandlab.catalogue import presets
from nandlab.given.arguments import flag, whole
from nandlab.given.refusal import refusal
from nandlab.options.option import among, options_of
from nandlab.options.run import PlanOptions, RunOptions
from nandlab.options.trace import TraceOptions
from nandlab.trace import recording
from nandlab.trace.format import check_format
from nandlab.trace.options import given_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

RUN_KEYS = tuple(
    one.name for of in (RunOptions, TraceOptions) for one in options_of(of) if one.option.is_key
)
"""Keys of a ``[run]`` table, which a study may vary as ``run.KEY``."""

PRECONDITIONS = ("none", "fill", "steady", "rested", "trace", "trace=N")
"""States that a drive may be brought into; ``trace`` fills it and plays the writes of the trace."""


@dataclass(frozen=True)
class Plan:
    """Workload and options for the engine."""

    kind: Literal["fio", "fio_text", "trace", "clients"]
    source: str
    """A path, or the text of a fio job file; of clients where they come from."""
    precondition: str = "none"
    iodepth: int | None = None
    """Queue depth, if given."""
    skip: str | None = None
    """The beginning that is not measured."""
    until: str | None = None
    """When it ends, where not with its jobs."""
    tenants: bool = False
    """Whether each job runs alone too."""
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a title calls it."""
        names = {"fio_text": "fio jobs", "clients": "clients"}
        return names.get(self.kind) or Path(self.source).name

    @property
    def files(self) -> list[str]:
        """The files that are read."""
        return [self.source] if self.kind in ("fio", "trace") else []

    @property
    def path(self) -> str:
        """What the engine reads: the source, or of a recording that ends early what is whole."""
        return recording.readable(self.source) if self.kind == "trace" else self.source

    @property
    def commands(self) -> list[recording.Command]:
        """Commands between the requests of a recording."""
        return recording.commands_in(self.source) if self.kind == "trace" else []

    def notes(self, unrepeated: Mapping[recording.Command, str]) -> list[str]:
        """Notes for the user on the commands of a recording that a run has not repeated."""
        return recording.notes(self.source, unrepeated) if self.kind == "trace" else []

    def facts(self) -> dict[str, Any]:
        """Its part of the report: enough to repeat the run."""
        facts: dict[str, Any] = {"kind": self.kind, "source": self.source}
        facts |= {"precondition": self.precondition, "skip": self.skip, "until": self.until}
        if self.tenants:
            facts["tenants"] = True
        if self.kind == "trace":
            facts |= {"iodepth": self.iodepth, "format": self.format}
        return {**facts, **self.options}


def plan(
    drive: str,
    table: Mapping[str, Any],
    **given: Unpack[PlanOptions],
) -> Plan:
    """One plan from the arguments and from `table`, the ``[run]`` of the file `drive`.

    An argument goes before the table. Paths in the table start at the folder of its file.

    Raises:
        NandlabError: no workload, two workloads, or a mistake in the table.
    """
    _check_table(drive, table)
    workload, trace = given.get("workload"), given.get("trace")
    if workload is not None and trace is not None:
        raise refusal("", "both a workload and a trace are given", hint="give one of them")
    is_of_table = workload is None and trace is None
    if is_of_table:
        if "workload" in table and "trace" in table:
            place = _place(drive, "trace")
            raise refusal(
                place, "run: both a workload and a trace are given", hint="give one of them"
            )
        if "workload" in table:
            workload = _named(table) or _file(drive, table, "workload", "a fio job file")
        elif "trace" in table:
            trace = _file(drive, table, "trace", "a recorded trace")
        else:
            raise refusal(
                "",
                "nothing to run",
                "a workload (a fio job file), a trace, or a [run] table in the drive's file",
            )
    precondition = given.get("precondition")
    if precondition is None:
        precondition = str(table.get("precondition", "none"))
    if not is_state(precondition):
        raise refusal("precondition", f"{precondition!r}", PRECONDITIONS, given=precondition)
    for key, source in (("workload", workload), ("trace", trace)):
        if not isinstance(source, str | PathLike | None):
            raise refusal(key, f"{source!r}", "a path, or the text of a fio job file")
    skip = _text("skip", given.get("skip"), table)
    until = _text("until", given.get("until"), table)
    alone = given.get("tenants")
    tenants = flag("tenants", table.get("tenants", False) if alone is None else alone)
    options = given_options(given.get("trace_options"))
    format, iodepth = given.get("format"), given.get("iodepth")
    if trace is not None or is_of_table:
        options = {**among(TraceOptions, table), **options}
    if trace is None:
        for key, value in {"format": format, "iodepth": iodepth}.items():
            if value is not None:
                raise refusal(key, "not supported: an option of traces with a fio job file")
        jobs = fspath(workload or "")
        kind: Literal["fio", "fio_text"] = "fio_text" if is_job_text(jobs) else "fio"
        return Plan(
            kind, jobs, precondition, skip=skip, until=until, tenants=tenants, options=options
        )
    depth = iodepth if iodepth is not None else table.get("iodepth")
    if depth is not None:
        depth = whole("iodepth", depth, 1, 65536)
    format = format if format is not None else table.get("format")
    return Plan("trace", fspath(trace), precondition, depth, skip, until, tenants, format, options)


def check_source(what: Plan) -> None:
    """Refuses a workload that is not there and a trace of no certain format.

    Called before a drive is built, which takes seconds for a large one.

    Raises:
        NandlabError: so.
    """
    if what.kind == "trace":
        check_format(what.source, what.format, what.options)
    elif what.kind == "fio" and not Path(what.source).exists():
        names = [preset.name for preset in presets("workload")]
        if what.source not in names:
            expected = "a fio job file, or the name of a workload"
            raise refusal(what.source, "no such file", expected, given=what.source, names=names)


def _text(key: str, given: object, table: Mapping[str, Any]) -> str | None:
    """A text that is an argument, or else a key of the table; the engine reads it."""
    text = table.get(key) if given is None else given
    if text is not None and not isinstance(text, str):
        raise refusal(key, f"{text!r}: not a text", 'as "settled", "100000", "2s" or "1.5x"')
    return text


def is_state(given: object) -> bool:
    """Whether this names a state of a drive."""
    if not isinstance(given, str):
        return False
    return given in PRECONDITIONS[:-1] or re.fullmatch(r"trace=[1-9]\d{0,8}", given) is not None


def is_job_text(source: object) -> bool:
    """Whether it is the text of a job file, and no path."""
    return isinstance(source, str) and ("\n" in source or source.lstrip().startswith("["))


def _check_table(drive: str, table: Mapping[str, Any]) -> None:
    """Refuses mistakes in the table, even if an argument overrides the key."""
    for key, value in table.items():
        place = f"{_place(drive, key)}: run.{key}"
        if key not in RUN_KEYS:
            raise refusal(place, f"unknown key `{key}`", RUN_KEYS, given=key)
        if key == "precondition" and not is_state(value):
            raise refusal(place, f"{value!r}", PRECONDITIONS, given=str(value))
        if key == "iodepth":
            whole(place, value, 1, 65536)
        if key in ("workload", "trace") and not isinstance(value, str):
            raise refusal(place, f"{value!r}", "a path in quotes")


def _named(table: Mapping[str, Any]) -> str | None:
    """The workload that the table calls by the name that it has among the presets."""
    name = str(table["workload"])
    return name if name in (preset.name for preset in presets("workload")) else None


def _file(drive: str, table: Mapping[str, Any], key: str, expected: str) -> Path:
    """The file that a key of the table names, from the folder of the drive's file."""
    path = Path(drive).parent / str(table[key])
    if not path.exists() or path.is_dir():
        raise refusal(
            _place(drive, key),
            f"run.{key}: no file `{path}`",
            f"{expected}, from the folder of {Path(drive).name}",
        )
    return path


def _place(drive: str, key: str) -> str:
    """The file, with the line where its ``[run]`` table has the key, if it is found."""
    path = Path(drive)
    lines = path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else []
    is_run = False
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[([^\]]*)\]", line):
            is_run = header[1].strip() == "run"
        elif is_run and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return f"{drive}:{number}"
    return drive
