"""The test board: procedures on a chip, their files, resumed, interrupted, refused."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from begun import progressed
from conftest import COMMAND, Ended, carries, refused, some
from matplotlib.figure import Figure

import nandlab
from nandlab.board import read
from nandlab.board.plot import _logarithmic

#: A block of few pages.
SMALL = "chip.geometry.pages_per_block=32"
CHIP = "wang2014_mlc"
#: The same of any chip.
FEW_CELLS = {
    "chip.geometry.pages_per_block": 96,
    "chip.geometry.page_bytes": 2048,
    "chip.geometry.spare_bytes": 64,
}
#: Parameters that make each procedure quick.
QUICK: dict[str, dict[str, object]] = {
    "wear": {"points": 3, "measured_cycles": 2, "wordline_spacing": 2},
    "rber": {"points": 3},
    "data_pattern": {"points": 2},
    "single_level": {"points": 2},
    "read_disturb": {"points": 3},
    "retention": {"points": 3},
    "vth_sweep": {"step_v": 0.2},
}
#: The chips of Grupp et al. (MICRO'09).
GRUPP = {chip.name for chip in nandlab.presets("chip") if chip.name.startswith("grupp2009_")}
NAMES = [procedure.name for procedure in nandlab.procedures()]


def quick(name: str, **more: object) -> nandlab.Measurement:
    return nandlab.board(name, CHIP, set=[SMALL], **{**QUICK.get(name, {}), **more})


@pytest.mark.parametrize("name", NAMES)
def test_every_procedure_gives_rows_and_a_picture(name: str, tmp_path: Path):
    result = quick(name)
    table = result.table()
    assert table.num_rows > 0
    assert not result.interrupted
    assert table.column_names[0] == "step"
    for column in table.column_names:
        if column.endswith("_low"):
            rate, high = column.removesuffix("_low"), column.removesuffix("_low") + "_high"
            rows = zip(*(table[name].to_pylist() for name in (column, rate, high)), strict=True)
            assert all(0 <= low <= middle <= top <= 1 for low, middle, top in rows)
    figure = result.plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    for axes in figure.axes:
        assert axes.get_ylabel()
    assert figure.axes[-1].get_xlabel()


@pytest.mark.parametrize("chip", sorted(GRUPP))
def test_the_chips_of_grupp_run(chip: str):
    """Each has an assumed cell: half of the pages of MLC are slower, and errors grow with wear."""
    rows = nandlab.board("latency_map", chip, set=FEW_CELLS).table().to_pylist()
    slow = sum(row["program_us"] > min(row["program_us"] for row in rows) for row in rows)
    assert slow == (len(rows) // 2 if "_mlc" in chip else 0)
    far = {"cycles": 4_000_000, "points": 2}
    rows = nandlab.board("wear", chip, set=FEW_CELLS, **QUICK["wear"] | far).table().to_pylist()
    errors = {step: sum(r["cell_errors"] for r in rows if r["step"] == step) for step in (0, 1)}
    assert errors[1] > errors[0]


def test_a_sweep_shows_the_references():
    """Where the chip has a cell of its own; not where the command gave it one."""
    (axes,) = quick("vth_sweep").plot().axes
    assert axes.get_xlabel().startswith("threshold voltage, from the lower page's lowest")
    assert [text.get_text() for text in axes.texts] == ["lower ", "upper ", "upper "]
    pages = nandlab.cell(CHIP).pages
    own = [v - pages[0].references_v[0] for page in pages for v in page.references_v]
    assert [text.get_position()[0] for text in axes.texts] == pytest.approx(own)
    slc = ["chip.cell.preset=slc", SMALL]
    (axes,) = nandlab.board("vth_sweep", "grupp2009_a_slc2", set=slc, step_v=0.5).plot().axes
    assert not axes.texts


@pytest.mark.parametrize("chip", some(["wang2014_mlc", "tlc_planar", "tlc_3d", "qlc_3d"]))
def test_a_sweep_finds_all_cells(chip: str):
    """Left to itself it reaches from the lowest cell to the highest of every chip."""
    result = nandlab.board("vth_sweep", chip, set=FEW_CELLS)
    rows = result.table().to_pylist()
    for level in {row["level"] for row in rows}:
        of_level = [row for row in rows if row["level"] == level]
        found = sum(row["cells_found"] for row in of_level)
        assert found == pytest.approx(of_level[0]["cells"], rel=0.002)
    # The picture leaves out where there are none, and every curve looks different.
    (axes,) = result.plot().axes
    low, high = axes.get_xlim()
    shown = [row["shift_v"] for row in rows if row["cells_found"] > 0]
    assert low < min(shown) < max(shown) < high
    assert high - low < 1.2 * (max(shown) - min(shown))
    looks = [
        (line.get_color(), line.get_linestyle())
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_")
    ]
    assert len(set(looks)) == len(looks) == len({row["level"] for row in rows})


@pytest.mark.parametrize("chip", ["tlc_planar", "tlc_3d", "qlc_3d"])
def test_one_bit_a_cell_errs_less(chip: str):
    rows = nandlab.board("single_level", chip, set=FEW_CELLS, points=1).table().to_pylist()
    rates = {row["mode"]: row["rber"] for row in rows}
    assert rates["one bit a cell"] < 0.1 * rates["all bits"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["wear", "read_disturb", "program_disturb"])
def test_going_on_gives_the_same_rows(name: str, kind: str, tmp_path: Path):
    """Whole, and stopped after a step and taken up again."""
    whole, parts = tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
    expected = quick(name, out=whole).table()

    def stop(progress: nandlab.Progress) -> None:
        raise KeyboardInterrupt

    monkey = pytest.MonkeyPatch()
    monkey.setattr("nandlab.display.progress.Meter.INTERVAL_S", 0.0)
    with pytest.raises(nandlab.Unfinished) as stopped:
        quick(name, out=parts, progress=stop)
    monkey.undo()
    assert stopped.value.result.steps_done == 1
    assert stopped.value.result.interrupted
    assert 0 < read(parts).num_rows < expected.num_rows
    again = quick(name, out=parts, resume=True)
    assert again.table().to_pylist() == expected.to_pylist()
    assert parts.read_bytes() == whole.read_bytes()
    # All is done: nothing changes.
    assert quick(name, out=parts, resume=True).table().to_pylist() == expected.to_pylist()


KILLED = f"""
import os
import sys
import nandlab
from nandlab.display.progress import Meter

