"""A drive with zones that an NVMe host uses over TCP, and what such a drive refuses."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

import nandlab as lab
from tests.conftest import Ended, carries, refused, some
from tests.device.nvme_host import Queue, attached

Run = Callable[..., Ended]

#: Zones of 2 MiB, of blocks of 4 KiB.
ZONED = {
    "chip.geometry.pages_per_block": 32,
    "ftl.name": "zoned",
    "ftl.max_active_zones": 4,
    "ftl.max_open_zones": 4,
}


def append(queue: Queue, zone: int, data: bytes) -> tuple[int, int]:
    """Appends blocks to a zone: the status, and the first of them."""
    rest = struct.pack("<QI12x", 512 * zone, len(data) // 4096 - 1)
    done = queue.command(0x7D, 1, rest, data)
    return done.status, done.result


def change(queue: Queue, zone: int, action: int) -> int:
    """Closes (1), finishes (2), opens (3) or resets (4) a zone: the status."""
    return queue.command(0x79, 1, struct.pack("<QII8x", 512 * zone, 0, action)).status


def state(queue: Queue, zone: int) -> tuple[int, int]:
    """State of a zone by its number, and its write pointer."""
    page = queue.command(0x7A, 1, struct.pack("<QII8x", 512 * zone, 31, 0), wanted=128).data
    return page[65] >> 4, int.from_bytes(page[88:96], "little")


@pytest.mark.parametrize("clock", some(["fast", "real"]))
def test_a_host_uses_zones(clock: str) -> None:
    """Appends, states, and a reset; requests are logged, and the report counts them."""
    with lab.serve(
        "tiny", set=ZONED, clock=clock, protocol="nvme", port=0, requests=True
    ) as server:
        with attached(server.uri) as (_admin, queue):
            assert append(queue, 1, b"a" * 8192) == (0, 512)
            assert append(queue, 1, b"b" * 400 * 1024) == (0, 514)
            read = queue.command(0x02, 1, struct.pack("<QI12x", 513, 1), wanted=8192)
            assert (read.status, read.data) == (0, b"a" * 4096 + b"b" * 4096)
            assert state(queue, 1) == (2, 614)
            # Not at the write pointer.
            wrong = queue.command(0x01, 1, struct.pack("<QI12x", 512, 0), bytes(4096))
            assert wrong.status == 0x1BC
            assert [change(queue, 1, action) for action in (3, 1, 2)] == [0, 0, 0]
            assert state(queue, 1)[0] == 14
            assert change(queue, 1, 4) == 0
            assert state(queue, 1) == (1, 512)
        result = server.stop()
    report = result.to_dict()
    assert result.checks.ok
    logged = result.requests()["op"].to_pylist()
    assert logged == ["append", "append", "read", "write", "open", "close", "finish", "reset"]
    requests = report["device"]["requests"]
    assert [requests[f"zone_{name}"] for name in ("append", "open", "close", "finish")] == [
        2,
        1,
        1,
        1,
    ]
    assert report["zones"]["refused"]["Zone Invalid Write"] == 1
    assert report["zones"]["append"]["requests"] == 2


def test_a_host_overwrites_blocks_in_a_random_write_area() -> None:
    """Blocks anew and in any order, a commit, and what the report says of them."""
    areas = {"ftl.zrwa_bytes": 65536, "ftl.zrwa_zones": 2}
    with lab.serve(
        "tiny", set=ZONED | areas, clock="fast", protocol="nvme", port=0, requests=True
    ) as server:
        with attached(server.uri) as (_admin, queue):
            # Open (3) with an area, and later a commit (0x11) up to block 4.
            assert change(queue, 0, 3 | 1 << 9) == 0
            for block, byte in ((4, b"a"), (2, b"b"), (4, b"c")):
                rest = struct.pack("<QI12x", block, 0)
                assert queue.command(0x01, 1, rest, byte * 4096).status == 0
            assert state(queue, 0) == (3, 0)
            assert queue.command(0x79, 1, struct.pack("<QII8x", 4, 0, 0x11)).status == 0
            assert state(queue, 0) == (3, 5)
            read = queue.command(0x02, 1, struct.pack("<QI12x", 0, 5), wanted=6 * 4096)
            assert read.data == b"".join(
                byte * 4096 for byte in (b"\0", b"\0", b"b", b"\0", b"c", b"\0")
            )
        result = server.stop()
    report = result.to_dict()
    assert result.checks.ok
    assert result.requests()["op"].to_pylist() == ["open_area", *["write"] * 3, "commit", "read"]
    requests, of = report["device"]["requests"], report["zones"]
    assert (requests["zone_open_area"], requests["zone_commit"]) == (1, 1)
    assert (of["commits"], of["overwritten_units"], of["blank_units"]) == (1, 1, 3)


def test_what_zones_exclude_is_refused(nandlab: Run) -> None:
    """Clients of NBD, alone or beside NVMe hosts; power cuts without a recovery."""
    whole = [f"{key}={value}" for key, value in ZONED.items()]
    beside = ["namespace=[{dies=2, ftl={name='page'}}, {dies=2}]"]
    for sets in (whole, whole + beside):
        line = ["--drive", "tiny", *(word for one in sets for word in ("--set", one))]
        for command in ("nbd", "nvme --port 0"):
            ended = nandlab(*command.split(), "--socket", "z.sock", *line)
            assert ended.code == 2
            carries(ended.err, "zones", "nandlab nvme")
    with (
        lab.serve("tiny", set=ZONED, clock="fast", protocol="nvme", port=0) as server,
        refused("recovery.name"),
    ):
        server.cut()
