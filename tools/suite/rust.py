"""Rust tests: their builds, then each binary with the seconds of its tests.

What the tests print is kept in one file: `tools/regen.py` reads the rows of `docs/validation.md`
there, so that no test runs a second time for them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from suite.steps import KEPT, ROOT, Test

TURN = "NANDLAB_TURN"
"""Variable that makes tests large: set, they take all of their cases, of a turn of this number."""

INTEGRATION = ("--workspace", "--test=*", "--examples")
"""Tests beside the crates, and what the Python tests run of Rust."""

LIGHT = ("ssd",)
"""Crates whose unit tests compute little: they are compiled without optimization, which takes a
quarter of the time. What they use of other crates is optimized, and shared with all other tests."""


class Binary(NamedTuple):
    """A test binary."""

    path: str
    folder: str
    """Where its tests expect to run: the folder of its crate."""
    package: str
    target: str
    """`lib` for the tests within a crate, whatever it is called."""

    @property
    def name(self) -> str:
        """Crate and target, as `ssd main`."""
        return f"{self.package.removeprefix('nandlab-')} {self.target}"


def units(crates: Iterable[str]) -> list[tuple[str, ...]]:
    """Arguments of cargo, for each of its calls, that build the tests within crates."""
    # The doors to Python have no tests of their own.
    tested = [crate for crate in crates if crate != "py"]
    optimized = [f"--package=nandlab-{crate}" for crate in tested if crate not in LIGHT]
    # In one call, crates are compiled side by side.
    calls = [(*optimized, "--lib")] if optimized else []
    for crate in tested:
        if crate in LIGHT:
            level = f"--config=profile.dev.package.nandlab-{crate}.opt-level=0"
            calls.append((f"--package=nandlab-{crate}", "--lib", level))
    return calls


def whole() -> list[tuple[str, ...]]:
    """Arguments of cargo, for each of its calls, that build everything in the default suite."""
    crates = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))
    return [INTEGRATION, *units(crates)]


def build(
    selected: Sequence[Sequence[str]] | None = None, folder: Path = ROOT
) -> list[Binary] | None:
    """Compiles tests, all by default, in the tree or in a copy of it.

    None where that fails, with the compiler's own words on standard error.
    """
    found: list[Binary] = []
    for arguments in whole() if selected is None else selected:
        command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics"]
        ended = subprocess.run(
            [*command, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True, check=False
        )
        if ended.returncode:
            return None
        found += told(ended.stdout.splitlines())
    return sorted(set(found), key=lambda binary: binary.name)


def told(messages: Iterable[str]) -> list[Binary]:
    """The test binaries that messages of cargo name."""
    found = []
    for line in messages:
        said: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if said.get("reason") != "compiler-artifact" or not said["profile"]["test"]:
            continue
        kinds = said["target"]["kind"]
        if said["executable"] and "example" not in kinds:
            # path+file:///folder#package@version
            package = said["package_id"].rpartition("#")[2].partition("@")[0]
            folder = str(Path(said["manifest_path"]).parent)
            target = said["target"]["name"] if "test" in kinds else "lib"
            found.append(Binary(said["executable"], folder, package, target))
    return found


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
