"""Bad input: exit code 2, one line that says what is wrong and what is expected, no traceback."""

import errno
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from conftest import MIXED, Ended, carries, refused

import nandlab
from nandlab import NandlabError, run
from nandlab.display.terminal import guarded
from nandlab.given.refusal import refusal
from nandlab.process.memory import memory_limit_bytes

RUN = ["run", "--drive", "tiny"]
JOB = [*RUN, "--workload", "mixed.fio"]
TRACE = [*RUN, "--format", "msr", "--trace"]
NONE = os.strerror(errno.ENOENT)
LINE = "128166372003061629,hm,0,Read,{offset},{length},100\n"


def change(assignment: str) -> list[str]:
    """A run with a parameter changed."""
    return [*JOB, "--set", assignment]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run"], ["no drive", "--drive", "--from"]),
        (["run", "tiny"], ["--drive"]),
        (["run", "--from", "x", "--drive", "tiny"], ["--from", "--drive", "both"]),
        (["run", "--drive", "tiny"], ["nothing", "workload", "trace"]),
        ([*JOB, "--trace", "x"], ["both", "workload", "trace"]),
        (["run", "--drive", "tyny", "--workload", "mixed.fio"], ["`tiny`"]),
        (["run", "--drive", "no.toml", "--workload", "mixed.fio"], ["`no.toml`"]),
        (["run", "--drive", "tlc_3d", "--workload", "mixed.fio"], ["tlc_3d", "chip", "drive"]),
        (change("ftl.overprovisionig=0.3"), ["`overprovisioning`"]),
        (change("drive.chanels=2"), ["`channels`"]),
        (change("gc.name=gredy"), ["`greedy`"]),
        (change("ftl.overprovisioning"), ["path.to.key=value"]),
        (change("drive.channels=two"), ["drive.channels"]),
        (change("drive.channels=0"), ["drive.channels", "0", "1 to 4096"]),
        (change("chip.geometry.pages_per_block=0"), ["pages_per_block", "0", "1 to 65536"]),
        (change("chip.geometry.page_bytes=1000"), ["page_bytes", "1000", "multiple of 512"]),
        (change("ftl.overprovisioning=-0.5"), ["ftl.overprovisioning", "-0.5", "0 to 100"]),
        (change("ftl.overprovisioning=0"), ["ftl.overprovisioning", "at least"]),
        (change("chip.timing.t_read_us=-1"), ["t_read_us"]),
        (
            [*change("drive.channels=4096"), "--set", "drive.dies_per_channel=16"],
            ["chip.geometry", "units"],
        ),
        ([*JOB, "--precondition", "stedy"], ["stedy", "`steady`"]),
        ([*JOB, "--sector-bytes", "512"], ["no job", "read_iolog"]),
        ([*JOB, "--json", "nowhere/x.json"], ["--json", "folder nowhere"]),
        ([*JOB, "--json", "."], ["--json", "folder"]),
        ([*JOB, "--timeline", "/proc/nowhere"], ["--timeline", "/proc/nowhere"]),
        ([*JOB, "--plot", "x.bmp"], [".png"]),
        ([*JOB, "--json", "x", "--plot", "x"], ["--plot", "also --json"]),
        ([*JOB, "--timeline", "mixed.fio"], ["mixed.fio", "input"]),
        ([*JOB, "--requests", "r.csv"], ["--requests", "r.csv", ".parquet"]),
        ([*JOB, "--series", "s.txt"], ["--series", "s.txt", ".parquet"]),
        ([*JOB, "--timeline", "-"], ["--timeline", "standard output", "file"]),
        ([*JOB, "--timeline", "t", "--timeline-spans", "0"], ["--timeline-spans: 0", "1 or more"]),
        ([*JOB, "--timeline-spans", "9"], ["--timeline-spans", "without --timeline"]),
        ([*RUN, "--workload", "no.fio"], ["no.fio"]),
        (["presets", "cells"], ["chip, code, drive, host, price, workload", "`cell`"]),
        (["cell", "tlc_3d", "--set", "wear.widen_v=-1"], ["--set wear.widen_v=-1", "-1"]),
        (
            ["ecc", "curve", "--code=ldpc_1k_r90", "--rber=0.006", "--set=decoder.factor=0"],
            ["--set decoder.factor=0", "0", "whole numbers", "1 to 32"],
        ),
        (["show", "mqsim_defalt"], ["`mqsim_default`"]),
        (["cite", "--drive", "mqsim_defalt"], ["`mqsim_default`"]),
        (["trace", "info", "no.csv"], ["no.csv"]),
        (["trace", "info", "mixed.fio", "--format", "msx"], ["`msr`"]),
        (["trace", "info", "mixed.fio", "--on-bad-line", "skp"], ["`skip`"]),
        (["fit", "no.csv", "--law", "power_law"], ["`no.csv`", NONE, "CSV"]),
        (["fit", "no.parquet", "--law", "power_law"], ["no.parquet", "Parquet file"]),
        (["ecc", "curve", "--code", "no.toml", "--rber", "0.01"], ["`no.toml`", NONE]),
        (["ecc", "speed", "--code", "x/bch_512_t4.toml", "--rber", "0.01"], ["`bch_512_t40`"]),
        (["ecc", "curve", "--code", "mixed.fio", "--rber", "0.01"], ["nandlab code import mixed"]),
        (["code", "show", "no.toml"], ["`nandlab presets code`", "path"]),
        (["code", "import", "no.alist"], ["`no.alist`", NONE]),
        (["code", "show", "."], ["code", "`.`"]),
        (["endurance", "no.toml"], ["`no.toml`", NONE, "name"]),
        (["cell", "no.toml"], ["`no.toml`", NONE]),
        ([*TRACE, "mixed.fio", "--iodepth", "0"], ["1 to 65536"]),
        ([*TRACE, "mixed.fio", "--address", "warp"], ["`wrap`"]),
    ],
)
def test_arguments(nandlab: Callable[..., Ended], arguments: list[str], parts: list[str]):
    nandlab(*arguments).refused(*parts)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("empty.csv", b"", "empty file"),
        ("binary.csv", bytes(range(256)) * 8, "not text"),
        ("cut.csv", LINE.format(offset=0, length=4096)[:30].encode(), "cut.csv:1"),
        ("cut.csv.zst", b"\x28\xb5\x2f\xfd\x04\x58\x61", "cut.csv.zst"),
        ("cut.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "cut.csv.gz"),
        ("zero.csv", LINE.format(offset=0, length=0).encode(), "length `0`"),
        ("far.csv", LINE.format(offset=2**63, length=4096).encode(), "2^63"),
        ("farther.csv", LINE.format(offset=2**64, length=4096).encode(), "18446744073709551616"),
        ("beyond.csv", LINE.format(offset=2**40, length=4096).encode(), f"`{2**40 + 4096}`"),
        ("word.csv", LINE.format(offset="half", length=4096).encode(), "`half`"),
        ("odd.csv", LINE.format(offset=100, length=4096).encode(), "512"),
    ],
)
def test_traces(nandlab: Callable[..., Ended], folder: Path, name: str, content: bytes, part: str):
    (folder / name).write_bytes(content)
    nandlab(*TRACE, name).refused(name, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no job"),
        ("[a]\nrw=randred\n", "rw"),
        ("[a]\nblocksze=4k\n", "`blocksize`"),
        ("[a]\nrw=read\nsize=100t\n", "size"),
        ("[a]\nrw=read\nbs=4q\n", "4q"),
        ("rw=read\n", "job.fio:1"),
    ],
)
def test_job_files(nandlab: Callable[..., Ended], folder: Path, text: str, part: str):
    (folder / "job.fio").write_text(text)
    nandlab(*RUN, "--workload", "job.fio").refused("job.fio", part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[drive\n", "my.toml:1"),
        ('drive_preset = "tiny"\n[drive]\nchanels = 3\n', "my.toml:3"),
        ('drive_preset = "tiny"\n[run]\nworklod = "mixed.fio"\n', "`workload`"),
        ("[drive]\nchannels = 1\n", "missing"),
    ],
)
def test_drive_files(nandlab: Callable[..., Ended], folder: Path, text: str, part: str):
    (folder / "my.toml").write_text(text)
    nandlab("run", "--drive", "my.toml", "--workload", "mixed.fio").refused("my.toml", part)


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch):
    """Refused with the estimate before anything is allocated."""
    monkeypatch.setattr("nandlab.drive.simulate.memory_limit_bytes", lambda: 10**6)
    with pytest.raises(NandlabError, match=r"\b2\.\d+ MiB\b.*\b976\.6 KiB\b"):
        run("tiny", MIXED)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"trace": "several.txt"}, ["several.txt:1", "ssdsim", "mqsim"]),
        ({"trace": "none.txt"}, ["none.txt"]),
        ({"trace": "none.txt", "format": "msr"}, ["none.txt"]),
        ({"trace": "several.txt", "format": "mqsin"}, ["`mqsim`"]),
        ({"workload": "none.fio"}, ["none.fio"]),
    ],
)
def test_a_workload_is_looked_at_before_a_drive_is_built(
    monkeypatch: pytest.MonkeyPatch, folder: Path, given: dict[str, str], parts: list[str]
):
    """A drive that cannot be built is not what is told."""
    (folder / "several.txt").write_text("0 0 100 8 1\n1 0 200 8 0\n")
    for module in ("drive.simulate", "drive.device"):
        monkeypatch.setattr(f"nandlab.{module}.memory_limit_bytes", lambda: 10)
    with refused(*parts):
        run("tiny", **given)
    if "trace" in given:
        with refused(*parts):
            nandlab.life("tiny", years=1, dwpd=1, **given)
    with refused("memory"):
        run("tiny", trace="several.txt", format="mqsim")


