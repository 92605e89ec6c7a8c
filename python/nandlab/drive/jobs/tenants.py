"""Tenants, jobs that share a drive: runs alone, their table, and priorities without effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.display import quantity
from nandlab.display.progress import Meter, Progress
from nandlab.drive.jobs.rates import job_options
from nandlab.drive.latency import is_exceeded
from nandlab.process.interrupt import Stop

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nandlab.report.tables import Operation, Report

_WEIGHTED = "weighted_round_robin"

_OF_WEIGHTS = ("weight_high", "weight_medium", "weight_low")


def run_alone(
    simulation: _core.Simulation,
    skip: str | None,
    until: str | None,
    stop: Stop,
    progress: Callable[[Progress], object] | None,
    step_s: float,
) -> bool:
    """Runs each tenant alone, on a clone of the drive: False where it was interrupted."""
    simulation.plan_alone(skip, until)
    meter, is_over = Meter("alone", progress), False
    while not is_over and not stop.asked:
        completed, is_over = simulation.advance_alone(step_s)
        meter.tell(completed, None, last=is_over)
    return is_over


def tenant_parts(report: Report) -> list[RenderableType]:
    """A row for each tenant, alone and beside the others, and the fairness; empty without."""
    from rich.table import Table
    from rich.text import Text

    tenants = report.tenants
    if not tenants:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("tenant", style="bold")
    for name in ("IOPS", "alone", "mean", "alone", "p99", "alone", "slowdown"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in tenants.jobs:
        title = f"{one.name} x {one.jobs}" if one.jobs > 1 else one.name
        each = zip(_cells(one.together), _cells(one.alone), strict=True)
        slowdown = "" if one.slowdown is None else f"{one.slowdown:.3g}"
        table.add_row(Text(title), *(cell for pair in each for cell in pair), slowdown)
    fairness = tenants.fairness
    said = "unknown" if fairness is None else f"{fairness:.3g}"
    return ["", table, "", Text(f"fairness: {said} (least slowdown over the most)")]


def _cells(of: Operation) -> list[str]:
    """IOPS, mean and 99th percentile."""
    latency = of.latency_us
    return [
        quantity.rate(of.iops),
        quantity.latency_cell(latency.mean, 4) if of.requests else "",
        quantity.latency_cell(latency.p99, 4) if is_exceeded(of.requests, 99) else "",
    ]


def idle_weights(config: dict[str, Any]) -> list[str]:
    """A notice where weights or classes are set and queues have their turns without them."""
    host = config["host"]
    if host.get("arbitration") == _WEIGHTED:
        return []
    keys = [f"host.{key}" for key in _OF_WEIGHTS if key in host]
    for name, job in host.get("jobs", {}).items():
        keys += [f"host.jobs.{name}.{key}" for key in ("priority", "weight") if key in job]
    if not keys:
        return []
    verb = "changes" if len(keys) == 1 else "change"
    return [
        f'{" and ".join(keys)} {verb} nothing: host.arbitration = "round_robin"'
        f" ({_WEIGHTED} has classes and weights)"
    ]


def nobody_queued(report: Report) -> list[str]:
    """A notice where jobs have priorities or weights, and no request waited in a queue."""
    host = report.nandlab.config["host"]
    if host.get("arbitration") != _WEIGHTED or report.host.requests_waited:
        return []
    own = host.get("jobs", {}).values()
    is_ordered = any("priority" in job or "weight" in job for job in own) or any(
        {"prio", "prioclass"} & set(job_options(report, job)) for job in report.jobs
    )
    if not is_ordered or not report.host.requests_issued:
        return []
    depth = report.nandlab.config["drive"].queue_depth
    return [
        f"no request waited in its queue, so priorities and weights changed nothing: the drive"
        f" takes {depth:,} commands at a time (drive.queue_depth), and there were never more"
    ]
