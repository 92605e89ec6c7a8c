"""Chips with reduced threshold voltages: levels, times, limits, files that run, refusals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, refused

from nandlab import cell, run, tvr_chip
from nandlab.drive.table import result_html

JOB = "[a]\nrw=write\nbs=2k\nnumber_ios=4096\n"


def test_the_retention_free_case_has_the_papers_levels_and_half_of_the_pulses():
    """Wang 2014, 5.3: the steps of both pages are halved; eq. 8: b at 0.186 V against 2.658 V."""
    made = tvr_chip(keep=0.0, times="steps")
    assert made.reduced.program_us[0] == pytest.approx(made.original.program_us[0] / 2)
    assert made.reduced.program_us[1] == pytest.approx(made.original.program_us[1] / 2, rel=0.06)
    assert made.cycle_weight == pytest.approx(0.6011 / 0.6968, rel=0.005)


def test_pulses_alone_shrink_by_the_cell():
    """The 380 and 964 us without pulses stay: 12 and 17 pulses of 13.3 us become 6 and 9."""
    made = tvr_chip(keep=0.0)
    assert made.original.program_us == pytest.approx([380 + 12 * 13.3, 964 + 17 * 13.3])
    assert made.reduced.program_us == pytest.approx([380 + 6 * 13.3, 964 + 9 * 13.3])


def test_whole_margins_change_nothing():
    made = tvr_chip(keep=1.0)
    assert made.reduced.levels_v == pytest.approx(made.original.levels_v, abs=1e-3)
    assert made.reduced.program_us == pytest.approx(made.original.program_us)
    assert made.cycle_weight == pytest.approx(1.0, abs=1e-4)


def test_what_is_asked_for_is_kept_and_no_more(tmp_path: Path):
    """At the limit after the cycles and hours; two thousandths less of the margins exceed it."""
    made = tvr_chip(retention_hours=720.0, pe_cycles=3000)

    def worst(keep: float) -> float:
        path = tmp_path / f"{keep}.toml"
        tvr_chip(keep=keep).write(path)
        reduced = cell(path)
        return max(
            float(reduced.rber(page, retention_hours=720.0, pe_cycles=3000)) for page in range(2)
        )

    assert worst(made.keep) <= 4.5e-4 < worst(made.keep - 0.002)


def test_the_retention_free_case_is_beyond_the_limit_here():
    """The paper's widths leave out what neighbours add, which the cell has."""
    made = tvr_chip(keep=0.0)
    assert made.reduced.rber > 10 * made.rber_limit
    assert (made.reduced.pe_cycles, made.reduced.retention_hours) == (0, 0.0)


def test_longer_retention_takes_wider_margins():
    shares = [
        tvr_chip(retention_hours=h, pe_cycles=10_000).keep for h in (0.0, 24.0, 720.0, 8760.0)
    ]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_a_drive_runs_with_it_and_takes_its_times(tmp_path: Path):
    """Writes without a buffer and one at a time: as much faster as their programs are."""
    path = tmp_path / "reduced.toml"
    made = tvr_chip(keep=0.0, times="steps")
    made.write(path)
    drive = {"drive_preset": "wang2014_mlc", "ftl": {"unit_bytes": 2048}, "ecc": {"t": 40}}
    changes = {"buffer.bytes": 0, "chip.features.multi_plane_program": False}
    before, after = (
        run({**drive, "chip": {"preset": preset}}, JOB, set=changes)
        for preset in ("wang2014_mlc", str(path))
    )
    assert before.checks.ok
    assert after.checks.ok
    saved = (sum(made.original.program_us) - sum(made.reduced.program_us)) / 2
    assert before.latency.mean - after.latency.mean == pytest.approx(saved, rel=0.02)


