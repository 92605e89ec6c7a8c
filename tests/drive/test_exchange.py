"""Exchange of a die from Python and the command line."""

import json

import pytest
from conftest import carries, refused

import nandlab
from nandlab import Exchange

JOB = "[a]\nrw=randrw\nbs=4k\niodepth=8\nrate_iops=2000,2000\ntime_based\nruntime={}\n"
SET = {"ftl.overprovisioning": 0.6, "chip.geometry.blocks_per_plane": 64}


def exchanged(exchange, runtime=8, **more):
    """The report of a run with an exchange."""
    run = nandlab.run(
        "tiny", JOB.format(runtime), set=SET, precondition="steady", exchange=exchange, **more
    )
    return run.to_dict()


def test_a_die_is_exchanged_both_ways():
    gaps = {}
    for way in ("in_service", "suspended"):
        report = exchanged(Exchange(die=2, at_s=0.25, way=way))
        exchange = report["exchange"]
        assert (exchange["die"], exchange["way"], exchange["asked_s"]) == (2, way, 0.25)
        assert 0.25 < exchange["emptied_s"] <= exchange["replaced_s"]
        assert exchange["moved_units"] > 1000
        took = exchange["replaced_s"] - exchange["asked_s"]
        assert exchange["dead_time_s"] == pytest.approx(took if way == "suspended" else 0)
        gaps[way] = exchange["longest_without_service_ms"]
        assert exchange["longest_latency_ms"] >= gaps[way]
        conservation = report["checks"]["conservation"]
        assert conservation["ok"]
        assert conservation["lost"] == exchange["lost_units"] == 0
    assert gaps["suspended"] > 20 * gaps["in_service"]
    assert gaps["suspended"] == pytest.approx(1e3 * took, rel=0.2)


def test_the_new_chip_has_the_wear_that_is_asked_for():
    report = exchanged("1@0.1,suspended,pe_cycles=500")
    cycles = report["nand"]["pe_cycles"]
    assert cycles["max"] >= 500
    assert cycles["mean"] == pytest.approx(125, rel=0.1)


def test_a_drive_goes_on_with_its_new_chip(tmp_path):
    drive = nandlab.Drive("tiny", set=SET).precondition("steady")
    first = drive.run(JOB.format(2), exchange="0@0.1").to_dict()
    assert first["exchange"]["asked_s"] == 0.1
    drive.save(tmp_path / "x.nldrive")
    jobs = JOB.format(1)
    again = nandlab.Drive.load(tmp_path / "x.nldrive").run(jobs).to_dict()
    assert again["exchange"] is None
    assert again["host"] == drive.clone().run(jobs).to_dict()["host"]


def test_the_timeline_shows_it():
    run = nandlab.run(
        "tiny",
        JOB.format(5),
        set=SET,
        precondition="fill",
        exchange="3@0.1,suspended",
        timeline=True,
        timeline_spans=2_000_000,
    )
    timeline = run.kept_timeline
    kind = timeline.kinds.index("exchange")
    assert (timeline.spans["kind"] == kind).sum() == 1


def test_refusals():
    def refuse(exchange, *parts, **more):
        with refused(*parts):
            nandlab.run("tiny", JOB.format(1), **{"set": SET, "exchange": exchange, **more})

    refuse("4@0.1", "die 4", "0 to 3")
    refuse("4", "DIE@SECONDS")
    refuse("1@0.1,slowly", "DIE@SECONDS")
    refuse(Exchange(1, 0.1, way="slowly"), "in_service", "suspended")
    refuse("1@0.1", "exchange", "skip", skip="10")
    refuse(3, "nandlab.Exchange")
    full = {"ftl.overprovisioning": 0.28}
    refuse("1@0.1", "die 1", "other dies", "ftl.overprovisioning", set=full)
    refuse("1@0.1", "page", set={**SET, "ftl.name": "superblock"})
    refuse("1@0.1", "recovery", set={**SET, "recovery.name": "scan_pages"})


def test_command_line(nandlab, folder):
    (folder / "a.fio").write_text(JOB.format(5))
    sets = [part for key, value in SET.items() for part in ("--set", f"{key}={value}")]
    run = ("run", "--drive", "tiny", "--workload", "a.fio", "--precondition", "steady", *sets)
    shown = nandlab(*run, "--exchange", "2@0.2,suspended", "--json", "r.json").succeeded().out
    carries(shown, "exchange", "die 2 suspended", "replaced")
    assert json.loads((folder / "r.json").read_text())["exchange"]["dead_time_s"] > 0
    nandlab(*run, "--exchange", "2").refused("DIE@SECONDS")
