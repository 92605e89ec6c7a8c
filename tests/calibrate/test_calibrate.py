"""Calibrations: what was simulated is found again, and what is not told by the rows is said."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.csv as pv
import pytest
from begun import progressed
from conftest import COMMAND, Ended, carries, refused, some

import nandlab
from nandlab import Calibration, CalibrationUnfinished, calibrate

HIDDEN = {"controller.command_us": 3.3, "chip.timing.t_read_us": 55.0, "host.link_mb_s": 1500.0}
FIT = {
    "controller.command_us": (0.5, 10),
    "chip.timing.t_read_us": (20, 100),
    "host.link_mb_s": (500, 4000),
}
METRICS = ("iops", "mean_us", "p99_us")
ROWS = [(size, depth) for size in (4096, 65536) for depth in (1, 4, 16, 64)]
QUICK: dict[str, Any] = {"requests": 800, "workers": 1}


def measure(
    path: Path, hidden: dict[str, Any], rows: Sequence[tuple[int, int]] = ROWS, seed: int = 11
) -> Path:
    """Rows that a simulated drive of its own makes."""
    drive = nandlab.Drive("tiny", set=hidden, seed=seed).precondition("fill")
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["operation", "block_bytes", "depth", *METRICS])
        for size, depth in rows:
            job = f"[a]\nrw=randread\nbs={size}\niodepth={depth}\nnorandommap=1\n"
            host = drive.clone().run(job, skip="200", until="4000").to_dict()["host"]
            latency = host["latency_us"]
            table.writerow(["randread", size, depth, host["iops"], latency["mean"], latency["p99"]])
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure(tmp_path_factory.mktemp("data") / "data.csv", HIDDEN)


@pytest.fixture(scope="module")
def found(data: Path, few_or_all: Callable[[int, int], int]) -> Calibration:
    trials = few_or_all(50, 200)
    return calibrate("tiny", data, FIT, holdout_rows="depth == 16", trials=trials, **QUICK)


def test_what_was_simulated_is_found_again(found: Calibration):
    for key, truth in HIDDEN.items():
        one = found[key]
        assert one.low is not None
        assert one.high is not None
        assert one.low <= truth <= one.high, one
        assert one.low <= one.value <= one.high, one
    assert found["chip.timing.t_read_us"].value == pytest.approx(55, rel=0.05)
    assert found.summary("fitted").rms_percent < 8


@pytest.mark.long
def test_held_out_rows_are_not_fitted(data: Path, found: Calibration, tmp_path: Path):
    """Whatever stands in them, the fit is the same; their errors are told apart."""
    assert {one.use for one in found.residuals if "depth 16" in one.row} == {"held out"}
    assert {one.use for one in found.residuals if "depth 16" not in one.row} == {"fitted"}
    assert found.summary("held out").rows == 2
    assert found.summary("held out").values == 2 * len(METRICS)
    assert found.summary("held out").rms_percent < 6
    wrong = tmp_path / "wrong.csv"
    lines = data.read_text().splitlines()
    lines = [f"{line}0" if ",16," in line else line for line in lines]
    wrong.write_text("\n".join(re.sub(r"(,16,)(\d)", r"\g<1>9\2", line) for line in lines))
    right, again = (
        calibrate("tiny", rows, FIT, holdout_rows="depth == 16", trials=8, **QUICK)
        for rows in (data, wrong)
    )
    assert again.set == right.set
    assert [one[1:4] for one in again.fitted] == [one[1:4] for one in right.fitted]
    assert again.summary("fitted") == right.summary("fitted")
    assert again.summary("held out").rms_percent > 100


@pytest.mark.long
def test_rows_are_drawn_by_the_seed_or_marked(data: Path, tmp_path: Path):
    def uses(**options: Any) -> list[str]:
        options = {"trials": 8, **QUICK, **options}
        one = calibrate("tiny", options.pop("data", data), FIT, **options)
        return [residual.use for residual in one.residuals[:: len(METRICS)]]

    assert uses(holdout=0.25).count("held out") == 2
    assert uses(holdout=0.25) == uses(holdout=0.25)
    assert len({tuple(uses(holdout=0.25, seed=seed)) for seed in range(5)}) > 1
    marked = tmp_path / "marked.csv"
    head, *rest = data.read_text().splitlines()
    marks = ["true", "", "no", "yes", "0", "1", "false", ""]
    lines = [f"{head},holdout", *(f"{a},{b}" for a, b in zip(rest, marks, strict=True))]
    marked.write_text("\n".join(lines))
    expected = ["held out" if mark in ("true", "yes", "1") else "fitted" for mark in marks]
    assert uses(data=marked) == expected


def test_nothing_is_validated_without_held_out_rows(data: Path):
    one = calibrate("tiny", data, FIT, trials=8, **QUICK)
    assert one.summary("held out").values == 0
    carries(one, "validated")
    assert any("validated" in note for note in one.notes)


@pytest.mark.long
def test_workers_and_a_second_time_change_nothing(data: Path, found: Calibration):
    options: dict[str, Any] = {"requests": 800, "holdout_rows": "depth == 16"}
    again = calibrate("tiny", data, FIT, workers=2, **options)
    assert again.to_dict() == found.to_dict()


@pytest.mark.long
def test_a_key_that_changes_nothing_is_said_and_kept(data: Path):
    """The write buffer is no matter of reads."""
    fit = {"chip.timing.t_read_us": (20, 100), "buffer.latency_us": (0.1, 5)}
    hidden = {key: HIDDEN[key] for key in ("controller.command_us", "host.link_mb_s")}
    one = calibrate("tiny", data, fit, set=hidden, **QUICK)
    buffer = one["buffer.latency_us"]
    assert buffer.status == "no effect"
    assert buffer.value == buffer.own == 1.0
    assert (buffer.low, buffer.high) == (0.1, 5)
    assert one["chip.timing.t_read_us"].status == "fitted"
    assert "no effect" in str(one)
    text = one.to_toml()
    assert re.search(r"^latency_us = 1.0 +# assumed: ", text, re.M)


@pytest.mark.long
def test_keys_that_trade_for_each_other_are_not_identified(tmp_path: Path):
    """At one request in flight all fixed times are one sum."""
    data = measure(tmp_path / "one.csv", HIDDEN, [(4096, 1)])
    fit = {"controller.command_us": (0.5, 10), "host.link_latency_us": (0.5, 10)}
    one = calibrate("tiny", data, fit, set={"chip.timing.t_read_us": 50}, **QUICK)
    assert one["controller.command_us"].status == "not identified"
    assert "host.link_latency_us" in one["controller.command_us"].why


@pytest.mark.long
def test_a_value_at_its_bound_is_said(data: Path):
    one = calibrate("tiny", data, {"chip.timing.t_read_us": (60, 100)}, set=HIDDEN, **QUICK)
    assert one["chip.timing.t_read_us"].value == pytest.approx(60, abs=0.3)
    assert one["chip.timing.t_read_us"].status == "at the lower end"
    assert "at the lower end" in one.to_toml()


@pytest.mark.long
def test_whole_numbers_stay_whole(tmp_path: Path):
    rows = [(4096, 4), (4096, 32), (16384, 32)]
    data = measure(tmp_path / "wide.csv", {"drive.channels": 4}, rows)
    fit = {"drive.channels": (1, 8), "chip.timing.t_read_us": (40, 120)}
    one = calibrate("tiny", data, fit, **QUICK)
    channels = one["drive.channels"]
    assert (channels.value, channels.is_whole) == (4, True)
    assert re.search(r"^channels = 4 +# calibrated", one.to_toml(), re.M)
    assert channels.low == int(channels.low)


@pytest.mark.long
def test_items_of_a_list_are_fitted(tmp_path: Path):
    """Two page types; the middle of requests and their tail tell them apart."""
    base = {"chip.timing.t_read_us": [60.0, 60.0]}
    data = measure(tmp_path / "types.csv", {"chip.timing.t_read_us": [50.0, 90.0]}, [(4096, 1)])
    fit = "chip.timing.t_read_us[0]=40:70,chip.timing.t_read_us[1]=60:110"
    one = calibrate("tiny", data, fit, set=base, **QUICK)
    first, second = one.set["chip.timing.t_read_us"]
    assert first == pytest.approx(50, rel=0.03)
    assert second == pytest.approx(90, rel=0.03)
    assert re.search(
        r"t_read_us = \[.*\] +# calibrated: types.csv, .* % \[0\] .*, \[1\] ", one.to_toml()
    )


# --- What comes out ------------------------------------------------------------------------------


def test_the_drive_file_is_the_fitted_drive(
    nandlab: Callable[..., Ended], found: Calibration, folder: Path
):
    text = found.to_toml("fitted.toml")
    assert Path("fitted.toml").read_text() == text
    for key in HIDDEN:
        name = key.rpartition(".")[2]
        mark = rf"^[\w.]*{name} = [\d.]+ +# calibrated: data.csv, \d{{4}}-\d\d-\d\d, 6 rows, 95 % "
        assert re.search(mark, text, re.M), text
    Path("r.fio").write_text("[r]\nrw=randread\niodepth=4\nnumber_ios=500\n")
    run = nandlab("run", "--drive", "fitted.toml", "--workload", "r.fio", "--json", "-")
    config = run.succeeded().json["nandlab"]["config"]
    for key, value in found.set.items():
        here: Any = config
        for part in key.split("."):
            here = here[part]
        assert here == value or here == [value]
    nandlab("lint", "fitted.toml").succeeded()


def test_a_drive_file_of_another_folder_keeps_its_files(data: Path, folder: Path):
    Path("parts").mkdir()
    Path("out").mkdir()
    Path("parts/host.toml").write_text(nandlab.show("pcie3_x4"))
    Path("parts/drive.toml").write_text(
        'drive_preset = "tiny"\n[host]\npreset = "host.toml" # ours\n'
        "[chip]\ntiming.t_read_us = [\n  70.0, # assumed: a\n  71.0, # assumed: b\n]\n"
    )
    fit = "chip.timing.t_read_us[1]=30:100"
    one = calibrate("parts/drive.toml", data, fit, trials=8, set={"gc.name": "fifo"}, **QUICK)
    text = one.to_toml("out/fitted.toml")
    assert 'preset = "../parts/host.toml" # ours' in text
    assert 'name = "fifo"' in text
    value = one.set["chip.timing.t_read_us"]
    assert value[0] == 70.0
    fitted = nandlab.run("out/fitted.toml", "[r]\nrw=randread\nnumber_ios=100\n")
    assert fitted.config["chip"]["timing"]["t_read_us"] == value
    assert fitted.config["gc"]["name"] == "fifo"


def test_tables_and_files(found: Calibration, tmp_path: Path):
    table = found.to_arrow()
    assert table.num_rows == len(ROWS) * len(METRICS)
    found.to_parquet(tmp_path / "r.csv")
    assert pv.read_csv(tmp_path / "r.csv").num_rows == table.num_rows
    assert json.loads(found.to_json(tmp_path / "c.json")) == found.to_dict()
    found.plot(tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert ">calibration of tiny" in found._repr_html_()
    row = found.residuals[0]
    assert row.percent == pytest.approx(100 * (row.simulated / row.measured - 1))


def test_the_command(nandlab: Callable[..., Ended], data: Path, folder: Path):
    ended = nandlab(
        *[
            "calibrate",
            "--drive",
            "tiny",
            "--measured",
            data,
            "--fit",
            "chip.timing.t_read_us=20:100",
        ],
        *["--set", "controller.command_us=3.3", "--rows", "block_bytes == 4096"],
        *["--holdout-rows", "depth == 4", "--requests", "2000", "--workers", "1"],
        *["--metrics", "iops, mean_us", "--out", "f.toml", "--plot", "f.png", "--table", "f.csv"],
        *["--json", "-"],
    ).succeeded()
    assert ended.json["rows_fitted"] == 3
    assert ended.json["rows_held_out"] == 1
    assert {one["metric"] for one in ended.json["residuals"]} == {"iops", "mean_us"}
    assert "calibrated: data.csv" in Path("f.toml").read_text()
    assert "command_us = 3.3  # assumed: " in Path("f.toml").read_text()
    assert Path("f.png").stat().st_size > 10_000


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", some(["2", "1"]))
def test_ctrl_c_keeps_the_best_so_far(data: Path, folder: Path, workers: str):
    process = progressed(
        [
            *[COMMAND, "calibrate", "--drive", "tiny", "--measured", str(data)],
            *["--requests", "5000"],
            *[f"--fit={','.join(f'{key}={a}:{b}' for key, (a, b) in FIT.items())}"],
            *["--trials", "100000", "--workers", workers, "--out", "f.toml", "--json", "f.json"],
        ],
        "calibrate",
        2,
        seconds=120,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - asked < 10
    assert (process.returncode, err) == (130, "")
    told = json.loads(Path("f.json").read_text())
    assert told["interrupted"]
    assert "interrupted" in out
    assert {one["status"] for one in told["keys"]} == {"not looked at"}
    assert re.search(r"# calibrated: .*, no interval \(not looked at\)", Path("f.toml").read_text())


@pytest.mark.long
def test_ctrl_c_in_python(data: Path, monkeypatch: pytest.MonkeyPatch):
    """A progress that raises is a Ctrl-C of the caller's own; a signal keeps what was done."""
    told = 0

    def tell(progress: nandlab.Progress) -> None:
        nonlocal told
        told = progress.done
        if progress.done >= 20:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(CalibrationUnfinished) as stopped:
        calibrate("tiny", data, FIT, requests=5000, workers=1, progress=tell)
    result = stopped.value.result
    assert result.is_interrupted
    assert result.summary("fitted").values == len(ROWS) * len(METRICS)
    assert 20 <= told < 200
    assert result["host.link_mb_s"].low is None


