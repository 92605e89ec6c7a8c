"""NBD clients of the distribution, and a drive that is small enough for them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

#: 100 MiB of host bytes.
SMALL = {"chip.geometry.pages_per_block": 8}


#: Where a distribution puts clients, and the Python that its nbdsh needs.
CLIENTS = {**os.environ, "PATH": "/usr/bin:/bin:/usr/local/bin"}


def needs(*tools: str) -> None:
    """Skips the test where a client is not installed."""
    missing = [tool for tool in tools if shutil.which(tool, path=CLIENTS["PATH"]) is None]
    if "nbdsh" in tools and not missing:
        told = subprocess.run(["nbdsh", "-c", "1"], env=CLIENTS, capture_output=True, check=False)
        missing = ["python3-libnbd"] if told.returncode else []
    if missing:
        packages = "libnbd-bin, python3-libnbd, qemu-utils, fio"
        pytest.skip(f"no {', '.join(missing)} here (Debian: {packages})")


def client(*arguments: str | Path, timeout_s: float = 60) -> str:
    """What a client prints; it must end well."""
    ended = subprocess.run(
        [*map(str, arguments)],
        env=CLIENTS,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
