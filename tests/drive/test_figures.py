"""Figures of a report: what nothing stands behind is None, percentiles of few requests are told."""

from __future__ import annotations

import pytest

import nandlab
from nandlab.drive.trust.figures import Figure, figure
from nandlab.report import Report

READS = "[r]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=500\n"


@pytest.fixture(scope="module")
def report() -> Report:
    return nandlab.run("tiny", READS, precondition="fill").report


def test_what_was_not_measured_is_none(report: Report):
    """A run of reads alone has no latency of writes, and no write amplification."""
    for path in (
        ("host", "write", "latency_us", "p99"),
        ("host", "write", "latency_us", "mean"),
        ("jobs", 0, "write", "lat_ns", "mean"),
        ("ftl", "write_amplification"),
        ("endurance_group", "write_amplification"),
        ("no", "such"),
        ("host", "iops", "of"),
    ):
        assert figure(report, path) == Figure(None), path
    # A count and a rate of nothing are 0.
    for path in (("host", "write", "latency_us", "count"), ("host", "write", "iops")):
        assert figure(report, path) == Figure(0)
    assert figure(report, ("host", "read", "latency_us", "mean")).value > 0


@pytest.mark.parametrize(
    ("p", "fio", "is_there", "is_of_few"),
    [
        ("p50", "50.000000", True, False),
        # 5 of 500 requests lie beyond the first, half a request beyond the second.
        ("p99", "99.000000", True, True),
        ("p99_9", "99.900000", False, False),
    ],
)
def test_a_percentile_needs_requests_beyond_it(
    report: Report, p: str, fio: str, is_there: bool, is_of_few: bool
):
    for path in (
        ("host", "read", "latency_us", p),
        ("jobs", 0, "read", "lat_ns", "percentile", fio),
    ):
        found = figure(report, path)
        assert (found.value is not None, found.few_beyond) == (is_there, is_of_few)
