"""The command line: what goes to which stream, files, exit codes."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, Ended, carries

RUN = ["run", "--drive", "tiny", "--workload", "mixed.fio"]


def test_table_for_a_person(nandlab: Callable[..., Ended]):
    ended = nandlab(*RUN, "--precondition", "fill").succeeded()
    for words in ("tiny, 800 MiB", "mixed.fio", "p99.99", "write amplification", "checks", "ok"):
        assert words in ended.out
    assert all(line.startswith("note: ") for line in ended.err.splitlines())


def test_json_has_standard_output_for_itself(nandlab: Callable[..., Ended]):
    ended = nandlab(*RUN, "--json", "-").succeeded()
    assert ended.json["host"]["requests_completed"] == 5000
    assert "p99.99" in ended.err


def test_quiet_is_quiet(nandlab: Callable[..., Ended], folder: Path):
    ended = nandlab(*RUN, "--quiet", "--json", "r.json").succeeded()
    assert (ended.out, ended.err) == ("", "")
    assert json.loads((folder / "r.json").read_text())["host"]["requests_completed"] == 5000


def test_notices_go_to_the_person(nandlab: Callable[..., Ended], folder: Path):
    (folder / "real.fio").write_text("[a]\nioengine=libaio\nrw=read\nnumber_ios=10\n")
    ended = nandlab("run", "--drive", "tiny", "--workload", "real.fio").succeeded()
    assert ended.err.startswith("note: ")
    assert "ioengine" in ended.err


def test_reads_of_an_empty_drive_are_pointed_out(nandlab: Callable[..., Ended], folder: Path):
    (folder / "reads.fio").write_text("[a]\nrw=randread\nnumber_ios=100\n")
    command = ["run", "--drive", "tiny", "--workload", "reads.fio"]
    carries(nandlab(*command).succeeded().err, "note: ", "100%", "never been written")
    assert nandlab(*command, "--precondition", "fill").succeeded().err == ""


def test_series_file(nandlab: Callable[..., Ended], folder: Path):
    nandlab(*RUN, "--quiet", "--series", "s.parquet").succeeded()
    series = pq.read_table(folder / "s.parquet")
    assert {"time_s", "read_iops", "write_mb_s", "latency_mean_us"} <= set(series.column_names)
    nandlab(*RUN, "--quiet", "--series", "s.csv").succeeded()
    assert (folder / "s.csv").read_text().startswith('"time_s","duration_s",')


def test_drive_file_as_argument(nandlab: Callable[..., Ended], folder: Path):
    (folder / "my.toml").write_text('drive_preset = "tiny"\n[run]\nworkload = "mixed.fio"\n')
    report = nandlab("run", "--drive", "my.toml", "--seed", "9", "--json", "-").succeeded().json
    assert report["nandlab"]["seed"] == 9


def test_lists(nandlab: Callable[..., Ended]):
    assert "mqsim_default" in nandlab("presets", "drive").succeeded().out
    assert "tlc_3d" not in nandlab("presets", "drive").out
    assert "[geometry]" in nandlab("show", "tlc_3d").succeeded().out
    assert "properties" in nandlab("schema").succeeded().json
    assert "host" in nandlab("schema", "report").succeeded().json["properties"]
    nandlab("schema", "reprot").refused("schema", "`report`")
    assert "@" in nandlab("cite", "--drive", "mqsim_default").succeeded().out
    assert nandlab("--version").succeeded().out.startswith("nandlab 0.")


def test_reader_that_has_enough():
    """`nandlab schema | head -1` ends without a word."""
    script = f"'{COMMAND}' schema | head -1; '{COMMAND}' presets | true"
    ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "{\n"
    assert ended.stderr == ""


def test_bar_on_a_terminal_only(folder: Path):
    """A run of over a second shows its rate on a terminal; other tests see none in a pipe."""
    (folder / "slow.fio").write_text(
        "[a]\nrw=randwrite\nnorandommap\nnumber_ios=3600000\nio_size=1t\niodepth=8\n"
    )
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "run", "--drive", "tiny", "--workload", "slow.fio"],
        stderr=terminal,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait() == 0
    assert b"requests/s" in shown
    assert b"s left" in shown


def test_demo_takes_a_folder(nandlab: Callable[..., Ended]):
    nandlab("demo", "/proc/nope").refused("/proc/nope", "hint: ")


def test_demo(nandlab: Callable[..., Ended], folder: Path):
    """Its trace is part of the package: no checkout is needed."""
    ended = nandlab("demo").succeeded()
    for name in ("latency.png", "timeline.json", "requests.parquet", "report.json"):
        assert f"demo/{name}" in ended.out
        assert (folder / "demo" / name).stat().st_size > 1000
    report = json.loads((folder / "demo" / "report.json").read_text())
    assert report["host"]["requests_completed"] == 88827
    assert report["checks"]["conservation"]["ok"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["cell", "tlc_3d", "--retention-hours", "abc"], ["'--retention-hours'"]),
        (["cell"], ["'name'", "`nandlab cell --help`"]),
        (["cel"], ["'cell'"]),
        (["ecc", "curv"], ["`nandlab ecc --help`"]),
        (["run", "--dirve", "tiny"], ["--drive"]),
    ],
)
def test_what_is_mistyped_is_one_line(
    nandlab: Callable[..., Ended], arguments: list[str], parts: list[str]
):
    nandlab(*arguments).refused(*parts)


def test_no_arguments_print_the_help(nandlab: Callable[..., Ended]):
    for arguments in ([], ["ecc"]):
        ended = nandlab(*arguments)
        assert (ended.code, ended.err) == (2, "")
        assert "Usage" in ended.out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["trace", "info", "--help"]])
def test_help(nandlab: Callable[..., Ended], arguments: list[str]):
    assert "Usage" in nandlab(*arguments).succeeded().out
