"""Table of the jobs of a run: a row for each section, below the totals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.drive.latency import is_exceeded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nandlab.report.tables import Direction, Job, Report

MOST_SECTIONS = 8
"""Sections that have rows of their own; more make no table that anybody reads."""

_DIRECTIONS = ("read", "write", "trim")


@dataclass
class Section:
    """The jobs of one section of a job file: `numjobs` clones run side by side."""

    name: str
    jobs: list[Job] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name, and how many clones."""
        return f"{self.name} x {len(self.jobs)}" if len(self.jobs) > 1 else self.name

    @property
    def seconds(self) -> float:
        """From the measured start to the last completion of any clone."""
        each = [way for job in self.jobs for way in (job.read, job.write, job.trim)]
        # The reported runtimes are whole milliseconds; the rates are exact.
        return max((of.total_ios / of.iops for of in each if of.iops), default=0.0)

    def done(self, op: str) -> list[Direction]:
        """The direction `op` of the clones that completed requests in it."""
        each: list[Direction] = [job[op] for job in self.jobs]
        return [of for of in each if of.total_ios]


def sections(report: Report) -> list[Section]:
    """The sections of a run in their order: clones have one name and stand in one group."""
    found: dict[tuple[int, str], Section] = {}
    for job in report.jobs:
        key = (job.groupid, job.jobname)
        found.setdefault(key, Section(job.jobname)).jobs.append(job)
    return list(found.values())


def job_parts(report: Report, *, is_narrow: bool) -> list[RenderableType]:
    """Rows by section and operation, and the time that rates refer to; empty for one section."""
    from rich.text import Text

    every = sections(report)
    if len(every) < 2:
        return []
    host = report.host
    whole_s = host.latency_us.count / host.iops if host.iops else 0.0
    whole = f"the whole run ({quantity.seconds(whole_s)})"
    said = f"Rates above are over {whole}, of all jobs together;"
    if len(every) > MOST_SECTIONS:
        said += f"\n{len(every)} sections over their own times: `jobs` of the report."
        return ["", Text(said)]
    return [
        "",
        _table(every, is_narrow=is_narrow),
        "",
        Text(f"{said} those of a job over its own."),
    ]


def _table(every: list[Section], *, is_narrow: bool) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("job", style="bold")
    table.add_column("")
    counts = ["IOPS", "MB/s"] if is_narrow else ["requests", "time", "IOPS", "MB/s"]
    percents = (50, 99) if is_narrow else (50, 99, 99.9)
    for name in (*counts, "mean", *(f"p{percent:g}" for percent in percents), "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for section in every:
        title = section.title
        for op in _DIRECTIONS:
            cells = _cells(section, op, percents, 3 if is_narrow else 4)
            if cells:
                table.add_row(Text(title), op, *cells[4 - len(counts) :])
                title = ""
        if title:
            table.add_row(Text(title), "none")
    return table


def _cells(section: Section, op: str, percents: tuple[float, ...], digits: int) -> list[str]:
    """Requests, time, IOPS, MB/s, mean, percentiles, maximum; empty without requests."""
    each = section.done(op)
    requests = sum(of.total_ios for of in each)
    if not requests:
        return []
    took_s = section.seconds
    per_s = 1 / took_s if took_s else 0.0
    bandwidth = sum(of.io_bytes for of in each) * per_s / 1e6
    return [
        f"{requests:,}",
        quantity.seconds(took_s),
        quantity.rate(requests * per_s),
        quantity.rate(bandwidth) if op != "trim" else "",
        quantity.latency_cell(
            sum(of.lat_ns.mean * of.total_ios for of in each) / requests / 1e3, digits
        ),
        # Percentiles of several clones do not follow from those of each.
        *(_percentile(each[0], p, digits) if len(each) == 1 else "" for p in percents),
        quantity.latency_cell(max(of.lat_ns.max for of in each) / 1e3, digits),
    ]


def _percentile(of: Direction, percent: float, digits: int) -> str:
    if not is_exceeded(of.total_ios, percent):
        return ""
    return quantity.latency_cell(of.lat_ns.percentile[f"{percent:.6f}"] / 1e3, digits)
