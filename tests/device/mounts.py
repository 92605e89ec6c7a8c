"""File systems and databases on served drives: what this machine lets us mount."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.device.clients import CLIENTS, needs
from tests.waiting import until


def root(*arguments: str | Path, may: tuple[int, ...] = (0,)) -> str:
    """A command that needs root, and the exit codes that it may end with."""
    path = {**os.environ, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    ended = subprocess.run(
        [*map(str, arguments)], env=path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode in may, (arguments, ended.returncode, ended.stdout + ended.stderr)
    return ended.stdout.strip()


def can_mount(folder: Path) -> bool:
    """Whether this machine lets us mount a file system on a loop device, and use FUSE."""
    image, place = folder / "try.img", folder / "try"
    place.mkdir()
    image.write_bytes(bytes(8 << 20))
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
        root("mkfs.ext4", "-q", image)
        root("mount", "-o", "loop", image, place)
        root("umount", place)
    except (OSError, AssertionError):
        return False
    return True


def needs_file_systems(folder: Path) -> None:
    """Skips the test where file systems cannot be mounted."""
    needs("nbdfuse")
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    tools = ("mkfs.ext4", "e2fsck", "losetup", "mount")
    missing = [tool for tool in tools if shutil.which(tool, path=path) is None]
    if missing or os.geteuid() != 0 or not can_mount(folder):
        pytest.skip("ext4 on a served drive needs root, /dev/fuse, loop devices and e2fsprogs")


@contextmanager
def loop_device(uri: str, folder: Path) -> Iterator[str]:
    """A block device of the kernel: a loop device on the file that nbdfuse shows."""
    place = folder / "fuse"
    place.mkdir(exist_ok=True)
    with subprocess.Popen(
        ["nbdfuse", str(place / "disk"), uri], env=CLIENTS, stderr=subprocess.DEVNULL
    ) as fuse:
        loop = ""
        try:
            until(lambda: (place / "disk").exists(), what="file of nbdfuse")
            loop = root("losetup", "--find", "--show", place / "disk")
            yield loop
        finally:
            if loop:
                root("losetup", "--detach", loop, may=(0, 1))
            root("umount", "--lazy", place, may=(0, 1, 32))
            fuse.kill()


#: With FULL, a rollback journal may come back whose deletion was the commit of the last row: SQLite
#: promises that row with EXTRA alone.
WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA journal_mode={sys.argv[2]}")
connection.execute("PRAGMA synchronous=EXTRA")
connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, data BLOB)")
last = connection.execute("SELECT COALESCE(MAX(n), 0) FROM t").fetchone()[0]
for n in range(last + 1, last + 100_000):
    connection.execute("INSERT INTO t VALUES (?, randomblob(700))", (n,))
    print(n, flush=True)
"""


def rows(database: Path) -> int:
    """Rows of a database that is whole."""
    connection = sqlite3.connect(database)
    try:
        [[told]] = connection.execute("PRAGMA integrity_check").fetchall()
        assert told == "ok"
        [[last, count]] = connection.execute("SELECT MAX(n), COUNT(n) FROM t").fetchall()
        assert last == count
        return int(count)
    finally:
        connection.close()
