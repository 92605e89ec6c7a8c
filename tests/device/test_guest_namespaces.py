"""A Linux kernel and nvme-cli use several namespaces of a served drive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nandlab as lab
from tests.device.guest.connected import DISK, connected
from tests.device.guest.machine import Guest

#: Namespaces of 48 MiB each, one of them with blocks of 4,096 bytes, and room for a third.
DRIVE = {
    "chip.geometry.pages_per_block": 16,
    "ftl.overprovisioning": 0.5,
    "namespace": [{"share": 0.4}, {"share": 0.4, "block_bytes": 4096}],
}
SECOND, THIRD = "/dev/nvme0n2", "/dev/nvme0n3"


@contextmanager
def served(guest: Guest) -> Iterator[lab.Server]:
    """The drive, connected to the guest."""
    with (
        lab.serve("tiny", set=DRIVE, clock="fast", protocol="nvme", port=0) as server,
        connected(guest, server),
    ):
        guest.run(f"while [ ! -b {SECOND} ]; do sleep 0.1; done")
        yield server


def told(guest: Guest, command: str) -> Any:
    """What nvme-cli tells as JSON."""
    text = guest.run(f"nvme {command} -o json")
    return json.loads(text[text.index("{") :])


def listed(guest: Guest, options: str = "") -> list[int]:
    """Identifiers of the namespaces."""
    return [it["nsid"] for it in told(guest, f"list-ns /dev/nvme0 {options}")["nsid_list"]]


def test_each_namespace_has_a_file_system(guest: Guest) -> None:
    """ext4 on two namespaces of one drive at once, each with a file that stays as it was."""
    with served(guest) as server:
        assert listed(guest) == [1, 2]
        for disk, block in ((DISK, "512"), (SECOND, "4096")):
            assert guest.run(f"blockdev --getss {disk}").strip() == block
            guest.run(f"mkfs.ext4 -q -F {disk}")
        guest.run(f"mkdir -p /a /b && mount {DISK} /a && mount {SECOND} /b")
        guest.run("dd if=/dev/urandom of=/a/file bs=1M count=8")
        guest.run("cp /a/file /b/file && sync && echo 3 > /proc/sys/vm/drop_caches")
        guest.run("cmp /a/file /b/file && umount /a /b")
        for disk in (DISK, SECOND):
            guest.run(f"e2fsck -f -n {disk}")
        report = server.stop().to_dict()
        assert list(report["device"]["namespaces"]) == ["1", "2"]
        for counts in report["device"]["namespaces"].values():
            assert counts["write"]["bytes"] > 8 << 20
            assert counts["read"]["latency_us"]["p99"] > 0
        queues = report["device"]["queues"].values()
        written = sum(queue["write"]["bytes"] for queue in queues)
        of_namespaces = report["device"]["namespaces"].values()
        assert written == sum(counts["write"]["bytes"] for counts in of_namespaces)


def test_nvme_cli_makes_and_deletes_a_namespace(guest: Guest) -> None:
    """A third namespace comes and goes: the kernel follows without a new connection."""
    with served(guest):
        before = int(told(guest, "id-ctrl /dev/nvme0")["unvmcap"])
        made = guest.run("nvme create-ns /dev/nvme0 --nsze=16384 --ncap=16384 --flbas=0 --nmic=1")
        assert "nsid:3" in made
        assert int(told(guest, "id-ctrl /dev/nvme0")["unvmcap"]) == before - (8 << 20)
        assert listed(guest) == [1, 2]
        assert listed(guest, "--all") == [1, 2, 3]
        controller = told(guest, "id-ctrl /dev/nvme0")["cntlid"]
        guest.run(f"nvme attach-ns /dev/nvme0 --namespace-id=3 --controllers={controller}")
        guest.run(f"while [ ! -b {THIRD} ]; do sleep 0.1; done")
        assert listed(guest) == [1, 2, 3]
        guest.run(f"yes | head -c 1048576 | dd of={THIRD} bs=64k oflag=direct conv=fsync")
        guest.run("nvme delete-ns /dev/nvme0 --namespace-id=3")
        guest.run(f"while [ -b {THIRD} ]; do sleep 0.1; done")
        assert listed(guest, "--all") == [1, 2]
        # Who gets its place finds nothing of it.
        guest.run("nvme create-ns /dev/nvme0 --nsze=16384 --ncap=16384 --flbas=0 --nmic=1")
        guest.run(f"nvme attach-ns /dev/nvme0 --namespace-id=3 --controllers={controller}")
        guest.run(f"while [ ! -b {THIRD} ]; do sleep 0.1; done")
        guest.run(f"head -c 1048576 {THIRD} | cmp -n 1048576 - /dev/zero")
        guest.run(f"nvme detach-ns /dev/nvme0 --namespace-id=3 --controllers={controller}")
        guest.run(f"while [ -b {THIRD} ]; do sleep 0.1; done")
        output, status = guest.tried("nvme delete-ns /dev/nvme0 --namespace-id=9")
        assert status != 0
        assert "Invalid Field" in output


def test_nvme_cli_formats_and_sanitizes(guest: Guest) -> None:
    """A format changes the blocks of its namespace, and a sanitization empties all of them."""
    with served(guest):
        for disk in (DISK, SECOND):
            guest.run(f"yes | head -c 1048576 | dd of={disk} bs=64k oflag=direct conv=fsync")
        guest.run(f"nvme format {DISK} --lbaf=1 --ses=1 --force")
        guest.run(f"until [ $(blockdev --getss {DISK}) = 4096 ]; do sleep 0.1; done")
        assert told(guest, f"id-ns {DISK}")["flbas"] == 1
        guest.run(f"head -c 1048576 {DISK} | cmp -n 1048576 - /dev/zero")
        assert guest.run(f"head -c 2 {SECOND}") == "y\n"
        guest.run("nvme sanitize /dev/nvme0 --sanact=2")
        guest.run("echo 3 > /proc/sys/vm/drop_caches")
        log = next(iter(told(guest, "sanitize-log /dev/nvme0").values()))
        assert log["sprog"] == 65535
        assert log["sstat"]["global_erased"] == 1
        assert log["sstat"]["status"].startswith("(1)")
        guest.run(f"head -c 1048576 {SECOND} | cmp -n 1048576 - /dev/zero")
        output, status = guest.tried("nvme sanitize /dev/nvme0 --sanact=3 --ovrpat=1")
        assert status != 0
        assert "Invalid Field" in output


def test_nvme_cli_copies_compares_and_spoils_blocks(guest: Guest) -> None:
    """Copy, Compare, Verify, and Write Uncorrectable, whose blocks fail until they are written."""
    with served(guest):
        guest.run(f"yes | head -c 65536 | dd of={DISK} bs=64k oflag=direct conv=fsync")
        guest.run("yes | head -c 4096 > /tmp/expected")
        guest.run(f"nvme copy {DISK} --sdlba=1000 --slbs=0,64 --blocks=3,3")
        compare = f"nvme compare {DISK} --block-count=7 --data-size=4096 --data=/tmp/expected"
        guest.run(f"{compare} --start-block=1000")
        output, status = guest.tried(f"{compare} --start-block=1001")
        assert status != 0
        assert "Compare Failure" in output
        guest.run(f"nvme verify {DISK} --start-block=0 --block-count=127")
        guest.run(f"nvme write-uncor {DISK} --start-block=8 --block-count=0")
        output, status = guest.tried(f"nvme verify {DISK} --start-block=0 --block-count=127")
        assert status != 0
        assert "Unrecovered Read Error" in output
        _, status = guest.tried(f"dd if={DISK} of=/dev/null bs=4096 count=2 iflag=direct")
        assert status != 0
        guest.run(f"dd if=/dev/zero of={DISK} bs=512 seek=8 count=1 oflag=direct conv=fsync")
        guest.run(f"nvme verify {DISK} --start-block=0 --block-count=127")
