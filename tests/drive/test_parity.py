"""Parity over dies from Python and the command line: report, table, failed dies, refusals."""

import math
from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused

import nandlab as lab
from nandlab.catalogue import load_config
from nandlab.given.assignments import assignments
from nandlab.life.limit import demand, limit_of

READS = "[a]\nrw=randread\nbs=4k\niodepth=4\nrate_iops=1500\ntime_based\nruntime=0.5\n"
JOB = "[a]\nrw=randrw\nbs=4k\niodepth=8\nrate_iops=1500,1500\ntime_based\nruntime={}\n"
SET: dict[str, Any] = {
    "parity.pages": 1,
    "ftl.superblock_dies": 0,
    "ftl.gc_reserve_blocks": 2,
    "gc.start_free_blocks": 4,
    "ftl.overprovisioning": 1.8,
    "chip.geometry.blocks_per_plane": 64,
}


def test_a_die_fails_and_is_rebuilt() -> None:
    told = lab.run("tiny", JOB.format(8), set=SET, precondition="steady", fail_die="2@1")
    report = told.to_dict()
    [failed] = report["ftl"]["parity"]["failed_dies"]
    assert (failed["die"], failed["failed_s"]) == (2, 1.0)
    assert 1.0 < failed["rebuilt_s"] < 8.0
    parity = report["ftl"]["parity"]
    # Three other pages at most; some for data that the host has rewritten meanwhile.
    assert 0 < parity["page_reads"] <= 3.1 * parity["rebuilt_reads"]
    assert parity["lost_reads"] == report["ecc"]["uncorrectable"] == 0
    assert report["checks"]["conservation"]["ok"]


@pytest.mark.parametrize("ftl", ["page", "dftl"])
def test_a_die_fails_on_a_drive_that_starts_up_again(ftl: str) -> None:
    given = {**SET, "ftl.name": ftl, "recovery.name": "journal", "drive.capacitors": True}
    given |= {"ftl.map_cache_bytes": 4096} if ftl == "dftl" else {}
    told = lab.run("tiny", JOB.format(3), set=given, fail_die="2@0.5", cut_at=1)
    power = told.to_dict()["power"]
    assert power["cut"]["at_s"] == 1.0
    assert power["cut"]["unprotected_units"] == 0
    assert power["start_up"]["mapped_units"] > 1000
    assert power["journal_pages"] > 0


#: Two pages of parity, with room for the failure of two dies of four.
TWO: dict[str, Any] = {**SET, "parity.pages": 2, "ftl.overprovisioning": 4.0}


def test_two_dies_fail_at_once_and_are_rebuilt() -> None:
    told = lab.run("tiny", JOB.format(10), set=TWO, precondition="steady", fail_die="2@1,0@1")
    report = told.to_dict()
    parity = report["ftl"]["parity"]
    assert [(failed["die"], failed["failed_s"]) for failed in parity["failed_dies"]] == [
        (2, 1.0),
        (0, 1.0),
    ]
    assert all(1.0 < failed["rebuilt_s"] < 10.0 for failed in parity["failed_dies"])
    # Two other pages at most give a page back.
    assert 0 < parity["page_reads"] <= 2.1 * parity["rebuilt_reads"]
    assert parity["lost_reads"] == report["ecc"]["uncorrectable"] == 0
    # With one page of parity both failures together lose data.
    one = lab.run(
        "tiny",
        JOB.format(3),
        set={**TWO, "parity.pages": 1},
        precondition="steady",
        fail_die="2@1,0@1",
    )
    assert one.to_dict()["ftl"]["parity"]["lost_reads"] > 0


def test_a_slower_rebuild_leaves_more_to_the_host() -> None:
    """Time, throughput and tail of a rebuild by its rate: docs/parity.md prints these figures.

    Runs last as long as the rebuild and a little more. Five seeds, intervals of 95 %.
    """
    p99 = {}
    for rate, seconds in ((0, 2.7), (8, 8.7), (4, 17.4), (2, 35.0)):
        given = {**SET, "parity.rebuild_mb_s": rate, "ftl.overprovisioning": 3.0}
        jobs = READS.replace("runtime=0.5", f"runtime={seconds}")
        told = lab.run(
            *("tiny", jobs), set=given, precondition="fill", fail_die="2@0", replicates=5
        ).to_dict()
        figures = told["replicates"]["figures"]
        rebuilt = figures["ftl.parity.failed_dies.0.rebuilt_s"]
        low, high = (rebuilt["mean"] + sign * rebuilt["half_width"] for sign in (-1, 1))
        assert 0.9 * seconds < low <= high < seconds, (rate, rebuilt)
        moved = figures["ftl.gc_copies"]["mean"] * told["ftl"]["unit_bytes"] / 1e6
        if rate:
            assert 0.95 < moved / high / rate <= moved / low / rate < 1.05, (rate, moved, rebuilt)
        else:
            assert 25 < moved / high <= moved / low < 30, (moved, rebuilt)
        # The host gets what it asks for.
        assert figures["host.read.iops"]["mean"] == pytest.approx(1500, rel=0.01)
        figure = figures["host.read.latency_us.p99"]
        p99[rate] = (figure["mean"] - figure["half_width"], figure["mean"] + figure["half_width"])
    # Each rate has a shorter tail than those above it, by more than the intervals.
    assert p99[2][1] < p99[4][0] < p99[4][1] < p99[8][0] < p99[8][1] < 0.5 * p99[0][0], p99


