"""Dies of a served drive fail under a database: every read is answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nandlab as lab
from tests.conftest import refused
from tests.device.clients import SMALL
from tests.device.mounts import WRITER, loop_device, needs_file_systems, root, rows

#: Bytes are really encoded and decoded.
DRIVE = {
    **SMALL,
    "ftl.superblock_dies": 0,
    "ftl.gc_reserve_blocks": 2,
    "gc.start_free_blocks": 4,
    "ecc.model": "exact",
    "ecc.code": "bch_512_t40",
    "chip.geometry.spare_bytes": 2048,
}


@pytest.mark.parametrize(("dies", "room"), [([2], 2.0), ([2, 0], 5.0)])
def test_a_database_survives_the_failure_of_dies(
    folder: Path, dies: list[int], room: float
) -> None:
    """Every row is there while the dies are rebuilt, and every byte is read after that, under load.

    Both times other rows are written meanwhile; ext4 and SQLite stay whole.
    """
    needs_file_systems(folder)
    place = folder / "mounted"
    place.mkdir()
    database = place / "rows.db"
    drive = {**DRIVE, "parity.pages": len(dies), "ftl.overprovisioning": room}
    capacity = lab.Drive("tiny", set=drive).capacity_bytes
    with lab.serve("tiny", set=drive, clock="fast") as server:
        with loop_device(server.uri, folder) as loop:
            root("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop)
            root("mount", "-o", "errors=remount-ro", loop, place)
            try:
                writer = [sys.executable, "-c", WRITER, str(database), "WAL"]
                with subprocess.Popen(writer, stdout=subprocess.PIPE) as process:
                    assert process.stdout is not None
                    written = 0
                    while written < 150:
                        written = int(process.stdout.readline())
                        if written == 50:
                            for die in dies:
                                server.fail_die(die)
                            with refused("fail_die", "die 2", "already"):
                                server.fail_die(2)
                            assert rows(database) >= written
                    process.kill()
            finally:
                root("umount", "--lazy", place)
        # Nothing of it is in the memory of the kernel.
        with loop_device(server.uri, folder) as loop:
            root("e2fsck", "-p", loop, may=(0, 1))
            root("e2fsck", "-f", "-n", loop)
            root("mount", loop, place)
            try:
                is_rebuilt_ns = server.status().now_ns
                writer = [sys.executable, "-c", WRITER, str(place / "others.db"), "WAL"]
                with subprocess.Popen(writer, stdout=subprocess.PIPE) as process:
                    assert process.stdout is not None
                    assert process.stdout.readline() == b"1\n"
                    assert rows(database) >= written
                    with Path(loop).open("rb") as disk:
                        read = sum(map(len, iter(lambda: disk.read(1 << 20), b"")))
                    assert process.poll() is None
                    process.kill()
                assert read == capacity
                assert rows(place / "others.db") > 0
            finally:
                root("umount", place)
        report = server.stop().to_dict()
    parity = report["ftl"]["parity"]
    assert [failed["die"] for failed in parity["failed_dies"]] == dies
    for failed in parity["failed_dies"]:
        assert failed["failed_s"] < failed["rebuilt_s"] <= is_rebuilt_ns / 1e9
    assert parity["rebuilt_reads"] > 0
    assert parity["lost_reads"] == 0
    assert report["host"]["requests_failed"] == 0
