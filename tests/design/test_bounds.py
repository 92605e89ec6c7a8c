"""Bounds in closed form: no run exceeds them, so no drive that holds is put out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nandlab
from nandlab.catalogue import load_config
from nandlab.design.amplification import greedy_amplification
from nandlab.design.bounds import SLACK, bounds_of, least_cycles
from nandlab.design.target import METRICS
from nandlab.design.workload import uniform_of
from nandlab.drive.workload import Plan
from nandlab.lint.controller import amplification
from tests.study.test_sweep import InThisProcess

SMALL = {"chip.geometry.blocks_per_plane": 32}

READS = "[r]\nrw=randread\niodepth=256\nnorandommap\nnumber_ios=4000\n"
ONE = "[r]\nrw=randread\nnorandommap\nnumber_ios=500\n"
SPREAD = ONE.replace("norandommap", "bs=128k\nnorandommap")
WRITES = "[w]\nrw=randwrite\niodepth=64\nnorandommap\nnumber_ios=20000\n"
LARGE = "[w]\nrw=randwrite\nbs=32k\niodepth=64\nnorandommap\nnumber_ios=9000\n"
RATED = "[m]\nrw=randrw\nrate_iops=20000,400\niodepth=64\nnorandommap\nnumber_ios=8000\n"
ENDED = f"{WRITES.replace('20000', '1000000')}io_size=1m\n"
MIXED = "[m]\nrw=randrw\nrwmixread=70\niodepth=64\nnorandommap\nnumber_ios=20000\n"
TWO = f"{READS.replace('4000', '8000')}[w]\nrw=randwrite\niodepth=8\nnorandommap\nnumber_ios=9000\n"


def test_greedy_collection_is_the_least_of_the_policies() -> None:
    for alpha, printed in ((1.07, 7.010), (1.10, 5.247), (1.28, 2.403), (1.50, 1.681)):
        assert greedy_amplification(alpha, 64) == pytest.approx(printed, abs=6e-4)
        assert greedy_amplification(alpha, 64) < amplification(alpha)
        # Of larger blocks it comes to that of FIFO.
        assert greedy_amplification(alpha, 4608) == pytest.approx(amplification(alpha), rel=0.002)
    assert greedy_amplification(1.28, 1) == 1.0


def near_a_bound(job: str, folder: Path) -> set[str]:
    """Figures of runs that are near their bound; none is beyond it."""
    axes = {
        "drive.channels": [1, 2, 3],
        "drive.dies_per_channel": [1, 2, 3],
        "ftl.overprovisioning": [0.4, 0.6, 1.0],
        "chip.timing.bus_mt_s": [333, 40, 20],
    }
    names = [name for name in METRICS if name not in ("capacity_gb", "power_w", "uncorrectable")]
    columns = [f"{name} = {METRICS[name].expression}" for name in names]
    columns.append("capacity = nandlab.capacity_bytes")
    study = nandlab.Study(
        "tiny",
        job,
        axes=axes,
        design="zip",
        columns=columns,
        precondition="steady",
        set=SMALL,
        out=folder,
    )
    rows = study.run(workers=1, executor=InThisProcess()).records()
    near: set[str] = set()
    for row in rows:
        sets = [f"{axis}={row[axis]}" for axis in axes]
        config = load_config("tiny", [*sets, "chip.geometry.blocks_per_plane=32"]).config
        plan = Plan("fio_text", job, "steady")
        load = uniform_of(plan, row["capacity"])
        for name, bound in bounds_of(config, row["capacity"], plan, load).items():
            value = row[name]
            if value is None:
                continue
            if METRICS[name].is_least:
                assert value <= bound * SLACK, (name, row)
                near |= {name} if value > bound / 3 else set()
            else:
                assert value >= bound / SLACK, (name, row)
                near |= {name} if value < bound * 3 else set()
    return near


@pytest.mark.parametrize("job", [READS, ONE, SPREAD, WRITES, LARGE, MIXED, TWO])
def test_no_run_exceeds_a_bound(job: str, tmp_path: Path) -> None:
    near = near_a_bound(job, tmp_path)
    # A bound that is far from every run rules nothing out.
    assert {"iops", "bandwidth_mb_s"} <= near
    if "randwrite" in job and job != TWO:
        assert "write_amplification" in near


@pytest.mark.parametrize("job", [RATED, ENDED])
def test_options_that_decide_otherwise_make_no_bound(job: str, tmp_path: Path) -> None:
    """Rates decide how much is read, and the end that comes first how much is written."""
    near_a_bound(job, tmp_path)


def test_a_life_wears_more_than_the_closed_form_says() -> None:
    for spare, job in ((0.5, WRITES), (1.0, LARGE)):
        one = {"drive.channels": 1, "drive.dies_per_channel": 1}
        sets = {**SMALL, **one, "ftl.overprovisioning": spare}
        lived = nandlab.life("tiny", job, set=sets, years=0.2, dwpd=5, windows=1)
        config = load_config("tiny", [f"{key}={value}" for key, value in sets.items()]).config
        load = uniform_of(Plan("fio_text", job, "fill"), lived.capacity_bytes)
        least = least_cycles(config, lived.capacity_bytes, load, lived.tbw * 1e12)
        worn = lived.windows[-1].pe_cycles_mean
        assert worn / 2 < least < worn


@pytest.mark.parametrize(
    "job",
    [
        READS.replace("norandommap", "size=50%"),
        READS.replace("norandommap", "random_distribution=zipf:1.1"),
        READS.replace("norandommap", "bssplit=4k/50:8k/50"),
        READS.replace("norandommap", "fsync=3"),
        READS.replace("randread", "read"),
        READS.replace("randread", "randtrimwrite"),
    ],
)
def test_what_is_not_uniform_has_no_bounds(job: str) -> None:
    assert uniform_of(Plan("fio_text", job, "fill"), 10**9) is None


def test_an_unwritten_drive_has_no_bounds() -> None:
    config: Any = load_config("tiny").config
    plan = Plan("fio_text", READS, "none")
    assert bounds_of(config, 10**9, plan, uniform_of(plan, 10**9)) == {}


def test_a_buffer_as_large_as_the_drive_leaves_no_bound_of_the_flash() -> None:
    config: Any = load_config("tiny", ["buffer.bytes=2147483648"]).config
    plan = Plan("fio_text", READS, "fill")
    assert bounds_of(config, 10**9, plan, uniform_of(plan, 10**9)) == {}