def test_the_limit_is_below_what_the_machine_has():
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 10**7 < memory_limit_bytes() < pages


@pytest.mark.parametrize(
    "command", [["endurance"], ["code", "show"], ["code", "import"], ["fit", "--law", "gaussian"]]
)
def test_binary_input(nandlab: Callable[..., Ended], folder: Path, command: list[str]):
    name = "bytes.csv" if "fit" in command else "bytes.toml"
    (folder / name).write_bytes(bytes(range(128, 256)))
    nandlab(*command, name).refused(f"`{name}`", "not UTF-8", "expected: ")


def test_what_the_system_refuses_has_its_name(capsys: pytest.CaptureFixture[str], folder: Path):
    """Wherever it comes from: no number of an error, a file, a reason, what is expected."""
    with pytest.raises(typer.Exit):
        guarded(lambda: (folder / "none").rename("other"))()
    said = capsys.readouterr().err
    assert said.startswith(f"error: `{folder / 'none'}`: {NONE}; expected: ")
    assert said.count("\n") == 1


def test_usage_errors_end_with_2_too(nandlab: Callable[..., Ended]):
    for arguments in (["--nonsense"], ["run", "--seed", "x"], ["nonsense"]):
        ended = nandlab(*arguments)
        assert ended.code == 2
        assert "Traceback" not in ended.err


