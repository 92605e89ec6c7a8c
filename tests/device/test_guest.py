"""A Linux kernel connects to a served drive over NVMe/TCP, and uses it as a disk."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest

import nandlab as lab
from tests.device.guest.connected import DISK, at, connected
from tests.device.guest.machine import Guest

#: 120 MiB of host bytes, with room for what a power cut costs.
DRIVE = {
    "chip.geometry.pages_per_block": 16,
    "ftl.overprovisioning": 0.5,
    "recovery.name": "scan_blocks",
}
UNITS = ("data_units_written", "data_units_read")


def pages(guest: Guest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pages of SMART, and of SMART of the Open Compute Project, as nvme-cli reads them."""
    smart = guest.run("nvme smart-log -o json /dev/nvme0")
    ocp = guest.run("nvme ocp smart-add-log -o json /dev/nvme0")
    first, second = (json.loads(text[text.index("{") :]) for text in (smart, ocp))
    return first, second


def wide(ocp: dict[str, Any], name: str) -> int:
    """A figure of 128 bits, which nvme-cli gives in halves."""
    return int(ocp[name]["hi"]) << 64 | int(ocp[name]["lo"])


def test_nvme_cli_reads_what_the_drive_says(guest: Guest) -> None:
    """Discovery, identification, formats, features, and figures of the log pages."""
    with lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server:
        name = urlsplit(server.uri).path[1:]
        records = json.loads(guest.run(f"nvme discover {at(server)} -o json"))["records"]
        assert [record["subnqn"] for record in records] == [name]
        with connected(guest, server):
            capacity = lab.Drive("tiny", set=DRIVE).capacity_bytes
            controller = json.loads(guest.run("nvme id-ctrl /dev/nvme0 -o json"))
            namespace = json.loads(guest.run(f"nvme id-ns {DISK} -o json"))
            assert controller["mn"].strip() == "nandlab drive"
            assert controller["subnqn"] == name
            assert namespace["nsze"] * 512 == capacity
            assert int(guest.run(f"blockdev --getsize64 {DISK}")) == capacity
            assert int(guest.run("cat /sys/block/nvme0n1/queue/minimum_io_size")) == 4096
            assert "Supported" in guest.run("nvme supported-log-pages /dev/nvme0")
            assert re.search(
                "Volatile Write Cache", guest.run("nvme get-feature /dev/nvme0 -f 6 -H")
            )
            before, _ = pages(guest)
            guest.run(f"dd if=/dev/zero of={DISK} bs=1M count=32 oflag=direct conv=fsync")
            guest.run(f"dd if={DISK} of=/dev/null bs=1M count=16 iflag=direct")
            smart, ocp = pages(guest)
            # Units of 1,000 blocks of 512 bytes.
            moved = {name: int(smart[name]) - int(before[name]) for name in UNITS}
            assert moved["data_units_written"] in (65, 66)
            assert moved["data_units_read"] in (32, 33, 34)
            assert [
                int(smart[name]) for name in ("percent_used", "media_errors", "unsafe_shutdowns")
            ] == [0, 0, 0]
            assert wide(ocp, "Physical media units written") >= 32 << 20


def test_errors_are_those_of_nvme(guest: Guest) -> None:
    """A read beyond the end is refused with the status of NVMe, and no error of the medium."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        blocks = json.loads(guest.run(f"nvme id-ns {DISK} -o json"))["nsze"]
        # By the command's words themselves, as `nvme read` does not ask the drive.
        read = f"nvme io-passthru {DISK} -o 2 -n 1 -l 512 -r --cdw10={blocks} --cdw12=0"
        output, status = guest.tried(read)
        assert status != 0
        assert "LBA Out of Range" in output
        assert int(pages(guest)[0]["media_errors"]) == 0
        output, status = guest.tried("nvme get-log /dev/nvme0 -i 0x70 -l 512")
        assert status != 0
        assert "Log Page" in output


def test_a_file_system_holds_its_files(guest: Guest) -> None:
    """ext4 and f2fs: a file is the same after a new connection, and ext4 passes its check."""
    with lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server:
        for kind, make in (("ext4", "mkfs.ext4 -q -F"), ("f2fs", "mkfs.f2fs -q -f")):
            with connected(guest, server):
                guest.run(f"{make} {DISK} && mount -t {kind} {DISK} /mnt")
                guest.run("dd if=/dev/urandom of=/mnt/file bs=1M count=8")
                written = guest.run("sha256sum /mnt/file")
                guest.run("umount /mnt")
            with connected(guest, server):
                guest.run(f"mount -t {kind} {DISK} /mnt")
                assert guest.run("sha256sum /mnt/file") == written
                guest.run("umount /mnt")
                if kind == "ext4":
                    guest.run(f"e2fsck -f -n {DISK}")
        assert server.stop().checks.ok


@pytest.mark.parametrize("options", ["", "--hdr-digest --data-digest"])
def test_fio_finds_what_it_wrote(guest: Guest, options: str) -> None:
    """Writes at depth 16 through the kernel, a trim, and the digests of the transport."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server, options),
    ):
        guest.run(
            f"fio --name=a --filename={DISK} --size=8m --bs=512-64k --rw=randwrite --direct=1"
            " --ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1"
        )
        guest.run(f"blkdiscard -o 0 -l 4194304 {DISK}")
        guest.run(f"head -c 4194304 {DISK} | cmp -n 4194304 - /dev/zero")


def test_what_ext4_has_synced_survives_a_power_cut(guest: Guest) -> None:
    """The kernel waits for the drive; its file system is whole, and the synced file is there."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        guest.run(f"mkfs.ext4 -q -F {DISK} && mount -t ext4 {DISK} /mnt")
        guest.run("dd if=/dev/urandom of=/mnt/synced bs=1M count=4 conv=fsync")
        written = guest.run("sha256sum /mnt/synced")
        guest.run("touch /tmp/go")
        copies = "while [ -e /tmp/go ]; do dd if=/dev/zero of=/mnt/other bs=64k count=64; done"
        guest.run(f"({copies}) > /dev/null 2>&1 & sleep 1")
        server.cut()
        server.restore()
        guest.run("rm /tmp/go; wait; umount /mnt")
        # A mount replays the journal; nothing else is repaired.
        guest.run(f"mount -t ext4 {DISK} /mnt && umount /mnt && e2fsck -f -n {DISK}")
        guest.run(f"mount -t ext4 {DISK} /mnt")
        assert guest.run("sha256sum /mnt/synced") == written
        guest.run("umount /mnt")
        assert int(pages(guest)[0]["unsafe_shutdowns"]) == 1
