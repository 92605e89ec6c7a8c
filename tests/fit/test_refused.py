"""Files and arguments that `nandlab fit` refuses, each by its place and value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Ended

HEAD = "pe_cycles,bits_read,bit_errors\n"
ROWS = "".join(f"{n},1000000,{n // 100}\n" for n in range(1000, 9000, 1000))


@pytest.mark.parametrize(
    ("text", "law", "parts"),
    [
        (HEAD + ROWS, "power_lw", ["`power_law`"]),
        ("pe_cycle,bits_read,bit_errors\n1,1,1\n", "power_law", ["`pe_cycles`"]),
        ("retention_days,rber\n1,1e-3\n", "power_law", ["`retention_hours`"]),
        ("# a note\n" + HEAD + "1000,1000000\n", "power_law", ["row 3", "2 fields"]),
        (HEAD + "1000,1000000,10\n2000,1e6,x\n", "power_law", ["row 3, column bit_errors", "`x`"]),
        (HEAD + "1000,1000000,\n", "power_law", ["column bit_errors", "empty"]),
        (HEAD + "-1,1000000,10\n", "power_law", ["row 2, column pe_cycles", "-1"]),
        (HEAD + "1,1000000,1.5\n", "power_law", ["whole number"]),
        (HEAD + "1,100,101\n", "power_law", ["101 errors", "100 bits"]),
        (HEAD + "1,nan,1\n", "power_law", ["column bits_read", "nan"]),
        (HEAD + "1,100,0\n2,100,0\n", "power_law", ["no errors"]),
        (HEAD + "\n".join(ROWS.split()[:3]), "power_law", ["rows", "parameters"]),
        (HEAD + "5,1000000,9\n" * 9, "exponential", ["column pe_cycles", "one value"]),
        (HEAD + ROWS, "retention_law", ["no column `retention_hours`"]),
        (HEAD + ROWS, "exponential_vth", ["no column `vth_v`"]),
        (HEAD + ROWS, "gaussian", ["no column `vth_v`"]),
        ("pe_cycles,rber\n1,0\n2,1e-3\n3,1e-3\n", "exponential", ["row 2, column rber", "0"]),
        ("pe_cycles\n1\n2\n", "exponential", ["bit_errors", "bits_read", "rber"]),
        ("pe_cycles,rber,bits_read\n1,1e-3,5\n", "exponential", ["rber and bits_read"]),
        ("pe_cycles,pe_cycles\n1,1\n", "exponential", ["`pe_cycles`", "twice"]),
        ("", "exponential", ["empty file"]),
        (HEAD, "exponential", ["no rows"]),
        ("vth_v,cells\n1,50\n2,50\n2,50\n3,5\n4,5\n", "gaussian", ["row 4, column vth_v", "2"]),
        ("vth_v,cells\n1,50\n2,50\n", "gaussian", ["chip.csv", "2 bins", "4 or more"]),
        ("vth_v,cells\n1,0\n2,900\n3,0\n4,0\n", "gaussian", ["cells: 1", "8 or more"]),
        ("pe_cycles;rber\n1;0,001\n", "exponential", ["row 1", "semicolons"]),
        ("pe_cycles\trber\n1\t1e-3\n", "exponential", ["tabs", "commas"]),
        ("pe_cycles,rber\n1,0,001\n", "exponential", ["row 2", "3 fields", "2"]),
        ('pe_cycles,rber\n1,"0,001"\n', "exponential", ["to 0.5", "decimal point"]),
        ("vth_v,cells\n1,5\n2,5\n3,5\n4,5\n", "gaussian", ["20 cells"]),
        (HEAD + "1,9,1\n" + '2,"' + "9,1\n" * 60_000, "power_law", ["row 3", "larger"]),
    ],
)
def test_refusals(
    nandlab: Callable[..., Ended], folder: Path, text: str, law: str, parts: list[str]
):
    (folder / "chip.csv").write_text(text)
    line = nandlab("fit", "chip.csv", "--law", law).refused(*parts)
    assert any(word in line for word in ("expected: ", "hint: "))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["no.csv"], ["no.csv"]),
        (["mixed.fio"], [".csv, .parquet"]),
        (["chip.csv", "--level", "1.5"], ["level"]),
        (["chip.csv", "--without", "retentoin"], ["epsilon, wear, retention, reads"]),
        (["chip.csv", "--states", "8"], ["states", "power_law", "gaussian"]),
        (["chip.csv", "--page-bits", "8"], ["page_bits", "power_law"]),
        (["chip.csv", "--reference-c", "8"], ["reference_c", "temperature_c"]),
        (["chip.csv", "--chip", "mqsim_mlc"], ["--chip without --toml"]),
        (
            ["chip.csv", "--without", "epsilon", "--chip", "mqsim_mcl", "--toml", "x.toml"],
            ["`mqsim_mlc`"],
        ),
        (["chip.csv", "--chip", "mqsim_mlc", "--toml", "x.txt"], [".toml"]),
        (["chip.csv", "--plot", "x.bmp"], [".png"]),
        (["chip.csv", "--json", "chip.csv"], ["chip.csv", "input"]),
        (["bad.parquet"], ["bad.parquet", "Parquet"]),
        (["twice.parquet"], ["column `rber`", "twice"]),
        (["binary.csv"], ["binary.csv", "not UTF-8"]),
    ],
)
def test_arguments(
    nandlab: Callable[..., Ended], folder: Path, arguments: list[str], parts: list[str]
):
    (folder / "chip.csv").write_text(HEAD + ROWS)
    (folder / "bad.parquet").write_text("no")
    twice = pa.table([pa.array([1e-3, 2e-3])] * 2, names=["rber", "rber"])
    pq.write_table(twice, folder / "twice.parquet")
    (folder / "binary.csv").write_bytes(b"\xff\xfe\x80")
    nandlab("fit", *arguments, "--law", "power_law").refused(*parts)
