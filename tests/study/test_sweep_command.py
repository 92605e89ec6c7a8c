"""``nandlab sweep``: what it prints and writes, what it refuses."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, ROOT, Ended, carries

from nandlab import Study
from nandlab.study.expression import FUNCTIONS
from nandlab.study.findings.pictures import KINDS
from nandlab.study.given import KEYS
from nandlab.study.points import DESIGNS

STUDY = """
summary = "mine"
drive = "tiny"
replicates = 2
columns = ["iops = host.iops"]

[run]
workload = "mixed.fio"

[[axis]]
path = "job.iodepth"
values = [1, 16]
"""


@pytest.fixture
def study(folder: Path) -> Path:
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


def test_a_sweep(nandlab: Callable[..., Ended], study: Path, folder: Path):
    ended = nandlab("sweep", "study.toml", "--workers", "2", "--plot", "p.png").succeeded()
    first, *rows = ended.out.splitlines()
    assert first.split() == ["job.iodepth", "IOPS", "doubts"]
    assert [row.split()[0] for row in rows] == ["1", "16"]
    assert all("±" in row for row in rows)
    carries(ended.err, "4 points", "0 known", "0 left", "study.study")
    assert (folder / "p.png").stat().st_size > 5000
    assert pq.read_table(folder / "study.study" / "results.parquet").num_rows == 4

    ended = nandlab("sweep", "study.toml", "--json", "-", "--table", "t.parquet").succeeded()
    carries(ended.err, "0 points", "4 known")
    means = json.loads(ended.out)
    assert [row["job.iodepth"] for row in means] == [1, 16]
    assert means[0]["iops_low"] < means[0]["iops"] < means[0]["iops_high"]
    assert pq.read_table(folder / "t.parquet").num_rows == 4
    ended = nandlab("sweep", "study.toml", "--dry-run", "--out", "other").succeeded()
    carries(ended.out, "4 points", "0 with results", "0 failed", "4 left")
    assert not (folder / "other").exists()
    ended = nandlab("sweep", "study.toml", "--quiet").succeeded()
    assert (ended.out, ended.err) == ("", "")


LABELLED = STUDY.replace("[1, 16]", "[16, 1, 2]").replace(
    "[run]",
    """labels.iops = "requests a second"
labels.job.iodepth = "depth & width (1)"