def test_nothing_is_written_where_something_is_refused(nandlab: Callable[..., Ended], folder: Path):
    before = set(folder.iterdir())
    nandlab(*change("drive.chanels=2"), "--json", "a", "--requests", "b.parquet").refused()
    nandlab(*JOB, "--requests", "b.parquet", "--json", "nowhere/x").refused()
    assert set(folder.iterdir()) == before


SHORT = "[a]\nrw=read\nnumber_ios=1\n"
LAW = {"name": "power_law", "alpha": 1e-9}
BCH = "bch_512_t40"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: run("tiny", {"rw": 1}), ["workload: {'rw': 1}", "path"]),
        (lambda: run("tiny", trace=3), ["trace: 3", "path"]),
        (lambda: run(None, SHORT), ["drive: None", "preset's name"]),
        (lambda: run("tiny", SHORT, set=[("a", 1)]), ["set: ('a', 1)", "mapping"]),
        (lambda: run("tiny", SHORT, set=3), ["set: 3", "mapping"]),
        (lambda: run("tiny", SHORT, precondition=True), ["precondition: True", "none"]),
        (lambda: run("tiny", SHORT, precondition=""), ["precondition: ''", "none"]),
        (lambda: run("tiny", SHORT, timeline_spans=5), ["timeline_spans", "without timeline"]),
        (lambda: run("tiny", SHORT, requests=1), ["requests: 1", "True, False"]),
        (lambda: run("tiny", trace="x", iodepth="4"), ["iodepth: '4'", "whole number"]),
        (lambda: run("tiny", trace="x", iodepth=4.5), ["iodepth: 4.5", "whole number"]),
        (lambda: nandlab.endurance({**LAW, "alpha": math.nan}), ["array.alpha: nan"]),
        (lambda: nandlab.endurance("tlc_3d", t=[299.4]), ["t: 299.4", "whole number"]),
        (lambda: nandlab.endurance("tlc_3d", codeword_bits=34560.5), ["codeword_bits: 34560.5"]),
        (
            lambda: nandlab.endurance("tlc_3d", retention_hours=[]),
            ["retention_hours: none", "one or more"],
        ),
        (lambda: nandlab.board("latency_map", "slc", seed=None), ["seed: None", "whole"]),
        (lambda: nandlab.board("latency_map", "slc", seed=1.5), ["seed: 1.5", "whole number"]),
        (lambda: nandlab.ecc_curve(BCH, rber=1e-3, max_frames=1.5), ["max_frames: 1.5", "whole"]),
        (lambda: nandlab.ecc_speed(BCH, rber=1e-3, frames="2"), ["frames: '2'", "whole number"]),
        (lambda: nandlab.show(3), ["show: 3", "preset's name", "path"]),
        (lambda: nandlab.bibliography(3), ["drive: 3", "preset's name", "path"]),
    ],
)
def test_arguments_of_functions(call: Callable[..., object], parts: list[str]):
    with pytest.raises(NandlabError) as caught:
        call()
    message = carries(caught.value, *parts)
    assert any(word in message for word in ("expected: ", "hint: "))


