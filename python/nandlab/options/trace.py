"""Options of a trace: how it is read, and what becomes of its requests."""

from typing import Annotated, Literal, TypedDict

from nandlab.options.option import Option

PANEL = "How a trace is read"


def _option(unset: str) -> Option:
    return Option(unset=unset, is_key=True, panel=PANEL)


class FormatOptions(TypedDict, total=False):
    """The format of a trace."""

    format: Annotated[
        str | None, Option(is_key=True, unset="detected from its first line", family="trace")
    ]
    """Format of the trace; required if its first line does not identify it."""


class ReaderOptions(TypedDict, total=False):
    """How the lines of a trace are read."""

    action: Annotated[str, _option("Q")]
    """blkparse: the replayed action of each I/O: Q, D, G, I or C."""
    device: Annotated[list[str], _option("all")]
    """Only these devices, as `nandlab trace info` names them."""
    sector_bytes: Annotated[int, _option("512")]
    """Bytes of a sector, if the format has addresses in sectors."""
    size_unit_bytes: Annotated[int, _option("as addresses")]
    """Bytes of the unit of sizes, if it differs from the unit of addresses."""
    time_unit: Annotated[str, _option("ns")]
    """Unit of times, if the format does not define it: ps, ns, us, ms, s or 100ns."""
    time_scale: Annotated[float, _option("1")]
    """Multiplies all times and pauses: 0.5 replays twice as fast."""
    on_bad_line: Annotated[Literal["fail", "skip"], _option("fail")]
    """Bad lines: an error, or skipped and counted by reason."""


class TraceOptions(ReaderOptions, total=False):
    """How a trace is read. Missing options have their defaults."""

    urgent: Annotated[Literal["none", "marked", "all"], _option("none")]
    """Urgent writes: none, the writes marked in the trace, or all.

    ``ftl.fast_pages`` gives them fast pages. blkparse and blktrace mark the synchronous ones.
    """
    namespace: Annotated[int, _option("the whole drive")]
    """Namespace that the trace is replayed on, by its number from 1, of a drive that has some.

    The trace sees its bytes as a drive.
    """
    address: Annotated[Literal["reject", "wrap", "compact"], _option("reject")]
    """Addresses beyond the drive: an error, taken modulo its capacity, or packed without gaps."""
    time: Annotated[Literal["reject", "clamp", "sort-window"], _option("reject")]
    """Times that go back: an error, set to the time before, or sorted."""
    sort_window: Annotated[int, _option("4096")]
    """Requests in the sorting window; only with time = sort-window."""
    loops: Annotated[int, _option("1")]
    """Passes over the trace.

    Each pass begins a mean interval after the end of the pass before.
    """
