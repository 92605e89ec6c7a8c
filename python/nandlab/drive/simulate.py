"""Run of a drive under a workload, in steps short enough for progress and Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from nandlab import _core
from nandlab.catalogue import Config, drive_of, load_config
from nandlab.display.progress import Meter, Progress
from nandlab.drive.blame import Blame
from nandlab.drive.exchange import Exchange, text_of
from nandlab.drive.jobs.rates import missed_rates
from nandlab.drive.jobs.tenants import idle_weights, nobody_queued, run_alone
from nandlab.drive.notices import (
    beyond_belief,
    coalesced,
    extrapolated,
    nobody_waits,
    nothing_is_short_lived,
    nothing_stayed,
    still_young,
    unsettled,
    unwritten,
    weak_code,
    without_effect,
)
from nandlab.drive.power import start_up
from nandlab.drive.requests import RequestFile, RequestLog
from nandlab.drive.result import Result
from nandlab.drive.workload import Plan, check_source, plan
from nandlab.explained.summary import summary_of
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.ftl.given import given_ftl
from nandlab.given.arguments import called, flag, number, whole
from nandlab.given.assignments import of_a_drive
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten
from nandlab.options.option import among, filled
from nandlab.options.run import TIMELINE_SPANS, PlanOptions, SimulatedOptions
from nandlab.options.trace import TraceOptions
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes, peak_rss_mb
from nandlab.process.onlooker import Onlooker
from nandlab.process.processors import processors
from nandlab.report import Report, read
from nandlab.report.tables import Workload
from nandlab.trace.options import native_options
from nandlab.trace.recording import Command

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

MOST_SPANS = 2**32 - 1
"""More than there is memory for."""

_MOST_SECONDS = 2.0**63 / 1e9
"""More than simulated time is good for."""

_STEP_S = 0.02
"""Wall time that one step is to take: how long Ctrl-C and progress wait at most."""

_STEP_OF_ALL_S = 0.1
"""Wall time of a step of replicates, which all threads begin and end together."""

MOST_REPLICATES = 10_000
"""Most replicates of a run."""

_MOST_WORKERS = 1024

_STEP_REQUESTS = 1 << 20
"""Requests of one step at most: what is kept of them before it is written."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run early. What was done until then is in `result`.

    `failures` has an error for each file of the run that could not be written.
    """

    def __init__(self, result: Result, failures: Sequence[OSError] = ()) -> None:
        super().__init__("interrupted")
        self.result = result
        self.failures = list(failures)


@names_checked
def run(
    drive: str | PathLike[str] | Mapping[str, Any],
    workload: str | PathLike[str] | None = None,
    *,
    trace: str | PathLike[str] | None = None,
    format: str | None = None,
    trace_options: TraceOptions | None = None,
    iodepth: int | None = None,
    skip: str | None = None,
    until: str | None = None,
    tenants: bool | None = None,
    precondition: str | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int | None = None,
    scale: str | float | None = None,
    ftl: type[Ftl | PageHooks] | Ftl | PageHooks | None = None,
    progress: Callable[[Progress], object] | None = None,
    outputs: Mapping[str, Path | None] | None = None,
    requests: bool | str | PathLike[str] = False,
    timeline_spans: int | None = None,
    explain: bool = False,
    timeline: bool | str | PathLike[str] = False,
    timeline_from: float | Literal["slowest"] = 0.0,
    cut_at: float | None = None,
    replicates: int | None = None,
    workers: int | None = None,
    exchange: Exchange | str | None = None,
    fail_die: str | None = None,
    onlooker: Onlooker | None = None,
) -> Result:
    """Runs a workload on a drive.

    Args:
        drive: name of a preset, path of a TOML file, or a mapping of the tables that such a file
            holds: ``{"drive_preset": "tiny", "drive": {"channels": 4}}``. The ``[run]`` table may
            say what is to run; arguments go before it.
        workload: Path or text of a fio job file. A text has a line break, or starts with ``[``.
        trace: Path of a recorded trace, instead of a workload; .gz and .zst are decompressed.
        format: Format of the trace; required if its first line does not identify it. Left out:
            detected from its first line.
        trace_options: How the trace is read, or the traces of a workload (`read_iolog`).
        iodepth: Requests in flight, for a trace without times or to ignore its times. A trace with
            times is then sent as fast as so many requests in flight allow. Left out: 1.
        skip: Part at the beginning of the run that is not measured; values as for `until`. 0 skips
            nothing. The run itself does not change; only its counts begin later.
        until: End of the run: settled (or settled=iops, =p99.9), SNIA's rule, requests, simulated
            time, or drive writes; jobs repeat until then. ``settled``: write amplification no
            longer drifts; ``settled=METRIC``: ``iops``, ``bandwidth`` or ``p99.9``. ``pts`` or
            ``pts=METRIC``: SNIA's rule. Requests as ``100000``, simulated time as ``2s``, drive
            writes as ``1.5x``. Only the jobs behind the last stonewall repeat.
        tenants: Runs each job alone too, from the same state of the drive: slowdowns and fairness.
            All jobs of one name, as the clones of `numjobs`, are one tenant. Report key
            ``tenants``: the slowdown of each against its run alone, and the least slowdown over the
            most.
        precondition: State of the drive before the run; trace: filled, then the trace's writes, N
            times. ``none``: empty. ``fill``: written once in order. ``steady``: overwritten at
            random until write amplification settles. ``rested``: ``steady``, then collected until
            the free blocks are full. ``trace`` or ``trace=N``: filled, then the writes and trims of
            the trace, N times, without time. Left out: none.
        set: Parameters to change, by their paths. ``{"ftl.overprovisioning": 0.28}``, or as on the
            command line: ``["ftl.overprovisioning=0.28"]``.
        seed: Seed of every random stream; overrides the drive's.
        scale: Share of the drive that is simulated, as ``1/64``; overrides the drive's
            ``drive.scale``. A smaller drive of the same kind, with fewer blocks in a plane, and
            shorter ones where too few would be left. All parameters are those of the whole drive.
        ftl: Custom FTL in Python instead of the drive's. A subclass of `nandlab.ftl.Ftl` or
            `nandlab.ftl.PageHooks`, or an object of one. The report names it, with a hash of its
            source.
        progress: Function called about ten times a second and at the end of each phase. Its
            exception ends the run and is raised.
        outputs: Files that the caller will write after the run, by their names in messages. They
            are checked before the run begins: a file that cannot be written, or that the run reads,
            is refused.
        requests: Table of all requests, in a .parquet file. True keeps it in memory, about 90 bytes
            per request: `Result.requests`.
        timeline_spans: Largest number of spans in the timeline; later spans are dropped and
            counted. Left out: 200000.
        explain: Records the waits of every request, for `Result.explain` and `Result.blame`; this
            makes the run slower.
        timeline: Timeline of requests and flash operations, as JSON for ui.perfetto.dev. True keeps
            it in memory: `Result.timeline` writes it.
        timeline_from: Simulated time in seconds at which the timeline begins. ``slowest``: shortly
            before the slowest request, which an additional run finds first.
        cut_at: Simulated time in seconds at which the power is cut; the drive starts up again. The
            run ends there: report key ``power``. The drive needs a ``recovery.name``.
        replicates: Runs of the workload from the same state of the drive, each with the next seed.
            The report is of all of them together, and key ``replicates`` has the mean and the 95 %
            interval of every figure. What is kept of single requests and over time (`requests`,
            `timeline`, `series`) is that of the first one. Left out: 1.
        workers: Threads of `replicates`, which change no result. Fewer are used where there is no
            memory for as many drives, and one more. Left out: one for each processor.
        exchange: Die whose chip is replaced in the run, and when; suspended: no requests meanwhile.
            A `nandlab.Exchange`, or text: ``"2@0.5"``, ``"2@0.5,suspended"``. Report key
            ``exchange``.
        fail_die: Die that fails in the run, and when: a drive with `parity.pages` rebuilds what it
            held. Text: ``"2@0.5"``, or ``"2@0.5,3@0.5"`` for several. Report key ``ftl.parity``. Of
            replicates ``failed_dies`` are those of the first; their times are figures of
            ``replicates``.
        onlooker: Object that looks on at the run between its steps, as
            `nandlab.window.live.Recorder`.

    Raises:
        NandlabError: an input is refused; the message says where, why and what is expected.
        Interrupted: Ctrl-C (or a KeyboardInterrupt from `progress`) once the drive is built; its
            ``result`` holds what was done. Further ones change nothing until it is complete.
        Unwritten: an OSError: a file of the run cannot be written; its ``result`` is complete.
    """
    given = locals()
    source = Source.of(drive, set, seed, ftl, scale=scale)
    what = plan(source.name, source.loaded.run, **among(PlanOptions, given))
    check_source(what)
    begin = partial(simulation_of, source.loaded, what)
    return simulate(source, what, begin, **among(SimulatedOptions, given))


@dataclass(frozen=True)
class Source:
    """What a drive is made from."""

    name: str
    """Of the preset, or the path of the file; ``drive`` where it was tables."""
    sets: list[str]
    """Assignments."""
    loaded: Config

    @property
    def files(self) -> list[Path]:
        """The files that it was read from."""
        return self.loaded.native.files()

    @classmethod
    def of(
        cls,
        drive: str | PathLike[str] | Mapping[str, Any],
        set: Mapping[str, object] | Sequence[str],
        seed: int | None,
        ftl: object = None,
        *,
        scale: str | float | None = None,
    ) -> Source:
        """Loads a drive, with an FTL in Python if there is one."""
        given, sets = drive_of(drive), of_a_drive(set, scale, seed)
        if ftl is None:
            loaded = load_config(given, sets)
        else:
            own = given_ftl(ftl)
            loaded = own.on(load_config(given, own.assigned(sets)))
        return cls(given if isinstance(given, str) else "drive", sets, loaded)


def simulate(
    source: Source,
    what: Plan,
    begin: Callable[[], _core.Simulation],
    *,
    end: Callable[[_core.Simulation], object] | None = None,
    probe: Callable[[], _core.Simulation] | None = None,
    **given: Unpack[SimulatedOptions],
) -> Result:
    """Runs what is planned.

    `begin` makes the simulation, `end` is called when it is over; `probe` makes one for a run
    before it, where `begin` can be called once only.
    """
    loaded = source.loaded
    timeline_spans, timeline_from = given["timeline_spans"], given["timeline_from"]
    explain, progress = given["explain"], given["progress"]
    onlooker = given["onlooker"]
    replicates, workers = threads_of(given["replicates"], given["workers"])
    is_logged, requests_path = kept_in("requests", given["requests"])
    is_drawn, timeline_path = kept_in("timeline", given["timeline"])
    if timeline_spans is not None and not is_drawn:
        raise refusal("", "timeline_spans without timeline", hint="give both or neither")
    is_slowest = timeline_from == "slowest"
    from_ns = 0 if is_slowest else _nanoseconds("timeline_from", timeline_from)
    if (is_slowest or from_ns) and not is_drawn:
        raise refusal("", "timeline_from without timeline", hint="give both or neither")
    flag("explain", explain)
    cut_ns = None if given["cut_at"] is None else _nanoseconds("cut_at", given["cut_at"])
    exchange_text = text_of(given["exchange"])
    fail_die = given["fail_die"]
    if fail_die is not None and not isinstance(fail_die, str):
        raise refusal("fail_die", repr(fail_die), 'text: "DIE@SECONDS"')
    events = {"exchange": exchange_text, "fail_die": fail_die, "cut_at": cut_ns}
    for name, event in events.items():
        if event is not None and what.skip is not None:
            raise refusal("", f"{name} with skip", hint="give only one of them")
    if cut_ns is not None and replicates > 1:
        raise refusal("", "cut_at with replicates", hint="give only one of them")
    for name, is_given in {
        "replicates": replicates > 1,
        "cut_at": cut_ns is not None,
        "exchange": exchange_text is not None,
        "fail_die": fail_die is not None,
    }.items():
        if is_given and what.tenants:
            raise refusal("", f"tenants with {name}", hint="give only one of them")
    timeline_spans = TIMELINE_SPANS if timeline_spans is None else timeline_spans
    timeline_spans = whole("timeline_spans", timeline_spans, 1, MOST_SPANS)
    called("progress", progress)
    if requests_path is not None:
        check_kind("requests", requests_path, [".parquet"])
    files = {"requests": requests_path, "timeline": timeline_path, **(given["outputs"] or {})}
    inputs: list[str | Path] = [*source.files, *what.files]
    check_outputs(files, inputs)

    facts = facts_of(source.name, source.sets, loaded, what)
    if is_slowest:
        from_ns = _before_slowest(source, what, probe or begin, progress)
    simulation = begin()
    # Files that a workload names are known only now.
    check_outputs(files, [*inputs, *simulation.files()])
    is_skipping = simulation.plan(what.skip, what.until)
    if cut_ns is not None:
        simulation.cut_at(cut_ns)
    if exchange_text is not None:
        simulation.exchange(exchange_text)
    if fail_die is not None:
        simulation.fail_die(fail_die)
    with_others = {
        "skip": is_skipping,
        "until": what.until is not None,
        "iodepth": what.iodepth is not None,
        "tenants": what.tenants,
        "replicates": replicates > 1,
        "cut_at": cut_ns is not None,
        "exchange": exchange_text is not None,
        "fail_die": fail_die is not None,
    }
    unrepeated = _repeat(simulation, what, [name for name, is_it in with_others.items() if is_it])
    log = RequestLog(requests_path, metadata(facts)) if is_logged else None

    step_s = _STEP_S if replicates == 1 else _STEP_OF_ALL_S
    # To the last file: a second Ctrl-C would take away what the first one asked to keep.
    with Stop(is_patient=True) as stop:
        wall_s, precondition_wall_s, begun, finished = 0.0, 0.0, False, False
        try:
            start = perf_counter()
            try:
                begun = preconditioned(simulation, stop, progress, onlooker)
            finally:
                precondition_wall_s = perf_counter() - start
            if begun and replicates > 1:
                simulation.replicate(
                    replicates, workers, what.skip, what.until, exchange_text, fail_die, explain
                )
            if begun and what.tenants:
                begun = run_alone(simulation, what.skip, what.until, stop, progress, _STEP_S)
            if explain:
                simulation.keep_blame()
            if begun and is_skipping:
                begun = _advance(simulation, stop, None, Meter("skip", progress), step_s, onlooker)
                if begun:
                    simulation.measure()
            if is_logged:
                simulation.keep_requests()
            if is_drawn:
                simulation.keep_timeline(timeline_spans, from_ns)
            if begun:
                start = perf_counter()
                try:
                    finished = _advance(
                        simulation, stop, log, Meter("run", progress), step_s, onlooker
                    )
                finally:
                    wall_s = perf_counter() - start
        except KeyboardInterrupt:
            pass
        except BaseException:
            if log is not None:
                log.discard()
            raise
        kept = log.close() if log is not None else None
        failures = [log.failure] if log is not None and log.failure is not None else []

        own = report = read(simulation.report(wall_s, peak_rss_mb()))
        if begun and replicates > 1:
            report = read(simulation.report_of_all(wall_s, peak_rss_mb()))
        if report.power and report.power.cut:
            report.power.start_up = start_up(simulation.start_up, stop, progress)
            finished &= report.power.start_up is not None
        report.nandlab.notices += what.notes(unrepeated)
        report.sim.begun, report.sim.interrupted = begun, not finished
        report.sim.precondition_wall_s = precondition_wall_s
        result = result_of(
            simulation,
            report,
            loaded,
            facts,
            own=own,
            requests=kept,
            has_timeline=is_drawn,
            blame=Blame.of(simulation) if explain else None,
        )
        if timeline_path is not None:
            try:
                result.timeline(timeline_path)
            except OSError as error:
                failures.append(error)
        if finished and end is not None:
            end(simulation)
    if not finished:
        raise Interrupted(result, failures)
    if failures:
        raise Unwritten(result, failures)
    return result


def result_of(
    simulation: _core.Simulation,
    report: Report,
    loaded: Config,
    facts: dict[str, Any],
    *,
    own: Report,
    requests: pa.Table | RequestFile | None,
    has_timeline: bool,
    blame: Blame | None,
) -> Result:
    """The result of a simulation that is over, from its report and the facts of its run.

    `own` is the report of the first replicate, which the series is of.
    """
    about = report.nandlab
    about.drive, about.summary = facts["drive"], facts["summary"]
    about.run = Workload.of(facts["run"])
    about.notices += [
        *without_effect(loaded.config),
        *idle_weights(loaded.config),
        *nobody_queued(report),
        # The notice of a scaled drive gives its over-provisioning, which may be large.
        *(loaded.notices or beyond_belief(report)),
        *extrapolated(loaded, report),
        *still_young(report),
        *missed_rates(report),
        *nobody_waits(report),
        *nothing_is_short_lived(report),
        *nothing_stayed(report),
        *unwritten(report),
        *weak_code(report),
        *coalesced(report),
        *unsettled(report),
    ]
    return Result.of(
        simulation,
        report,
        metadata(facts),
        own=own,
        requests=requests,
        has_timeline=has_timeline,
        blame=blame,
    )


def _before_slowest(
    source: Source,
    what: Plan,
    begin: Callable[[], _core.Simulation],
    progress: Callable[[Progress], object] | None,
) -> int:
    """Shortly before the slowest request of a run, in nanoseconds: finds it by the run itself."""
    given = filled(SimulatedOptions, {"explain": True, "progress": progress})
    found = simulate(source, what, begin, **given)
    slowest = found.blame.slowest()
    if slowest.num_rows == 0:
        return 0
    arrival_ns, latency_ns = (int(slowest[name][0]) for name in ("arrival_ns", "latency_ns"))
    return max(0, arrival_ns - latency_ns // 4)


def _repeat(simulation: _core.Simulation, what: Plan, others: Sequence[str]) -> dict[Command, str]:
    """Plans the commands of a recording: those that are not repeated, with the reason of each.

    `others` are options with which none is: they change when the drive does what.
    """
    unrepeated = {}
    loops = what.options.get("loops") or 1
    others = [*others, *(["loops"] if loops != 1 else [])]
    for command in what.commands:
        if others:
            unrepeated[command] = f"not with {' and '.join(others)}"
            continue
        try:
            scale = float(what.options.get("time_scale") or 1.0)
            simulation.repeat(command.now_ns, scale, command.name, command.value)
        except _core.NandlabError as error:
            unrepeated[command] = str(error)
    return unrepeated


def threads_of(replicates: object, workers: object) -> tuple[int, int]:
    """Replicates of a run, and the threads that they have."""
    count = 1 if replicates is None else whole("replicates", replicates, 1, MOST_REPLICATES)
    if workers is None:
        return count, min(processors(), _MOST_WORKERS)
    threads = whole("workers", workers, 1, _MOST_WORKERS)
    if count == 1:
        raise refusal("", "workers without replicates", hint="give both or neither")
    return count, threads


def _nanoseconds(name: str, seconds: object) -> int:
    """A simulated time that is not negative, in nanoseconds."""
    given = number(name, seconds)
    if not 0 <= given < _MOST_SECONDS:
        expected = "seconds of simulated time from 0"
        if name == "timeline_from":
            expected += ", or slowest"
        raise refusal(name, f"{seconds!r}", expected)
    return round(given * 1e9)


def kept_in(name: str, given: object) -> tuple[bool, Path | None]:
    """Whether something is kept, and the file that it goes to."""
    if isinstance(given, str | PathLike):
        return True, Path(given)
    return flag(name, given, ", or the path of a file"), None


def ready_arrays() -> None:
    """Imports numpy: the engine's arrays are its, and Ctrl-C must not cut that short later."""
    import numpy  # noqa: F401


def simulation_of(loaded: Config, what: Plan) -> _core.Simulation:
    """A drive under what is planned."""
    ready_arrays()
    return _core.Simulation(
        loaded.native,
        what.kind,
        what.path,
        native_options(what.format, what.options),
        what.iodepth,
        what.precondition,
        memory_limit_bytes(),
    )


def facts_of(drive: str, sets: list[str], loaded: Config, what: Plan) -> dict[str, Any]:
    """Facts that identify a run, all known before it starts."""
    return {
        "drive": drive,
        "summary": summary_of(drive, sets, loaded),
        "run": {"name": what.name, **what.facts(), "set": sets},
        "config_hash": loaded.config_hash,
        "seed": loaded.config["seed"],
        "version": _core.version(),
    }


def metadata(facts: dict[str, Any]) -> dict[str, str]:
    """The facts that every table and timeline of the run carries."""
    return {
        "nandlab_version": facts["version"],
        "config_hash": facts["config_hash"],
        "seed": str(facts["seed"]),
        "drive": facts["drive"],
        "run": json.dumps(facts["run"]),
    }


def preconditioned(
    simulation: _core.Simulation,
    stop: Stop,
    progress: Callable[[Progress], object] | None,
    onlooker: Onlooker | None = None,
) -> bool:
    """Brings the drive into its state: False where it was interrupted."""
    meter = Meter("precondition", progress)
    while not (done := simulation.precondition()) and not stop.asked:
        meter.tell(*simulation.precondition_progress())
        if onlooker is not None:
            onlooker.look(simulation)
    written, least = simulation.precondition_progress()
    if written:
        meter.tell(written, least, last=True)
    return done


def _advance(
    simulation: _core.Simulation,
    stop: Stop,
    log: RequestLog | None,
    meter: Meter,
    step_s: float,
    onlooker: Onlooker | None,
) -> bool:
    """Runs to the end: False where it was interrupted. Every request done is in the log."""
    finished = False
    while not finished and not stop.asked:
        most = _STEP_REQUESTS if onlooker is None else min(onlooker.requests, _STEP_REQUESTS)
        finished = simulation.advance(most, step_s)
        if onlooker is not None:
            onlooker.look(simulation)
        if log is not None:
            log.add(simulation.take_requests())
        completed, total, _ = simulation.progress()
        meter.tell(completed, total, last=finished)
    return finished
