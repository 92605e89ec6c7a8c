"""`--json FILE|-` of every command that prints a table, and names that stand for two things."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, carries, refused

import nandlab as lab

TABLES = {
    "presets": ["presets", "drive"],
    "explain": ["explain", "gc.start_free_blocks", "--drive", "tiny"],
    "trace info": ["trace", "info", "trace.csv", "--format", "msr"],
    "code show": ["code", "show", "ldpc_4k_r90"],
    "ecc list": ["ecc", "list"],
    "ecc speed": ["ecc", "speed", "--code", "bch_512_t40", "--rber", "0.001", "--frames", "2"],
    "ecc curve": [
        *["ecc", "curve", "--code", "bch_512_t40", "--rber", "0.012"],
        *["--errors", "2", "--max-frames", "200", "--quiet"],
    ],
    "board": [
        *["board", "wear", "--chip", "wang2014_mlc", "--cycles", "2000", "--quiet"],
        *["--set", "chip.geometry.pages_per_block=64", "--set", "procedure.points=2"],
        *["--set", "procedure.measured_cycles=1"],
    ],
    "cell": ["cell", "slc"],
    "endurance": ["endurance", "tlc_planar", "--retention-hours", "24"],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_file_and_standard_output_hold_the_same(
    name: str, nandlab: Callable[..., Ended], folder: Path
):
    trace = folder / "trace.csv"
    trace.write_text("128166372003061629,usr,0,Read,7014609920,24576,41286\n")
    to_file = nandlab(*TABLES[name], "--json", "out.json").succeeded()
    printed = nandlab(*TABLES[name], "--json", "-").succeeded()
    written = json.loads((folder / "out.json").read_text())
    assert written
    found = printed.json
    if name != "ecc speed":  # Times are others each time.
        assert written == found
    if "--quiet" in TABLES[name]:
        assert to_file.out == ""
    else:
        assert to_file.out
    nandlab(*TABLES[name], "--json", "no/folder.json").refused("--json")


def test_show_says_that_there_are_two(nandlab: Callable[..., Ended]):
    both = nandlab("show", "tlc_3d")
    carries(both.err, "note: ", "tlc_3d", "`nandlab show cell/tlc_3d`")
    assert both.out == nandlab("show", "chip/tlc_3d").out
    named = nandlab("show", "cell/tlc_3d")
    assert (named.code, named.err) == (0, "")
    assert named.out != both.out
    assert nandlab("show", "pcie4_x4").err == ""


def test_hours_have_one_name(nandlab: Callable[..., Ended]):
    for asked in (["endurance", "tlc_planar"], ["cell", "slc"], ["tvr"], ["life"]):
        assert "--retention-hours" in nandlab(*asked, "--help").out
        other = nandlab(*asked, "--hours", "24")
        assert (other.code, other.out) == (2, "")
        carries(other.err, "--hours", "--retention-hours")
    with refused("`hours`", "retention_hours"):
        lab.cell("slc").levels(hours=24)