sys.modules["nandlab.board.rows"].SAVE_S = Meter.INTERVAL_S = 0.0

def stop(progress):
    if progress.done == 2:
        os._exit(9)

nandlab.board("read_disturb", "{CHIP}", set=["{SMALL}"], points=3, out="rows.csv", progress=stop)
"""


def test_what_kills_a_run_leaves_its_rows(tmp_path: Path):
    """Nothing after the kill is run: what is there was written before, and is gone on with."""
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, timeout=120, check=False)
    assert ended.returncode == 9
    expected = quick("read_disturb").table()
    left = read(tmp_path / "rows.csv")
    assert 0 < left.num_rows < expected.num_rows
    again = quick("read_disturb", out=tmp_path / "rows.csv", resume=True)
    assert again.table().to_pylist() == expected.to_pylist()


def test_rows_of_another_run_are_not_mixed(tmp_path: Path):
    out = tmp_path / "rows.parquet"
    quick("rber", out=out)
    # No errors in any of them: rows alone would not tell.
    others: tuple[dict[str, object], ...] = ({"seed": 2}, {"cycles": 9000}, {"points": 2})
    for more in others:
        with refused("rows.parquet", "resumed"):
            quick("rber", out=out, resume=True, **more)
    whole = out.read_bytes()
    # The first page behind the magic bytes.
    for broken in (b"nonsense", whole[:4] + b"\xff" * 40 + whole[44:]):
        out.write_bytes(broken)
        with refused("rows.parquet", "not a table"):
            quick("rber", out=out, resume=True)
    for names, part in (
        ("step,step,run_hash", "2 columns step"),
        ("step,a,b", "no columns run_hash"),
    ):
        (tmp_path / "rows.csv").write_text(f"{names}\n0,0,0\n")
        with refused("rows.csv", part):
            quick("rber", out=tmp_path / "rows.csv", resume=True)


def test_rows_must_be_there(tmp_path: Path):
    """Of every step as many, though only the last one is done again; and steps are numbers."""
    out = tmp_path / "rows.csv"
    quick("rber", out=out)
    lines = out.read_text().splitlines(keepends=True)
    assert [line[0] for line in lines[1:]] == list("001122")
    for gone, step in ((1, "step 0"), (3, "step 1")):
        out.write_text("".join([*lines[:gone], *lines[gone + 1 :]]))
        with refused(step, "1 of 2 rows"):
            quick("rber", out=out, resume=True)
    out.write_text("".join([*lines[:3], *lines[5:]]))
    with refused("step 1", "0 of 2 rows"):
        quick("rber", out=out, resume=True)
    for step in ("x", "", "1.5"):
        out.write_text(f"step,run_hash\n0,1\n{step},1\n")
        with refused("row 2, column step", f"`{step}`", "whole"):
            quick("rber", out=out, resume=True)


def test_rows_are_not_written_over(nandlab: Callable[..., Ended], folder: Path):
    energy = ["board", "energy", "--chip", CHIP, "--set", SMALL, "--cycles", "0", "--quiet"]
    nandlab(*energy, "--out", "rows.csv").succeeded()
    (folder / "curve.parquet").write_bytes(b"PAR1")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("rows.csv", "curve.parquet"):
        nandlab(*energy, "--seed", "2", "--out", name).refused("out", name, "exists", "resume")
    nandlab(*energy, "--out", "rows.csv", "--resume").succeeded()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_command_line(nandlab: Callable[..., Ended], folder: Path):
    listed = nandlab("board").succeeded().out
    assert all(name in listed for name in NAMES)
    done = nandlab(
        *("board", "wear", "--chip", CHIP, "--cycles", "1300000", "--set", SMALL),
        *("--set", "procedure.wordline_spacing=2", "--set", "procedure.points=3"),
        *("--out", "w.parquet", "--plot", "w.png"),
    ).succeeded()
    assert "cell_error_rate" in done.out
    assert "12 rows of 3 steps" in done.out
    table = pq.read_table("w.parquet")
    assert table.schema.metadata[b"procedure"] == b"wear"
    assert table["pattern"].to_pylist()[:4] == ["11", "10", "00", "01"]
    assert Path("w.png").exists()
    quiet = nandlab("board", "energy", "--chip", CHIP, "--set", SMALL, "--quiet").succeeded()
    assert (quiet.out, quiet.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["waer"], ["procedure `waer`"]),
        (["waer", "--chip", CHIP], ["`wear`"]),
        (["wear"], ["--chip", "preset"]),
        (["wear", "--chip", "wang2014"], ["`wang2014_mlc`"]),
        (["wear", "--chip", "mqsim_mlc"], ["chip.cell.preset"]),
        (["wear", "--chip", CHIP, "--set", "procedure.points=0"], ["points"]),
        (["wear", "--chip", CHIP, "--cycles", "-3"], ["cycles", "`-3`", "whole numbers"]),
        (["wear", "--chip", CHIP, "--cycles", "99999999999"], ["0 to 4294967295"]),
        (["rber", "--chip", CHIP, "--set", "procedure.points=-1"], ["0 to 4294967295"]),
        (
            ["wear", "--chip", CHIP, "--cycles", "200", "--set", "procedure.cycles=300"],
            ["board: cycles", "200", "--set procedure.cycles=300"],
        ),
        (["wear", "--chip", CHIP, "--cycles", "0"], ["procedure.cycles: 0", "100 to"]),
        (["energy", "--chip", CHIP, "--out", "mixed.fio"], [".parquet, .csv"]),
        (["wear", "--chip", CHIP, "--cycles", "99"], ["procedure.cycles: 99", "100 to"]),
        (
            ["rber", "--chip", CHIP, "--cycles", "100", "--set", "procedure.first_cycles=101"],
            ["procedure.first_cycles: 101", "0 to 100"],
        ),
        (["wear", "--chip", CHIP, "--set", "points=3"], ["key", "chip", "procedure"]),
        (["wear", "--chip", CHIP, "--set", "procedure.pionts=3"], ["`points`"]),
        (["wear", "--chip", CHIP, "--out", "x.xlsx"], [".parquet, .csv"]),
        (["wear", "--chip", CHIP, "--plot", "x.bmp"], [".png, .svg, .pdf"]),
        (["wear", "--chip", CHIP, "--out", "no/folder.csv"], ["no folder"]),
        (["wear", "--chip", CHIP, "--resume"], ["--out"]),
        (["wear", "--chip", CHIP, "--seed", "-1"], ["seed"]),
        (
            ["single_level", "--chip", "grupp2009_a_slc2", "--set", "chip.cell.preset=slc"],
            ["two"],
        ),
    ],
)
def test_refusals(
    nandlab: Callable[..., Ended], folder: Path, arguments: list[str], parts: list[str]
):
    nandlab("board", *arguments).refused(*parts)
    assert [path.name for path in folder.iterdir()] == ["mixed.fio"]


def test_ctrl_c_keeps_the_steps_done(folder: Path):
    process = progressed(
        [
            *[COMMAND, "board", "rber", "--chip", CHIP, "--out", "r.csv", "--quiet"],
            *["--set", "procedure.points=10000", "--cycles", "1000000"],
        ],
        "board",
        2,
        stderr=subprocess.PIPE,
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")
    assert read(Path("r.csv")).num_rows >= 2
    assert not Path("r.csv.part").exists()


@pytest.mark.parametrize("name", NAMES)
def test_no_cycles_are_none_or_refused(name: str):
    """Zero is not what the chip is rated for: that is what is left out."""
    if name in ("wear", "rber", "data_pattern", "single_level"):
        range_ = r"\bprocedure\.cycles: 0\b.*\b(1|100) to\b"
        with pytest.raises(nandlab.NandlabError, match=range_):
            quick(name, cycles=0)
        return
    rows = quick(name, cycles=0).table()
    if "pe_cycles" in rows.column_names:
        assert set(rows["pe_cycles"].to_pylist()) == {0}
    if name not in ("read_disturb", "retention", "wordlines"):
        assert rows.to_pylist() == quick(name).table().to_pylist()


@pytest.mark.parametrize("chip", some(["wang2014_mlc", "tlc_planar", "tlc_3d", "qlc_3d"]))
def test_reads_disturb_by_themselves(chip: str):
    """What is left out shows the effect on every chip: no reads, rates that rise, broken data."""
    table = nandlab.board("read_disturb", chip, set=FEW_CELLS).table().to_pylist()
    for page_type in {row["page_type"] for row in table}:
        rates = [row["rber"] for row in table if row["page_type"] == page_type]
        assert rates[-1] > max(0.1, 10 * rates[0])
        assert len([rate for rate in rates if 2 * rates[0] + 1e-5 < rate < 0.3]) >= 2
    reads = [row["reads"] for row in table]
    assert reads == sorted(reads)
    assert max(reads) == 1000 * min(set(reads) - {0})


@pytest.mark.long
def test_younger_ages_looked_at_do_not_disturb():
    """A year is a year, however many ages before it were looked at, as in closed form."""
    narrow = {"chip.geometry.page_bytes": 512, "chip.geometry.spare_bytes": 0}
    one, many = (
        nandlab.board("retention", "tlc_3d", set=narrow, points=points).table().to_pylist()[-3:]
        for points in (1, 12)
    )
    # A look reads each page once: half of the block's 1,152 came before, on average.
    state = {"pe_cycles": 3000, "retention_hours": 8760.0, "temperature_c": 40.0, "reads": 576}
    for page_type, (alone, last) in enumerate(zip(one, many, strict=True)):
        closed = nandlab.cell("tlc_3d").rber(page_type, **state)
        for row in (alone, last):
            assert (row["hours"], row["pe_cycles"]) == (8760.0, 3000)
            assert row["rber"] == pytest.approx(float(closed), rel=0.06), (page_type, row["rber"])


@pytest.mark.parametrize(
    ("cycles", "segments"), [(900, 9), (3000, 10), (10_000, 10), (1_200_000, 40)]
)
def test_wear_has_points_on_every_chip(cycles: int, segments: int):
    """Wang's segments of 1000 cycles where there are ten of them, shorter ones where not."""
    rows = quick("wear", points=40, measured_cycles=1, cycles=cycles).table().to_pylist()
    assert len({row["pe_cycles"] for row in rows}) == segments
    assert 0.9 * cycles <= max(row["pe_cycles"] for row in rows) <= cycles


