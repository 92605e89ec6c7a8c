"""Workload of a target as closed forms see it: what each kind of request asks of the flash.

A job is taken only where all of its options are known here, its addresses are uniform over the
whole drive, and its requests have one size. Of other jobs, and of traces, there are no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.drive.workload import Plan
from nandlab.lint.jobs import Job, in_bytes, jobs_of

_KNOWN = frozenset(
    (
        *("rw", "bs", "iodepth", "numjobs", "number_ios", "io_size", "loops", "norandommap"),
        *("rate", "rate_iops", "rate_process", "thinktime", "runtime", "time_based", "stonewall"),
        *("rwmixread", "rwmixwrite", "ioengine", "direct", "group_reporting", "percentile_list"),
    )
)
"""Options that leave addresses uniform and sizes alike."""

_RANDOM = ("randread", "randwrite", "randrw")


@dataclass(frozen=True)
class Kind:
    """Requests of one operation and size."""

    is_read: bool
    size: int
    """Bytes of a request."""


@dataclass(frozen=True)
class Uniform:
    """Uniform requests over the whole drive."""

    kinds: Sequence[Kind]
    read_share: float | None
    """Share of reads among the requests, where one job sends them all."""
    read_depth: int
    """Reads in flight, at most."""
    written: float | None
    """Bytes that the measured run writes, where the jobs say it."""
    is_independent: bool
    """Whether each write may go to any address, those of late ones too (`norandommap`)."""

    def sizes(self, *, is_read: bool) -> list[int]:
        """Sizes of its reads, or of its writes."""
        return [one.size for one in self.kinds if one.is_read is is_read]


def uniform_of(plan: Plan, capacity: int) -> Uniform | None:
    """The workload of a plan, if it is uniform.

    Args:
        plan: of a run, its jobs as text.
        capacity: bytes that the host sees.
    """
    jobs = jobs_of(plan.source) if plan.kind == "fio_text" else []
    kinds: list[Kind] = []
    for job in jobs:
        is_known = set(job.options) <= _KNOWN and job.options.get("rw") in _RANDOM
        if not (is_known and job.is_over_all):
            return None
        sizes = [in_bytes(each) for each in job.options.get("bs", "4k").split(",")]
        for size, is_read in ((sizes[0], True), (sizes[min(1, len(sizes) - 1)], False)):
            if not (job.reads if is_read else job.writes):
                continue
            if not size:
                return None
            kinds.append(Kind(is_read, size))
    writers = [job for job in jobs if job.writes]
    each = [job.written_bytes(capacity) for job in writers]
    # A time, or a beginning that is not measured, leaves open how much is written.
    is_timed = any("runtime" in job.options for job in writers)
    is_whole = plan.until is None and plan.skip in (None, "0") and not is_timed
    # Of a count and an amount of data the one that is reached first ends a job.
    is_doubly_ended = any({"number_ios", "io_size"} <= job.options.keys() for job in writers)
    # Rates of both directions decide how many requests read, not their shares.
    is_rated = any(
        job.reads and job.writes and {"rate", "rate_iops"} & job.options.keys() for job in jobs
    )
    is_told = is_whole and not is_doubly_ended and not is_rated
    known = [one for one in each if one is not None]
    return (
        None
        if not kinds
        else Uniform(
            kinds=kinds,
            read_share=_read_share(jobs[0]) if len(jobs) == 1 and not is_rated else None,
            read_depth=sum(
                job.number("iodepth", 1) * job.number("numjobs", 1) for job in jobs if job.reads
            ),
            written=sum(known) if is_told and len(known) == len(each) else None,
            is_independent=all(job.options.get("norandommap", "0") != "0" for job in writers),
        )
    )


def _read_share(job: Job) -> float:
    if not job.writes or not job.reads:
        return float(job.reads)
    share = job.number("rwmixread", 50) / 100
    return 1 - job.number("rwmixwrite", 50) / 100 if "rwmixwrite" in job.options else share