def test_reads_of_a_failed_die_are_explained() -> None:
    """A read in four is of that die until its data have moved; a slow engine adds its time."""
    rebuild = {}
    for rate in (0, 40):
        told = lab.run(
            "tiny",
            JOB.format(3),
            set={**SET, "parity.xor_mb_s": rate},
            precondition="steady",
            fail_die="0@0",
            explain=True,
        )
        rebuild[rate] = told.to_dict()["blame"]["read"][0]["causes_us"]["rebuild"]
    assert rebuild[0] > 20, rebuild
    # Three units take 307 us.
    assert rebuild[40] > rebuild[0] + 20, rebuild


def test_a_saved_drive_keeps_its_failed_die(tmp_path: Path) -> None:
    drive = lab.Drive("tiny", set=SET).precondition("steady")
    first = drive.run(JOB.format(1), fail_die="1@0.1").to_dict()["ftl"]["parity"]
    assert first["failed_dies"][0]["die"] == 1
    drive.save(tmp_path / "x.nldrive")
    jobs = JOB.format(1)
    again = lab.Drive.load(tmp_path / "x.nldrive").run(jobs).to_dict()
    assert again["ftl"]["parity"]["failed_dies"][0]["die"] == 1
    assert again["host"] == drive.clone().run(jobs).to_dict()["host"]
    assert again["ecc"]["uncorrectable"] == 0


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"fail_die": "x"}, ["fail_die", "DIE@SECONDS"]),
        ({"fail_die": "0@0,1"}, ["fail_die", "DIE@SECONDS"]),
        ({"fail_die": "9@0"}, ["die 9", "0 to 3"]),
        ({"fail_die": "0@0", "set": {}}, ["fail_die", "parity.pages"]),
        ({"set": {"parity.read_around": "busy"}}, ["parity.read_around", "parity.pages"]),
        ({"set": {**SET, "parity.read_around": "buzy"}}, ["parity.read_around", "busy"]),
        ({"set": {"gc.rotation": "all"}}, ["gc.rotation", "ftl.superblock_dies"]),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], parts: list[str]) -> None:
    with refused(*parts):
        lab.run("tiny", JOB.format(1), **{"set": SET, **given})


def test_parity_costs_its_share_of_the_writes() -> None:
    """A drive that is written in order programs a page of parity for each three of data."""
    jobs = "[a]\nrw=write\nbs=128k\niodepth=8\nio_size=64m\n"
    report = lab.run("tiny", jobs, set=SET).to_dict()
    ftl, without = report["ftl"], lab.run("tiny", jobs, set={**SET, "parity.pages": 0}).to_dict()
    assert ftl["parity"]["units"] == pytest.approx(ftl["host_units"] / 3, rel=0.01)
    assert ftl["write_amplification_flash"] == pytest.approx(4 / 3, rel=0.01)
    bandwidth = [of["host"]["write"]["bandwidth_mb_s"] for of in (report, without)]
    assert bandwidth[0] / bandwidth[1] == pytest.approx(3 / 4, rel=0.03)


def test_no_drive_writes_faster_than_its_engine_of_parity() -> None:
    jobs = "[a]\nrw=write\nbs=128k\niodepth=8\nio_size=32m\n"
    told = lab.run("tiny", jobs, set={**SET, "parity.xor_mb_s": 10.0})
    assert told.to_dict()["host"]["write"]["bandwidth_mb_s"] == pytest.approx(10.0, rel=0.05)


def test_reads_go_around_dies_that_collect() -> None:
    """Reads around collection read the other dies instead, and are told apart as rebuilds."""
    around = {**SET, "parity.read_around": "collection", "gc.rotation": "erases"}
    plain, told = (
        lab.run("tiny", JOB.format(4), set=given, precondition="steady", explain=True).to_dict()
        for given in (SET, around)
    )
    counts, read = told["ftl"]["parity"], told["host"]["read"]
    assert 0 < counts["around_reads"] < read["requests"] / 2
    # Three other pages at most; some are in the controller's memory.
    assert 2 * counts["around_reads"] < counts["page_reads"] <= 3 * counts["around_reads"]
    assert counts["rebuilt_reads"] == counts["lost_reads"] == 0
    assert told["blame"]["read"][0]["causes_us"]["rebuild"] > 0
    erases = [of["blame"]["read"][0]["causes_us"]["die: erase"] for of in (plain, told)]
    assert erases[1] < erases[0] / 2, erases
    assert read["latency_us"]["p99_9"] < plain["host"]["read"]["latency_us"]["p99_9"]


