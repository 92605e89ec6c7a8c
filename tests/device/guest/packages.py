"""Debian's kernel and the programs of this machine that a guest is made of."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.device.guest import initramfs

#: Made once, and kept beside what ./lab installs.
CACHE = Path(__file__).parents[3] / ".lab/guest"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

#: Modules of the kernel: a network card, NVMe over TCP, file systems, and files as disks.
MODULES = ["e1000", "nvme_tcp", "ext4", "f2fs", "zonefs", "loop"]
#: Programs that go into the guest, and their Debian packages.
PROGRAMS = {
    "nvme": "nvme-cli",
    "fio": "fio",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "mkfs.f2fs": "f2fs-tools",
    "blkzone": "util-linux",
    "losetup": "util-linux",
}
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static"}


def found(program: str) -> Path | None:
    """Path of a program, those of the administrator included."""
    path = shutil.which(program, path=PATH)
    return None if path is None else Path(path)


def kernel() -> Path:
    """Folder with the unpacked package of Debian's newest kernel, downloaded once (70 MB).

    The test is skipped where the package cannot be had.
    """
    folder = CACHE / "kernel"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)

    def told(*command: str) -> str:
        ended = subprocess.run(
            command, cwd=CACHE, capture_output=True, text=True, timeout=300, check=True
        )
        return ended.stdout

    try:
        depends = told("apt-cache", "depends", "linux-image-amd64")
        name = next(
            line.split()[1] for line in depends.splitlines() if "Depends: linux-image" in line
        )
        told("apt-get", "download", name)
        package = next(CACHE.glob(f"{name}_*.deb"))
        told("dpkg-deb", "-x", package.name, "kernel.part")
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        pytest.skip(f"no kernel of Debian here: {error}")
    package.unlink()
    return (CACHE / "kernel.part").rename(folder)


def made() -> tuple[Path, Path]:
    """Kernel and root file system of a guest. The test is skipped where a part cannot be had."""
    if platform.machine() != "x86_64":
        pytest.skip("guests are x86-64 machines, and emulated nowhere else")
    packages = {**PROGRAMS, **TOOLS}
    missing = sorted({packages[name] for name in packages if found(name) is None})
    if missing:
        pytest.skip(f"no {', '.join(missing)} here (names of Debian's packages)")
    folder = kernel()
    modules = initramfs.with_depends(folder / "lib/modules", MODULES)
    image = CACHE / "initramfs.cpio"
    programs = [path for name in PROGRAMS if (path := found(name)) is not None]
    busybox = found("busybox")
    assert busybox is not None
    initramfs.build(image, modules, programs, busybox)
    return next((folder / "boot").glob("vmlinuz-*")), image