[run]""",
)


def test_tables_for_papers(nandlab: Callable[..., Ended], study: Path, folder: Path):
    """Labels, the order of the values as given, as many rows as asked for."""
    study.write_text(LABELLED)
    ended = nandlab("sweep", "study.toml", "--table", "t.tex", "--rows", "2").succeeded()
    carries(ended.out.splitlines()[0], "depth & width (1)", "requests a second")
    assert [line.split()[0] for line in ended.out.splitlines()[1:3]] == ["16", "1"]
    carries(ended.out, "1 more", "all")
    lines = (folder / "t.tex").read_text().splitlines()
    carries(lines[3], r"depth \& width (1) & requests a second & doubts")
    assert [line.split(" & ")[0] for line in lines[5:8]] == ["$16$", "$1$", "$2$"]
    assert all(r"\pm" in line for line in lines[5:8])

    ended = nandlab("sweep", "study.toml", "--table", "t.csv", "--rows", "all", "--json", "-")
    rows = list(csv.DictReader((folder / "t.csv").open()))
    means = json.loads(ended.succeeded().out)
    assert [list(row) for row in rows] == [list(row) for row in means]
    for row, mean in zip(rows, means, strict=True):
        for key in ("job.iodepth", "iops", "iops_low", "iops_high"):
            assert float(row[key]) == mean[key]
        assert row["few_beyond"] == ""
    assert "more" not in ended.err


def test_paths_begin_at_the_folder_of_the_study(nandlab: Callable[..., Ended], folder: Path):
    (folder / "in").mkdir()
    (folder / "in" / "my.toml").write_text('drive_preset = "tiny"\n')
    (folder / "in" / "job.fio").write_text((folder / "mixed.fio").read_text())
    text = STUDY.replace('"tiny"', '"my.toml"').replace("mixed", "job")
    (folder / "in" / "s.toml").write_text(text)
    nandlab("sweep", "in/s.toml", "--workers", "1").succeeded()
    assert (folder / "in" / "s.study" / "results.parquet").is_file()


@pytest.mark.long
def test_bar_on_a_terminal(study: Path):
    """Points a second, failures, time left; other tests see none in a pipe."""
    study.write_text(STUDY.replace("[1, 16]", "[0, 1, 2, 4]").replace("= 2", "= 15"))
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "sweep", "study.toml", "--workers", "1"],
        stderr=terminal,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(master, 65536):
            shown += part
    os.close(master)
    process.communicate()
    assert process.returncode == 1  # a point has no result
    for words in (b"sweeping", b"points/s", b"failed", b"s left"):
        assert words in shown, shown[-500:]


def test_doubts_are_counted_and_marked(nandlab: Callable[..., Ended], study: Path, folder: Path):
    """A short run from an empty drive does not stand for it; one of reads alone has none."""
    (folder / "reads.fio").write_text("[r]\nrw=randread\nbs=4k\nnumber_ios=500\n")
    ended = nandlab("sweep", "study.toml", "--workers", "1").succeeded()
    carries(ended.err, "4 points", "settled")
    rows = pq.read_table(folder / "study.study" / "results.parquet")
    assert set(rows["doubts"].to_pylist()) == {"unsettled"}
    study.write_text(STUDY.replace("mixed.fio", "reads.fio"))
    ended = nandlab("sweep", "study.toml", "--workers", "1", "--out", "other").succeeded()
    assert "settled" not in ended.err
    assert ended.out.splitlines()[0].split() == ["job.iodepth", "IOPS"]


def test_failed_points_are_told(nandlab: Callable[..., Ended], study: Path):
    study.write_text(STUDY.replace("[1, 16]", "[1, 0]"))
    ended = nandlab("sweep", "study.toml", "--workers", "1")
    # What has come out stands, and a script can tell.
    assert (ended.code, len(ended.out.splitlines())) == (1, 2)
    carries(ended.err, "note", "failed", "iodepth")
    study.write_text(STUDY.replace("[1, 16]", "[0, 1, -1]"))
    ended = nandlab("sweep", "study.toml", "--workers", "1", "--dry-run").succeeded()
    carries(ended.out, "6 points", "2 with results", "2 failed", "2 left")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("drive = ", ["study.toml"]),
        (STUDY.replace("drive =", "drvie ="), ["study.toml", "`drvie`", "`drive`"]),
        (STUDY.replace("tiny", "tyny"), ["`tiny`"]),
        (STUDY.replace("mixed.fio", "nixed.fio"), ["study.toml", "run.workload", "nixed.fio"]),
        (STUDY.replace("workload", "worklaod"), ["run.worklaod", "`workload`"]),
        (STUDY.replace("iodepth", "iodpeth"), ["axis job.iodpeth", "`iodepth`"]),
        (STUDY.replace("job.iodepth", "gc.nmae"), ["axis gc.nmae", "`gc.name`"]),
        (STUDY.replace("job.iodepth", "job.mix.bs"), ["job.mix.bs", "`mix`", "`mixed`"]),
        (STUDY.replace("host.iops", "host.iosp"), ["columns", "`iops`"]),
        (STUDY.replace("host.iops", "settled.metric / 2"), ["columns", "text", "no number"]),
        (STUDY.replace("[1, 16]", "[0]"), ["iodepth"]),
        (LABELLED.replace("labels.iops", "labels.ipos"), ["labels", "`ipos`", "`iops`"]),
        (LABELLED.replace("requests a second", " "), ["labels.iops", "empty"]),
        (LABELLED.replace('"requests a second"', "3"), ["labels.iops", "3"]),
        (STUDY.replace("[run]", "labels = 'x'\n[run]"), ["labels", "'x'"]),
        (STUDY.replace("[run]", "constraints = ['job.iodepth > 99']\n[run]"), ["no point"]),
        (STUDY.replace("[1, 16]", '["1;2"]'), ["'1;2'", "; #"]),
        (STUDY.replace("[run]", '[run]\nprecondition = "stedy"'), ["`steady`"]),
    ],
)
def test_bad_studies(text: str, parts: list[str], nandlab: Callable[..., Ended], study: Path):
    study.write_text(text)
    nandlab("sweep", "study.toml").refused(*parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["no.toml"], ["`no.toml`"]),
        (["study.toml", "--workers", "0"], ["workers", "0"]),
        (["study.toml", "--executor", "lokal"], ["`lokal`", "`local`"]),
        (["study.toml", "--plot", "p.gif"], ["p.gif", ".png"]),
        (["study.toml", "--plot", "p.png", "--picture", "heatmap"], ["heat map", "one axis"]),
        (["study.toml", "--plot", "p.png", "--column", "iosp"], ["`iosp`", "`iops`"]),
        (["study.toml", "--picture", "lines"], ["--picture", "--plot"]),
        (["study.toml", "--table", "t.xls"], ["t.xls", ".csv", ".tex", ".parquet"]),
        (["study.toml", "--rows", "0"], ["--rows", "`0`", "all"]),
        (["study.toml", "--rows", "many"], ["--rows", "`many`", "all"]),
        (["study.toml", "--rows", "3", "--quiet"], ["--rows", "--quiet"]),
        (["study.toml", "--plot", "none/p.png"], ["no folder none"]),
        (["study.toml", "--out", "mixed.fio"], ["mixed.fio"]),
        (["study.toml", "--json", "study.toml"], ["study.toml", "input"]),
    ],
)
def test_bad_options(
    arguments: list[str], parts: list[str], nandlab: Callable[..., Ended], study: Path, folder: Path
):
    nandlab("sweep", *arguments).refused(*parts)
    assert not (folder / "study.study" / "rows").exists() or "--executor" in arguments


def test_the_example_of_the_format(folder: Path):
    text = (ROOT / "docs/formats/study.md").read_text()
    block, *_ = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)
    (folder / "study.toml").write_text(block)
    (folder / "writes.fio").write_text("[w]\nrw=randwrite\n")
    study = Study.load("study.toml")
    assert study.given.columns[1].expression.text == "host.iops / 1000"
    # Depths 1, 4, 16, 64; the last one with `greedy` alone.
    assert len(study) == 4 * (4 + 3) * 3
    for keys in (KEYS, DESIGNS, FUNCTIONS, KINDS):
        for key in keys:
            assert f"`{key}`" in text or f"`[{key}]`" in text or f"`[[{key}]]`" in text, key


def test_the_example(nandlab: Callable[..., Ended]):
    example = ROOT / "examples/studies/overprovisioning.toml"
    ended = nandlab("sweep", example, "--out", "op", "--dry-run").succeeded()
    carries(ended.out, "72 points", "0 with results", "0 failed", "72 left")
