"""Options of a run: what is run, on which drive, and what is kept of it."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from nandlab.display.progress import Progress
from nandlab.drive.exchange import Exchange
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.completion import key_of_a_drive
from nandlab.options.option import OUTPUTS, Option
from nandlab.options.trace import PANEL, FormatOptions, TraceOptions
from nandlab.process.onlooker import Onlooker

TIMELINE_SPANS = 200_000
"""Spans that a timeline holds by default; viewers are slow with more."""

_FILE = Option(default=False, line=Path, form="FILE", panel=OUTPUTS)
_MOMENT = Option(is_key=True, form="settled|pts|N|2s|1.5x")


class SourceOptions(TypedDict, total=False):
    """Where requests come from."""

    workload: Annotated[str | PathLike[str] | None, Option(is_key=True)]
    """Path or text of a fio job file.

    A text has a line break, or starts with ``[``.
    """
    trace: Annotated[str | PathLike[str] | None, Option(is_key=True)]
    """Path of a recorded trace, instead of a workload; .gz and .zst are decompressed."""


class WorkloadOptions(SourceOptions, FormatOptions, total=False):
    """What is run."""

    trace_options: Annotated[TraceOptions | None, Option(line=None)]
    """How the trace is read, or the traces of a workload (`read_iolog`)."""
    iodepth: Annotated[int | None, Option(is_key=True, unset="1", panel=PANEL)]
    """Requests in flight, for a trace without times or to ignore its times.

    A trace with times is then sent as fast as so many requests in flight allow.
    """


class MeasuredOptions(WorkloadOptions, total=False):
    """What is run, and what of it counts."""

    skip: Annotated[str | None, _MOMENT]
    """Part at the beginning of the run that is not measured; values as for `until`.

    0 skips nothing. The run itself does not change; only its counts begin later.
    """
    until: Annotated[str | None, _MOMENT]
    """End of the run: settled (or settled=iops, =p99.9), SNIA's rule, requests, simulated time, or
    drive writes; jobs repeat until then.

    ``settled``: write amplification no longer drifts; ``settled=METRIC``: ``iops``, ``bandwidth``
    or ``p99.9``. ``pts`` or ``pts=METRIC``: SNIA's rule. Requests as ``100000``, simulated time as
    ``2s``, drive writes as ``1.5x``. Only the jobs behind the last stonewall repeat.
    """
    tenants: Annotated[bool | None, Option(is_key=True)]
    """Runs each job alone too, from the same state of the drive: slowdowns and fairness.

    All jobs of one name, as the clones of `numjobs`, are one tenant. Report key ``tenants``: the
    slowdown of each against its run alone, and the least slowdown over the most.
    """


class PlanOptions(MeasuredOptions, total=False):
    """What is run, from which state."""

    precondition: Annotated[
        str | None, Option(is_key=True, unset="none", form="none|fill|steady|rested|trace[=N]")
    ]
    """State of the drive before the run; trace: filled, then the trace's writes, N times.

    ``none``: empty. ``fill``: written once in order. ``steady``: overwritten at random until write
    amplification settles. ``rested``: ``steady``, then collected until the free blocks are full.
    ``trace`` or ``trace=N``: filled, then the writes and trims of the trace, N times, without time.
    """


class SetOptions(TypedDict, total=False):
    """Changes of a drive against its preset or file."""

    set: Annotated[
        Mapping[str, object] | Sequence[str],
        Option(default=(), line=list[str], form="PATH=VALUE", completes=key_of_a_drive),
    ]
    """Parameters to change, by their paths.

    ``{"ftl.overprovisioning": 0.28}``, or as on the command line:
    ``["ftl.overprovisioning=0.28"]``.
    """
    seed: Annotated[int | None, Option()]
    """Seed of every random stream; overrides the drive's."""
    scale: Annotated[str | float | None, Option(form="1/N")]
    """Share of the drive that is simulated, as ``1/64``; overrides the drive's ``drive.scale``.

    A smaller drive of the same kind, with fewer blocks in a plane, and shorter ones where too few
    would be left. All parameters are those of the whole drive.
    """


class OwnOptions(SetOptions, total=False):
    """Changes of a drive against its preset or file, and a custom FTL."""

    ftl: Annotated[
        type[Ftl | PageHooks] | Ftl | PageHooks | None, Option(line=str, form="FILE.py[:CLASS]")
    ]
    """Custom FTL in Python instead of the drive's.

    A subclass of `nandlab.ftl.Ftl` or `nandlab.ftl.PageHooks`, or an object of one. The report
    names it, with a hash of its source.
    """


class ProgressOptions(TypedDict, total=False):
    """What a caller sees of a run."""

    progress: Annotated[Callable[[Progress], object] | None, Option(line=None)]
    """Function called about ten times a second and at the end of each phase. Its exception ends the
    run and is raised.
    """


class CallerOptions(ProgressOptions, total=False):
    """Progress of a run, and the files that its caller writes after it."""

    outputs: Annotated[Mapping[str, Path | None] | None, Option(line=None)]
    """Files that the caller will write after the run, by their names in messages. They are checked
    before the run begins: a file that cannot be written, or that the run reads, is refused.
    """


class KeptOptions(TypedDict, total=False):
    """What is kept of requests, in a run or for clients."""

    requests: Annotated[bool | str | PathLike[str], _FILE]
    """Table of all requests, in a .parquet file.

    True keeps it in memory, about 90 bytes per request: `Result.requests`.
    """
    timeline_spans: Annotated[int | None, Option(unset=f"{TIMELINE_SPANS}", panel=OUTPUTS)]
    """Largest number of spans in the timeline; later spans are dropped and counted."""
    explain: Annotated[bool, Option(default=False, line=None)]
    """Records the waits of every request, for `Result.explain` and `Result.blame`; this makes the
    run slower.
    """


class SimulatedOptions(CallerOptions, KeptOptions, total=False):
    """Options of a run: its order, its limits, and the files that it leaves."""

    timeline: Annotated[bool | str | PathLike[str], _FILE]
    """Timeline of requests and flash operations, as JSON for ui.perfetto.dev.

    True keeps it in memory: `Result.timeline` writes it.
    """
    timeline_from: Annotated[
        float | Literal["slowest"], Option(default=0.0, form="SECONDS", panel=OUTPUTS)
    ]
    """Simulated time in seconds at which the timeline begins.

    ``slowest``: shortly before the slowest request, which an additional run finds first.
    """
    cut_at: Annotated[float | None, Option(form="SECONDS")]
    """Simulated time in seconds at which the power is cut; the drive starts up again.

    The run ends there: report key ``power``. The drive needs a ``recovery.name``.
    """
    replicates: Annotated[int | None, Option(unset="1")]
    """Runs of the workload from the same state of the drive, each with the next seed.

    The report is of all of them together, and key ``replicates`` has the mean and the 95 %
    interval of every figure. What is kept of single requests and over time (`requests`,
    `timeline`, `series`) is that of the first one.
    """
    workers: Annotated[int | None, Option(unset="one for each processor")]
    """Threads of `replicates`, which change no result.

    Fewer are used where there is no memory for as many drives, and one more.
    """
    exchange: Annotated[Exchange | str | None, Option(form="DIE@SECONDS[,suspended]")]
    """Die whose chip is replaced in the run, and when; suspended: no requests meanwhile.

    A `nandlab.Exchange`, or text: ``"2@0.5"``, ``"2@0.5,suspended"``. Report key ``exchange``.
    """
    fail_die: Annotated[str | None, Option(form="DIE@SECONDS")]
    """Die that fails in the run, and when: a drive with `parity.pages` rebuilds what it held.

    Text: ``"2@0.5"``, or ``"2@0.5,3@0.5"`` for several. Report key ``ftl.parity``. Of replicates
    ``failed_dies`` are those of the first; their times are figures of ``replicates``.
    """
    onlooker: Annotated[Onlooker | None, Option(line=None)]
    """Object that looks on at the run between its steps, as `nandlab.window.live.Recorder`."""


class DriveRunOptions(MeasuredOptions, SimulatedOptions, total=False):
    """Options of `nandlab.Drive.run`."""


class RunOptions(PlanOptions, OwnOptions, SimulatedOptions, total=False):
    """Options of `nandlab.run`."""
