"""Years of a drive: refresh and patrol in runs and in hours that pass at once, and their price."""

from __future__ import annotations

import math
from typing import Any

import pytest
from conftest import carries

import nandlab

READS = "[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=4000\n"
PAUSED = "[reads]\nrw=randread\nbs=4k\nnumber_ios=200\nthinktime=1000000\n"


def counts(drive: nandlab.Drive, job: str = READS, **more: Any) -> dict[str, Any]:
    return dict(drive.clone().run(job, **more).to_dict())


def test_a_drive_with_power_refreshes_in_a_leap() -> None:
    drive = nandlab.Drive("tiny", set={"refresh.after_hours": 720}).precondition("fill")
    drive.age(hours=8766)
    done, cycles = drive.refreshed, drive.pe_cycles.mean
    # Twelve times in a year, all blocks with data: 800 of 1024 MiB.
    assert done.blocks == pytest.approx(12 * 1600, rel=0.02)
    assert cycles == pytest.approx(done.erases / 2048)
    assert counts(drive)["refresh"]["oldest_hours"] < 720.1
    assert drive.clone().refreshed == done


def test_a_drive_on_a_shelf_catches_up_in_its_next_run() -> None:
    drive = nandlab.Drive("tiny", set={"refresh.after_hours": 720}).precondition("fill")
    drive.age(hours=8766, powered=False)
    assert (drive.refreshed.blocks, drive.pe_cycles.mean) == (0, 0)
    report = counts(drive, PAUSED, explain=True)
    assert report["refresh"]["blocks"] == {
        "age": report["nand"]["refreshed_blocks"],
        "rber": 0,
        "retries": 0,
    }
    assert report["nand"]["refreshed_blocks"] > 1000
    assert report["refresh"]["units"] <= report["ftl"]["gc_copies"]
    assert report["ftl"]["read_reclaims"] == 0
    causes = report["blame"]["read"][0]["causes_us"]
    assert causes["die: refresh"] > 0


def test_a_patrol_is_seen_everywhere() -> None:
    sets = {"refresh.patrol_hours": 0.0001, "refresh.rber": 0.01, "chip.array.name": "power_law"}
    drive = nandlab.Drive("tiny", set=sets).precondition("fill")
    result = drive.run(READS, explain=True, timeline=True)
    report = result.to_dict()
    assert report["nand"]["patrol_reads"] > 100
    assert 0 < report["refresh"]["patrol_energy_uj"] < report["nand"]["energy_uj"]
    assert report["blame"]["read"][0]["causes_us"]["die: patrol"] > 0
    timeline = result.kept_timeline
    assert timeline is not None
    kinds = {timeline.kinds[kind] for kind in set(timeline.spans["kind"].tolist())}
    assert "patrol read" in kinds


def test_errors_are_kept_down() -> None:
    sets = ["chip.array.name=retention_law", "ecc={model='threshold', t=10}"]
    shares = []
    for after in (0, 500):
        drive = nandlab.Drive("tiny", set=[*sets, f"refresh.after_hours={after}"])
        host = counts(drive.precondition("fill").age(hours=8766))["host"]
        shares.append(host["requests_failed"] / host["requests_completed"])
    assert shares[0] > 0.02
    assert shares[1] < shares[0] / 10


@pytest.mark.parametrize(
    ("sets", "parts"),
    [
        ({"refresh.rber": 1e-3}, ["`ideal`", "refresh.rber"]),
        ({"refresh.patrol_hours": 10}, ["refresh.patrol_hours", "refresh.rber"]),
        ({"refresh.after_hours": 100}, ["refresh.after_hours = 100", "no data"]),
    ],
)
def test_what_has_no_effect_is_noticed(sets: dict[str, object], parts: list[str]) -> None:
    notices = nandlab.run("tiny", READS, set=sets, precondition="fill").notices
    [notice] = [one for one in notices if parts[0] in one]
    carries(notice, *parts)


def test_the_flash_has_a_price() -> None:
    assert nandlab.run("tiny", READS).to_dict()["cost"] is None
    cost = nandlab.run("tiny", READS, set={"chip.cost_per_gb": 0.5}).to_dict()["cost"]
    assert cost["flash_bytes"] == 1 << 30
    assert cost["flash_usd"] == pytest.approx(0.5 * (1 << 30) / 1e9)
    # What is spare is paid for too.
    spare = cost["usd_per_gb"] / 0.5 - 1
    assert spare == pytest.approx(0.28, abs=0.01)
    slc, mlc = (
        nandlab.run(f"grupp2009_{chip}", READS).to_dict()["cost"] for chip in ("b_slc4", "b_mlc8")
    )
    assert slc["flash_usd"] / slc["flash_bytes"] == pytest.approx(
        94 / 31 * mlc["flash_usd"] / mlc["flash_bytes"], rel=0.01
    )


def test_reads_at_once_are_the_page_reads_of_a_run() -> None:
    drive = nandlab.Drive("tiny").precondition("fill")
    size = drive.capacity_bytes
    run = counts(drive, f"[all]\nrw=read\nbs=16k\nsize={size}\n")
    drive.age(read_passes=3)
    assert drive.reclaimed.page_reads == 3 * run["nand"]["reads"]
    assert drive.reclaimed[:3] == (0, 0, 0)
    assert drive.clone().reclaimed == drive.reclaimed


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"read_passes": -1}, ["read_passes"]),
        ({"read_passes": 1, "request_bytes": 1000}, ["age.request_bytes", "4096"]),
        ({"read_passes": 1, "hours": 2}, ["hours and read_passes"]),
        ({}, ["nothing to age by"]),
    ],
)
def test_reads_that_cannot_be_are_refused(given: dict[str, Any], names: list[str]) -> None:
    drive = nandlab.Drive("tiny")
    with pytest.raises(nandlab.NandlabError) as caught:
        drive.age(**given)
    assert all(name in str(caught.value) for name in names)


