"""Rows of a result's table for a drive that was served: clients, answers, power cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.drive.latency import is_exceeded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nandlab.report.tables import CommandsOfKind, Report

_COMMANDS = {
    "read": ("read", "reads"),
    "write": ("write", "writes"),
    "flush": ("flush", "flushes"),
    "trim": ("trim", "trims"),
    "write_zeroes": ("write of zeros", "writes of zeros"),
    "cache": ("prefetch", "prefetches"),
    "block_status": ("block status", "block statuses"),
    "zone_append": ("append", "appends"),
    "zone_reset": ("reset of zones", "resets of zones"),
    "zone_finish": ("finish of zones", "finishes of zones"),
    "zone_open": ("open of zones", "opens of zones"),
    "zone_close": ("close of zones", "closes of zones"),
    "zone_open_area": ("open with a random write area", "opens with random write areas"),
    "zone_commit": ("commit of a random write area", "commits of random write areas"),
}
"""One and many of each command."""


def clients(report: Report) -> str:
    """Clients with their requests; empty for a drive that was not served."""
    if "device" not in report:
        return ""
    device = report.device
    came = f"{device.clients:,}"
    if device.dropped_clients:
        came += f" ({device.dropped_clients:,} dropped)"
    requests = device.requests
    asked = [_counted(requests[name], name) for name in _COMMANDS if requests[name]]
    parts = [f"{came}: {', '.join(asked) or 'no requests'}"]
    if device.refused_requests:
        parts.append(f"{device.refused_requests:,} refused")
    if device.failed_requests:
        parts.append(f"{device.failed_requests:,} failed")
    if device.lost_bytes:
        parts.append(f"{quantity.size(device.lost_bytes)} lost")
    if device.snapshots:
        count = len(device.snapshots)
        parts.append("1 snapshot" if count == 1 else f"{count:,} snapshots")
    return "; ".join(parts)


def _counted(count: int, command: str) -> str:
    """Requests of a command."""
    one, many = _COMMANDS[command]
    return f"{count:,} {one if count == 1 else many}"


def answers(report: Report) -> str:
    """How much later than their time answers were, with a clock."""
    late = report.device.late_us if "device" in report else None
    if not late:
        return ""
    names = {"mean": "mean", "p50": "p50", "p99": "p99", "p99.9": "p99.9", "max": "at most"}
    parts = [f"{name} {quantity.latency(late[key])}" for key, name in names.items()]
    count = report.device.late_answers
    share = f"; {count:,} by more than 50 µs: the host was the limit" if count else ""
    return f"late by {', '.join(parts)}{share}"


def traffic_parts(report: Report) -> list[RenderableType]:
    """Rows by namespace and by queue of NVMe hosts; empty for one of each."""
    from rich.table import Table

    device = report.device if "device" in report else None
    kinds = {
        "namespace": (device and device.namespaces) or {},
        "queue": (device and device.queues) or {},
    }
    told = {kind: each for kind, each in kinds.items() if len(each) > 1}
    if not told:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("NVMe", style="bold")
    table.add_column("")
    for name in ("commands", "data", "mean", "p50", "p99", "p99.9", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, each in told.items():
        for number, commands in each.items():
            title = f"{kind} {number}"
            for name in ("read", "write", "other"):
                of: CommandsOfKind = commands[name]
                if of.latency_us.count:
                    table.add_row(title, name, *_cells(of))
                    title = ""
    return ["", table]


def _cells(of: CommandsOfKind) -> list[str]:
    """Commands, data, mean, percentiles, maximum; empty where too few say nothing."""
    latency = of.latency_us
    percents = {50: latency.p50, 99: latency.p99, 99.9: latency.p99_9}
    return [
        f"{latency.count:,}",
        quantity.size(of.bytes) if of.bytes else "",
        quantity.latency(latency.mean),
        *(
            quantity.latency(value) if is_exceeded(latency.count, percent) else ""
            for percent, value in percents.items()
        ),
        quantity.latency(latency.max),
    ]


def cuts(report: Report) -> str:
    """Power cuts with their start-ups; empty without any."""
    told = report.device.cuts if "device" in report else []
    if not told:
        return ""
    sums = {
        "requests not answered": sum(each.unanswered_requests for each in told),
        "units reverted": sum(each.reverted_units or 0 for each in told),
        "units forgotten": sum(each.forgotten_units or 0 for each in told),
    }
    parts = [f"{count:,} {name}" for name, count in sums.items() if count]
    ready = [each.ready_after_s for each in told if each.ready_after_s is not None]
    if ready:
        parts.append(f"ready after {quantity.seconds(max(ready))} at most")
    return ": ".join([f"{len(told):,}", *([", ".join(parts)] if parts else [])])
