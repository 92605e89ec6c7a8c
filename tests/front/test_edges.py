"""Edges: circles of files, backends, seeds, memory, messages, and input that no person writes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, Ended, carries, refused, some

import nandlab
from nandlab.given.refusal import plain
from nandlab.process import memory

RUN = ("run", "--drive", "tiny", "--workload", "mixed.fio")


@pytest.mark.parametrize("command", [["run", "--drive"], ["cite", "--drive"], ["cell"]])
def test_drives_that_name_each_other(
    nandlab: Callable[..., Ended], folder: Path, command: list[str]
):
    (folder / "a.toml").write_text('drive_preset = "b.toml"\n')
    (folder / "b.toml").write_text('drive_preset = "a.toml"\n')
    nandlab(*command, "a.toml").refused("a.toml -> b.toml -> a.toml")


@pytest.mark.parametrize("command", [["cell"], ["endurance"], ["board", "rber", "--chip"]])
def test_chips_that_name_each_other(
    nandlab: Callable[..., Ended], folder: Path, command: list[str]
):
    """A chip names a cell, and no chip: no circle can begin."""
    for one, other in (("a", "b"), ("b", "a")):
        (folder / f"{one}.toml").write_text(f'cell_bits = 2\n[cell]\npreset = "{other}.toml"\n')
    nandlab(*command, "a.toml").refused()


@pytest.mark.parametrize(
    "backend", some(["none", "module://matplotlib_inline.backend_inline", "TkAgg"])
)
def test_pictures_need_no_backend_of_the_environment(folder: Path, backend: str):
    """As a shell inherits it that a notebook has opened."""
    ended = subprocess.run(
        [COMMAND, *RUN, "--quiet", "--plot", "run.png"],
        env={**os.environ, "MPLBACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert Path("run.png").stat().st_size > 1000


SEEDED = [
    [*RUN, "--quiet"],
    ["board", "latency_map", "--chip", "wang2014_mlc", "--quiet"],
    ["ecc", "curve", "--code", "bch_512_t40", "--rber", "0.1", "--max-frames", "1", "--quiet"],
    ["ecc", "speed", "--code", "bch_512_t40", "--rber", "0.001", "--frames", "1"],
    ["ecc", "profile", "--code", "bch_512_t40", "--out", "x.profile.toml"],
    ["code", "make", "--z", "64", "--rows", "2", "--columns", "8"],
]


@pytest.mark.parametrize("command", SEEDED)
@pytest.mark.parametrize("seed", [-1, 2**63, 2**64])
def test_seeds_have_one_range(nandlab: Callable[..., Ended], command: list[str], seed: int):
    nandlab(*command, "--seed", seed).refused(f"seed: {seed}", f"0 to {2**63 - 1}")


def test_the_largest_seed_is_one(nandlab: Callable[..., Ended], folder: Path):
    nandlab(*RUN, "--quiet", "--seed", 2**63 - 1).succeeded()
    (folder / "my.toml").write_text(f'drive_preset = "tiny"\nseed = {2**63}\n')
    for command, parts in (
        (["--set", f"seed={2**63}", "--drive", "tiny"], [f"--set seed={2**63}", 2**63 - 1]),
        (["my.toml"], ["my.toml"]),
    ):
        nandlab("run", *command, "--workload", "mixed.fio").refused(*parts)


@pytest.mark.parametrize(
    ("assigned", "part"),
    [
        ('chip.timing.t_read_us="x"', "chip.timing.t_read_us"),
        ("drive.cha`nnels=3", "`cha`nnels`"),
        ("drive.channels=`3", "string"),
        ("gc.na`me=greedy", "`na`me`"),
    ],
)
def test_messages_name_the_problem(
    nandlab: Callable[..., Ended], folder: Path, assigned: str, part: str
):
    said = nandlab(*RUN, "--set", assigned).refused(part)
    key, _, problem = said.removeprefix("error: --set ").partition(": ")
    assert key == assigned
    assert problem.partition(";")[0].strip(), said


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "\x1b[2Jtiny"],
        ["run", "--drive", "tiny\x07\x1b]0;x\x07"],
        [*RUN, "--set", "drive.channels=\x1b[31m3"],
        [*RUN, "--set", "drive.\x1b[31m=3"],
        [*RUN, "--precondition", "\u202elluf"],
        ["presets", "a\nb"],
        ["\x1b[2J"],
        ["code", "show", "x" * 100_000],
        [*RUN, "--set", f"drive.channels={'x' * 100_000}"],
        [*RUN, "--set", f"{'x.' * 50_000}y=1"],
        ["ecc", "curve", "--code", "bch_512_t40", "--rber", "x" * 100_000],
    ],
)
def test_messages_are_short_and_move_no_cursor(nandlab: Callable[..., Ended], arguments: list[str]):
    said = nandlab(*arguments).refused()
    assert len(said) < 2000
    assert not any(ord(letter) < 32 or letter in "\x7f\u202e" for letter in said)


@pytest.mark.parametrize(
    "arguments", some([[b"run", b"--drive", b"\xff.toml"], [b"show", b"\xff"], [b"cell", b"\xff"]])
)
def test_what_is_no_text_is_refused(folder: Path, arguments: list[bytes]):
    ended = subprocess.run([COMMAND.encode(), *arguments], capture_output=True, check=False)
    assert ended.returncode == 2, ended
    assert b"Traceback" not in ended.stderr
    assert ended.stderr.count(b"\n") == 1


def test_plain_text_is_left_alone():
    assert plain("µ tlc_3d · 5 %") == "µ tlc_3d · 5 %"
    assert plain("a\nb\x1b\udcff") == "a\\nb\\x1b\\xdcff"
    assert plain("a\x85b\u2028c") == "a\\x85b\\x2028c"
    cut = plain("x" * 10_000)
    assert len(cut) < 500
    assert "(9600 characters)" in cut


@pytest.mark.parametrize(
    "arguments",
    [
        ["endurance", "tlc_3d", "--uber", "1e-300", "--t", "1"],
        ["endurance", "tlc_3d", "--uber", "1e-300", "--t", "0"],
        ["cell", "tlc_3d", "--picture", "endurance", "--uber", "1e-300", "--t", "1"],
        ["endurance", "tlc_3d", "--rber-spread", "0.5", "--uber", "1e-300", "--t", "1"],
    ],
)
def test_rates_far_below_any_chip(nandlab: Callable[..., Ended], arguments: list[str]):
    """A number or a refusal, and no traceback."""
    ended = nandlab(*arguments)
    assert ended.code in (0, 2), ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("bits", [2**20 + 1, 10**9])
def test_codewords_beyond_any_code(nandlab: Callable[..., Ended], bits: int):
    nandlab("endurance", "tlc_3d", "--codeword-bits", bits).refused(bits, "1 to 1048576")


def test_an_endless_file_is_refused(nandlab: Callable[..., Ended]):
    nandlab("code", "import", "/dev/zero").refused("256 MiB")
    nandlab("run", "--drive", "tiny", "--workload", "/dev/zero").refused("64 MiB")


ODD_COLUMNS = {
    "timestamp": pa.array([1, 2, 3], pa.timestamp("ns")),
    "duration": pa.array([1, 2, 3], pa.duration("ns")),
    "nested": pa.array([[{"a": 1}], None, []]),
    "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    "decimal": pa.array([Decimal(10) ** 70] * 3, pa.decimal256(76)),
    "dates": pa.array([2**62] * 3, pa.date64()),
    "zoned": pa.array([2**40] * 3, pa.timestamp("s", tz="Nowhere/Atall")),
}


@pytest.mark.parametrize("kind", ODD_COLUMNS)
@pytest.mark.parametrize("name", ["note", "rber"])
def test_odd_columns_of_tables(nandlab: Callable[..., Ended], folder: Path, kind: str, name: str):
    table = {"pe_cycles": [0, 1000, 3000], "rber": [1e-5, 2e-4, 1e-3], name: ODD_COLUMNS[kind]}
    pq.write_table(pa.table(table), folder / "odd.parquet")
    ended = nandlab("fit", "odd.parquet", "--law", "exponential")
    # A note may be anything.
    assert ended.code == (0 if name == "note" else 2)
    assert "Traceback" not in ended.err
    for command in (
        ["ecc", "curve", "--code", "bch_512_t40", "--rber", "0.1", "--out", "odd.parquet"],
        ["board", "latency_map", "--chip", "wang2014_mlc", "--out", "odd.parquet", "--resume"],
    ):
        nandlab(*command).refused()


def test_damaged_names_and_endless_numbers(nandlab: Callable[..., Ended], folder: Path):
    pq.write_table(pa.table({"pe_cyclex": [0], "rber": [1e-5]}), folder / "bad.parquet")
    damaged = (folder / "bad.parquet").read_bytes().replace(b"pe_cyclex", b"pe_cycl\xff\xfe")
    (folder / "bad.parquet").write_bytes(damaged)
    nandlab("fit", "bad.parquet", "--law", "exponential").refused()
    rows = f"pe_cycles,rber\n1{'0' * 400},1e-5\n0,1e-5\n"
    (folder / "long.csv").write_text(rows)
    row = "row 2, column pe_cycles"
    nandlab("fit", "long.csv", "--law", "exponential").refused("long.csv", row, f"1{'0' * 400}")
    data: Any = {"pe_cycles": [0, 10**400], "rber": [1e-5, 1e-4]}
    import nandlab as library

    with refused(row, 10**400):
        library.fit(data, "exponential")


def test_names_of_columns_are_one_line(nandlab: Callable[..., Ended], folder: Path):
    """Where they stand in what is allowed, too."""
    (folder / "odd.csv").write_text('"x\x85\u2028\x1b[31my"\n1\n', encoding="utf-8")
    for rename in ("rber=reads", "x=reads"):
        ended = nandlab("fit", "odd.csv", "--law", "exponential", "--rename", rename)
        ended.refused("x\\x85\\x2028\\x1b[31my")


def limited(size: int) -> Callable[[], None]:
    """Gives a process so many bytes of addresses, as `ulimit -v` does."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@pytest.mark.parametrize("size_mb", [1200, 1600, 2400])
