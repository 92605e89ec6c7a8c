"""Laws of a report: what holds in the JSON of every run, whatever the drive and the workload.

Each law is a function from a report to what is broken in it; `LAWS` is the roster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from nandlab.report import Report
from nandlab.report.tables import Operation

_OPS = ("read", "write", "trim", "flush")

#: Those of a drive with zones beside them.
_OF_ZONES = ("append", "reset", "finish", "open", "close", "open_area", "commit")


def by_op(report: Report) -> dict[str, Operation]:
    """Requests by operation."""
    of_zones = {op: report.zones[op] for op in _OF_ZONES} if report.zones else {}
    return {op: report.host[op] for op in _OPS} | of_zones


_RANKS = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "max")
_CLOSE = 1e-6
"""Relative difference of sums of floating-point numbers."""

#: What may lie below zero: parameters, and what the drive was given.
_GIVEN = ("nandlab", "global options")


def _is_close(one: float, other: float, scale: float = 0.0) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other), scale)


def numbers(node: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number below a node, with its path; truth values are none."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from numbers(value, f"{path}[{index}]")
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path, node


def finite(report: Report) -> Iterator[str]:
    """No number is infinite or NaN, and none is below zero."""
    for path, value in numbers(report):
        if not math.isfinite(value):
            yield f"{path} is {value}"
        elif value < 0 and not path.startswith(_GIVEN):
            yield f"{path} is {value}, below zero"


def fractions(report: Report) -> Iterator[str]:
    """Fractions and shares lie within 0 and 1, percentages within 0 and 100."""
    for path, value in numbers(report):
        if path.startswith("nandlab.config"):
            continue
        last = path.split(".")[-1]
        if ("fraction" in last or "share" in last or path.startswith("dies.")) and not (
            0 <= value <= 1 + _CLOSE
        ):
            yield f"{path} is {value}"
        if path.startswith("jobs[") and "].latency_" in path and not 0 <= value <= 100 + _CLOSE:
            yield f"{path} is {value} percent"


def percentiles(report: Report) -> Iterator[str]:
    """Percentiles rise from the least to the longest latency, and the mean lies between these."""
    host = report.host
    for name, part in [("host", host), *((f"host.{op}", host[op]) for op in _OPS)]:
        latency = part.latency_us
        ranks = [latency[rank] for rank in _RANKS]
        if latency.count and ranks != sorted(ranks):
            yield f"{name}.latency_us does not rise: {ranks}"
        low, high = latency.min * (1 - _CLOSE), latency.max * (1 + _CLOSE)
        if latency.count and not low <= latency.mean <= high:
            yield f"{name}.latency_us.mean {latency.mean} is not within {low} and {high}"
    for job in report.jobs:
        for direction in ("read", "write", "trim", "sync"):
            table = job[direction]["lat_ns"]
            by_rank = sorted((float(rank), at) for rank, at in table["percentile"].items())
            ranks = [at for _, at in by_rank]
            if ranks != sorted(ranks):
                yield f"{job.jobname}.{direction}.lat_ns does not rise: {ranks}"


def completions(report: Report) -> Iterator[str]:
    """Every request issued is completed or lost in a power cut, as many as the jobs have.

    Unless the run is interrupted.
    """
    host, held = report.host, report.checks.conservation
    issued, completed = host.requests_issued, host.requests_completed
    if (held.issued, held.completed) != (issued, completed):
        yield f"checks and host count differently: {held}"
    if report.sim.interrupted:
        if completed > issued:
            yield f"{completed} completed of {issued} issued"
        return
    if issued != completed + held.lost:
        yield f"{issued} issued, {completed} completed, {held.lost} lost"
    if held.expected is not None and held.expected != issued:
        yield f"{held.expected} expected, {issued} issued"


def checks(report: Report) -> Iterator[str]:
    """The report's own checks hold."""
    held = report.checks
    if report.sim.interrupted:
        return
    if not held.conservation.ok:
        yield f"conservation: {held.conservation}"
    for name in ("little_law_error", "busy_idle_error"):
        if (held[name] or 0) > 1e-9:
            yield f"{name} is {held[name]}"


def units(report: Report) -> Iterator[str]:
    """Every physical unit is mapped, free, invalid or bad."""
    held = report.checks.conservation
    parts = sum(held[f"{name}_units"] for name in ("mapped", "free", "invalid", "bad"))
    if parts != held.physical_units:
        yield f"{parts} units of {held.physical_units}"


def operations(report: Report) -> Iterator[str]:
    """Operations add up to all requests; bytes over time are the rates; jobs add up to the host."""
    host, seconds = report.host, report.sim.simulated_s
    every = by_op(report)
    requests = sum(part.requests for part in every.values())
    if host.latency_us.count != sum(p.latency_us.count for p in every.values()):
        yield "latencies of operations are not those of all requests"
    if requests > host.requests_completed:
        yield f"{requests} requests by operation, {host.requests_completed} completed"
    if not _is_close(host.iops, sum(part.iops for part in every.values())):
        yield f"iops {host.iops} is not the sum of its operations"
    for op, key in (("read", "read"), ("write", "write"), ("trim", "trim"), ("flush", "sync")):
        part = host[op]
        if part.latency_us.count != part.requests:
            yield f"{op}: {part.requests} requests, {part.latency_us.count} latencies"
        of_jobs = sum(job[key]["total_ios"] for job in report.jobs)
        if op in ("write", "trim") and report.zones:
            # Appends are writes, and commands of jobs that write nothing are trims.
            of_jobs = part.requests
        if of_jobs != part.requests:
            yield f"{op}: jobs have {of_jobs} requests, the host {part.requests}"
        if seconds and op in ("read", "write"):
            # Rates are over the measured time, which is no longer than the run.
            least = part.bytes / 1e6 / seconds
            if part.bandwidth_mb_s < least * (1 - _CLOSE):
                yield f"{op}: {part.bandwidth_mb_s} MB/s, at least {least}"
    if host.requests_failed > host.requests_completed:
        yield f"{host.requests_failed} failed of {host.requests_completed}"
    if host.read_units_unwritten > host.read_units:
        yield f"{host.read_units_unwritten} unwritten of {host.read_units} units read"


