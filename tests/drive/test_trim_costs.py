"""Trims cost what their units and their pages of the map cost."""

import pytest

import nandlab

#: A small drive of the kind: 256 GB.
SMALL = {"chip.geometry.blocks_per_plane": 128}


def mean_us(size: str, set: dict[str, object], drive: str = "tiny") -> float:
    """Mean latency of ten trims of one size, one after the other."""
    job = f"[t]\nrw=trim\nbs={size}\nnumber_ios=10\n"
    result = nandlab.run(drive, job, set=set)
    return float(result.report.host.trim.latency_us.mean)


@pytest.mark.parametrize(("size", "units"), [("4k", 1), ("1m", 256), ("800m", 204_800)])
def test_a_trim_costs_by_its_units(size: str, units: int):
    """Large ones take hundreds of milliseconds, as developers of Linux found it of real drives.

    Their change is "block: make /sys/block/<dev>/queue/discard_max_bytes writeable".
    """
    free = {**SMALL, "controller.trim.unit_us": 0.0}
    further = mean_us(size, SMALL, "modern_tlc") - mean_us(size, free, "modern_tlc")
    assert further == pytest.approx(1.4 * units, rel=1e-6)


def test_a_trim_costs_by_its_pages_of_the_map():
    """Each page has 1,024 entries of 4 bytes, which is 4 MiB of addresses."""
    costs = {"controller.trim.map_page_us": 50.0, "controller.trim.delay_us": 3.0}
    for size, pages in (("4k", 1), ("4m", 1), ("8m", 2)):
        further = mean_us(size, costs) - mean_us(size, {})
        assert further == pytest.approx(50.0 * pages + 3.0, abs=1e-3)


def test_a_map_on_flash_costs_reads_of_its_pages():
    """A page whose units are all trimmed is dropped; of others the map needs the rest."""
    dftl = {"ftl.name": "dftl", "ftl.map_cache_bytes": 8192}
    reads, means = {}, {}
    for size, rw in (("16m", "trim"), ("4k", "randtrim"), ("256k", "randtrim")):
        job = f"[t]\nrw={rw}\nbs={size}\nnumber_ios=4\n"
        report = nandlab.run("tiny", job, precondition="fill", set=dftl).report
        reads[size], means[size] = report.ftl.map.reads, report.host.trim.latency_us.mean
    assert reads == {"16m": 0, "4k": 4, "256k": 4}
    assert min(means["4k"], means["256k"]) > 50 + means["16m"]
