"""`./lab`: says in three lines what is missing, and ends with 2."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cat", "dirname")


def lab(tmp_path: Path, *arguments: str, programs: dict[str, str]) -> tuple[int, str]:
    """Runs ./lab where only some programs exist; exit code and standard error."""
    for name in TOOLS:
        found = next(
            Path(folder, name) for folder in ("/bin", "/usr/bin") if Path(folder, name).exists()
        )
        (tmp_path / name).symlink_to(found)
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        [str(ROOT / "lab"), *arguments],
        env={"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stderr


def test_old_python(tmp_path: Path):
    code, err = lab(tmp_path, "demo", programs={"python3": "exit 1", "cargo": "exit 0"})
    assert code == 2
    assert len(err.splitlines()) == 3
    assert "3.10" in err


def test_no_cargo(tmp_path: Path):
    code, err = lab(tmp_path, "test", programs={"python3": "exit 0"})
    assert code == 2
    assert len(err.splitlines()) == 3
    assert "rustup" in err


@pytest.mark.parametrize("arguments", [[], ["dmeo"]])
def test_usage(tmp_path: Path, arguments: list[str]):
    code, err = lab(tmp_path, *arguments, programs={})
    assert code == 2
    assert "./lab demo" in err