def test_no_errors_are_told(nandlab: Callable[..., Ended], folder: Path):
    """Which parameters would show some, where every curve ends without one."""
    few = ("--chip", CHIP, "--set", SMALL, "--set", "procedure.points=2", "--seed", "3")
    none = nandlab("board", "read_disturb", *few, "--set", "procedure.reads=10").succeeded().out
    of_both = "procedure.cycles or procedure.reads"
    carries(" ".join(none.split()), "note: ", "no curve", of_both)
    assert "no curve" not in nandlab("board", "read_disturb", *few).succeeded().out
    assert "no curve" not in nandlab("board", "energy", "--chip", CHIP).succeeded().out


def test_fast_pages_are_found():
    """The map of Grupp 2009 comes out of the times."""
    table = nandlab.board("latency_map", CHIP).table()
    times = table["program_us"].to_pylist()
    middle = (min(times) + max(times)) / 2
    fast = {page for page, us in enumerate(times) if us < middle}
    assert fast == {0, 1} | {4 * k - 2 + e for k in range(1, 32) for e in (0, 1)}


def test_times_spread_over_pages_and_cycles():
    """As Wang 2014, Fig. 8c, has it: the upper pages differ, the lower ones do not."""
    spread = {"program_page": [0.0, 0.1], "erase_cycle": 0.1}
    kwargs = {"set": {"chip.timing.spread": spread}}
    rows = nandlab.board("latency_map", CHIP, **kwargs).table().to_pylist()
    us = {
        page_type: [row["program_us"] for row in rows if row["page_type"] == page_type]
        for page_type in ("lower", "upper")
    }
    assert len(set(us["lower"])) == 1
    assert np.std(us["upper"]) / np.mean(us["upper"]) == pytest.approx(0.1, rel=0.35)
    erases = {
        cycles: nandlab.board("latency_map", CHIP, cycles=cycles, **kwargs)
        .table()["erase_us"][0]
        .as_py()
        for cycles in (1, 2, 3, 4)
    }
    assert len(set(erases.values())) == 4


