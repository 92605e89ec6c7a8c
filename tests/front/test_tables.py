"""Drives, chips and cells as mappings: the same drive as its file, and the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import carries, refused

import nandlab
from nandlab.catalogue import load_config
from nandlab.keys import written

JOB = "[a]\nrw=randread\nnumber_ios=500\n"


@pytest.mark.parametrize(
    "tables",
    [
        {"drive_preset": "tiny", "drive": {"channels": np.int64(4)}},
        {"drive_preset": "tiny", "drive.channels": 4},
        {"drive_preset": "tiny", "drive": {"channels": 4}, "run": {"precondition": "none"}},
    ],
)
def test_a_mapping_is_as_its_file(tables: dict[str, Any], tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('drive_preset = "tiny"\n[drive]\nchannels = 4\n')
    assert load_config(tables).config_hash == load_config(str(file)).config_hash
    of_tables, of_file = nandlab.run(tables, JOB), nandlab.run(file, JOB)
    assert of_tables.to_dict()["host"] == of_file.to_dict()["host"]
    assert of_tables.config["drive"]["channels"] == 4
    assert nandlab.Drive(tables).run(JOB).to_dict()["host"] == of_file.to_dict()["host"]


@pytest.mark.parametrize(
    ("tables", "parts"),
    [
        ({"drive_preset": "tiny", "drive": {"chanels": 4}}, ["drive: drive.chanels", "unknown"]),
        ({"drive_preset": "tiny", "drive": {"channels": "x"}}, ["drive: drive.channels"]),
        ({"drive_preset": "tiny", "drive": {"channels": None}}, ["drive: drive.channels", "None"]),
        (
            {"drive_preset": "tiny", "ftl": {"overprovisioning": float("nan")}},
            ["nan", "expected: "],
        ),
        ({"drive_preset": "tin"}, ["`tiny`"]),
        ({"drive_preset": "tiny", 3: 4}, ["drive: 3", "key", "text"]),
        ({"drive_preset": "tiny", "run": {"precondition": "x"}}, ["run.precondition"]),
        ({"drive": {"channels": object()}}, ["numbers", "text", "lists", "tables"]),
        (3, ["drive: 3", "preset's name", "path", "tables"]),
    ],
)
def test_mistakes_are_told_with_their_key(tables: Any, parts: list[str]):
    for use in (nandlab.Drive, nandlab.bibliography, run):
        if use is not run and "run.precondition" in parts:
            continue
        with pytest.raises(nandlab.NandlabError) as caught:
            use(tables)
        assert "\n" not in carries(caught.value, *parts)


def run(given: Any) -> nandlab.Result:
    return nandlab.run(given, JOB)


def test_all_missing_keys_are_told():
    with refused("missing", "drive.queue_depth", "chip.preset", "gc.name", "ecc.model"):
        nandlab.run({"drive": {"channels": 2}}, JOB)


def test_keys_and_sources_of_a_mapping():
    tables = {"drive_preset": "modern_tlc", "drive": {"channels": 4}}
    found = written("drive.channels", tables)
    assert found is not None
    assert (found.value, found.place) == ("4", "drive")
    assert nandlab.bibliography(tables) == nandlab.bibliography("modern_tlc")


def test_a_chip_as_a_mapping():
    chip = {"preset": "wang2014_mlc", "geometry": {"pages_per_block": 64}}
    of_tables = nandlab.board("wear", chip, points=2, measured_cycles=1, cycles=2000)
    of_name = nandlab.board(
        "wear", "wang2014_mlc", points=2, measured_cycles=1, cycles=2000, set={"chip." + SMALL: 64}
    )
    assert of_tables.table().equals(of_name.table())
    with refused("board: chip.geometry.blocks", "unknown"):
        nandlab.board(
            "wear",
            {"preset": "wang2014_mlc", "geometry": {"blocks": 1}},
            points=2,
            measured_cycles=1,
            cycles=2000,
        )
    assert nandlab.endurance({"preset": "tlc_3d"}).points == nandlab.endurance("tlc_3d").points


SMALL = "geometry.pages_per_block"


def test_a_cell_as_a_mapping():
    of_name = nandlab.cell("chip/tlc_3d")
    for tables in ({"preset": "tlc_3d"}, {"drive_preset": "tiny", "chip": {"preset": "tlc_3d"}}):
        assert nandlab.cell(tables).rber(0, pe_cycles=1000) == of_name.rber(0, pe_cycles=1000)
    levels = {"vth_mean_v": [-2.0, 1.0], "vth_sigma_v": [0.2, 0.2]}
    assert 0 <= nandlab.cell({"levels": levels}).rber(0) < 1e-6
    with refused("cell: cell.levels.x", "unknown"):
        nandlab.cell({"levels": {**levels, "x": 1}})
    with refused("no cell"):
        nandlab.cell({"x": 1})
