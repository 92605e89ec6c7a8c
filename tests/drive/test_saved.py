"""Saved drives: a run on one equals the run on the drive, and no damaged file is ever taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, refused, some

import nandlab as lab
from tests.drive.test_device import JOB, MEASURED


def of_drive(found: dict[str, Any]) -> dict[str, Any]:
    """A report without what says where the drive came from, and what the machine decides."""
    found["sim"] = {key: value for key, value in found["sim"].items() if key not in MEASURED}
    for key in ("drive", "run", "notices"):
        found["nandlab"].pop(key)
    return found


@pytest.mark.parametrize("ftl", some(["page", "dftl", "learned", "superblock", "bast"], 2))
def test_a_loaded_drive_is_the_drive(ftl: str, tmp_path: Path) -> None:
    sets = {"ftl.name": ftl, "ftl.overprovisioning": 0.6}
    drive = lab.Drive("tiny", set=sets).precondition("steady")
    path = tmp_path / "x.nldrive"
    assert drive.save(path) is drive
    loaded = lab.Drive.load(path)
    assert loaded.capacity_bytes == drive.capacity_bytes
    assert of_drive(loaded.run(JOB).to_dict()) == of_drive(drive.run(JOB).to_dict())
    # In the middle of a life, aged, with a file in the place of the old one.
    drive.age(hours=1000).age(cycles=2).save(path)
    again = lab.Drive.load(str(path))
    assert again.pe_cycles == drive.pe_cycles
    assert of_drive(again.run(JOB).to_dict()) == of_drive(drive.run(JOB).to_dict())
    assert [file.name for file in tmp_path.iterdir()] == ["x.nldrive"]


def test_rests_of_blocks_are_saved(tmp_path: Path) -> None:
    cell = {"preset": "wang2014_mlc", "wear": {"recovery": 0.1}}
    sets = {"chip.cell": cell, "ftl.overprovisioning": 0.6}
    drive = lab.Drive("tiny", set=sets).precondition("steady").age(hours=1000).age(cycles=5)
    path = tmp_path / "x.nldrive"
    loaded = lab.Drive.load(drive.save(path) and path)
    ends = []
    for one in (drive, loaded):
        before = one._native.most_worn_cycles(), one.pe_cycles.max
        one.age(hours=1000).age(cycles=5)
        ends.append((*before, one._native.most_worn_cycles(), one.pe_cycles.max))
    assert ends[0] == ends[1]
    worn, cycles, later, later_cycles = ends[0]
    assert 0 < worn < cycles
    assert 0 < later - worn < later_cycles - cycles


def test_errors_that_were_copied_are_saved(tmp_path: Path) -> None:
    sets = {
        **{"chip.features.copyback": True, "gc.copyback": "unchecked", "ftl.unit_bytes": 8192},
        **{"chip.array.name": "power_law", "chip.array.epsilon": 1e-4, "ftl.overprovisioning": 0.6},
        **{"ecc.model": "threshold", "ecc.t": 40, "chip.geometry.blocks_per_plane": 32},
    }
    writes = "[w]\nrw=randwrite\nbs=8k\nnorandommap\niodepth=8\nnumber_ios=40000\n"
    reads = "[r]\nrw=randread\nbs=8k\niodepth=8\nnumber_ios=4000\n"
    drive = lab.Drive("tiny", set=sets).precondition("steady")
    fresh = drive.run(reads).to_dict()["ecc"]["raw_bit_errors"]
    assert drive.run(writes).to_dict()["nand"]["copybacks"] > 1000
    drive.save(tmp_path / "x.nldrive")
    loaded = lab.Drive.load(tmp_path / "x.nldrive")
    again = loaded.run(reads).to_dict()
    assert of_drive(again) == of_drive(drive.run(reads).to_dict())
    assert again["ecc"]["raw_bit_errors"] > 1.1 * fresh


def test_command_line(nandlab: Callable[..., Ended], folder: Path) -> None:
    (folder / "mix.fio").write_text(JOB)
    save = ("save", "--drive", "tiny", "--precondition", "steady", "--out", "x.nldrive")
    assert "x.nldrive" in nandlab(*save).succeeded().err
    run = ("run", "--from", "x.nldrive", "--workload", "mix.fio")
    nandlab(*run, "--json", "report.json").succeeded()
    expected = lab.run("tiny", JOB, precondition="steady")
    report = json.loads(Path("report.json").read_text())
    assert of_drive(report) == of_drive(expected.to_dict())
    for arguments, told in [
        (["--set", "seed=2"], "--set"),
        (["--seed", "2"], "--seed"),
        (["--precondition", "fill"], "--precondition"),
        (["--drive", "tiny"], "--drive and --from"),
        (["--json", "x.nldrive"], "x.nldrive"),
    ]:
        nandlab(*run, *arguments).refused(told)


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.nldrive"
    lab.Drive("tiny").precondition("fill").save(path)
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[:1000] + b"?" + whole[1001:], b"", b"[drive]\n"):
        path.write_bytes(damaged)
        with refused("x.nldrive"):
            lab.Drive.load(path)
    with refused("none.nldrive"):
        lab.Drive.load(tmp_path / "none.nldrive")
    drive = lab.Drive("tiny")
    with refused("no folder", tmp_path / "none"):
        drive.save(tmp_path / "none" / "x.nldrive")
    preset = tmp_path / "mine.toml"
    preset.write_text('drive_preset = "tiny"\n')
    with refused("mine.toml"):
        lab.Drive(preset).save(preset)
    assert preset.read_text() == 'drive_preset = "tiny"\n'


def test_cycles() -> None:
    drive = lab.Drive("tiny", set={"age.pe_cycles": 100}).precondition("fill")
    told: list[lab.Progress] = []
    drive.age(cycles=10, progress=told.append)
    assert 110 <= drive.pe_cycles.mean < 112
    assert not drive.is_read_only
    assert told[-1].done >= 10
    for wrong in ({}, {"hours": 1, "cycles": 1}, {"cycles": -1}, {"cycles": 0.5}):
        with pytest.raises(lab.NandlabError):
            drive.age(**wrong)  # type: ignore[arg-type]
    with refused("age.cycles", "no data"):
        lab.Drive("tiny").age(cycles=1)


def test_no_other_file_is_lost(nandlab: Callable[..., Ended], tmp_path: Path) -> None:
    under, above = tmp_path / "under.toml", tmp_path / "above.toml"
    under.write_text('drive_preset = "tiny"\n')
    above.write_text('drive_preset = "under.toml"\n')
    with refused("under.toml", "input"):
        lab.Drive(above).save(under)
    nandlab("save", "--drive", above, "--out", under).refused("under.toml", "input")
    assert under.read_text() == 'drive_preset = "tiny"\n'

    # A link goes on leading to its file, which is the new one; a device stays a device.
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    drive = lab.Drive("tiny")
    drive.save(link)
    assert link.is_symlink()
    assert lab.Drive.load(target).capacity_bytes == drive.capacity_bytes
    with refused("device"):
        drive.save("/dev/null")
    assert not Path("/dev/null").is_file()