def times(report: Report) -> Iterator[str]:
    """The parts of the time of dies add up to 1; nothing is busy for longer than the run."""
    if report.sim.simulated_s > 0:
        parts = sum(report.dies.values())
        if not _is_close(parts, 1):
            yield f"the parts of the dies' time add up to {parts}"
    busy = report.channels.busy_fraction
    mean = report.channels.busy_fraction_mean
    if busy and not _is_close(mean, sum(busy) / len(busy)):
        yield f"channels are busy {busy}, {mean} in the mean"
    longest = report.host.latency_us.max
    if longest > report.sim.simulated_s * 1e6 * (1 + _CLOSE):
        yield f"a latency of {longest} us in a run of {report.sim.simulated_s} s"


def energy(report: Report) -> Iterator[str]:
    """The parts of the energy add up to it."""
    nand = report.nand
    parts = sum(nand.energy.values())
    if not _is_close(parts, nand.energy_uj):
        yield f"parts of the energy are {parts} uJ of {nand.energy_uj}"


def amplification(report: Report) -> Iterator[str]:
    """Write amplification is the units programmed over those that the host has written."""
    ftl = report.ftl
    parts = ftl.host_units + ftl.gc_copies + ftl.padding_units
    bytes_ = sum(part.bytes for op, part in by_op(report).items() if op in ("write", "append"))
    written = bytes_ / ftl.unit_bytes
    known = ftl.write_amplification * written
    # Map pages count too, with as many units as a page has; a ramp is in no count of the host.
    if known and known < parts * (1 - _CLOSE) and not _has_ramp(report):
        yield f"write amplification {ftl.write_amplification}: {known} units, {parts} counted"
    is_all = known and not ftl.map.writes and not _has_ramp(report)
    if is_all and not _is_close(known, parts):
        yield f"write amplification {ftl.write_amplification}: {known} units of {parts}"


def _has_ramp(report: Report) -> bool:
    """Whether some requests are not measured: of a ramp, or writes that were refused."""
    host = report.host
    return bool(
        sum(part.requests for part in by_op(report).values()) != host.requests_completed
        or report.sim.interrupted
    )


def flash(report: Report) -> Iterator[str]:
    """What fails, is bad or is a part is no more than there is of it."""
    nand, ecc, ftl = report.nand, report.ecc, report.ftl
    cycles = nand.pe_cycles
    if not cycles.min - _CLOSE <= cycles.mean <= cycles.max + _CLOSE:
        yield f"pe_cycles {cycles}"
    for part, whole in (
        (nand.failed_programs, nand.programs),
        (nand.failed_erases, nand.erases),
        (ecc.hard_failures, ecc.codewords),
        (ftl.levelled_blocks, ftl.gc_runs),
        (ftl.read_reclaims, ftl.gc_runs + ftl.read_reclaims),
    ):
        if part > whole:
            yield f"{part} of {whole}: {nand}, {ecc}, {ftl}"
    ram = dict(ftl.ram_bytes)
    total = ram.pop("total")
    if sum(ram.values()) != total:
        yield f"ram_bytes {ram} of {total}"


def fio_tables(report: Report) -> Iterator[str]:
    """Tables of latencies, as fio has them, add up to all requests of a job."""
    for job in report.jobs:
        tables = ("latency_ns", "latency_us", "latency_ms")
        total = sum(share for table in tables for share in job[table].values())
        count = sum(job[direction]["total_ios"] for direction in ("read", "write", "trim"))
        if count and not _is_close(total, 100):
            yield f"{job.jobname}: fio's tables add up to {total} percent"
        for direction in ("read", "write", "trim"):
            part = job[direction]
            if part.total_ios != part.lat_ns.N:
                yield f"{job.jobname}.{direction}: {part.lat_ns.N} latencies"


def tenants(report: Report) -> Iterator[str]:
    """Fairness is the least slowdown over the most, and slowdowns are ratios of mean latencies."""
    shared = report.tenants
    if not shared:
        return
    slowdowns = []
    for one in shared.jobs:
        if one.slowdown is not None:
            slowdowns.append(one.slowdown)
            ratio = one.together.latency_us.mean / one.alone.latency_us.mean
            if not _is_close(ratio, one.slowdown):
                yield f"{one.name}: slowdown {one.slowdown} of {ratio}"
    if shared.fairness is not None and not _is_close(
        shared.fairness, min(slowdowns) / max(slowdowns)
    ):
        yield f"fairness {shared.fairness} of {slowdowns}"
    if sum(one.jobs for one in shared.jobs) != len(report.jobs):
        yield f"{len(report.jobs)} jobs, others of tenants"


#: Every law of a report.
LAWS: tuple[Callable[[Report], Iterator[str]], ...] = (
    finite,
    fractions,
    percentiles,
    completions,
    checks,
    units,
    operations,
    times,
    energy,
    amplification,
    flash,
    fio_tables,
    tenants,
)
