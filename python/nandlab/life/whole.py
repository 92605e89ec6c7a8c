"""A whole life: the drive ages by the writes of its workload without time, and runs in between.

Between two windows the workload's writes and trims wear the drive, on flash whose blocks fail, and
calendar time passes. At a window a clone of the drive runs the workload with time, so that the run
leaves no trace in the life. The engine lives it; here it is asked for, and shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from nandlab import _core
from nandlab.display.progress import Progress
from nandlab.drive.device import Drive
from nandlab.drive.simulate import threads_of
from nandlab.drive.workload import plan
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.arguments import called, flag, named, number, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.life.limit import Demand, demand, limit_of
from nandlab.life.living import Living, live
from nandlab.life.pace import Pace
from nandlab.life.replicates import replicates_of
from nandlab.life.result import Facts, Life
from nandlab.options.option import among
from nandlab.options.run import PlanOptions
from nandlab.options.trace import TraceOptions
from nandlab.trace.format import check_format
from nandlab.trace.options import native_options

EXACT_UNITS = 5e8
"""Units programmed that are carried out where the acceleration is chosen: tens of seconds."""

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
    replicates: int | None = None,
    workers: int | None = None,
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
        replicates: Lives of so many drives, each built and lived with the next seed. Windows and
            figures are those of the first; key ``replicates`` has the mean and the 95 % interval of
            the figures of all. Left out: 1.
        workers: Threads of `replicates`, which change no result. Left out: one for each processor.

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
    count, threads = threads_of(replicates, workers)
    if count > 1 and ftl is not None and not isinstance(ftl, type):
        raise refusal("replicates", "not with an FTL that is made", hint="give its class")
    made = Drive(drive, set=set, seed=seed, scale=scale, ftl=ftl)
    source = made._source
    made._native.check_asked("life")
    what = plan(source.name, source.loaded.run, **among(PlanOptions, given))
    pace = Pace(writes_per_day, dwpd, made.capacity_bytes)
    limit = limit_of(source.loaded.with_facts(), asked)
    times = _acceleration(accelerate)
    most = None if limit.pe_cycles is None else (limit.pe_cycles, limit.end)
    unrepeated = what.notes(dict.fromkeys(what.commands, "a life repeats none"))
    first_seed: int = source.loaded.config["seed"]

    def begin(number: int) -> Living:
        one = made
        if number > 0:
            one = Drive(drive, set=set, seed=first_seed + number, scale=scale, ftl=ftl)
        capacity_bytes = one.capacity_bytes
        one._native.precondition(precondition)
        facts = _facts(one._source, what.facts(), asked, pace, goal_years)
        notes = [*one._source.loaded.notices, *limit.notes, *unrepeated]
        native = _core.Life(
            one._native,
            what.kind,
            what.path,
            native_options(what.format, what.options),
            what.iodepth,
            what.skip,
            what.until,
            goal_years,
            windows,
            pace.given,
            most,
            times,
            EXACT_UNITS,
        )
        return Living(native, limit, Life([], facts, "interrupted", capacity_bytes, notes))

    lives, is_whole = live(begin, count, threads, progress)
    found = lives[0]
    if count > 1:
        found.replicates = replicates_of(lives)
    if not is_whole:
        raise LifeUnfinished(found)
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
