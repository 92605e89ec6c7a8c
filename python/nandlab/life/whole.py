"""A whole life: the drive ages by the writes of its workload without time, and runs in between.

Between two windows the workload's writes and trims wear the drive, on flash whose blocks fail, and
calendar time passes. At a window a clone of the drive runs the workload with time, so that the run
leaves no trace in the life.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from nandlab import _core
from nandlab.display.progress import Meter, Progress
from nandlab.drive.device import Drive
from nandlab.drive.simulate import Interrupted
from nandlab.drive.workload import plan
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.arguments import called, flag, named, number, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.life.limit import Demand, Limit, demand, limit_of
from nandlab.life.pace import HOURS_PER_YEAR, Pace, shares_of
from nandlab.life.result import Facts, Life, Window, window_of
from nandlab.options.option import among
from nandlab.options.run import PlanOptions
from nandlab.options.trace import TraceOptions
from nandlab.process.interrupt import Stop
from nandlab.report import Report
from nandlab.trace.format import check_format
from nandlab.trace.options import native_options

EXACT_UNITS = 5e8
"""Units programmed that are carried out where the acceleration is chosen: tens of seconds."""

LEARNING_CYCLES = 8.0
"""Cycles before the first leap: they tell blocks in use from those with data that stay."""

MOST_STILL = 0.05
"""Share of blocks with data that stay, above which an accelerated life is marked."""

MOST_YEARS = 500.0
"""A device counts no more."""


class LifeUnfinished(KeyboardInterrupt):
    """Ctrl-C ended a life early. Its windows until then are in `result`."""

    def __init__(self, result: Life) -> None:
        super().__init__("interrupted")
        self.result = result


@names_checked
def life(
    drive: str | PathLike[str] | Mapping[str, Any],
    workload: str | PathLike[str] | None = None,
    *,
    trace: str | PathLike[str] | None = None,
    format: str | None = None,
    trace_options: TraceOptions | None = None,
    iodepth: int | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int | None = None,
    scale: str | float | None = None,
    ftl: type[Ftl | PageHooks] | Ftl | PageHooks | None = None,
    progress: Callable[[Progress], object] | None = None,
    years: float | None = None,
    to_death: bool = False,
    windows: int = 20,
    writes_per_day: str | float | None = None,
    dwpd: float | None = None,
    profile: str | None = None,
    uber: float | None = None,
    retention_hours: float | None = None,
    temperature_c: float | None = None,
    accelerate: str | float = "auto",
    precondition: str = "fill",
    skip: str | None = None,
    until: str | None = None,
) -> Life:
    """Lives a drive's life under a workload, for some years or to its death.

    Args:
        drive: as for `nandlab.run`.
        workload: As for `nandlab.run`.
        trace: As for `nandlab.run`.
        format: As for `nandlab.run`.
        trace_options: As for `nandlab.run`.
        iodepth: As for `nandlab.run`.
        set: As for `nandlab.run`.
        seed: As for `nandlab.run`.
        scale: As for `nandlab.run`.
        ftl: As for `nandlab.run`.
        progress: As for `nandlab.run`.
        years: Years of the life, unless the drive dies before.
        to_death: Until the drive dies, however long this takes.
        windows: Number of timed runs along the years, or along the expected cycles of the drive.
            One more runs at the beginning, and one at the end.
        writes_per_day: Host writes per day, in bytes or as 20GB. Without this and `dwpd`, the run
            at each window gives the rate: this suits a job with a `rate` or a `thinktime`, or a
            trace with times.
        dwpd: Host writes per day, in drive writes.
        profile: Requirements of JESD218 on data retention: client or enterprise. Left out: client.
        uber: Largest accepted uncorrectable bit error rate; overrides the profile.
        retention_hours: Retention without power in hours; overrides the profile.
        temperature_c: Temperature of the retention; overrides the profile.
        accelerate: Simulates one of so many cycles; 1 is exact. ``auto`` is exact up to about half
            a billion units of writes. A life with a custom FTL in Python is always exact.
        precondition: State of the drive at the beginning. ``fill``, ``steady`` or ``rested``, as
            for `nandlab.run`.
        skip: Part at the beginning of each window's run that is not measured.
        until: End of each window's run.

    Raises:
        NandlabError: an input is refused.
        LifeUnfinished: Ctrl-C; its ``result`` has the windows until then.
    """
    given = locals()
    called("progress", progress)
    goal_years = _years(years, to_death)
    windows = whole("windows", windows, 1, 1000)
    asked = demand(profile, uber, retention_hours, temperature_c)
    if precondition not in ("fill", "steady", "rested"):
        raise refusal("precondition", repr(precondition), "fill, steady or rested")
    if trace is not None:
        check_format(named("trace", trace, "a path"), format, trace_options)
    made = Drive(drive, set=set, seed=seed, scale=scale, ftl=ftl)
    source = made._source
    made._native.check_asked("life")
    what = plan(source.name, source.loaded.run, **among(PlanOptions, given))
    pace = Pace(writes_per_day, dwpd, made.capacity_bytes)
    limit = limit_of(source.loaded.with_facts(), asked)
    times = _acceleration(accelerate)
    facts = _facts(source, what.facts(), asked, pace, goal_years)
    found = Life(
        [], facts, "interrupted", made.capacity_bytes, [*source.loaded.notices, *limit.notes]
    )
    one = _Living(made, what, pace, limit, goal_years, windows, times, progress, found)
    try:
        made.precondition(precondition, progress=progress)
        one.live()
    except KeyboardInterrupt as stop:
        facts.acceleration = one.times or 1.0
        raise LifeUnfinished(found) from stop
    return found


def _years(years: float | None, to_death: bool) -> float:
    flag("to_death", to_death)
    if (years is None) == (not to_death):
        problem = "neither years nor to_death" if years is None else "years and to_death"
        raise refusal("life", problem, hint="give one of them")
    if years is None:
        return math.inf
    years = number("years", years)
    if not 0 < years <= MOST_YEARS:
        raise refusal("years", f"{years:g}: out of range", f"above 0, at most {MOST_YEARS:g}")
    return years


def _acceleration(given: float | str) -> float | None:
    """The acceleration; None where it is to be chosen."""
    if given == "auto":
        return None
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise refusal("accelerate", repr(given), "auto, or a number from 1 (exact)") from None
    times = number("accelerate", given)
    if not 1 <= times <= 1e6:
        raise refusal("accelerate", f"{times:g}: out of range", "1 (exact) to 1000000")
    return times


def _facts(source: Any, what: dict[str, Any], asked: Demand, pace: Pace, years: float) -> Facts:
    """Facts of a life before it begins."""
    return Facts(
        nandlab_version=_core.version(),
        drive=source.name,
        workload="fio jobs" if what["kind"] == "fio_text" else what["source"],
        run={**what, "set": source.sets},
        config_hash=source.loaded.config_hash,
        seed=source.loaded.config["seed"],
        asked_years=None if math.isinf(years) else years,
        writes=pace.said,
        **asked._asdict(),
    )


@dataclass
class _Living:
    """A life under way."""

    drive: Drive
    what: Any
    pace: Pace
    limit: Limit
    years: float
    windows: int
    times: float | None
    progress: Callable[[Progress], object] | None
    result: Life
    totals: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(
            ("host_units", "programmed_units", "cycles", "hours", "failed_blocks"), 0.0
        )
    )

    def __post_init__(self) -> None:
        self.before = dict(self.totals)

    def live(self) -> None:
        """Windows and ageing in turns, to the end."""
        report = self._run()
        per_hour = self.pace.bytes_per_hour(report)
        self._add_window(report)
        native = self.drive._native
        cycles, self.times, stretch = _core.Life.plan(
            native,
            self.years,
            self.windows,
            per_hour,
            report.settled.settled_value,
            self.limit.pe_cycles,
            self.times,
            EXACT_UNITS,
        )
        self.result.facts.acceleration = self.times
        what = self.what
        options = native_options(what.format, what.options)
        one = _core.Life(
            native,
            what.kind,
            what.path,
            options,
            what.iodepth,
            shares_of(report),
            self.times,
        )
        step_cycles = cycles / self.windows
        number = 0
        while True:
            number += 1
            self._age(one, number, step_cycles, per_hour, stretch)
            end = self._end_of(one)
            now = None if end == "spare" else self._run()
            self._add_window(now)
            if end is None and self._has_lost(now):
                end = "errors"
            if end is not None:
                self.result.end = end
                self._note_still(one)
                return
            if now is not None:
                per_hour = self.pace.bytes_per_hour(now)

    def _note_still(self, one: _core.Life) -> None:
        still = one.still(self.drive._native)
        if still > MOST_STILL:
            self.result.notes.append(
                f"{still:.0%} of the blocks hold static data, which static wear levelling mixes "
                "with other data slowly: an accelerated life sees too little of this "
                "(docs/life.md); a smaller accelerate sees more"
            )

    def _age(
        self, one: _core.Life, window: int, step_cycles: float, per_hour: float, stretch: float
    ) -> None:
        """To the beginning of a window, or to the end of the life."""
        native, before = self.drive._native, dict(self.totals)
        is_timed = not math.isinf(self.years)
        to_years = self.years * window / self.windows
        cycles = math.inf if is_timed else window * step_cycles
        meter = Meter("life", self.progress)
        with Stop() as stop:
            is_done = False
            while not is_done:
                if stop.asked:
                    raise KeyboardInterrupt
                totals = one.totals()
                each = totals["bytes_per_unit"]
                hours = max(to_years * HOURS_PER_YEAR - before["hours"], 0.0) if is_timed else 0
                units = before["host_units"] + hours * per_hour / each if is_timed else math.inf
                is_done = one.advance(
                    native,
                    cycles,
                    units,
                    self.limit.pe_cycles,
                    each / per_hour,
                    LEARNING_CYCLES,
                    stretch,
                )
                totals = one.totals()
                key, goal = ("host_units", units) if is_timed else ("cycles", cycles)
                way = (totals[key] - before[key]) / max(goal - before[key], 1e-9)
                meter.tell(int(1000 * min(way, 1.0)), 1000)
        meter.tell(1000, 1000, last=True)
        self.totals = one.totals()

    def _end_of(self, one: _core.Life) -> str | None:
        """What has ended the life, if anything has."""
        if self.drive.is_read_only:
            return "spare"
        if one.is_worn():
            return "measured" if self.limit.is_of_the_data else "uber"
        is_over = self.totals["hours"] >= self.years * HOURS_PER_YEAR * (1 - 1e-6)
        return "years" if is_over else None

    def _has_lost(self, report: Report | None) -> bool:
        """Whether codewords failed: more often than any UBER that is asked for."""
        if report is None or not self.limit.has_errors:
            return False
        return report.ecc.uncorrectable > 0

    def _run(self) -> Report:
        """The report of the workload on a clone."""
        what = self.what
        is_trace = what.kind == "trace"
        try:
            result = self.drive.clone().run(
                None if is_trace else what.source,
                trace=what.source if is_trace else None,
                format=what.format,
                trace_options=what.options or None,
                iodepth=what.iodepth,
                skip=what.skip,
                until=what.until,
                progress=self.progress,
                is_last=True,
            )
        except Interrupted as stop:
            raise KeyboardInterrupt from stop
        return result.report

    def _add_window(self, report: Report | None) -> None:
        windows = self.result.windows
        cycles = self.drive.pe_cycles
        now = self.totals
        since: Window | None = windows[-1] if windows else None
        amplification = None
        if since is not None:
            host = now["host_units"] - self.before["host_units"]
            programmed = now["programmed_units"] - self.before["programmed_units"]
            amplification = programmed / host if host else None
        self.before = dict(now)
        age = {**now, "bytes": now["host_units"] * now.get("bytes_per_unit", 0.0)}
        windows.append(
            window_of(
                report,
                age=age,
                pe_cycles=cycles,
                since=since,
                write_amplification=amplification,
                uber=self.limit.uber(self.drive._native.most_worn_cycles()),
                capacity_bytes=self.result.capacity_bytes,
            )
        )
