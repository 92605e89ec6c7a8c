"""A die of a served drive fails under a database: every read is answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nandlab as lab
from tests.conftest import refused
from tests.device.clients import SMALL
from tests.device.mounts import WRITER, loop_device, needs_file_systems, root, rows

#: Bytes are really encoded and decoded; there is room for the failure of a die.
DRIVE = {
    **SMALL,
    "parity.pages": 1,
    "ftl.superblock_dies": 0,
    "ftl.gc_reserve_blocks": 2,
    "gc.start_free_blocks": 4,
    "ftl.overprovisioning": 2.0,
    "ecc.model": "exact",
    "ecc.code": "bch_512_t40",
    "chip.geometry.spare_bytes": 2048,
}


def test_a_database_survives_the_failure_of_a_die(folder: Path) -> None:
    """Ext4 and SQLite are whole, and every row is there, before and after the rebuild."""
    needs_file_systems(folder)
    place = folder / "mounted"
    place.mkdir()
    database = place / "rows.db"
    with lab.serve("tiny", set=DRIVE, clock="fast") as server:
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
                            server.fail_die(2)
                            with refused("fail_die", "die 2", "already"):
                                server.fail_die(2)
                    process.kill()
            finally:
                root("umount", "--lazy", place)
        # Nothing of it is in the memory of the kernel.
        with loop_device(server.uri, folder) as loop:
            root("e2fsck", "-p", loop, may=(0, 1))
            root("e2fsck", "-f", "-n", loop)
            root("mount", loop, place)
            try:
                assert rows(database) >= written
            finally:
                root("umount", place)
        report = server.stop().to_dict()
    parity = report["ftl"]["parity"]
    assert parity["failed_dies"][0]["die"] == 2
    assert parity["rebuilt_reads"] > 0
    assert parity["lost_reads"] == 0
    assert report["host"]["requests_failed"] == 0
