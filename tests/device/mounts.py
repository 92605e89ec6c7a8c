"""File systems on served drives: what this machine lets us mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.device.clients import needs


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
