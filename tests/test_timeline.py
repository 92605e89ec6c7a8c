"""The timeline: events that a viewer takes, and that do not contradict each other."""

import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nandlab

#: Reads that suspend programs, and garbage collection.
BUSY = "[busy]\nrw=randrw\nrwmixread=30\nbs=4k\nnorandommap\niodepth=32\nnumber_ios=4000\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[nandlab.Result, dict[str, Any]]:
    """A run and its timeline, times exact."""
    path = tmp_path_factory.mktemp("timeline") / "t.json"
    result = nandlab.run("tiny", BUSY, precondition="steady", timeline=path)
    return result, json.loads(path.read_text(), parse_float=Decimal)


def spans(timeline: dict[str, Any]) -> dict[tuple[str, str], list[tuple[Decimal, Decimal, str]]]:
    """Spans of each thread, by the names of its process and its own."""
    names: dict[tuple[str, int, int], str] = {}
    for event in timeline["traceEvents"]:
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name"):
            assert event["pid"] > 0
            # The name of a process stands on any of its threads.
            tid = 0 if event["name"] == "process_name" else event["tid"]
            names[event["name"], event["pid"], tid] = event["args"]["name"]
    threads = defaultdict(list)
    for event in timeline["traceEvents"]:
        if event["ph"] == "X":
            pid, tid = event["pid"], event["tid"]
            thread = (names["process_name", pid, 0], names["thread_name", pid, tid])
            threads[thread].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    return threads


def test_nothing_overlaps_on_a_thread(run: tuple[nandlab.Result, dict[str, Any]]):
    """Dies, channels and decoders do one thing at a time; host requests have lanes."""
    threads = spans(run[1])
    assert {process for process, _ in threads} >= {"Host", "Channels", "Dies"}
    for thread, events in threads.items():
        events.sort()
        for before, after in pairwise(events):
            assert before[1] <= after[0], (thread, before, after)


def test_everything_is_within_the_run(run: tuple[nandlab.Result, dict[str, Any]]):
    result, timeline = run
    end_us = Decimal(str(result.to_dict()["sim"]["simulated_s"])) * 10**6
    for events in spans(timeline).values():
        for start, end, _ in events:
            assert 0 <= start < end <= end_us


def test_shows_collection_suspends_and_every_die(run: tuple[nandlab.Result, dict[str, Any]]):
    result, timeline = run
    threads = spans(timeline)
    kinds = {name for events in threads.values() for _, _, name in events}
    assert {"read", "program", "gc read", "gc program", "erase", "suspend"} <= kinds
    assert {"host read", "host write", "data in", "data out"} <= kinds
    dies = [name for process, name in threads if process == "Dies"]
    assert sorted(dies) == [f"channel {c} die {d}" for c in (0, 1) for d in (0, 1)]
    hosted = sum(len(events) for (process, _), events in threads.items() if process == "Host")
    assert hosted == result.latency.count


def test_die_time_is_that_of_the_report(run: tuple[nandlab.Result, dict[str, Any]]):
    """Erases on the timeline take the share of time that the report says."""
    result, timeline = run
    report = result.to_dict()
    busy = defaultdict(Decimal)
    for (process, _), events in spans(timeline).items():
        for start, end, name in events:
            busy[process, name] += end - start
    total_us = report["sim"]["simulated_s"] * 1e6 * 4
    assert float(busy["Dies", "erase"]) / total_us == pytest.approx(
        report["dies"]["erase"], rel=0.25
    )


def test_dies_lie_on_the_channel_that_their_data_use(tmp_path: Path):
    """One read at a time: the data of a die come over the channel in its name."""
    path = tmp_path / "t.json"
    workload = "[r]\nrw=randread\nbs=4k\nnumber_ios=200\n"
    sets = {"drive.channels": 3, "drive.dies_per_channel": 2}
    nandlab.run("tiny", workload, set=sets, precondition="fill", timeline=path)
    threads = spans(json.loads(path.read_text(), parse_float=Decimal))
    reads, transfers = [], []
    for (process, name), events in threads.items():
        if process == "Dies":
            reads += [(end, name) for _, end, _ in events]
        elif process == "Channels":
            transfers += [(start, name) for start, _, _ in events]
    pairs = list(zip(sorted(reads), sorted(transfers), strict=True))
    assert len(pairs) == 200
    assert len({die for (_, die), _ in pairs}) == 6
    for (_, die), (_, channel) in pairs:
        assert die.startswith(f"{channel} die ")


def test_full_timeline_says_so(tmp_path: Path):
    path = tmp_path / "t.json"
    result = nandlab.run("tiny", BUSY, timeline=path, timeline_spans=100)
    timeline = json.loads(path.read_text())
    assert timeline["otherData"]["dropped_spans"] == result.timeline_dropped > 0
    assert sum(event["ph"] == "X" for event in timeline["traceEvents"]) == 100
    assert timeline["otherData"]["config_hash"] == result.to_dict()["nandlab"]["config_hash"]


def test_kept_timeline_is_written_later(tmp_path: Path):
    result = nandlab.run("tiny", BUSY, timeline=True)
    result.timeline(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
