"""Recordings of drives with zones: their commands are done again, to the same states and tail."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

import nandlab as lab
from nandlab.trace.recording import commands_in
from tests.conftest import refused
from tests.device.nvme_host import Queue, attached
from tests.device.test_zones import ZONED, append, change

#: What a zone of the drive takes, in blocks.
CAPACITY = 512


def write(queue: Queue, first: int, blocks: int) -> int:
    """Writes blocks: the status."""
    entry = struct.pack("<QI12x", first, blocks - 1)
    return queue.command(0x01, 1, entry, bytes(4096 * blocks)).status


def use(queue: Queue, rounds: int) -> list[int]:
    """Writes, appends, and commands on zones in turn. Returns the places of the appends."""
    places, pointer = [], 0
    for number in range(rounds):
        status, place = append(queue, 1 + number % 2, bytes(4096 * (1 + number % 7)))
        places.append(place)
        assert status == 0
        if pointer + 16 > CAPACITY:
            assert change(queue, 0, 4) == 0
            pointer = 0
        assert write(queue, pointer, 9 + number % 8) == 0
        pointer += 9 + number % 8
        read = queue.command(0x02, 1, struct.pack("<QI12x", 0, 8), wanted=9 * 4096)
        assert read.status == 0
        if number % 50 == 49:
            assert change(queue, 1, (2, 1)[number // 50 % 2]) == 0
            assert change(queue, 1, 4) == 0
    # A zone that is finished, one that is opened, and one that is closed.
    assert [append(queue, zone, bytes(8192))[0] for zone in (3, 5)] == [0, 0]
    assert [change(queue, zone, action) for zone, action in ((3, 2), (4, 3), (5, 1))] == [0, 0, 0]
    # Refused: not at the write pointer.
    assert write(queue, 6 * 512 + 1, 1) == 0x1BC
    return places


def states(drive: lab.Drive) -> list[tuple[str, int]]:
    """State and write pointer of each zone."""
    return [(zone.state, zone.written_bytes) for zone in drive.zones()]


def test_a_replay_has_the_same_zones_and_the_same_tail(folder: Path) -> None:
    """Appends are recorded with their places; states, pointers and latencies are the same."""
    how = {"set": {**ZONED, "ftl.max_active_zones": 8, "ftl.max_open_zones": 8}, "seed": 3}
    with lab.serve(
        "tiny", clock="fast", protocol="nvme", port=0, record="z.iolog.gz", **how
    ) as server:
        with attached(server.uri) as (_admin, queue):
            places = use(queue, 120)
        server.snapshot("z.nldrive")
        served = server.stop().to_dict()
    lines = gzip.decompress(Path("z.iolog.gz").read_bytes()).decode().splitlines()
    appends = [line.split() for line in lines if " zone_append " in line]
    assert [int(words[5]) // 4096 for words in appends][:120] == places
    drive = lab.Drive("tiny", **how)
    report = drive.run(trace="z.iolog.gz").to_dict()
    assert states(drive) == states(lab.Drive.load("z.nldrive"))
    assert {state for state, _ in states(drive)} > {"full", "closed", "explicitly open", "empty"}
    for key in ("appends", "resets", "finishes", "opens", "closes", "reset_units", "refused"):
        assert report["zones"][key] == served["zones"][key], key
    for op in ("read", "write"):
        for name in ("p50", "p99"):
            told, known = (one["host"][op]["latency_us"][name] for one in (report, served))
            assert told == pytest.approx(known, rel=0.02), (op, name)
    with refused("zones", "reject"):
        lab.run("tiny", trace="z.iolog.gz", trace_options={"address": "compact"}, **how)
    assert lab.trace_info("z.iolog.gz")["by_op"]["zones"]["requests"] > 120


def test_a_replay_cuts_the_power_of_zones(folder: Path) -> None:
    """A cut and the return of power, after which open zones are closed."""
    how = {"set": {**ZONED, "recovery.name": "scan_blocks"}}
    with lab.serve(
        "tiny", clock="fast", protocol="nvme", port=0, record="c.iolog", **how
    ) as server:
        for number in range(3):
            with attached(server.uri) as (_admin, queue):
                assert append(queue, number, bytes(4096 * 5))[0] == 0
            if number < 2:
                server.cut()
                server.restore()
        report = server.stop().to_dict()
    assert [command.name for command in commands_in("c.iolog")] == ["cut", "restore"] * 2
    drive = lab.Drive("tiny", **how)
    replayed = drive.run(trace="c.iolog")
    assert replayed.checks.ok
    assert states(drive)[:4] == [
        ("closed", 20480),
        ("closed", 20480),
        ("implicitly open", 20480),
        ("empty", 0),
    ]
    assert report["device"]["failed_requests"] == 0