def test_a_memory_limit_is_seen(folder: Path, size_mb: int):
    """The drive takes 4 GiB: it is refused with the estimate, and nothing is aborted."""
    sets = ["--set", "chip.geometry.blocks_per_plane=400000"]
    ended = subprocess.run(
        [COMMAND, *RUN, *sets],
        preexec_fn=limited(size_mb << 20),
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 2, ended
    assert ended.stderr.count("\n") == 1
    carries(ended.stderr, "memory")


def test_control_groups_are_seen(tmp_path: Path):
    """Of both versions, and those around the process's own."""

    def group(folder: Path, names: memory._Names, limit: str, used: int, files: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / names.limit).write_text(f"{limit}\n")
        (folder / names.used).write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{names.droppable} {files}\n")

    listed = tmp_path / "cgroup"
    listed.write_text("4:cpu:/x\n3:memory:/a/b\n0::/c/d\n")
    root = tmp_path / "root"
    group(root / "memory" / "a" / "b", memory._FIRST, str(2**63 - 4096), 1000, 0)
    group(root / "memory" / "a", memory._FIRST, "9000", 4000, 1000)
    group(root / "c" / "d", memory._SECOND, "max", 1000, 0)
    group(root / "c", memory._SECOND, "5000", 4500, 500)
    left = [size for size in memory._group_bytes(listed, root) if size is not None]
    assert sorted(left) == [1000, 6000, 2**63 - 4096 - 1000]


def test_a_percentile_of_a_whole_rank(folder: Path):
    """Of 1000 requests the 99.9th percentile is the 999th, and not the longest."""
    result = nandlab.run("tiny", "[a]\nrw=randrw\nnumber_ios=1000\n", requests=True)
    latencies = sorted(result.requests()["latency_ns"].to_pylist())
    said = result.to_dict()["host"]["latency_us"]["p99_9"]
    assert result.latency.percentile(99.9) == said
    assert abs(said * 1e3 / latencies[998] - 1) < 1e-3
    assert said < result.latency.max_us


def test_no_time_passes(nandlab: Callable[..., Ended], folder: Path):
    """Reads of an empty drive that cost nothing never end by their time."""
    job = "[a]\nrw=randread\ntime_based\nruntime=1\n"
    (folder / "reads.fio").write_text(job)
    command = ["run", "--drive", "wang2014_mlc", "--workload", "reads.fio"]
    nandlab(*command, "--requests", "r.parquet").refused("simulated time", "number_ios")
    assert not (folder / "r.parquet").exists()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc here")
def test_tables_are_read_without_threads(folder: Path):
    """Arrow's threads, still starting where a short command ends, aborted it once in 300 times."""
    pq.write_table(pa.table({"rber": [0.5]}), folder / "one.parquet")
    script = """
import os, pathlib, numpy, pyarrow.parquet
from nandlab.given.inputs import parquet_table
def threads(): return len(os.listdir("/proc/self/task"))
before = threads()
assert parquet_table(pathlib.Path("one.parquet")).num_rows == 1
assert threads() == before, (before, threads())
"""
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