# --- Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"fit": "controller.comand_us=1:2"}, ["`controller.command_us`"]),
        ({"fit": "gc.name=1:2"}, ["gc.name"]),
        ({"fit": "controller.command_us=2:1"}, ["lower one first"]),
        ({"fit": "controller.command_us=0:1:log"}, ["above 0"]),
        ({"fit": "controller.command_us=1"}, ["KEY=LOW:HIGH"]),
        ({"fit": "controller.command_us=a:2"}, ["`a`", "number"]),
        ({"fit": "controller.command_us[0]=1:2"}, ["holds number", "key"]),
        ({"fit": "chip.timing.t_read_us[5]=1:2"}, ["item 5"]),
        ({"fit": []}, ["no key"]),
        ({"fit": ["controller.command_us=1:2"] * 2}, ["`controller.command_us`", "twice"]),
        ({"fit": "drive.channels=1.5:2"}, ["whole numbers"]),
        ({"metrics": ["iop"]}, ["`iops`"]),
        ({"metrics": ["write_amplification"]}, ["`write_amplification`"]),
        ({"rows": "dept == 1"}, ["`depth`"]),
        ({"rows": "depth == 3"}, ["`depth == 3`", "no row"]),
        ({"holdout": 1.5}, ["above 0, below 1"]),
        ({"holdout_rows": "depth > 0"}, ["every row"]),
        ({"level": 1}, ["level"]),
        ({"trials": 0}, ["trials"]),
        ({"requests": 10}, ["requests"]),
        ({"precondition": "fil"}, ["`fill`"]),
        ({"measured": "no.csv"}, ["no.csv"]),
        ({"fit": "ftl.overprovisioning=0.0001:0.0002"}, ["points", "first"]),
    ],
)
def test_what_is_refused(data: Path, change: dict[str, Any], parts: list[str]):
    given: dict[str, Any] = {"measured": data, "fit": FIT, **QUICK, **change}
    with refused(*parts):
        calibrate("tiny", given.pop("measured"), given.pop("fit"), **given)


def test_more_keys_than_values_are_refused(tmp_path: Path):
    path = tmp_path / "one.csv"
    path.write_text("operation,block_bytes,iops\nrandread,4k,10000\n")
    with refused("3 keys", "1 measured"):
        calibrate("tiny", path, FIT, **QUICK)


def test_a_drive_that_cannot_be_written_is_refused_before(
    nandlab: Callable[..., Ended], data: Path, folder: Path
):
    Path("d.toml").write_text('drive_preset = "tiny"\nhost = { preset = "pcie3_x4" }\n')
    started = time.monotonic()
    ended = nandlab(
        *["calibrate", "--drive", "d.toml", "--measured", data, "--fit", "host.link_mb_s=500:4000"],
        *["--out", "f.toml"],
    )
    assert ended.code == 2
    assert "d.toml" in ended.err
    assert time.monotonic() - started < 20
    assert not Path("f.toml").exists()


@pytest.mark.long
def test_a_script_without_its_guard_is_told(tmp_path: Path, data: Path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import nandlab\nnandlab.calibrate('tiny', {str(data)!r}, "
        "'controller.command_us=1:2', workers=2)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    carries(done.stderr, "if __name__ == '__main__'")
