"""Blame: what requests waited for adds up, names causes, and is told everywhere."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, carries, refused

import nandlab

MIXED = """[mixed]
rw=randrw
rwmixread=70
bs=4k
iodepth=16
number_ios=20000
norandommap
"""


def run() -> nandlab.Result:
    return nandlab.run("tiny", MIXED, precondition="steady", explain=True)


def test_parts_add_up():
    result = run()
    assert result.to_dict()["checks"]["blame_error_ns"] == 0
    for op, latency in [("read", result.read), ("write", result.write), ("all", result.latency)]:
        every = result.explain(0, op)
        assert every.requests == latency.count
        assert every.mean_us == pytest.approx(latency.mean_us)
        assert every.causes_us == pytest.approx(every.all_us)
        tail = result.explain(99.9, op)
        assert tail.requests == pytest.approx(latency.count / 1000)
        assert tail.mean_us > latency.percentile(99.8)
        assert sum(tail.causes_us.values()) == pytest.approx(tail.mean_us)
        assert list(tail.causes_us.values()) == sorted(tail.causes_us.values(), reverse=True)
    assert "die: erase" in str(result.explain(99, "read"))
    slowest = result.blame.slowest()
    assert slowest.num_rows == 1000
    causes = [name for name in slowest.column_names if name.endswith("_ns")][2:]
    row = slowest.slice(0, 1).to_pylist()[0]
    assert sum(row[name] for name in causes) == row["latency_ns"]
    assert row["latency_ns"] / 1e3 == pytest.approx(result.latency.max_us)
    told = result.to_dict()["blame"]["read"]
    assert [band["percent"] for band in told] == [0, 50, 90, 99, 99.9, 99.99]


def test_asking_changes_nothing():
    """The same run, whether or not anybody asks."""
    plain = nandlab.run("tiny", MIXED, precondition="steady")
    assert plain.latency.percentile(99.9) == run().latency.percentile(99.9)
    assert plain.to_dict()["blame"] is None
    with refused("explain=True"):
        plain.explain()


def test_what_is_refused():
    result = run()
    for percent in (100, -1, "99", True, float("nan")):
        with refused("explain"):
            result.explain(percent)
    with refused("`reads`"):
        result.explain(99, "reads")
    with refused("no requests", "`trim`"):
        result.explain(99, "trim")


def test_a_window_of_the_timeline(tmp_path: Path):
    path = tmp_path / "window.json"
    result = nandlab.run("tiny", MIXED, timeline=path, timeline_from=0.05, timeline_spans=1000)
    starts = result.kept_timeline.spans["start_ns"]
    assert min(starts) >= 50_000_000
    slow = nandlab.run(
        "tiny",
        MIXED,
        precondition="steady",
        explain=True,
        timeline=True,
        timeline_from="slowest",
        timeline_spans=5000,
    )
    row = slow.blame.slowest().slice(0, 1).to_pylist()[0]
    spans = slow.kept_timeline.spans
    longest = max(
        end - start for start, end in zip(spans["start_ns"], spans["end_ns"], strict=True)
    )
    assert longest == row["latency_ns"]
    with refused("timeline_from"):
        nandlab.run("tiny", MIXED, timeline_from=0.1)
    with refused("timeline_from"):
        nandlab.run("tiny", MIXED, timeline=True, timeline_from=-1)


def test_command_line(nandlab: Callable[..., Ended], folder: Path):
    (folder / "mixed.fio").write_text(MIXED)
    ended = nandlab(
        *["run", "--drive", "tiny", "--workload", "mixed.fio", "--explain", "99.9"],
        *["--explain-plot", "why.png", "--json", "run.json"],
        *["--timeline", "t.json", "--timeline-around", "slowest"],
    ).succeeded()
    carries(ended.out, "reads", "0.1 %", "die: host")
    assert (folder / "why.png").stat().st_size > 10_000
    assert json.loads((folder / "run.json").read_text())["blame"]["read"]
    for options, told in [
        (["--explain", "100"], "--explain"),
        (["--timeline-from", "1"], "--timeline"),
        (["--timeline", "t.json", "--timeline-around", "fastest"], "slowest"),
        (["--explain-plot", "why.doc"], "why.doc"),
    ]:
        nandlab("run", "--drive", "tiny", "--workload", "mixed.fio", *options).refused(told)


def test_requests_that_wait_for_nothing(nandlab: Callable[..., Ended], folder: Path):
    """Trims of units without data take no time: no cause is the largest."""
    (folder / "trims.fio").write_text("[trims]\nrw=trim\nbs=4k\nnumber_ios=200\n")
    drive = ["--drive", "grupp2009_e_mlc8", "--precondition", "none"]
    small = {"drive.channels": 1, "drive.dies_per_channel": 2, "ftl.overprovisioning": 0.5}
    drive += [part for key, value in small.items() for part in ("--set", f"{key}={value}")]
    ended = nandlab("run", *drive, "--workload", "trims.fio", "--explain", "99").succeeded()
    carries(ended.out, "trims", "1 %", "latency")
