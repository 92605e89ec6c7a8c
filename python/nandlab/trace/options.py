"""Options of a trace: from the form of users to the form of the engine."""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from nandlab.given.arguments import as_text, to_json
from nandlab.given.refusal import refusal


class TraceOptions(TypedDict, total=False):
    """How a trace is read. What is left out keeps its default."""

    action: str
    """blkparse: which action is replayed: Q (default), D, G, I or C."""
    device: list[str]
    """Only these devices, as ``trace_info`` names them."""
    sector_bytes: int
    """Bytes of the unit of addresses, where a format counts in sectors (512)."""
    size_unit_bytes: int
    """Bytes of the unit of sizes, where it differs from that of addresses."""
    time_unit: str
    """Unit of times, where a format leaves it open: ps, ns (default), us, ms, s or 100ns."""
    time_scale: float
    """Multiplies all times (1): 0.5 replays twice as fast."""
    urgent: Literal["none", "marked", "all"]
    """Writes that somebody waits for: none (default), those that the trace marks, or all."""
    on_bad_line: Literal["fail", "skip"]
    """A bad line is an error (default), or left out and counted."""
    address: Literal["reject", "wrap", "compact"]
    """Addresses beyond the drive: an error (default), modulo, or packed without gaps."""
    time: Literal["reject", "clamp", "sort-window"]
    """Times out of order: an error (default), set to the time before, or sorted."""
    sort_window: int
    """Records held back for sorting with time = "sort-window" (4096)."""
    loops: int
    """Passes over the trace (1); the times of a pass follow those of the one before."""


def native_options(format: str | None, options: Mapping[str, Any] | None) -> str:
    """Reader options as the JSON that the engine checks; keys that are None stay away.

    Raises:
        NandlabError: no mapping, or a number that is none.
    """
    chosen = given_options(options)
    if format is not None:
        chosen["format"] = as_text("format", format, "a format's name")
    return json.dumps(chosen)


def given_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options that were given: those that are None stay away.

    Raises:
        NandlabError: no mapping, or a value that is no JSON.
    """
    if options is not None and not isinstance(options, Mapping):
        raise refusal("trace options", f"{options!r}: not a mapping", TraceOptions.__annotations__)
    every: dict[str, Any] = json.loads(to_json("trace", dict(options or {})))
    return {key: value for key, value in every.items() if value is not None}