def test_numbers_and_paths_of_other_kinds(folder: Path):
    """Numpy's numbers are numbers, and a path stands where its text may."""
    plain = run("tiny", SHORT).to_dict()
    for others in ({"requests": None}, {"requests": np.bool_(False)}, {"set": None}):
        given: dict[str, Any] = others
        assert run("tiny", SHORT, **given).to_dict()["host"] == plain["host"]
    kept: dict[str, Any] = {"requests": np.bool_(True)}
    assert run("tiny", SHORT, **kept).requests().num_rows == 1
    (folder / "log").write_text(
        "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 0 4096\n"
    )
    assert run("tiny", trace="log", iodepth=np.int64(4)).iops > 0
    (folder / "times").write_text(LINE.format(offset=0, length=4096))
    own: Any = {"time": "sort-window", "sort_window": 5, "time_scale": 0.5}
    wide: Any = {**own, "sort_window": np.int64(5), "time_scale": np.float32(0.5)}
    told = [nandlab.trace_info("times", format="msr", options=options) for options in (own, wide)]
    assert told[0] == told[1]
    exact = float(np.float32(1e-9))
    rounded = nandlab.endurance({**LAW, "alpha": np.float32(1e-9)})
    assert rounded.points == nandlab.endurance({**LAW, "alpha": exact}).points
    (folder / "x.toml").write_text(nandlab.show("chip/tlc_3d"))
    of_text = nandlab.endurance("x.toml", retention_hours=24)
    assert nandlab.endurance(Path("x.toml"), retention_hours=24).points == of_text.points
    assert nandlab.show(Path("tiny")) == nandlab.show("tiny")
    assert nandlab.bibliography(Path("tiny")) == nandlab.bibliography("tiny")
    fitted = nandlab.fit({"pe_cycles": [0, 1e3, 3e3], "rber": [1e-5, 2e-4, 1e-3]}, "exponential")
    assert fitted.chip_toml(Path("x.toml")) == fitted.chip_toml("x.toml")
    hundred: Any = 1e2
    curve = nandlab.ecc_curve(BCH, rber=0.01, channel="bsc", max_frames=hundred)
    assert curve.points_left == 0


def test_a_refusal_says_place_problem_expected_and_the_nearest_name():
    said = refusal("gc.name", "unknown member `gredy`", ["greedy", "fifo"], given="gredy")
    assert str(said) == (
        "gc.name: unknown member `gredy`; expected: greedy, fifo; did you mean `greedy`?"
    )
    assert str(refusal("", "nothing to run", "a trace")) == "nothing to run; expected: a trace"
    assert str(refusal(Path("a.csv"), "no rows")) == "a.csv: no rows"
    near = refusal("law", "unknown", "a law", given="expo", names=["exponent", "power"])
    assert str(near) == "law: unknown; expected: a law; did you mean `exponent`?"
