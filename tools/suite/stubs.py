"""Compares the stub of the engine with the engine: `python -m suite.stubs`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from suite.steps import ROOT

STUB = ROOT / "python/nandlab/_core.pyi"


def main() -> int:
    """Exit code of mypy's stubtest.

    The stub stands alone in a package of this name: beside the others, mypy would read all of them
    first, which takes as long again.
    """
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "nandlab"
        package.mkdir()
        (package / "__init__.pyi").touch()
        shutil.copy(STUB, package)
        command = [sys.executable, "-m", "mypy.stubtest", "nandlab._core"]
        return subprocess.run(
            command, env={**os.environ, "MYPYPATH": folder}, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
