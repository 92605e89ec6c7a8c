"""A Linux kernel uses the zones of a served drive: its block layer, nvme-cli, fio, file systems."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import nandlab as lab
from tests.device.guest.connected import DISK, connected
from tests.device.guest.machine import Guest

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


#: The same with a recovery, which keeps blocks for itself.
RECOVERING = {
    **DRIVE,
    "chip.geometry.blocks_per_plane": 96,
    "ftl.zone_bytes": 4 << 20,
    "recovery.name": "scan_pages",
}
#: The same zones on two dies, and a namespace on the others that is written anywhere.
MIXED = {
    "chip.geometry.pages_per_block": 64,
    "namespace": [
        {"dies": 2},
        {
            "dies": 2,
            "ftl": {"name": "zoned", "zone_bytes": 4 << 20, "max_active_zones": 12},
        },
    ],
}
#: Random write areas of 16 blocks for two zones, with commits of 4 blocks.
AREAS = {"ftl.zrwa_bytes": 65536, "ftl.zrwa_flush_bytes": 16384, "ftl.zrwa_zones": 2}


@contextmanager
def zoned(guest: Guest, more: dict[str, int] | None = None) -> Iterator[lab.Server]:
    """A drive with zones, connected to the guest."""
    given = DRIVE | (more or {})
    with lab.serve("tiny", set=given, clock="fast", protocol="nvme", port=0) as server:
        with connected(guest, server):
            yield server
        assert server.stop().checks.ok


def told(guest: Guest, command: str) -> Any:
    """What a command of nvme-cli prints as JSON."""
    text = guest.run(f"nvme zns {command} {DISK} -o json")
    return json.loads(text[text.index("{") :])


def zones(guest: Guest, count: int) -> list[tuple[str, int]]:
    """States of the first zones, and blocks before their write pointers."""
    listed = told(guest, f"report-zones -d {count}")["zone_list"]
    return [(zone["state"], int(zone["wp"]) - int(zone["slba"])) for zone in listed]


def test_the_kernel_and_nvme_cli_see_zones(guest: Guest) -> None:
    """Limits and sizes, states after commands and writes, and errors by their names."""
    with zoned(guest):
        limits = {
            "nvme0n1/queue/zoned": "host-managed",
            "nvme0n1/queue/nr_zones": str(ZONES),
            "nvme0n1/queue/chunk_sectors": str(8 * ZONE_BLOCKS),
            "nvme0n1/queue/logical_block_size": "4096",
            "nvme0n1/queue/zone_append_max_bytes": str(1 << 20),
            # Of the path to the drive: a disk of several paths does not tell them.
            "nvme0c*n1/queue/max_open_zones": "12",
            "nvme0c*n1/queue/max_active_zones": "14",
        }
        for name, value in limits.items():
            assert guest.run(f"cat /sys/block/{name}").strip() == value, name
        namespace = told(guest, "id-ns")
        assert [namespace[name] for name in ("mar", "mor", "zoc", "ozcs")] == [13, 11, 0, 0]
        assert namespace["lbafe"] == [{"zsze": ZONE_BLOCKS, "zdes": 0}]
        assert told(guest, "id-ctrl")["zasl"] == 8
        second = f"-s {ZONE_BLOCKS}"
        guest.run(f"dd if=/dev/zero of={DISK} bs=64k count=2 oflag=direct")
        guest.run(f"nvme zns open-zone {DISK} {second}")
        guest.run("head -c 8192 /dev/urandom > /tmp/data")
        output = guest.run(f"nvme zns zone-append {DISK} {second} -z 8192 -d /tmp/data")
        assert f"LBA {ZONE_BLOCKS:x}" in output
        guest.run(f"nvme zns finish-zone {DISK} -s {2 * ZONE_BLOCKS}")
        guest.run(f"nvme zns open-zone {DISK} -s {3 * ZONE_BLOCKS}")
        guest.run(f"nvme zns close-zone {DISK} -s {3 * ZONE_BLOCKS}")
        states = zones(guest, 5)
        assert [name for name, _ in states] == [
            "IMP_OPENED",
            "EXP_OPENED",
            "FULL",
            "CLOSED",
            "EMPTY",
        ]
        assert [blocks for _, blocks in states[:2]] == [32, 2]
        guest.run(f"dd if={DISK} bs=4096 skip={ZONE_BLOCKS} count=2 | cmp - /tmp/data")
        for command, name in (
            (f"write {DISK} -s 40 -c 0 -z 4096 -d /tmp/data", "Zone Invalid Write"),
            (f"write {DISK} -s {2 * ZONE_BLOCKS} -c 0 -z 4096 -d /tmp/data", "Zone Is Full"),
            (f"zns close-zone {DISK} -s {2 * ZONE_BLOCKS}", "Invalid Zone State Transition"),
        ):
            output, status = guest.tried(f"nvme {command}")
            assert status != 0
            assert name in output
        assert re.search(r"nrzid:\s+0", guest.run(f"nvme zns changed-zone-list {DISK}"))
        assert guest.run(f"blkzone report -c 4 {DISK}").count("start:") == 4
        guest.run(f"blkzone reset {DISK}")
        assert zones(guest, 5) == [("EMPTY", 0)] * 5


def test_a_namespace_with_zones_stands_beside_one_with_a_file_system(guest: Guest) -> None:
    """ext4 on the first namespace, fio on the zones of the second, at the same time."""
    zoned_disk = "/dev/nvme0n2"
    with lab.serve("tiny", set=MIXED, clock="fast", protocol="nvme", port=0) as server:
        with connected(guest, server):
            guest.run(f"while [ ! -b {zoned_disk} ]; do sleep 0.1; done")
            listed = guest.run("nvme list")
            assert DISK in listed
            assert zoned_disk in listed
            kinds = [guest.run(f"cat /sys/block/nvme0n{n}/queue/zoned").strip() for n in (1, 2)]
            assert kinds == ["none", "host-managed"]
            guest.run(f"mkfs.ext4 -q -F {DISK} && mount -t ext4 {DISK} /mnt")
            guest.run("head -c 3145728 /dev/urandom > /mnt/a && cp /mnt/a /tmp/a && sync")
            guest.run(
                f"fio --name=a --filename={zoned_disk} --zonemode=zbd --rw=write --bs=64k"
                " --size=16m --direct=1 --verify=crc32c --verify_fatal=1 --do_verify=1"
            )
            output, status = guest.tried(f"nvme zns report-zones {DISK}")
            assert status != 0, output
            guest.run(f"cp /mnt/a /mnt/b && sync && umount /mnt && e2fsck -f -n {DISK}")
            guest.run(f"mount -t ext4 {DISK} /mnt")
            guest.run("cmp /mnt/a /tmp/a && cmp /mnt/b /tmp/a && umount /mnt && rm /tmp/a")
            guest.run(f"blkzone reset {zoned_disk}")
        assert server.stop().checks.ok


@pytest.mark.long
def test_nvme_cli_uses_random_write_areas(guest: Guest) -> None:
    """Its decoding of areas, blocks written in any order and anew, commits, and errors by name."""
    with zoned(guest, AREAS):
        namespace = told(guest, "id-ns")
        fields = ("ozcs", "numzrwa", "zrwafg", "zrwasz", "zrwacap")
        assert [namespace[name] for name in fields] == [2, 1, 4, 16, 1]
        guest.run("head -c 8192 /dev/urandom > /tmp/a; head -c 4096 /dev/urandom > /tmp/b")
        guest.run(f"nvme zns open-zone {DISK} -s 0 --zrwaa")
        guest.run(f"nvme write {DISK} -s 8 -c 1 -z 8192 -d /tmp/a")
        guest.run(f"nvme write {DISK} -s 3 -c 0 -z 4096 -d /tmp/a")
        guest.run(f"nvme write {DISK} -s 9 -c 0 -z 4096 -d /tmp/b")
        assert zones(guest, 1) == [("EXP_OPENED", 0)]
        assert "attrs: 0x8" in guest.run(f"nvme zns report-zones {DISK} -d 1").lower()
        guest.run(f"nvme zns zrwa-flush-zone {DISK} -l 11")
        assert zones(guest, 1) == [("EXP_OPENED", 12)]
        guest.run(f"dd if={DISK} bs=4096 skip=9 count=1 iflag=direct | cmp - /tmp/b")
        guest.run(f"dd if={DISK} bs=4096 count=3 iflag=direct | cmp -n 12288 - /dev/zero")
        # Seven blocks beyond the area commit two granules.
        guest.run("dd if=/dev/zero of=/tmp/c bs=4096 count=16")
        guest.run(f"nvme write {DISK} -s 19 -c 15 -z 65536 -d /tmp/c")
        assert zones(guest, 1) == [("EXP_OPENED", 20)]
        guest.run(f"nvme zns open-zone {DISK} -s {ZONE_BLOCKS} --zrwaa")
        for command, name in (
            (f"zns open-zone {DISK} -s {2 * ZONE_BLOCKS} --zrwaa", "ZRWA Resources Unavailable"),
            (f"zns zone-append {DISK} -s 0 -z 4096 -d /tmp/b", "0x41b6"),
            (f"write {DISK} -s 19 -c 0 -z 4096 -d /tmp/b", "Zone Invalid Write"),
            (f"zns zrwa-flush-zone {DISK} -l 21", "0x4002"),
        ):
            output, status = guest.tried(f"nvme {command}")
            assert status != 0
            assert name.lower() in output.lower()


@pytest.mark.long
def test_fio_writes_zones_and_finds_it_again(guest: Guest) -> None:
    """Sequential and random writes in zones, checked by their checksums."""
    with zoned(guest):
        for name, more in (("write", "--bs=64k"), ("randwrite", "--bsrange=4k-32k")):
            guest.run(
                f"fio --name=a --filename={DISK} --zonemode=zbd --rw={name} {more} --size=16m"
                " --max_open_zones=4 --direct=1 --ioengine=libaio --iodepth=8 --verify=crc32c"
                " --verify_fatal=1 --do_verify=1"
            )
        assert guest.run(f"blkzone report {DISK}").count("(fu)") >= 1


def test_zonefs_writes_its_files(guest: Guest) -> None:
    """Each zone is a file: written in order, kept, emptied and made full by truncations.

    Synchronous writes, which zonefs makes of appends, fail in this kernel on any drive, its own
    `null_blk` included: it compares their place with a pointer that it has moved before.
    """
    block = bytearray(struct.pack("<I", 0x5A4F4653).ljust(4096, b"\0"))
    # The kernel's checksum is not inverted at its end.
    block[4:8] = struct.pack("<I", zlib.crc32(block) ^ 0xFFFFFFFF)
    octal = "".join(f"\\{byte:03o}" for byte in block[:8])
    with zoned(guest) as server:
        guest.run(f"printf '{octal}' > /tmp/block; truncate -s 4096 /tmp/block")
        guest.run(f"dd if=/tmp/block of={DISK} bs=4096 oflag=direct; blkzone finish -c 1 {DISK}")
        guest.run(f"mount -t zonefs {DISK} /mnt")
        assert int(guest.run("ls /mnt/seq | wc -l")) == ZONES - 1
        guest.run(
            "fio --name=a --filename=/mnt/seq/0 --rw=write --bs=64k --size=512k --direct=1"
            " --ioengine=libaio --iodepth=1 --fallocate=none --allow_file_create=0"
            " --create_on_open=1 --verify=crc32c --verify_fatal=1"
        )
        guest.run(f"umount /mnt && mount -t zonefs {DISK} /mnt")
        assert int(guest.run("stat -c %s /mnt/seq/0")) == 512 << 10
        assert zones(guest, 2)[1][1] == 128
        guest.run(f"truncate -s 0 /mnt/seq/0; truncate -s {4096 * ZONE_BLOCKS} /mnt/seq/1")
        assert [state for state, _ in zones(guest, 3)] == ["FULL", "EMPTY", "FULL"]
        guest.run("umount /mnt")
        assert server.status().failed == 0


def test_f2fs_lives_on_zones(guest: Guest) -> None:
    """Its metadata are on another device; a file is the same after a new connection."""
    with lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server:
        with connected(guest, server):
            guest.run("truncate -s 48M /tmp/meta && /usr/sbin/losetup -b 4096 /dev/loop0 /tmp/meta")
            guest.run(f"mkfs.f2fs -q -f -m -c {DISK} /dev/loop0")
            guest.run("mount -t f2fs /dev/loop0 /mnt")
            for step in range(10):
                guest.run(f"dd if=/dev/urandom of=/mnt/file{step % 2} bs=1M count=12 conv=fsync")
            assert any(blocks for _, blocks in zones(guest, ZONES))
            written = guest.run("sha256sum /mnt/file0 /mnt/file1")
            guest.run("umount /mnt")
        with connected(guest, server):
            guest.run("mount -t f2fs /dev/loop0 /mnt")
            assert guest.run("sha256sum /mnt/file0 /mnt/file1") == written
            guest.run("umount /mnt && losetup -d /dev/loop0")
        result = server.stop()
    device = result.to_dict()["device"]
    assert result.checks.ok
    assert (device["requests"]["zone_reset"] > 0, device["failed_requests"]) == (True, 0)


def test_what_f2fs_has_synced_survives_a_power_cut(guest: Guest) -> None:
    """The kernel waits for the drive; no zone is open then, and f2fs goes on.

    Nothing is under way: Linux repeats writes that were carried out and not answered, which are
    not at the write pointer any more.
    """
    with (
        lab.serve("tiny", set=RECOVERING, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        guest.run("truncate -s 48M /tmp/meta && /usr/sbin/losetup -b 4096 /dev/loop0 /tmp/meta")
        guest.run(f"mkfs.f2fs -q -f -m -c {DISK} /dev/loop0")
        guest.run("mount -t f2fs /dev/loop0 /mnt")
        guest.run("dd if=/dev/urandom of=/mnt/synced bs=1M count=6 conv=fsync")
        written = guest.run("sha256sum /mnt/synced")
        guest.run("dd if=/dev/zero of=/mnt/other bs=64k count=64; sync")
        before = zones(guest, ZONES)
        server.cut()
        server.restore()
        closed = {"IMP_OPENED": "CLOSED", "EXP_OPENED": "CLOSED"}
        # A read waits until the kernel has connected again.
        guest.run(f"dd if={DISK} of=/dev/null bs=4096 count=1 iflag=direct")
        after = zones(guest, ZONES)
        assert after == [(closed.get(state, state), blocks) for state, blocks in before]
        assert any(state == "CLOSED" for state, _ in after)
        guest.run("dd if=/dev/urandom of=/mnt/later bs=1M count=6 conv=fsync")
        guest.run("umount /mnt && mount -t f2fs /dev/loop0 /mnt")
        assert guest.run("sha256sum /mnt/synced") == written
        guest.run("umount /mnt && losetup -d /dev/loop0")
        result = server.stop()
    assert result.checks.ok