def test_command_line(nandlab, folder) -> None:
    (folder / "a.fio").write_text(JOB.format(8))
    sets = [part for key, value in SET.items() for part in ("--set", f"{key}={value}")]
    run = ("run", "--drive", "tiny", "--workload", "a.fio", "--precondition", "steady", *sets)
    shown = nandlab(*run, "--fail-die", "2@1").succeeded().out
    carries(" ".join(shown.split()), "parity", "die 2 failed at 1", "rebuilt after")
    nandlab(*run, "--fail-die", "2").refused("DIE@SECONDS")


#: Every bit errs with a probability of 0.001, and the code corrects 43 errors of 32,768 bits.
ERRING: dict[str, Any] = {
    **SET,
    "ftl.overprovisioning": 3.0,
    "chip.array": {"name": "power_law", "epsilon": 1e-3, "alpha": 0, "beta": 0, "gamma": 0},
    "ecc.model": "threshold",
    "ecc.t": 43,
    "ecc.payload_bytes": 4096,
    "retry.name": "none",
}


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_the_uber_of_a_drive_is_that_of_its_reads(pages: int) -> None:
    """Data lost of whole drives that are read once stand within three deviations of the UBER.

    The limit of a life works it out from bit errors by the tail of the binomial and the stripes.
    """
    given = {**ERRING, "parity.pages": pages}
    jobs = "[a]\nrw=read\nbs=4k\niodepth=8\nsize=100%\n"
    told = lab.run("tiny", jobs, set=given, precondition="fill", replicates=48, workers=2)
    report = told.to_dict()
    reads, lost = report["host"]["read"]["requests"], report["host"]["requests_failed"]
    assert reads > 500_000
    uber = limit_of(load_config("tiny", assignments(given)).config, demand(*[None] * 4)).uber(1)
    assert uber.drive is not None
    assert uber.code is not None
    q, expected = uber.code * 8 * 4096, uber.drive * 8 * 4096 * reads
    # Pages of a stripe are lost together: each loss counts as often as pages of data fail in it.
    together = [
        (failed, math.comb(4 - pages, failed) * math.comb(pages, of_parity), failed + of_parity)
        for failed in range(1, 5 - pages)
        for of_parity in range(pages + 1)
        if failed + of_parity > pages
    ]
    chances = [(n, ways * q**of_all * (1 - q) ** (4 - of_all)) for n, ways, of_all in together]
    stripes = reads / (4 - pages)
    assert stripes * sum(n * chance for n, chance in chances) == pytest.approx(expected, rel=1e-6)
    deviation = math.sqrt(stripes * sum(n * n * chance for n, chance in chances))
    assert lost > 50
    assert abs(lost - expected) < 3 * deviation, (lost, expected, deviation)
    if pages == 0:
        assert uber.drive == uber.code
    else:
        assert report["ftl"]["parity"]["lost_reads"] == lost
        assert report["ecc"]["uncorrectable"] == pytest.approx(q * reads, rel=0.1)


@pytest.mark.parametrize(("pages", "end"), [(0, "errors"), (2, "years")])
def test_a_life_ends_when_data_are_lost(pages: int, end: str) -> None:
    """A page that the code gives up ends a life without parity; with parity it is given back."""
    given = {**ERRING, "parity.pages": pages, "ecc.t": 48}
    jobs = "[a]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=8000\nnorandommap=1\n"
    life = lab.life("tiny", jobs, set=given, years=0.02, dwpd=1, windows=3, uber=1e-5)
    assert life.end == end
    assert sum(window.uncorrectable or 0 for window in life.windows) > 0
    last = life.windows[-1]
    assert last.uber is not None
    assert last.uber_of_code is not None
    assert (last.uber < 1e-3 * last.uber_of_code) if pages else (last.uber == last.uber_of_code)


def test_replicates_of_a_failed_die() -> None:
    """Each replicate loses the die and rebuilds it, whatever the number of threads."""
    given: dict[str, Any] = {"set": {**SET, "ftl.overprovisioning": 3.0}, "precondition": "fill"}
    jobs = READS.replace("runtime=0.5", "runtime=3")
    one, two = (
        lab.run("tiny", jobs, **given, fail_die="2@0.1", replicates=3, workers=workers).to_dict()
        for workers in (1, 2)
    )
    assert one["replicates"] == two["replicates"]
    figures = one["replicates"]["figures"]
    rebuilt = figures["ftl.parity.failed_dies.0.rebuilt_s"]
    assert len(set(rebuilt["each"])) == 3
    assert all(2 < seconds < 3 for seconds in rebuilt["each"])
    [failed] = one["ftl"]["parity"]["failed_dies"]
    assert (failed["die"], failed["failed_s"]) == (2, 0.1)
    assert failed["rebuilt_s"] == rebuilt["each"][0]
    assert min(figures["ftl.parity.rebuilt_reads"]["each"]) > 100
    assert one["ftl"]["parity"]["lost_reads"] == 0
