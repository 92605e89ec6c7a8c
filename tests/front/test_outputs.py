"""Outputs: no input is overwritten, none keeps another from being written, all are whole."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from begun import progressed
from conftest import COMMAND, ENDLESS, MIXED, Ended, some

import nandlab
from nandlab.drive.requests import ROWS_PER_GROUP
from nandlab.given.replacement import Replacement, write_text

IOLOG = "fio version 2 iolog\nd add\nd open\nd read 0 4096\nd close\n"


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(os.listdir(folder))


@pytest.fixture
def sources(folder: Path) -> Path:
    """A drive that is made from as many files as one can be, and a job that names a trace."""
    (folder / "log").write_text(IOLOG)
    (folder / "replay.fio").write_text("[a]\nread_iolog=log\n")
    (folder / "cell.toml").write_text(nandlab.show("cell/tlc_3d"))
    chip = nandlab.show("chip/tlc_3d").replace('preset = "tlc_3d"', 'preset = "cell.toml"')
    (folder / "chip.toml").write_text(chip)
    (folder / "code.toml").write_text(nandlab.show("code/bch_1024_t72"))
    (folder / "under.toml").write_text(
        'drive_preset = "tiny"\n[chip]\npreset = "chip.toml"\ngeometry.blocks_per_plane = 64\n'
        '[ecc]\ncode = "code.toml"\n'
    )
    (folder / "traced.toml").write_text('drive_preset = "under.toml"\n[run]\ntrace = "log"\n')
    (folder / "drive.toml").write_text(
        'drive_preset = "under.toml"\n[run]\nworkload = "replay.fio"\n'
    )
    (folder / "link").symlink_to("log")
    os.link(folder / "log", folder / "hard")
    return folder


READ_BY_A_RUN = (
    *("drive.toml", "under.toml", "chip.toml", "cell.toml", "code.toml"),
    *("replay.fio", "log", "link", "hard"),
)


def without_notes(err: str) -> str:
    """What stands on standard error besides notes."""
    return "".join(line for line in err.splitlines(True) if not line.startswith("note: "))


@pytest.mark.parametrize("name", READ_BY_A_RUN)
@pytest.mark.parametrize("option", ["--json", "--timeline"])
def test_no_file_that_a_run_reads_is_an_output(
    nandlab: Callable[..., Ended], sources: Path, name: str, option: str
):
    """However it is named: by a drive, a chip, a job, a link."""
    before = (sources / name).read_text()
    nandlab("run", "--drive", "drive.toml", option, name).refused(name, "input")
    assert (sources / name).read_text() == before


def test_no_trace_of_a_drive_file_is_an_output(nandlab: Callable[..., Ended], sources: Path):
    for name in ("log", "link", "hard"):
        nandlab("run", "--drive", "traced.toml", "--json", name).refused(name, "input")
    nandlab("run", "--drive", "traced.toml", "--quiet", "--json", "own.json").succeeded()
    assert (sources / "log").read_text() == IOLOG


@pytest.mark.parametrize(
    "command",
    [
        ["cell", "chip.toml", "--json", "cell.toml"],
        ["cell", "under.toml", "--json", "cell.toml"],
        ["endurance", "chip.toml", "--json", "cell.toml"],
        ["board", "rber", "--chip", "chip.toml", "--plot", "cell.toml"],
        ["ecc", "curve", "--code", "code.toml", "--rber", "0.01", "--plot", "code.toml"],
    ],
)
def test_no_file_of_another_command_is_an_output(
    nandlab: Callable[..., Ended], sources: Path, command: list[str]
):
    before = (sources / command[-1]).read_text()
    nandlab(*command).refused(command[-1], "input")
    assert (sources / command[-1]).read_text() == before


OUTPUTS = {
    "--json": "r.json",
    "--series": "s.csv",
    "--plot": "p.png",
    "--timeline": "t.json",
    "--requests": "r.parquet",
}

RUN = [COMMAND, "run", "--drive", "tiny", "--workload", "mixed.fio", "--precondition", "fill"]
RUN += [word for pair in OUTPUTS.items() for word in pair]


def whole(folder: Path) -> None:
    """Every output is there and can be read."""
    assert json.loads((folder / "r.json").read_text())["host"]["requests_completed"] == 5000
    assert pq.read_table(folder / "r.parquet").num_rows == 5000
    assert json.loads((folder / "t.json").read_text())["traceEvents"]
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert len((folder / "s.csv").read_text().splitlines()) > 1


@pytest.mark.parametrize(
    ("out", "code", "said"),
    some(
        [
            (">/dev/full", 2, f"error: standard output: {os.strerror(errno.ENOSPC)}\n"),
            ("| head -1", 0, ""),
            ("| true", 0, ""),
            (">&-", 2, f"error: standard output: {os.strerror(errno.EBADF)}\n"),
        ]
    ),
)
def test_files_come_before_standard_output(folder: Path, out: str, code: int, said: str):
    """They are there, whatever becomes of the table."""
    script = f"{' '.join(RUN)} 2>err {out}; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", script], check=False, capture_output=True)
    assert (ended.returncode, without_notes((folder / "err").read_text())) == (code, said)
    whole(folder)


@pytest.mark.parametrize("encoding", some(["cp1252", "ascii"]))
@pytest.mark.parametrize("command", [RUN, [COMMAND, "run", "--help"], [COMMAND, "show", "tlc_3d"]])
def test_narrow_encodings_lose_letters_only(folder: Path, encoding: str, command: list[str]):
    ended = subprocess.run(
        command,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        check=False,
    )
    assert (ended.returncode, without_notes(ended.stderr.decode(encoding))) == (0, "")
    assert ended.stdout.decode(encoding).count("?") < 20
    if command is RUN:
        assert b" us" in ended.stdout or encoding == "cp1252"
        whole(folder)


@pytest.mark.parametrize(
    "arguments", some(["run --help", "presets", "--help", "show tiny", "schema"], 2)
)
def test_what_cannot_be_printed_is_one_line(folder: Path, arguments: str):
    script = f"{COMMAND} {arguments} >/dev/full"
    ended = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    said = f"error: standard output: {os.strerror(errno.ENOSPC)}\n"
    assert (ended.returncode, ended.stderr) == (2, said)


def limited(size: int) -> Callable[[], None]:
    """Makes files of a process end at a size, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_each_failure_is_said_and_keeps_no_other(folder: Path):
    """The report has room on the disk, and no other file."""
    for name in OUTPUTS.values():
        (folder / name).write_text("old")
    ended = subprocess.run(
        RUN, preexec_fn=limited(50_000), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    failed = ["r.parquet", "t.json", "s.csv", "p.png"]
    assert sorted(without_notes(ended.stderr).splitlines()) == sorted(
        f"error: `{name}`: {os.strerror(errno.EFBIG)}" for name in failed
    )
    assert "read" in ended.stdout
    for name in failed:
        assert (folder / name).read_text() == "old"
    assert json.loads((folder / "r.json").read_text())["host"]["requests_completed"] == 5000
    assert names(folder) == sorted(["mixed.fio", *OUTPUTS.values()])


def test_a_result_outlives_a_full_disk(folder: Path):
    """In Python, too: its files are lost, and it is not."""
    code = f"""
import nandlab, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    nandlab.run("tiny", {MIXED!r}, requests="r.parquet", timeline="t.json")
except nandlab.Unwritten as error:
    print([failure.filename.rpartition("/")[2] for failure in error.failures])
    print(error.result.latency.count)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "['r.parquet', 't.json']\n5000\n"


@pytest.mark.parametrize("sent", some([signal.SIGKILL, signal.SIGTERM]))
def test_a_kill_leaves_the_old_file_and_no_litter(folder: Path, sent: signal.Signals):
    (folder / "endless.fio").write_text(ENDLESS)
    (folder / "r.parquet").write_text("old")
    process = progressed(
        [
            *[COMMAND, "run", "--drive", "tiny", "--workload", "endless.fio", "--quiet"],
            *["--requests", "r.parquet"],
        ],
        "run",
        2 * ROWS_PER_GROUP,
    )
    # What is written of it is not there yet.
    assert (folder / "r.parquet").read_text() == "old"
    process.send_signal(sent)
    process.wait(timeout=60)
    if sent == signal.SIGKILL:
        assert (folder / "r.parquet").read_text() == "old"
    else:
        assert pq.read_table(folder / "r.parquet").num_rows > 1000
    assert names(folder) == ["endless.fio", "mixed.fio", "r.parquet"]


@pytest.mark.long
def test_two_runs_with_one_name_leave_one_whole_file(folder: Path):
    command = [COMMAND, "run", "--drive", "tiny", "--workload", "mixed.fio", "--quiet"]
    command += ["--requests", "r.parquet", "--json", "r.json"]
    both = [subprocess.Popen([*command, "--seed", seed]) for seed in ("1", "2")]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert pq.read_table(folder / "r.parquet").num_rows == 5000
    assert json.loads((folder / "r.json").read_text())["nandlab"]["seed"] in (1, 2)
    assert names(folder) == ["mixed.fio", "r.json", "r.parquet"]


def test_a_replacement_keeps_mode_and_link(folder: Path):
    (folder / "real").write_text("old")
    (folder / "real").chmod(0o640)
    (folder / "link").symlink_to("real")
    write_text(folder / "link", "new")
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_text() == "new"
    assert (folder / "real").stat().st_mode & 0o777 == 0o640
    umask = os.umask(0o027)
    try:
        write_text(folder / "fresh", "new")
    finally:
        os.umask(umask)
    assert (folder / "fresh").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("has_nameless", [True, False])
def test_a_replacement_that_fails_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, has_nameless: bool
):
    """Also where the system has no files without a name."""
    if not has_nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    (folder / "a").write_text("old")
    replacement = Replacement(folder / "a")
    replacement.file.write(b"new")
    assert (folder / "a").read_text() == "old"
    replacement.discard()
    assert (names(folder), (folder / "a").read_text()) == (["a", "mixed.fio"], "old")
    write_text(folder / "a", "new")
    assert (names(folder), (folder / "a").read_text()) == (["a", "mixed.fio"], "new")


def test_a_protected_file_is_no_output(nandlab: Callable[..., Ended], folder: Path):
    """It could be replaced, and was not meant to be."""
    if os.geteuid() == 0:
        pytest.skip("nothing is protected from root")
    (folder / "r.json").write_text("old")
    (folder / "r.json").chmod(0o444)
    said = nandlab("run", "--drive", "tiny", "--workload", "mixed.fio", "--json", "r.json")
    said.refused("--json", "r.json", "write-protected")
