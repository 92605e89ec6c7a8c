"""Drives as objects: clones, runs after one another, age, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import refused, some

import nandlab

JOB = "[mix]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n"
MEASURED = ("wall_s", "precondition_wall_s", "requests_per_wall_s", "peak_rss_mb")


def report(result: nandlab.Result) -> dict[str, Any]:
    """The report without what the machine decides."""
    found = result.to_dict()
    found["sim"] = {key: value for key, value in found["sim"].items() if key not in MEASURED}
    return found


@pytest.mark.parametrize("ftl", some(["page", "dftl", "superblock", "bast"], 2))
def test_a_run_on_a_clone_is_the_run_that_preconditioned_itself(ftl: str) -> None:
    sets = {"ftl.name": ftl, "ftl.overprovisioning": 0.6}
    if ftl == "dftl":
        sets["ftl.map_cache_bytes"] = 4096
    alone = nandlab.run("tiny", JOB, set=sets, precondition="steady")
    drive = nandlab.Drive("tiny", set=sets).precondition("steady")
    with ThreadPoolExecutor(2) as pool:
        clones = list(pool.map(lambda drive: drive.run(JOB), [drive.clone(), drive.clone()]))
    for result in (*clones, drive.run(JOB)):
        assert report(result) == report(alone)


def test_a_run_goes_on_from_the_last_one() -> None:
    drive = nandlab.Drive("tiny").precondition("steady")
    first, second = drive.run(JOB), drive.run(JOB)
    cycles = [run.to_dict()["nand"]["pe_cycles"]["mean"] for run in (first, second)]
    assert cycles[1] > cycles[0]


def test_data_grow_old() -> None:
    sets = ["chip.array={name='power_law', beta=1e-3}", "ecc={model='threshold', t=100}"]
    drive = nandlab.Drive("tiny", set=[*sets, "age.pe_cycles=1000"]).precondition("fill")
    reads = "[reads]\nrw=randread\nbs=4k\nnumber_ios=5000\n"
    fresh = drive.clone().run(reads)
    old = drive.age(hours=8760).clone().run(reads)
    errors = [run.to_dict()["ecc"]["raw_bit_errors"] for run in (fresh, old)]
    assert errors[0] < errors[1]


def test_what_a_drive_refuses() -> None:
    drive = nandlab.Drive("tiny").precondition("fill")
    with refused("precondition", "written to"):
        drive.precondition("steady")
    with refused("hours"):
        drive.age(hours=-1)
    with refused("steady"):
        nandlab.Drive("tiny").precondition("stead")
    # A workload that is refused leaves the drive as it is.
    with pytest.raises(nandlab.NandlabError):
        drive.run("[reads]\nrw=randreads\n")
    assert drive.run(JOB).checks.ok
    assert "fill" in repr(drive)
    assert drive.capacity_bytes > 0
