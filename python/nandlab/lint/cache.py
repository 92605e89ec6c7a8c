"""Checks of read caches: those that hold all that is read, and those that hold none of it."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.display import quantity
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.jobs import Job
from nandlab.lint.settings import READS, SMALL
from nandlab.lint.subject import Subject

LEAST_HITS = 0.01
"""Share of hits below which a cache changes no figure of a run."""


def _readers(subject: Subject) -> list[tuple[Job, float]]:
    """Jobs that read, each with the bytes that it reads from; empty where a study varies them."""
    spans = ("job.size", "job.offset", "job.rw", "job.random_distribution", "read_cache", "drive")
    if subject.drive is None or subject.is_varied(*spans, "run.workload", "run.trace"):
        return []
    if not subject.value("read_cache.bytes"):
        return []
    capacity = round(subject.capacity_bytes)
    return [(job, job.span_bytes(capacity)) for job in subject.jobs if job.reads]


def _all_in_cache(subject: Subject) -> Iterator[Hit]:
    readers = _readers(subject)
    cache = subject.value("read_cache.bytes") if readers else 0
    # Jobs may share their bytes: no more than all together are read.
    if readers and sum(span for _, span in readers) <= cache:
        job, _ = readers[0]
        yield Hit(
            subject.of_job(job, "size"),
            f"the jobs read {quantity.size(sum(span for _, span in readers))}, which the read cache"
            f" of {quantity.size(cache)} holds: after the first pass no read needs the flash",
        )


def _no_hits(subject: Subject) -> Iterator[Hit]:
    readers = _readers(subject)
    if not readers or not all(job.is_uniform for job, _ in readers):
        return
    cache, least = subject.value("read_cache.bytes"), min(span for _, span in readers)
    if cache < LEAST_HITS * least:
        yield Hit(
            subject.at("read_cache.bytes"),
            f"uniform reads of {quantity.size(least)} hit a cache of {quantity.size(cache)} in"
            f" {cache / least:.2g} of all cases: the run shows what the cache costs, not its use",
        )


_SKEWED = READS + "random_distribution=zipf:1.2\n"
_CACHE = {**SMALL, "read_cache.bytes": 1 << 18}

CHECKS = (
    Check(
        code="L023",
        title="a read cache that holds all that is read",
        assumed="Reads of a small file show the speed of the flash.",
        why="What the DRAM of the controller holds is read from there: a benchmark of fewer bytes"
        " than that measures the DRAM and the link. An application with more data does not see it.",
        sources=(),
        instead="jobs that read more than the cache holds (`size`), or `read_cache.bytes = 0` where"
        " the flash is meant",
        looks_at=("drive", "job", "study"),
        find=_all_in_cache,
        pair=Pair(
            Setting("1 MiB is read", {}, {"workload": f"{READS}size=1m\n"}),
            Setting("all is read", {}, {"workload": READS}),
            READS,
            ("read mean (us)", "IOPS"),
            {**SMALL, "read_cache.bytes": 1 << 21},
            "fill",
        ),
    ),
    Check(
        code="L024",
        title="a read cache under uniform reads",
        assumed="Uniform random reads show the use of a read cache.",
        why="A cache holds what is read again. Under uniform reads its share of hits is its share of"
        " the bytes, whatever its policy: next to nothing on a drive. Under the skewed reads of"
        " applications a cache of the same size has many hits (Che 2002 says how many).",
        sources=("che2002",),
        instead="`random_distribution=zipf:0.9` or a trace, or a cache that is large for the bytes"
        " that are read",
        looks_at=("drive", "job", "study"),
        find=_no_hits,
        pair=Pair(
            Setting("uniform reads", {}, {"workload": READS}),
            Setting("skewed reads", {}, {"workload": _SKEWED}),
            READS,
            ("read mean (us)", "IOPS"),
            _CACHE,
            "fill",
        ),
    ),
)
"""In the order of their codes."""
