"""Real codewords under a served drive: what clients read is what the decoder made of it."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import refused
from tests.device.clients import SMALL, client, needs
from tests.device.mounts import needs_file_systems

ROOT = Path(__file__).resolve().parents[2]

#: Codewords of 1 KiB that correct 72 errors, and about nine errors in each.
WORDS = {
    "chip.geometry.pages_per_block": 8,
    "chip.geometry.blocks_per_plane": 64,
    "chip.geometry.spare_bytes": 2048,
    "ecc.model": "exact",
    "ecc.code": "bch_1024_t72",
    "chip.array": {"name": "power_law", "epsilon": 1e-3, "alpha": 0, "beta": 0, "gamma": 0},
}


def test_a_copy_comes_back_through_the_decoder(folder: Path) -> None:
    """Nbdcopy both ways: the same bytes, though every codeword that was read had errors."""
    needs("nbdcopy")
    disk = folder / "disk.img"
    with lab.serve("tiny", set=WORDS, clock="fast", integrity="exact") as server:
        size = int(client("nbdinfo", "--size", server.uri))
        disk.write_bytes(random.Random(5).randbytes(size))
        client("nbdcopy", disk, server.uri)
        client("nbdcopy", server.uri, folder / "back.img")
        report = server.stop().to_dict()
    ours, back = (
        hashlib.sha256(path.read_bytes()).digest() for path in (disk, folder / "back.img")
    )
    assert ours == back
    words = report["device"]["codewords"]
    assert report["device"]["integrity"] == "exact"
    assert words["decoded"] > size / 1024 * 0.9
    assert words["miscorrected"] == 0
    assert report["ecc"]["raw_bit_errors"] > 5 * words["decoded"]


def test_it_needs_real_codewords(folder: Path) -> None:
    """A drive whose decoder is a model of rates is refused, and nothing is left behind."""
    with refused("ecc.model"):
        lab.serve("tiny", set=SMALL, socket="disk.sock", integrity="exact")
    with refused("model", "exact"):
        lab.serve("tiny", set=SMALL, socket="disk.sock", integrity="exakt")
    assert not Path("disk.sock").exists()


@pytest.mark.long
def test_a_database_on_a_worn_drive(folder: Path) -> None:
    """The example of the tutorial: SQLite on ext4 on real codewords, until they fail."""
    needs_file_systems(folder)
    example = ROOT / "examples" / "device" / "worn_database.py"
    arguments = [sys.executable, str(example), "--small", "--picture", "times.png"]
    told = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    rows = [line for line in told.stdout.splitlines() if line[:1].isdigit()]
    assert [row.split()[-1] for row in rows[:3]] == ["0", "0", "0"], told.stdout
    assert len(rows) == 6
    assert Path("times.png").stat().st_size > 10_000
