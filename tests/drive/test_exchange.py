"""Exchange of a die from Python and the command line."""

import json

import pytest

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
    def refused(exchange, **more):
        with pytest.raises(nandlab.NandlabError) as error:
            nandlab.run("tiny", JOB.format(1), **{"set": SET, "exchange": exchange, **more})
        return str(error.value)

    assert "die 4 does not exist; expected: 0 to 3" in refused("4@0.1")
    assert "DIE@SECONDS" in refused("4")
    assert "DIE@SECONDS" in refused("1@0.1,slowly")
    assert "in_service or suspended" in refused(Exchange(1, 0.1, way="slowly"))
    assert "exchange with skip" in refused("1@0.1", skip="10")
    assert "nandlab.Exchange" in refused(3)
    full = refused("1@0.1", set={"ftl.overprovisioning": 0.28})
    assert "the other dies hold" in full
    assert "ftl.overprovisioning" in full
    assert "page" in refused("1@0.1", set={**SET, "ftl.name": "superblock"})
    assert "recovery" in refused("1@0.1", set={**SET, "recovery.name": "scan_pages"})


def test_command_line(nandlab, folder):
    (folder / "a.fio").write_text(JOB.format(5))
    sets = [part for key, value in SET.items() for part in ("--set", f"{key}={value}")]
    run = ("run", "--drive", "tiny", "--workload", "a.fio", "--precondition", "steady", *sets)
    shown = nandlab(*run, "--exchange", "2@0.2,suspended", "--json", "r.json").succeeded().out
    assert "exchange" in shown
    assert "die 2 suspended: replaced after" in shown
    assert json.loads((folder / "r.json").read_text())["exchange"]["dead_time_s"] > 0
    assert "DIE@SECONDS" in nandlab(*run, "--exchange", "2").refused()
