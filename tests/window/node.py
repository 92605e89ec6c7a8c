"""Modules of the page in Node, without a browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")

with_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def evaluated(script: str, folder: Path) -> str:
    """Output of a module that lies in a folder."""
    assert NODE is not None
    file = folder / "asked.mjs"
    file.write_text(script)
    ended = subprocess.run([NODE, file], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
