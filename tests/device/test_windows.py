"""A host over NVMe turns the windows of a set, and the report tells of their requests."""

from __future__ import annotations

import random
import struct

import pytest

import nandlab as lab
from tests.device.nvme_host import Queue, attached

#: Two sets of two dies; the windows of the first are its own.
DRIVE = {
    "chip.geometry.pages_per_block": 16,
    "gc.background_free_blocks": 8,
    "namespace": [
        {"dies": 2, "windows": {"deterministic_ms": 500, "non_deterministic_ms": 40}},
        {"dies": 2},
    ],
}


def told(admin: Queue) -> tuple[int, int, int]:
    """Status of the first set, and writes and milliseconds that a window takes now."""
    rest = struct.pack("<IHH16x", 0x0A | 127 << 16, 0, 1)
    page = admin.command(0x02, 0xFFFFFFFF, rest, wanted=512).data
    _reads, writes, ms = struct.unpack_from("<QQQ", page, 128)
    return page[0], writes, ms


def enable(admin: Queue) -> int:
    rest = struct.pack("<III12x", 0x13, 1, 1)
    return admin.command(0x09, 0, rest, bytes(512)).status


def enabled(admin: Queue) -> int:
    return admin.command(0x0A, 0, struct.pack("<II16x", 0x13, 1), wanted=512).result


def ask(admin: Queue, window: int) -> int:
    return admin.command(0x09, 0, struct.pack("<III12x", 0x14, 1, window)).status


@pytest.mark.usefixtures("folder")
def test_a_host_turns_windows_and_writes_in_them() -> None:
    """Three windows that take what was told: each is kept, and their reads are the quiet ones."""
    rng = random.Random(1)
    drive = lab.Drive("tiny", set=DRIVE).precondition("steady")
    blocks = drive.capacity_bytes // 2 // 4096
    with (
        drive.serve(clock="fast", protocol="nvme", port=0) as server,
        attached(server.uri) as (admin, queue),
    ):

        def load(steps: int, share: float) -> int:
            writes = 0
            for _ in range(steps):
                block = 8 * rng.randrange(blocks)
                if rng.random() < share:
                    assert queue.write(block, bytes(4096)) == 0
                    writes += 1
                else:
                    queue.read(block, 8)
            return writes

        assert enable(admin) == 0
        for _ in range(3):
            load(1500, 0.3)
            assert told(admin)[0] == 2
            load(800, 0)
            assert ask(admin, 1) == 0
            while told(admin)[0] != 1:
                load(1, 0)
            left = told(admin)[1]
            assert left > 200
            while left > 0:
                left -= load(1, 0.3)
            status, _writes, ms = told(admin)
            assert status == 1
            assert 0 < ms < 500
            assert ask(admin, 2) == 0
        server.snapshot("hosted.nldrive")
        report = server.stop().to_dict()
    windows = report["windows"]
    assert (windows["sets"][0]["kept"], windows["sets"][0]["broken"]) == (3, 0)
    inside, outside = (windows[key]["read"]["latency_us"] for key in ("inside", "outside"))
    assert 2 * inside["p99_9"] < outside["p99_9"]
    # A saved drive is the host's as it was.
    with (
        lab.Drive.load("hosted.nldrive").serve(clock="fast", protocol="nvme", port=0) as server,
        attached(server.uri) as (admin, queue),
    ):
        assert enabled(admin) == 1
        assert (told(admin)[0], ask(admin, 1)) == (2, 0)