def test_levels_beside_its_own_are_those_of_one_stream(tmp_path: Path):
    """Blocks of the stream take the times of the reduced chip, all others those of the original."""
    path = tmp_path / "both.toml"
    made = tvr_chip(keep=0.0, times="steps", beside=True)
    assert made.text != tvr_chip(keep=0.0, times="steps").text
    made.write(path)
    drive = {"drive_preset": "wang2014_mlc", "chip": {"preset": str(path)}}
    job = "[short]\nrw=randwrite\nbs=4k\nnumber_ios=4000\nwrite_hint=short\n"
    jobs = f"{job}[long]\nrw=randwrite\nbs=4k\nnumber_ios=2000\n"
    changes = {"ftl.host_streams": 2, "ftl.reduced_streams": [1]}
    ran = run(drive, jobs, set=changes)
    assert ran.checks.ok
    nand = ran.to_dict()["nand"]
    times = {"lower": 0, "upper": 1}
    for name, page_type in times.items():
        assert nand["program_us"][name] == pytest.approx(made.original.program_us[page_type], 1e-3)
        reduced = nand["program_us"][f"reduced_{name}"]
        assert reduced == pytest.approx(made.reduced.program_us[page_type], 1e-3)
    assert nand["reduced_share"] == pytest.approx(2 / 3, abs=0.05)
    assert nand["reduced_programs"] == round(nand["reduced_share"] * nand["programs"])
    assert "at reduced levels" in result_html(ran)
    unused = run(drive, jobs.replace("short", "long"), set={**changes, "ftl.host_streams": 3})
    assert any("nothing was programmed at reduced levels" in said for said in unused.notices)
    without = run(drive, jobs, set={"ftl.host_streams": 2})
    assert without.to_dict()["nand"]["reduced_programs"] is None
    assert any("chip.reduced changes nothing" in said for said in without.report.nandlab.notices)
    assert not any("chip.reduced" in said for said in ran.report.nandlab.notices)
    with refused("chip.reduced", "ftl.reduced_streams"):
        run("wang2014_mlc", jobs, set=changes)


@pytest.mark.long
def test_a_drive_loses_data_that_are_older_than_the_file_says(tmp_path: Path):
    """Errors of the reduced cell are those of the drive."""
    path = tmp_path / "reduced.toml"
    made = tvr_chip(retention_hours=24.0, pe_cycles=10_000)
    made.write(path)
    assert 24.0 <= made.reduced.worn_retention_hours < 200.0
    assert "10,000 cycles" in made.text.split("summary")[0]
    job = "[a]\nrw=randread\nbs=4k\nnumber_ios=20000\n"

    def failed(hours: float) -> int:
        changes = {"age.pe_cycles": 10_000, "age.retention_hours": hours, "ecc.t": 10}
        drive = {"drive_preset": "wang2014_mlc", "chip": {"preset": str(path)}}
        ran = run(drive, job, precondition="fill", set=changes)
        return int(ran.to_dict()["ecc"]["uncorrectable"])

    assert failed(24.0) < failed(30_000.0) / 5


def test_the_command_writes_what_python_has(nandlab: Callable[..., Ended], folder: Path):
    given = ("tvr", "--retention-hours", "720", "--pe-cycles", "3000")
    report = nandlab(*given, "--json", "-", "--out", "chip.toml").succeeded().json
    made = tvr_chip(retention_hours=720.0, pe_cycles=3000)
    assert report["keep"] == made.keep
    assert (folder / "chip.toml").read_text() == made.text
    assert str(made) in nandlab(*given).succeeded().out
    nandlab(*given, "--beside").refused("--beside", "--out")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"keep": 1.5}, ["keep = 1.5", "0 to 1"]),
        ({"keep": 0.5, "retention_hours": 1.0}, ["keep", "retention_hours"]),
        ({"times": "step"}, ["`steps`"]),
        ({"retention_hours": 1e7, "pe_cycles": 1_000_000}, ["errors", "0.00045"]),
        ({"rber_limit": 0}, ["rber_limit"]),
        ({"chip": "mqsim_mlc"}, ["timing.t_program_us", "levels"]),
        ({"chip": "tlc_3d"}, ["no margin"]),
        ({"chip": "wang2014"}, ["wang2014_mlc"]),
    ],
)
def test_refusals(arguments: dict[str, Any], parts: list[str]):
    with refused(*parts):
        tvr_chip(**arguments)
