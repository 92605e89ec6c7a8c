"""Run of a drive under a workload, in steps short enough for progress and Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

from nandlab import _core
from nandlab.catalogue import Config, load_config
from nandlab.display.progress import Meter, Progress
from nandlab.drive.job_rates import missed_rates
from nandlab.drive.notices import owed, without_effect
from nandlab.drive.requests import RequestLog
from nandlab.drive.result import Result
from nandlab.drive.workload import Plan, plan
from nandlab.given.arguments import called, flag, named, whole
from nandlab.given.assignments import assignments
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes, peak_rss_mb
from nandlab.trace.options import TraceOptions, native_options

TIMELINE_SPANS = 200_000
"""Spans that a timeline holds by default; viewers are slow with more."""

MOST_SPANS = 2**32 - 1
"""More than there is memory for."""

_STEP_S = 0.02
"""Wall time that one step is to take: how long Ctrl-C and progress wait at most."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run early. What was done until then is in `result`."""

    def __init__(self, result: Result) -> None:
        super().__init__("interrupted")
        self.result = result


def run(
    drive: str | PathLike[str],
    workload: str | PathLike[str] | None = None,
    *,
    trace: str | PathLike[str] | None = None,
    format: str | None = None,
    trace_options: TraceOptions | None = None,
    iodepth: int | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    precondition: str | None = None,
    seed: int | None = None,
    requests: bool | str | PathLike[str] = False,
    timeline: bool | str | PathLike[str] = False,
    timeline_spans: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Runs a workload on a drive.

    Args:
        drive: name of a preset, or path of a TOML file. The file's ``[run]`` table may say what is
            to run; arguments go before it.
        workload: path of a fio job file, or the text of one (it has a line break, or starts with
            ``[``).
        trace: path of a recorded trace, instead of a workload; ``.gz`` and ``.zst`` are opened.
        format: format of the trace; left out, it is told from its first line where that is
            certain.
        trace_options: how the trace is read.
        iodepth: requests in flight where the trace has no times of its own (1); given for one that
            has, it is sent as fast as so many in flight allow, and its times are left aside.
        set: parameters to change, by their path: ``{"ftl.overprovisioning": 0.28}``, or as the
            command line has them: ``["ftl.overprovisioning=0.28"]``.
        precondition: ``none`` (an empty drive, the default), ``fill`` (written once in order) or
            ``steady`` (overwritten at random until write amplification settles), ``rested``
            (then collected until it has all the room that it keeps).
        seed: seed of every random stream; goes before the drive's.
        requests: keeps every request for `Result.requests`: in memory with True, which takes about
            90 bytes for each, or in this ``.parquet`` file.
        timeline: keeps spans for `Result.timeline`; with a path, writes them there.
        timeline_spans: how many spans are kept (200,000); later ones are counted and dropped.
        progress: called about ten times a second and at the end of each phase. What it raises
            ends the run and comes out of it.

    Raises:
        NandlabError: an input that is refused; one line that says where, what and what is allowed.
        Interrupted: Ctrl-C (or a KeyboardInterrupt from `progress`) once the drive is built; its
            ``result`` holds what was done. Further ones change nothing until it is complete.
        OSError: an output cannot be written.
    """
    source = Source.of(drive, set, seed)
    what = plan(
        source.name,
        source.loaded.run,
        workload=workload,
        trace=trace,
        format=format,
        trace_options=trace_options,
        iodepth=iodepth,
        precondition=precondition,
    )
    return simulate(
        source,
        what,
        lambda: _simulation(source.loaded, what),
        requests=requests,
        timeline=timeline,
        timeline_spans=timeline_spans,
        progress=progress,
    )


@dataclass(frozen=True)
class Source:
    """What a drive is made from."""

    name: str
    """Of the preset, or the path of the file."""
    sets: list[str]
    """Assignments."""
    loaded: Config

    @classmethod
    def of(
        cls,
        drive: str | PathLike[str],
        set: Mapping[str, object] | Sequence[str],
        seed: int | None,
    ) -> Source:
        """Loads a drive."""
        name, sets = named("drive", drive), assignments(set)
        if seed is not None:
            sets.append(f"seed={seed}")
        return cls(name, sets, load_config(name, sets))


def simulate(
    source: Source,
    what: Plan,
    begin: Callable[[], _core.Simulation],
    *,
    requests: bool | str | PathLike[str],
    timeline: bool | str | PathLike[str],
    timeline_spans: int | None,
    progress: Callable[[Progress], object] | None,
    end: Callable[[_core.Simulation], object] | None = None,
) -> Result:
    """Runs what is planned: `begin` makes the simulation, `end` is called when it is over."""
    loaded = source.loaded
    is_logged, requests_path = _kept("requests", requests)
    is_drawn, timeline_path = _kept("timeline", timeline)
    if timeline_spans is not None and not is_drawn:
        raise refusal("", "timeline_spans without timeline", "both, or neither")
    timeline_spans = TIMELINE_SPANS if timeline_spans is None else timeline_spans
    timeline_spans = whole("timeline_spans", timeline_spans, 1, MOST_SPANS)
    called("progress", progress)
    if requests_path is not None:
        check_kind("requests", requests_path, [".parquet"])
    check_outputs({"requests": requests_path, "timeline": timeline_path}, [source.name, *what.files])

    facts = _facts(source.name, source.sets, loaded, what)
    simulation = begin()
    log = None
    if is_logged:
        log = RequestLog(requests_path, _metadata(facts))
        simulation.keep_requests()
    if is_drawn:
        simulation.keep_timeline(timeline_spans)

    # To the last file: a second Ctrl-C would take away what the first one asked to keep.
    with Stop(is_patient=True) as stop:
        wall_s, begun, finished = 0.0, False, False
        try:
            if begun := _precondition(simulation, stop, progress):
                start = perf_counter()
                try:
                    finished = _advance(simulation, stop, log, progress)
                finally:
                    wall_s = perf_counter() - start
        except KeyboardInterrupt:
            pass
        finally:
            kept = log.close() if log is not None else None

        report = json.loads(simulation.report(wall_s, peak_rss_mb()))
        report["nandlab"] |= {name: facts[name] for name in ("drive", "summary", "run")}
        notices = [*without_effect(loaded.config), *missed_rates(report), *owed(report)]
        report["nandlab"]["notices"] += notices
        report["sim"] |= {"begun": begun, "interrupted": not finished}
        result = Result.of(
            simulation,
            report,
            _metadata(facts),
            requests=kept,
            has_timeline=is_drawn,
        )
        if timeline_path is not None:
            result.timeline(timeline_path)
        if finished and end is not None:
            end(simulation)
    if not finished:
        raise Interrupted(result)
    return result


def _kept(name: str, given: object) -> tuple[bool, Path | None]:
    """Whether something is kept, and the file that it goes to."""
    if isinstance(given, str | PathLike):
        return True, Path(given)
    return flag(name, given, ", or the path of a file"), None


def ready_arrays() -> None:
    """Imports numpy: the engine's arrays are its, and Ctrl-C must not cut that short later."""
    import numpy  # noqa: F401


def _simulation(loaded: Config, what: Plan) -> _core.Simulation:
    ready_arrays()
    return _core.Simulation(
        loaded.native,
        what.kind,
        what.source,
        native_options(what.format, what.options),
        what.iodepth,
        what.precondition,
        memory_limit_bytes(),
    )


def _facts(drive: str, sets: list[str], loaded: Config, what: Plan) -> dict[str, Any]:
    """Facts that identify a run, all known before it starts."""
    return {
        "drive": drive,
        "summary": loaded.summary,
        "run": {"name": what.name, **what.facts(), "set": sets},
        "config_hash": loaded.config_hash,
        "seed": loaded.config["seed"],
        "version": _core.version(),
    }


def _metadata(facts: dict[str, Any]) -> dict[str, str]:
    """The facts that every table and timeline of the run carries."""
    return {
        "nandlab_version": facts["version"],
        "config_hash": facts["config_hash"],
        "seed": str(facts["seed"]),
        "drive": facts["drive"],
        "run": json.dumps(facts["run"]),
    }


def _precondition(
    simulation: _core.Simulation, stop: Stop, progress: Callable[[Progress], object] | None
) -> bool:
    """Brings the drive into its state: False where it was interrupted."""
    meter = Meter("precondition", progress)
    while not (done := simulation.precondition()) and not stop.asked:
        meter.tell(*simulation.precondition_progress())
    written, least = simulation.precondition_progress()
    if written:
        meter.tell(written, least, last=True)
    return done


def _advance(
    simulation: _core.Simulation,
    stop: Stop,
    log: RequestLog | None,
    progress: Callable[[Progress], object] | None,
) -> bool:
    """Runs to the end: False where it was interrupted. Every request done is in the log."""
    meter = Meter("run", progress)
    step, finished = 256, False
    while not finished and not stop.asked:
        start = perf_counter()
        finished = simulation.advance(step)
        took = max(perf_counter() - start, 1e-6)
        step = max(1, int(step * min(max(_STEP_S / took, 0.25), 2.0)))
        if log is not None:
            log.add(simulation.take_requests())
        completed, total, _ = simulation.progress()
        meter.tell(completed, total, last=finished)
    return finished
