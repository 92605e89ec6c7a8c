"""Saved drives: a run on one equals the run on the drive, and no damaged file is ever taken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused

import nandlab
from tests.drive.test_device import JOB, MEASURED


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nandlab", *arguments], capture_output=True, text=True, check=False
    )


def of_drive(found: dict[str, Any]) -> dict[str, Any]:
    """A report without what says where the drive came from, and what the machine decides."""
    found["sim"] = {key: value for key, value in found["sim"].items() if key not in MEASURED}
    for key in ("drive", "run", "notices"):
        found["nandlab"].pop(key)
    return found


@pytest.mark.parametrize("ftl", ["page", "dftl", "learned", "bast", "superblock"])
def test_a_loaded_drive_is_the_drive(ftl: str, tmp_path: Path) -> None:
    sets = {"ftl.name": ftl, "ftl.overprovisioning": 0.6}
    drive = nandlab.Drive("tiny", set=sets).precondition("steady")
    path = tmp_path / "x.nldrive"
    assert drive.save(path) is drive
    loaded = nandlab.Drive.load(path)
    assert loaded.capacity_bytes == drive.capacity_bytes
    assert of_drive(loaded.run(JOB).to_dict()) == of_drive(drive.run(JOB).to_dict())
    # In the middle of a life, aged, with a file in the place of the old one.
    drive.age(hours=1000).age(cycles=2).save(path)
    again = nandlab.Drive.load(str(path))
    assert again.pe_cycles == drive.pe_cycles
    assert of_drive(again.run(JOB).to_dict()) == of_drive(drive.run(JOB).to_dict())
    assert [file.name for file in tmp_path.iterdir()] == ["x.nldrive"]


def test_errors_that_were_copied_are_saved(tmp_path: Path) -> None:
    sets = {
        **{"chip.features.copyback": True, "gc.copyback": "unchecked", "ftl.unit_bytes": 8192},
        **{"chip.array.name": "power_law", "chip.array.epsilon": 1e-4, "ftl.overprovisioning": 0.6},
        **{"ecc.model": "threshold", "ecc.t": 40, "chip.geometry.blocks_per_plane": 32},
    }
    writes = "[w]\nrw=randwrite\nbs=8k\nnorandommap\niodepth=8\nnumber_ios=40000\n"
    reads = "[r]\nrw=randread\nbs=8k\niodepth=8\nnumber_ios=4000\n"
    drive = nandlab.Drive("tiny", set=sets).precondition("steady")
    fresh = drive.run(reads).to_dict()["ecc"]["raw_bit_errors"]
    assert drive.run(writes).to_dict()["nand"]["copybacks"] > 1000
    drive.save(tmp_path / "x.nldrive")
    loaded = nandlab.Drive.load(tmp_path / "x.nldrive")
    again = loaded.run(reads).to_dict()
    assert of_drive(again) == of_drive(drive.run(reads).to_dict())
    assert again["ecc"]["raw_bit_errors"] > 1.1 * fresh


def test_command_line(tmp_path: Path) -> None:
    path, job = tmp_path / "x.nldrive", tmp_path / "mix.fio"
    job.write_text(JOB)
    done = command("save", "--drive", "tiny", "--precondition", "steady", "--out", str(path))
    assert done.returncode == 0, done.stderr
    assert "x.nldrive" in done.stderr
    out = tmp_path / "report.json"
    done = command("run", "--from", str(path), "--workload", str(job), "--json", str(out))
    assert done.returncode == 0, done.stderr
    expected = nandlab.run("tiny", JOB, precondition="steady")
    assert of_drive(json.loads(out.read_text())) == of_drive(expected.to_dict())

    for arguments, told in [
        (["--set", "seed=2"], "--set"),
        (["--seed", "2"], "--seed"),
        (["--precondition", "fill"], "--precondition"),
        (["--drive", "tiny"], "--drive and --from"),
        (["--json", str(path)], "x.nldrive"),
    ]:
        done = command("run", "--from", str(path), "--workload", str(job), *arguments)
        assert done.returncode == 2, done.stderr
        carries(done.stderr, told)
        assert "Traceback" not in done.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.nldrive"
    nandlab.Drive("tiny").precondition("fill").save(path)
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[:1000] + b"?" + whole[1001:], b"", b"[drive]\n"):
        path.write_bytes(damaged)
        with refused("x.nldrive"):
            nandlab.Drive.load(path)
    with refused("none.nldrive"):
        nandlab.Drive.load(tmp_path / "none.nldrive")
    drive = nandlab.Drive("tiny")
    with refused("no folder", tmp_path / "none"):
        drive.save(tmp_path / "none" / "x.nldrive")
    preset = tmp_path / "mine.toml"
    preset.write_text('drive_preset = "tiny"\n')
    with refused("mine.toml"):
        nandlab.Drive(preset).save(preset)
    assert preset.read_text() == 'drive_preset = "tiny"\n'


def test_cycles() -> None:
    drive = nandlab.Drive("tiny", set={"age.pe_cycles": 100}).precondition("fill")
    told: list[nandlab.Progress] = []
    drive.age(cycles=10, progress=told.append)
    assert 110 <= drive.pe_cycles.mean < 112
    assert not drive.is_read_only
    assert told[-1].done >= 10
    for wrong in ({}, {"hours": 1, "cycles": 1}, {"cycles": -1}, {"cycles": 0.5}):
        with pytest.raises(nandlab.NandlabError):
            drive.age(**wrong)  # type: ignore[arg-type]
    with refused("age.cycles", "no data"):
        nandlab.Drive("tiny").age(cycles=1)


def test_no_other_file_is_lost(tmp_path: Path) -> None:
    under, above = tmp_path / "under.toml", tmp_path / "above.toml"
    under.write_text('drive_preset = "tiny"\n')
    above.write_text('drive_preset = "under.toml"\n')
    with refused("under.toml", "input"):
        nandlab.Drive(above).save(under)
    done = command("save", "--drive", str(above), "--out", str(under))
    assert done.returncode == 2, done.stderr
    carries(done.stderr, "under.toml", "input")
    assert under.read_text() == 'drive_preset = "tiny"\n'

    # A link goes on leading to its file, which is the new one; a device stays a device.
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    drive = nandlab.Drive("tiny")
    drive.save(link)
    assert link.is_symlink()
    assert nandlab.Drive.load(target).capacity_bytes == drive.capacity_bytes
    with refused("device"):
        drive.save("/dev/null")
    assert not Path("/dev/null").is_file()
