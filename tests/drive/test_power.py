"""Power cuts from Python and the command line: what a cut takes, and what a start-up costs."""

import json

import pytest
from conftest import carries, refused

import nandlab

JOB = "[a]\nrw=randwrite\nbs=4k\niodepth=16\nnorandommap=1\nfsync=8\nnumber_ios=4000\n"
RECOVERIES = ("scan_pages", "scan_blocks", "checkpoint")


def drive(recovery, **more):
    """A small drive with a recovery, full."""
    made = nandlab.Drive("tiny", set={"recovery.name": recovery, **more})
    return made.precondition("fill")


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_drive_without_power_starts_up_again(recovery):
    full = drive(recovery)
    cut = full.cut()
    assert (cut.requests, cut.buffered_units) == (0, 0)
    with refused("drive", "power", "been cut"):
        full.run(JOB)
    with refused("drive", "power", "cut already"):
        full.cut()
    other = full.clone()
    started = full.recover()
    assert started.mapped_units == full.capacity_bytes // 4096
    assert started.time_s > 0
    assert other.recover() == started
    with refused("drive", "power", "not been cut"):
        full.recover()
    report = full.run("[a]\nrw=randread\nbs=4k\nnumber_ios=500\n").to_dict()
    assert report["host"]["read_units_unwritten"] == 0
    assert report["checks"]["conservation"]["ok"]


def test_what_is_read_at_start_up_is_what_the_recovery_says():
    started = {}
    for recovery in RECOVERIES:
        full = drive(recovery, **{"recovery.backup": False})
        full.cut()
        started[recovery] = full.recover()
    assert started["checkpoint"].page_reads < started["scan_blocks"].page_reads
    assert started["scan_blocks"].summary_reads > 0
    assert started["scan_pages"].page_reads > 10 * started["scan_blocks"].page_reads
    assert started["scan_pages"].time_s > 5 * started["scan_blocks"].time_s


def test_a_saved_drive_can_lose_its_power(tmp_path):
    full = drive("checkpoint")
    full.run(JOB)
    full.save(tmp_path / "x.nldrive")
    again = nandlab.Drive.load(tmp_path / "x.nldrive")
    full.cut()
    again.cut()
    with refused("power", "been cut"):
        again.save(tmp_path / "y.nldrive")
    assert again.recover() == full.recover()


def test_capacitors_write_the_buffer():
    lost = drive("scan_blocks").run(JOB, cut_at=0.02).to_dict()["power"]
    kept = drive("scan_blocks", **{"drive.capacitors": True}).run(JOB, cut_at=0.02).to_dict()
    assert lost["cut"]["buffered_units"] > 0
    assert lost["cut"]["held_up_s"] == 0
    assert kept["power"]["cut"]["buffered_units"] == 0
    assert kept["power"]["cut"]["held_up_s"] > 0


def test_a_run_ends_with_its_cut():
    report = nandlab.run(
        "tiny", JOB, set={"recovery.name": "scan_pages"}, precondition="fill", cut_at=0.01
    ).to_dict()
    power = report["power"]
    assert power["cut"]["at_s"] == report["sim"]["simulated_s"] == 0.01
    assert power["start_up"]["time_s"] > 0
    host = report["host"]
    assert host["requests_issued"] - host["requests_completed"] == power["cut"]["requests"] > 0
    assert report["checks"]["conservation"]["ok"]
    assert report["checks"]["busy_idle_error"] < 1e-9


def test_refusals():
    with refused("recovery.name", "scan_pages"):
        nandlab.run("tiny", JOB, cut_at=0.01)
    with refused("recovery.name", "scan_pages"):
        nandlab.Drive("tiny").cut()
    with refused("cut_at", "-1", "seconds"):
        nandlab.run("tiny", JOB, set={"recovery.name": "scan_pages"}, cut_at=-1)
    with refused("cut_at", "skip"):
        nandlab.run("tiny", JOB, set={"recovery.name": "scan_pages"}, cut_at=1, skip="10")
    with refused("checkpoint_units", "at least 1"):
        drive("checkpoint", **{"recovery.checkpoint_units": 0})
    with refused("recovery", "`checkpoint`"):
        drive("chekpoint")


def test_command_line(nandlab, folder):
    (folder / "a.fio").write_text(JOB)
    run = ("run", "--drive", "tiny", "--workload", "a.fio", "--precondition", "fill")
    cut = ("--set", "recovery.name=checkpoint", "--cut-at", "0.02", "--json", "r.json")
    shown = nandlab(*run, *cut).succeeded().out
    carries(shown, "power cut", "ready")
    report = json.loads((folder / "r.json").read_text())
    assert report["power"]["start_up"]["mapped_units"] > 0
    nandlab(*run, "--cut-at", "0.02").refused("recovery.name")
