"""The limit of a life is the endurance of its chip, as its drive reads it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import nandlab as lab
from nandlab.catalogue import load_config
from nandlab.life.limit import demand, limit_of
from tests.conftest import Ended


@pytest.mark.parametrize("retry", ["none", "read_retry"])
def test_the_options_of_a_life_give_its_limit(nandlab: Callable[..., Ended], retry: str) -> None:
    """Best references where the drive retries, else those of the cell: it says which."""
    sets = [
        *("chip.preset=wang2014_mlc", "chip.geometry.blocks_per_plane=64"),
        *(
            "ecc.model=threshold",
            "ecc.t=40",
            "ecc.parity_bytes=64",
            "chip.geometry.spare_bytes=256",
            f"retry.name={retry}",
        ),
    ]
    limit = limit_of(load_config("tiny", sets).config, demand("client", None, 24.0, 30.0))
    [note] = [note for note in limit.notes if "nandlab endurance" in note]
    words = shlex.split(note.split("`nandlab ")[1].rstrip("`"))
    words[words.index("CHIP")] = "wang2014_mlc"
    asked = ("--retention-hours", "24", "--temperature-c", "30", "--uber", "1e-15")
    [point] = nandlab(*words, *asked, "--json", "-").succeeded().json
    assert point["pe_cycles"] == limit.pe_cycles
    assert ("--best" in words) == (retry == "read_retry")


@pytest.mark.parametrize("name", ["modern_tlc", "modern_qlc", "drive/wang2014_mlc"])
def test_the_endurance_of_a_drive_is_the_limit_of_its_life(name: str) -> None:
    """With nothing else said: the same code, soft reads, references, retention and UBER."""
    config = load_config(name.removeprefix("drive/")).config
    limit = limit_of(config, demand(None, None, None, None))
    [point] = lab.endurance(name).points
    assert point.pe_cycles == limit.pe_cycles
    assert 0 < point.pe_cycles < 1_000_000


def test_what_is_said_goes_before_the_reads_of_a_drive() -> None:
    usual, hard, own, best = (
        lab.endurance("modern_tlc", **given).points[0]
        for given in ({}, {"levels": 0}, {"t": 300}, {"is_best": True})
    )
    assert (usual.code, usual.levels, usual.retention_hours) == ("ldpc_4k_r90", 4, 8760)
    assert (hard.code, hard.levels) == ("ldpc_4k_r90", 0)
    assert (own.code, own.t) == ("", 300)
    assert hard.pe_cycles < usual.pe_cycles < best.pe_cycles


def test_a_drive_file_is_told_from_a_chip_file(nandlab: Callable[..., Ended], folder: Path) -> None:
    (folder / "own.toml").write_text('drive_preset = "modern_tlc"\nretry.max_levels = 1\n')
    [own] = nandlab("endurance", "own.toml", "--json", "-").succeeded().json
    [same] = lab.endurance("modern_tlc", levels=2).points
    assert (own["levels"], own["pe_cycles"]) == (2, same.pe_cycles)
    assert lab.endurance({"drive_preset": "modern_tlc", "retry": {"max_levels": 1}}).points == [
        same
    ]
    nandlab("endurance", "tiny").refused("tiny", "no bit errors")


def test_parity_counts_in_the_limit_of_a_life() -> None:
    """A life ends where the endurance of the drive does, whose parity gives pages back."""
    parity = {"parity.pages": 1, "ftl.superblock_dies": 16, "ftl.gc_reserve_blocks": 2}
    sets = [f"{key}={value}" for key, value in {**parity, "ftl.metadata_share": 0}.items()]
    config = load_config("modern_tlc", sets)
    asked = demand(None, None, None, None)
    limit = limit_of(config.config, asked)
    code, drive = lab.endurance(config.config).points
    assert (drive.parity_pages, drive.stripe_dies) == (1, 16)
    assert code.pe_cycles == limit_of(load_config("modern_tlc").config, asked).pe_cycles
    assert limit.pe_cycles == drive.pe_cycles > code.pe_cycles
    at = limit.uber(drive.pe_cycles)
    assert at.drive is not None
    assert at.code is not None
    assert at.drive <= 1e-15 < limit.uber(drive.pe_cycles + 5).drive < at.code
    assert sum("fail independently" in note for note in limit.notes) == 1