def test_chips_from_files_and_modern_ones(folder: Path):
    Path("my.toml").write_text(nandlab.show("chip/wang2014_mlc"))
    by_file = nandlab.board("energy", "my.toml").table().to_pylist()
    assert by_file == nandlab.board("energy", CHIP).table().to_pylist()
    modern = nandlab.board(
        "rber", "tlc_3d", set={"chip.geometry.pages_per_block": 12}, points=2, retention_hours=100
    )
    assert {row["page_type"] for row in modern.table().to_pylist()} == {"lower", "middle", "upper"}


def test_no_chip_is_refused():
    with refused("board: chip: None", "preset"):
        nandlab.board("rber", chip=None)


@pytest.mark.parametrize("values", [[0.0], [0.0, 10.0], [1.0, 10.0]])
def test_an_axis_of_one_point_at_zero_does_not_warn(values: list[float]):
    """As where a run is interrupted behind its first point."""
    axes = Figure().subplots()
    axes.plot(values, [1.0] * len(values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _logarithmic(axes, {"a": {"hours": values}}, "hours")
    kind = {1: "linear", 2: "symlog" if values[0] == 0 else "log"}[len(values)]
    assert axes.get_xscale() == kind


def test_blocks_that_rest_err_less():
    """At the same cycles; the rest is part of what tells measurements apart."""
    given: dict[str, object] = {"points": 2, "cycles": 1_500_000}
    sets = [SMALL, "chip.cell.wear.recovery=0.05"]
    none, rested = (
        nandlab.board("rber", CHIP, set=sets, rest_hours=hours, **given).table()
        for hours in (0.0, 24.0)
    )
    errors = [sum(table["bit_errors"].to_pylist()) for table in (none, rested)]
    assert 0 < errors[1] < 0.8 * errors[0]
    assert none["pe_cycles"] == rested["pe_cycles"]
    with refused("rest", "chip.cell.wear.recovery"):
        quick("rber", rest_hours=24.0)


def test_reads_of_the_board_have_a_temperature():
    """Reads at 60 C disturb as Arrhenius' law says: as many more of them at 30 C do."""
    faster = math.exp(0.2 / 8.617333262e-5 * (1 / 303.15 - 1 / 333.15))
    sets = {**FEW_CELLS, "chip.cell.read_disturb.activation_ev": 0.2}
    many = 200_000
    warm, more, plain = (
        nandlab.board("read_disturb", "tlc_3d", set=sets, points=1, **given).table().to_pylist()
        for given in (
            {"reads": many, "temperature_c": 60.0},
            {"reads": round(many * faster)},
            {"reads": many},
        )
    )
    assert {row["temperature_c"] for row in warm} == {60.0}
    of = lambda rows: sum(row["bit_errors"] for row in rows if row["reads"])  # noqa: E731
    assert of(warm) == pytest.approx(of(more), rel=0.02)
    assert of(warm) > 1.3 * of(plain)


def test_neighbours_of_a_hammered_page_err_first():
    """A page beside the one that is read errs by the factor of the cell, a far one does not."""
    sets = {**FEW_CELLS, "chip.cell.read_disturb.neighbour_factor": 8.0}
    given = {"points": 1, "hammered_page": 30, "cycles": 0}

    def rows(page: int, reads: int) -> list[dict]:
        run = nandlab.board("read_disturb", "tlc_3d", set=sets, page=page, reads=reads, **given)
        return run.table().to_pylist()

    near, far = rows(33, 20_000)[-1], rows(60, 20_000)[-1]
    assert (near["page"], near["hammered_page"], near["page_type"]) == (33, 30, "lower")
    assert near["bit_errors"] > 5 * max(far["bit_errors"], 1)
    with refused("procedure.hammered_page", "1152"):
        quick("read_disturb", hammered_page=1152)
