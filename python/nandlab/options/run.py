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

TIMELINE_SPANS = 200_000
"""Spans that a timeline holds by default; viewers are slow with more."""

_FILE = Option(default=False, line=Path, form="FILE", panel=OUTPUTS)
_MOMENT = Option(is_key=True, form="settled|pts|N|2s|1.5x")


class SourceOptions(TypedDict, total=False):
    """Where requests come from."""

    workload: Annotated[str | PathLike[str] | None, Option(is_key=True)]
    """Path of a fio job file, or the text of one.

    A text has a line break, or starts with ``[``.
    """
    trace: Annotated[str | PathLike[str] | None, Option(is_key=True)]
    """Path of a recorded trace, instead of a workload; .gz and .zst are decompressed."""


class WorkloadOptions(SourceOptions, FormatOptions, total=False):
    """What is run."""

    trace_options: Annotated[TraceOptions | None, Option(line=None)]
    """How the trace is read, or the traces that a workload names (`read_iolog`)."""
    iodepth: Annotated[int | None, Option(is_key=True, unset="1", panel=PANEL)]
    """Requests in flight where the trace has no times of its own, or to leave its times aside.

    Given for one that has times, it is sent as fast as so many in flight allow.
    """


class MeasuredOptions(WorkloadOptions, total=False):
    """What is run, and what of it counts."""

    skip: Annotated[str | None, _MOMENT]
    """Beginning of the run that is not measured, as for `until`.

    0 skips nothing. The run goes on as without it; only its counts begin there.
    """
    until: Annotated[str | None, _MOMENT]
    """End of the run, whose jobs are repeated until then: settled (or settled=iops, =p99.9), SNIA's
    rule, requests, simulated time, or drive writes.

    ``settled``: write amplification no longer drifts; ``settled=METRIC``: ``iops``, ``bandwidth``
    or ``p99.9``. ``pts`` or ``pts=METRIC``: SNIA's rule. Requests as ``100000``, simulated time as
    ``2s``, drive writes as ``1.5x``. The jobs behind the last stonewall are repeated.
    """


class PlanOptions(MeasuredOptions, total=False):
    """What is run, from which state."""

    precondition: Annotated[
        str | None, Option(is_key=True, unset="none", form="none|fill|steady|rested|trace[=N]")
    ]
    """State of the drive before; trace: filled, then the trace's writes, N times.

    ``none``: empty. ``fill``: written once in order. ``steady``: overwritten at random until write
    amplification settles. ``rested``: then collected until it has all the room that it keeps.
    ``trace`` or ``trace=N``: filled, then the writes and trims of the trace, N times, without time.
    """


class SetOptions(TypedDict, total=False):
    """How a drive differs from its preset or file."""

    set: Annotated[
        Mapping[str, object] | Sequence[str],
        Option(default=(), line=list[str], form="PATH=VALUE", completes=key_of_a_drive),
    ]
    """Parameters to change, by their paths.

    ``{"ftl.overprovisioning": 0.28}``, or as the command line has them:
    ``["ftl.overprovisioning=0.28"]``.
    """
    seed: Annotated[int | None, Option()]
    """Seed of every random stream; goes before the drive's."""


class OwnOptions(SetOptions, total=False):
    """The same, and an FTL of the user's own."""

    ftl: Annotated[
        type[Ftl | PageHooks] | Ftl | PageHooks | None, Option(line=str, form="FILE.py[:CLASS]")
    ]
    """FTL in Python instead of the drive's.

    A class below `nandlab.ftl.Ftl` or `nandlab.ftl.PageHooks`, or an object of one. The report
    names it, with a hash of its source.
    """


class ProgressOptions(TypedDict, total=False):
    """What a caller sees of a run."""

    progress: Annotated[Callable[[Progress], object] | None, Option(line=None)]
    """Called about ten times a second and at the end of each phase. What it raises ends the run and
    comes out of it.
    """


class CallerOptions(ProgressOptions, total=False):
    """The same, and what a caller does after it."""

    outputs: Annotated[Mapping[str, Path | None] | None, Option(line=None)]
    """Files that the caller will write after the run, by what messages call them. They are checked
    with those of the run: one that cannot be written, or that is a file which the run reads, is
    refused before it begins.
    """


class KeptOptions(TypedDict, total=False):
    """What is kept of requests, in a run or for clients."""

    requests: Annotated[bool | str | PathLike[str], _FILE]
    """Every request, kept in a .parquet file.

    With True in memory, which takes about 90 bytes for each: `Result.requests` has them.
    """
    timeline_spans: Annotated[int | None, Option(unset=f"{TIMELINE_SPANS}", panel=OUTPUTS)]
    """Spans that the timeline holds at most; later ones are counted and dropped."""


class SimulatedOptions(CallerOptions, KeptOptions, total=False):
    """Options of a run: its order, its limits, and the files that it leaves."""

    explain: Annotated[bool, Option(default=False, line=None)]
    """Keeps account of what every request waits for, for `Result.explain` and `Result.blame`; this
    makes the run slower.
    """
    timeline: Annotated[bool | str | PathLike[str], _FILE]
    """Spans of requests and flash, as JSON for ui.perfetto.dev.

    With True in memory: `Result.timeline` writes them.
    """
    timeline_from: Annotated[
        float | Literal["slowest"], Option(default=0.0, form="SECONDS", panel=OUTPUTS)
    ]
    """Simulated time in seconds from which the timeline is kept.

    ``slowest`` is shortly before the slowest request, which another run finds first.
    """
    cut_at: Annotated[float | None, Option(form="SECONDS")]
    """Simulated time in seconds at which the power is cut; the drive starts up again.

    The run ends there: report key ``power``. The drive needs a ``recovery.name``.
    """
    exchange: Annotated[Exchange | str | None, Option(form="DIE@SECONDS[,suspended]")]
    """Die whose chip is replaced in the run, and when; suspended: no requests meanwhile.

    A `nandlab.Exchange`, or text: ``"2@0.5"``, ``"2@0.5,suspended"``. Report key ``exchange``.
    """


class DriveRunOptions(MeasuredOptions, SimulatedOptions, total=False):
    """Options of `nandlab.Drive.run`."""


class RunOptions(PlanOptions, OwnOptions, SimulatedOptions, total=False):
    """Options of `nandlab.run`."""
