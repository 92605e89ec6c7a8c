"""Table of the summary of a trace, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab.display import quantity

if TYPE_CHECKING:
    from rich.console import Console

MOST_DEVICES = 12
"""Devices that are listed; the rest is counted."""


def print_trace(name: str, info: dict[str, Any], console: Console) -> None:
    """Prints what `nandlab.trace_info` found in the file `name`."""
    from rich.table import Table

    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column()
    for key, fact in _facts(name, info).items():
        if fact:
            facts.add_row(key, fact)
    console.print(facts)
    console.print("", _operations(info), sep="\n")
    if len(info["devices"]) > 1:
        console.print("", _devices(info["devices"]), sep="\n")


def _facts(name: str, info: dict[str, Any]) -> dict[str, str]:
    skipped = [f"{count:,} {reason}" for reason, count in info["skipped_lines"].items()]
    extent = sum(device["extent_bytes"] for device in info["devices"])
    facts = {
        "trace": name,
        "format": info["format"] + ("" if info["timed"] else ", without times"),
        "requests": f"{info['requests']:,} in {info['lines']:,} lines",
        "skipped": ", ".join(skipped),
        "CR LF line ends": f"{info['crlf_lines']:,}" if info["crlf_lines"] else "",
    }
    if info["timed"]:
        facts["span"] = f"{info['span_s']:,.3f} s"
        earlier = info["non_monotonic"]
        facts["order"] = f"{earlier:,} requests are out of order in time" * bool(earlier)
    if (between := info["interarrival"]) is not None:
        facts["between requests"] = (
            f"mean {quantity.latency(between['mean_ms'] * 1e3)}, "
            f"median {quantity.latency(between['median_ms'] * 1e3)}, "
            f"variation {between['cv']:.2f} (1 for a Poisson process)"
        )
    facts["extent"] = f"{quantity.size(extent)} up to the last byte"
    if "footprint_4k" in info:
        facts["footprint"] = (
            f"{quantity.size(info['footprint_4k'] * 4096)} touched, "
            f"{quantity.size(info['unique_written_4k'] * 4096)} written"
        )
        if info["unique_written_4k"]:
            facts["rewrites"] = (
                f"each written unit {info['rewrite_factor']:.2f} times; "
                f"the fifth written most takes {info['top_20_percent_write_share']:.1%} of writes"
            )
    if (marked := info["marked_writes"]) is not None:
        facts["urgent"] = f"{marked:,} writes are marked as waited for (urgent = marked)"
    facts["sequential"] = f"{info['sequential_share']:.1%} start at the end of the one before"
    facts["unaligned"] = f"{info['unaligned_4k_share']:.1%} start or end within 4 KiB"
    return facts


def _operations(info: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("operation", style="bold")
    for name in ("requests", "share", "volume", "mean size"):
        table.add_column(name, justify="right")
    for op, row in info["by_op"].items():
        if row["requests"]:
            share = f"{row['requests'] / info['requests']:.1%}"
            sizes = [quantity.size(row["bytes"]), quantity.size(row["mean_bytes"])]
            table.add_row(op, f"{row['requests']:,}", share, *(sizes if op != "flush" else []))
    return table


def _devices(devices: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("device", style="bold")
    for name in ("requests", "extent"):
        table.add_column(name, justify="right")
    for device in devices[:MOST_DEVICES]:
        extent = quantity.size(device["extent_bytes"])
        table.add_row(device["name"], f"{device['requests']:,}", extent)
    if (more := len(devices) - MOST_DEVICES) > 0:
        requests = sum(device["requests"] for device in devices[MOST_DEVICES:])
        table.add_row(f"{more} more", f"{requests:,}", "")
    return table