def test_reads_before_a_run_are_those_of_a_drive_that_is_aged() -> None:
    """By the configuration as by a drive: the same cycles, disturb and latencies."""
    limit = {"gc.reclaim_reads": 6400}
    passes = {"age.read_passes": 250}
    run = nandlab.run("tiny", READS, set=limit | passes, precondition="fill").to_dict()
    drive = nandlab.Drive("tiny", set=limit).precondition("fill").age(read_passes=250)
    aged = drive.run(READS).to_dict()
    assert drive.reclaimed.blocks > 0
    assert [run[key] for key in ("host", "nand", "ftl")] == [
        aged[key] for key in ("host", "nand", "ftl")
    ]
    # What is saved before its first run is read once, when that begins.
    new = nandlab.Drive("tiny", set=limit | passes).precondition("fill")
    assert new.run(READS).to_dict()["nand"] == run["nand"]
    assert new.run(READS).report.nand.reads == run["nand"]["reads"]


@pytest.mark.parametrize(
    ("passes", "names"),
    [(-1, ["age.read_passes"]), (2_000_000, ["age.read_passes", "1000000"])],
)
def test_reads_before_a_run_have_a_range(passes: int, names: list[str]) -> None:
    with pytest.raises(nandlab.NandlabError) as caught:
        nandlab.Drive("tiny", set={"age.read_passes": passes})
    assert all(name in str(caught.value) for name in names)


def test_reads_before_a_run_need_data() -> None:
    with pytest.raises(nandlab.NandlabError, match="without data"):
        nandlab.run("tiny", READS, set={"age.read_passes": 3})


#: Small drive whose cells a read at 60 C disturbs as much as three at 30 C.
WARM = {
    "drive.channels": 1,
    "drive.dies_per_channel": 1,
    "chip.geometry.blocks_per_plane": 24,
    "chip.geometry.pages_per_block": 48,
    "ftl.overprovisioning": 1.0,
    "chip.cell.read_disturb.activation_ev": 8.617333262e-5
    * math.log(3)
    / (1 / 303.15 - 1 / 333.15),
}


def only_read(passes: int, **sets: object) -> dict[str, Any]:
    """Error counts of a run after so many passes over all data."""
    given = {key.replace("__", "."): value for key, value in sets.items()}
    drive = nandlab.Drive("modern_tlc", set=WARM | given).precondition("fill")
    drive.age(read_passes=passes)
    reads = "[reads]\nrw=randread\nbs=16k\niodepth=4\nnumber_ios=4000\n"
    found: dict[str, Any] = drive.run(reads).to_dict()["ecc"]
    return found


def test_a_warm_drive_that_is_only_read_retries_sooner() -> None:
    """By Arrhenius' law: as a mild one after three times the passes. A cold one begins later."""
    mild, warm, early = (
        only_read(passes, age__temperature_c=celsius)
        for passes, celsius in ((900, 30.0), (300, 60.0), (300, 30.0))
    )
    assert mild["hard_failures"] > 1000
    for key in ("hard_failures", "raw_bit_errors"):
        # Further reads of a page in the run add to its doses.
        slack = 4 * math.sqrt(mild[key] + warm[key]) + 0.02 * mild[key]
        assert abs(mild[key] - warm[key]) < slack, key
    assert early["hard_failures"] < 0.1 * warm["hard_failures"]


def test_doses_set_the_pace_of_rewrites_by_errors() -> None:
    """Rewrites at a limit of bit errors go with the doses, those at a limit of reads do not."""

    def moved(celsius: float, limit: dict[str, object], sign: int = 1) -> int:
        energy = "chip.cell.read_disturb.activation_ev"
        sets = WARM | limit | {energy: sign * WARM[energy], "age.temperature_c": celsius}
        drive = nandlab.Drive("modern_tlc", set=sets).precondition("fill")
        return drive.age(read_passes=6000).reclaimed.units

    errors: dict[str, object] = {"refresh.rber": 6e-3}
    mild = moved(30.0, errors)
    assert moved(60.0, errors) / mild == pytest.approx(3, rel=0.1)
    assert moved(60.0, errors, -1) / mild == pytest.approx(1 / 3, rel=0.1)
    reads: dict[str, object] = {"gc.reclaim_reads": 20_000}
    assert moved(60.0, reads) == moved(30.0, reads) > 0


def test_reads_take_the_temperature_of_a_warm_drive() -> None:
    """A drive that begins a run at 60 C in a room at 30 C: its run is warm, time at rest is not."""
    heat = {"capacity_j_per_k": 1e4, "resistance_k_per_w": 1.0, "ambient_c": 30.0, "start_c": 60.0}
    reads = "[reads]\nrw=randread\nbs=16k\niodepth=4\nnumber_ios=60000\n"
    sets: list[dict[str, object]] = [
        {"power.thermal": heat},
        {"age.temperature_c": 60.0},
        {"age.temperature_c": 30.0},
    ]
    runs, rests = [], []
    for one in sets:
        drive = nandlab.Drive("modern_tlc", set=WARM | one).precondition("fill")
        # The second run shows what the first has done.
        drive.run(reads)
        runs.append(drive.run(reads).to_dict()["ecc"]["raw_bit_errors"])
        rests.append(only_read(300, **{key.replace(".", "__"): of for key, of in one.items()}))
    assert runs[0] == pytest.approx(runs[1], rel=1e-3)
    assert runs[0] > 1.01 * runs[2]
    bits = [one["raw_bit_errors"] for one in rests]
    assert bits[0] == pytest.approx(bits[2], rel=0.02)
    assert bits[1] > 2 * bits[0]
