"""The timeline: events that a viewer takes, and that do not contradict each other."""

import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

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


#: A drive at the end of its life: one word in three fails at first.
WORN = {
    "chip.array": {"name": "power_law", "epsilon": 0.001},
    "ecc.model": "shares",
    "ecc.failures": [0.3, 0.1, 0.0],
    "ecc.t_decode_us": 5,
    "ecc.t_soft_decode_us": 10,
    "ecc.t_encode_us": 2,
}


@pytest.mark.parametrize(("retry", "transfers"), [("soft_decision", 2), ("nand_assisted", 1)])
def test_soft_reads_are_on_dies_buses_and_decoders(tmp_path: Path, retry: str, transfers: int):
    """As many of each as the report counts, under names of their own."""
    path = tmp_path / "t.json"
    jobs = "[reads]\nrw=randrw\nrwmixread=80\nbs=4k\niodepth=8\nnumber_ios=1500\n"
    # Reads that planes share would be drawn once.
    changes = {**WORN, "retry.name": retry, "chip.features.multi_plane_read": "none"}
    result = nandlab.run("tiny", jobs, precondition="fill", timeline=path, set=changes)
    report = result.to_dict()
    levels = sum(report["ecc"]["soft_reads"])
    assert len(report["ecc"]["soft_reads"]) == 2
    assert levels > 300
    names = defaultdict(list)
    threads = spans(json.loads(path.read_text(), parse_float=Decimal))
    for (process, _), events in threads.items():
        names[process] += [name for _, _, name in events]
        events.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(events))
    assert names["Dies"].count("soft read") == 2 * levels
    assert names["Channels"].count("soft data out") == transfers * levels
    assert names["Decoders"].count("soft decode") == report["ecc"]["further_decodes"] == levels
    assert names["Encoders"].count("encode") == report["ecc"]["encoded"] > 0
    assert report["ecc"]["hard_failures"] == report["ecc"]["soft_reads"][0]


def test_a_short_timeline_is_a_picture(tmp_path: Path):
    jobs = "[reads]\nrw=randread\nbs=4k\niodepth=2\nnumber_ios=8\n"
    changes = {**WORN, "retry.name": "nand_assisted"}
    result = nandlab.run("tiny", jobs, precondition="fill", timeline=True, set=changes)
    path = tmp_path / "t.png"
    figure = result.plot_timeline(path)
    assert path.stat().st_size > 5000
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert {"die 0", "bus 0", "decoder 0"} <= set(labels)
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"read", "data out", "decode", "soft read"} <= legend
    without = nandlab.run("tiny", jobs)
    with refused("timeline", "timeline=True"):
        without.plot_timeline()
    long = nandlab.run("tiny", BUSY, precondition="fill", timeline=True)
    with refused("at most 2000"):
        long.plot_timeline()
    idle = nandlab.run("tiny", "[a]\nrw=read\nnumber_ios=10\n", timeline=True)
    with refused("timeline", "die", "channel", "decoder", "hint"):
        idle.plot_timeline()
