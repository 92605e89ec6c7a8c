"""Options of a trace: how it is read, and what becomes of its requests."""

from typing import Annotated, Literal, TypedDict

from nandlab.options.option import Option

PANEL = "How a trace is read"


def _option(unset: str) -> Option:
    return Option(unset=unset, is_key=True, panel=PANEL)


class FormatOptions(TypedDict, total=False):
    """The format of a trace."""

    format: Annotated[
        str | None, Option(is_key=True, unset="told from its first line", family="trace")
    ]
    """Name of the format of the trace; to be given where the first line does not tell it."""


class ReaderOptions(TypedDict, total=False):
    """How the lines of a trace are read."""

    action: Annotated[str, _option("Q")]
    """blkparse: action of each I/O that is replayed: Q, D, G, I or C."""
    device: Annotated[list[str], _option("all")]
    """Only these devices, as `nandlab trace info` names them."""
    sector_bytes: Annotated[int, _option("512")]
    """Bytes of the unit of addresses, where the format counts in sectors."""
    size_unit_bytes: Annotated[int, _option("that of addresses")]
    """Bytes of the unit of sizes, where it differs from that of addresses."""
    time_unit: Annotated[str, _option("ns")]
    """Unit of times, where the format leaves it open: ps, ns, us, ms, s or 100ns."""
    time_scale: Annotated[float, _option("1")]
    """Multiplies all times and pauses: 0.5 replays twice as fast."""
    on_bad_line: Annotated[Literal["fail", "skip"], _option("fail")]
    """Bad lines: an error, or left out and counted by reason."""


class TraceOptions(ReaderOptions, total=False):
    """How a trace is read. What is left out keeps its default."""

    urgent: Annotated[Literal["none", "marked", "all"], _option("none")]
    """Writes that somebody waits for: none, those that the trace marks, or all.

    The flash that they get: ``ftl.fast_pages``. Of the formats only blkparse has a mark: S in
    ``RWBS``.
    """
    address: Annotated[Literal["reject", "wrap", "compact"], _option("reject")]
    """Addresses beyond the drive: an error, modulo its capacity, or packed without gaps."""
    time: Annotated[Literal["reject", "clamp", "sort-window"], _option("reject")]
    """Times that go back: an error, set to the time before, or sorted."""
    sort_window: Annotated[int, _option("4096")]
    """Requests held back for sorting; only with time = sort-window."""
    loops: Annotated[int, _option("1")]
    """Passes over the trace.

    The times of a pass follow those of the one before, a mean interval apart.
    """
