"""Root file system of a guest: busybox, programs of this machine, and modules of a kernel."""

import re
import shutil
import subprocess
from pathlib import Path

#: First process of the guest: devices, a network card, and a shell at the serial port.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
while read -r module; do insmod "$module"; done < /modules
ifconfig lo up; ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up; route add default gw 10.0.2.2
stty -echo -onlcr
echo @@ready@@
while IFS= read -r line; do eval "$line"; done
"""

LIBRARY = re.compile(r"(/\S+)")
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


def with_depends(folder: Path, names: list[str]) -> list[Path]:
    """Modules of a kernel under `folder`, each behind those that it depends on.

    A module names what it depends on in its section `.modinfo`. Modules without a file are built
    into the kernel.
    """
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    found: list[Path] = []

    def add(name: str) -> None:
        path = files.get(name.replace("-", "_"))
        if path is None or path in found:
            return
        depends = DEPENDS.search(path.read_bytes())
        for other in (depends[1].decode() if depends else "").split(","):
            add(other)
        # ext4 and f2fs ask for these by an alias, which no daemon of the guest answers.
        for other in {"ext4": ["crc32c_generic"], "f2fs": ["crc32_generic"]}.get(name, []):
            add(other)
        found.append(path)

    for name in names:
        add(name)
    return found


def libraries(program: Path) -> list[Path]:
    """Shared libraries of a program, and its loader."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in LIBRARY.findall(listed) if Path(path).exists()]


def build(image: Path, modules: list[Path], programs: list[Path], busybox: Path) -> None:
    """Write the root file system of a guest as a cpio archive.

    The guest would take longer to decompress it, under emulation, than to read it.
    """
    root = image.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    for name in (
        "bin",
        "sbin",
        "proc",
        "sys",
        "dev",
        "tmp",
        "mnt",
        "lib/modules",
        "usr/bin",
        "usr/sbin",
        "etc",
    ):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    for module in modules:
        shutil.copy(module, root / "lib/modules" / module.name)
    (root / "modules").write_text("".join(f"/lib/modules/{module.name}\n" for module in modules))
    for program in programs:
        for file in [program, *libraries(program)]:
            to = root / file.relative_to("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.resolve(), to)
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*"))) + "\n"
    archive = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"],
        cwd=root,
        input=names.encode(),
        capture_output=True,
        check=True,
    ).stdout
    image.write_bytes(archive)
    shutil.rmtree(root)
