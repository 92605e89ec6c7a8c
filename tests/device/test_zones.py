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


def test_what_zones_exclude_is_refused(nandlab: Run) -> None:
    """Clients of NBD, alone or beside NVMe hosts; power cuts without a recovery."""
    sets = [f"{key}={value}" for key, value in ZONED.items()]
    line = ["--drive", "tiny", *(word for one in sets for word in ("--set", one))]
    for command in (["nbd", "--socket", "z.sock"], ["nvme", "--port", "0", "--socket", "z.sock"]):
        ended = nandlab(*command, *line)
        assert ended.code == 2
        carries(ended.err, "zones", "nandlab nvme")
    with (
        lab.serve("tiny", set=ZONED, clock="fast", protocol="nvme", port=0) as server,
        refused("recovery.name"),
    ):
        server.cut()
