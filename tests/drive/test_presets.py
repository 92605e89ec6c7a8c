"""Every preset of a drive under the plainest jobs: the checks of each run hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Ended, some

import nandlab
from nandlab.catalogue import load_config, presets
from nandlab.drive.result import Checks

JOBS = {
    "writes in order": "rw=write\nbs=128k\niodepth=16\nnumber_ios=2000\n",
    "random writes": "rw=randwrite\nbs=4k\niodepth=16\nnumber_ios=4000\n",
    "reads and writes": "rw=randrw\nrwmixread=70\nbs=4k\niodepth=64\nnumber_ios=4000\n",
    "reads in order": "rw=read\nbs=128k\niodepth=16\nnumber_ios=2000\n",
}

#: One whose blocks change their mode, an eighth of it, runs by default; with --full all do, whole.
CASES = [("consumer_tlc", "1/8"), *((one.name, None) for one in presets("drive"))]


@pytest.mark.parametrize(("preset", "scale"), some(CASES, 1))
def test_checks_hold_under_the_plainest_jobs(preset: str, scale: str | None):
    drive = nandlab.Drive(preset, scale=scale)
    is_zoned = load_config(preset).config["ftl"]["name"] == "zoned"
    zoned = "zonemode=zbd\n" if is_zoned else ""
    for what, job in JOBS.items():
        if zoned and "rand" in job:
            continue
        checks = drive.run(f"[a]\n{job}{zoned}").checks
        assert checks.ok, (what, checks.failures())


def test_checks_hold_where_an_slc_cache_folds():
    """Programs of both modes, with collection."""
    small = {
        "chip.geometry.blocks_per_plane": 32,
        "ftl.name": "slc_cache",
        "ftl.overprovisioning": 0.4,
    }
    job = f"[a]\n{JOBS['reads and writes']}".replace("4000", "20000")
    result = nandlab.run("modern_tlc", job, precondition="steady", set=small)
    assert result.checks.ok, result.checks.failures()
    times = result.to_dict()["nand"]["program_us"]
    assert times["single_level"] < 0.5 * times["wordline"]


def test_a_check_that_fails_ends_with_another_code(
    nandlab: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
):
    """The figures are written all the same."""
    monkeypatch.setattr(Checks, "failures", lambda _: ["requests were lost"])
    ended = nandlab("run", "--drive", "tiny", "--workload", "mixed.fio", "--json", "r.json")
    assert ended.code == 1
    assert "requests were lost" in ended.out
