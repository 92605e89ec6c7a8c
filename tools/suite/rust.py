"""Rust tests: one build, then each binary with the seconds of its tests.

What the tests print is kept in one file: `tools/regen.py` reads the rows of `docs/validation.md`
there, so that no test runs a second time for them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from suite.steps import KEPT, ROOT, Test

TURN = "NANDLAB_TURN"
"""Variable that makes tests large: set, they take all of their cases, of a turn of this number."""

WHOLE = ("--workspace", "--tests", "--examples")
"""Everything that the default suite builds: a Python test runs one of the examples."""


class Binary(NamedTuple):
    """A test binary."""

    path: str
    folder: str
    """Where its tests expect to run: the folder of its crate."""
    name: str
    """Crate and target, as `ssd main`."""


def build(selected: Sequence[str] = WHOLE) -> list[Binary] | None:
    """Compiles tests; None where that fails, with the compiler's own words on standard error."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics"]
    ended = subprocess.run(
        [*command, *selected], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode:
        return None
    found = []
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        if said["reason"] == "compiler-artifact" and said["executable"] and said["profile"]["test"]:
            folder = Path(said["manifest_path"]).parent
            found.append(
                Binary(said["executable"], str(folder), f"{folder.name} {said['target']['name']}")
            )
    return sorted(found, key=lambda binary: binary.name)


def run(
    binaries: Sequence[Binary], arguments: Sequence[str] = (), *, is_kept: bool = False
) -> tuple[bool, list[Test]]:
    """Runs the tests of all binaries; whether all pass, and the seconds of each.

    Their output is kept where all tests of the workspace run, and pass.

    The seconds come from an option of the test harness that is not stable; `RUSTC_BOOTSTRAP` lets
    the stable harness take it.
    """
    options = ["-Zunstable-options", "--report-time", "--show-output", *arguments]
    tests: list[Test] = []
    printed = []
    is_ok = True
    for binary in binaries:
        ended = subprocess.run(
            [binary.path, *options],
            cwd=binary.folder,
            env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        printed.append(ended.stdout)
        tests += tests_of(binary.name, ended.stdout)
        if ended.returncode:
            is_ok = False
            print(ended.stdout[ended.stdout.find("\nfailures:") + 1 :], file=sys.stderr)
        for line in re.findall(r"^test result: .*$", ended.stdout, re.M):
            print(f"{binary.name}: {line}", flush=True)
    if is_kept and is_ok:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept().write_text("".join(printed), encoding="utf-8")
    return is_ok, tests


def kept() -> Path:
    """Output of the tests of the last run of them all: of the default one, or of that of a turn."""
    return KEPT / ("rust-tests-full.txt" if TURN in os.environ else "rust-tests.txt")


def is_fresh() -> bool:
    """Whether what the tests printed is of the sources as they are."""
    if not kept().is_file():
        return False
    printed_at = kept().stat().st_mtime
    files = [path for name in ("crates", "params") for path in (ROOT / name).rglob("*.*")]
    return all(path.stat().st_mtime < printed_at for path in files)


def tests_of(name: str, printed: str) -> list[Test]:
    """Seconds of each test that a binary has reported."""
    found = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. \w+ <([\d.]+)s>$", printed, re.M)
    return [Test(float(seconds), f"{name} {test}") for test, seconds in found]
