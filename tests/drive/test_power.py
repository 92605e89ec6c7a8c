"""Power over time: an operation draws it while it lasts."""

from __future__ import annotations

import pytest

import nandlab
from nandlab.catalogue import load_config

#: One die of one plane, whose programs take 16 ms and draw 0.12 W; nothing else draws any.
ONE_DIE = {
    "drive.channels": 1,
    "drive.dies_per_channel": 1,
    "chip.geometry.planes_per_die": 1,
    "chip.timing.t_program_us": 16_000,
    "chip.energy": {
        "vcc_v": 3.0,
        "icc_read_ma": 0.0,
        "icc_program_ma": 40.0,
        "icc_erase_ma": 0.0,
    },
    "ftl.overprovisioning": 0.5,
}


@pytest.mark.parametrize("pause_ms", [0, 50, 400, 1000])
def test_the_peak_is_that_of_a_program(pause_ms: int):
    """Bursts of 32 ms, also where the run is so long that intervals are coarse."""
    page = load_config("tiny").config["chip"]["geometry"]["page_bytes"]
    job = f"[w]\nrw=write\nbs={page}\niodepth=1\nnumber_ios=40\nfsync=1\n"
    if pause_ms:
        job += f"thinktime={pause_ms}ms\nthinktime_blocks=2\n"
    result = nandlab.run("tiny", job, set=ONE_DIE)
    report = result.to_dict()
    programs = report["nand"]["programs"]
    assert programs > 30
    assert report["nand"]["energy"]["program_uj"] == pytest.approx(programs * 16_000 * 0.12)
    assert result.peak_power_w == pytest.approx(0.12, rel=0.02)


def test_counts_of_intervals_are_those_of_the_run_through_cuts_and_failures():
    """Units that a cut or a failed program takes back are in no interval, and in no sum."""
    job = "[w]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=4000\nnorandommap=1\n"
    faults = {"recovery.name": "checkpoint", "chip.fault.program_failure_chance": 5e-3}
    result = nandlab.run("tiny", job, precondition="fill", set=faults, cut_at=0.05)
    assert result.to_dict()["nand"]["failed_programs"] > 0
    series, ftl = result.series().to_pydict(), result.to_dict()["ftl"]
    for name in ("host_units", "gc_copies", "padding_units"):
        assert min(series[name]) >= 0
        assert sum(series[name]) == ftl[name]
    assert min(series["gc_moved_mb_s"]) >= 0
