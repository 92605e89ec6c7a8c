"""`--json FILE|-` of every command that prints a table, and names that stand for two things."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import carries

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
    "board": ["board", "wear", "--chip", "wang2014_mlc", "--cycles", "2000", "--quiet"],
    "cell": ["cell", "slc"],
    "endurance": ["endurance", "tlc_planar", "--hours", "24"],
}


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "nandlab", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("name", TABLES)
def test_a_file_and_standard_output_hold_the_same(name: str, tmp_path: Path):
    trace = tmp_path / "trace.csv"
    trace.write_text("128166372003061629,usr,0,Read,7014609920,24576,41286\n")
    to_file = command(tmp_path, *TABLES[name], "--json", "out.json")
    assert to_file.returncode == 0, to_file.stderr
    printed = command(tmp_path, *TABLES[name], "--json", "-")
    assert printed.returncode == 0, printed.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert written
    found = json.loads(printed.stdout)
    if name != "ecc speed":  # Times are others each time.
        assert written == found
    if "--quiet" in TABLES[name]:
        assert to_file.stdout == ""
    else:
        assert to_file.stdout
    refused = command(tmp_path, *TABLES[name], "--json", "no/folder.json")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "--json" in refused.stderr


def test_show_says_that_there_are_two(tmp_path: Path):
    both = command(tmp_path, "show", "tlc_3d")
    carries(both.stderr, "note: ", "tlc_3d", "`nandlab show cell/tlc_3d`")
    assert both.stdout == command(tmp_path, "show", "chip/tlc_3d").stdout
    named = command(tmp_path, "show", "cell/tlc_3d")
    assert (named.returncode, named.stderr) == (0, "")
    assert named.stdout != both.stdout
    assert command(tmp_path, "show", "pcie4_x4").stderr == ""


def test_hours_have_one_name(tmp_path: Path):
    for asked in (["endurance", "tlc_planar"], ["cell", "slc"]):
        both = [
            command(tmp_path, *asked, option, "24", "--json", "-").stdout
            for option in ("--hours", "--retention-hours")
        ]
        assert both[0] == both[1] != ""
        assert "--retention-hours" not in command(tmp_path, *asked, "--help").stdout
