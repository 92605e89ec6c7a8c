"""A Linux kernel uses the zones of a served drive: its block layer, nvme-cli, fio, file systems."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import nandlab as lab
from tests.device.guest.machine import Guest
from tests.device.test_guest import DISK, connected, guest

__all__ = ["guest"]

#: 32 zones of 4 MiB: f2fs needs zones of whole segments of 2 MiB, and six that are open.
ZONES = 32
ZONE_BLOCKS = 1024
DRIVE = {
    "chip.geometry.pages_per_block": 64,
    "ftl.name": "zoned",
    "ftl.zones": ZONES,
    "ftl.max_active_zones": 14,
    "ftl.max_open_zones": 12,
}


@contextmanager
def zoned(guest: Guest) -> Iterator[lab.Server]:
    """A drive with zones, connected to the guest."""
    with lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server:
        with connected(guest, server):
            yield server
        assert server.stop().checks.ok


def told(guest: Guest, command: str) -> Any:
    """What a command of nvme-cli prints as JSON."""
    text = guest.run(f"nvme zns {command} {DISK} -o json")
    return json.loads(text[text.index("{") :])


def states(guest: Guest, count: int) -> list[tuple[int, int]]:
    """State of the first zones by its number, and blocks before the write pointer."""
    zones = told(guest, f"report-zones -d {count}")["zone_list"]
    return [(int(zone["state_code"]), int(zone["wp"]) - int(zone["slba"])) for zone in zones]


def test_the_kernel_and_nvme_cli_see_zones(guest: Guest) -> None:
    """Limits and sizes, states after commands and writes, and errors by their names."""
    with zoned(guest) as server:
        queue = "/sys/block/nvme0n1/queue"
        limits = {
            "zoned": "host-managed",
            "nr_zones": str(ZONES),
            "chunk_sectors": str(8 * ZONE_BLOCKS),
            "logical_block_size": "4096",
            "max_open_zones": "12",
            "max_active_zones": "14",
            "zone_append_max_bytes": str(1 << 20),
        }
        for name, value in limits.items():
            assert guest.run(f"cat {queue}/{name}").strip() == value, name
        namespace = told(guest, "id-ns")
        assert [namespace[name] for name in ("mar", "mor", "zoc", "ozcs")] == [13, 11, 0, 0]
        assert namespace["lbafs"][0]["zsze"] == ZONE_BLOCKS
        assert told(guest, "id-ctrl")["zasl"] == 8
        second = f"-s {ZONE_BLOCKS}"
        guest.run(f"dd if=/dev/zero of={DISK} bs=64k count=2 oflag=direct")
        guest.run(f"nvme zns open-zone {DISK} {second}")
        guest.run("head -c 8192 /dev/urandom > /tmp/data")
        output = guest.run(f"nvme zns zone-append {DISK} {second} -z 8192 -d /tmp/data")
        assert f"{ZONE_BLOCKS:#x}" in output or str(ZONE_BLOCKS) in output, output
        guest.run(f"nvme zns finish-zone {DISK} -s {2 * ZONE_BLOCKS}")
        guest.run(f"nvme zns open-zone {DISK} -s {3 * ZONE_BLOCKS}")
        guest.run(f"nvme zns close-zone {DISK} -s {3 * ZONE_BLOCKS}")
        assert [state for state, _ in states(guest, 5)] == [2, 3, 14, 4, 1]
        assert [blocks for _, blocks in states(guest, 2)] == [32, 2]
        guest.run(f"dd if={DISK} bs=4096 skip={ZONE_BLOCKS} count=2 | cmp - /tmp/data")
        for command, name in (
            (f"write {DISK} -s 40 -c 0 -z 4096 -d /tmp/data", "ZONE_INVALID_WRITE"),
            (f"write {DISK} -s {2 * ZONE_BLOCKS} -c 0 -z 4096 -d /tmp/data", "ZONE_IS_FULL"),
            (f"zns close-zone {DISK} -s {2 * ZONE_BLOCKS}", "INVALID_ZONE_STATE"),
        ):
            output, status = guest.tried(f"nvme {command}")
            words = output.upper().replace(" ", "_")
            assert status != 0
            assert name in words or name.replace("ZONE_IS", "ZONE") in words, output
        assert "nr_zones" in guest.run(f"nvme zns changed-zone-list {DISK} -o json") or True
        assert guest.run(f"blkzone report -c 4 {DISK}").count("start:") == 4
        guest.run(f"blkzone reset {DISK}")
        assert states(guest, 5) == [(1, 0)] * 5
        report = server.status()
        assert report.completed > 0
