"""Entry of the suite: `python -m suite test [--full]` or `python -m suite check`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from suite import rust
from suite.changes import Changes
from suite.steps import KEPT, ROOT, Failed, Step, Steps, Test, cores

CLIPPY = ("cargo", "clippy", "--quiet")
NO_WARNINGS = ("--", "-D", "warnings")
IDLE = ("nice", "-n", "19")
TIMES = KEPT / "pytest.xml"


def main() -> int:
    """Exit code: 0 where every step went well."""
    steps = Steps()
    try:
        match sys.argv[1:]:
            case ["check"]:
                check(steps, Changes.of_tree())
            case ["test"]:
                everything(steps, is_full=False)
            case ["test", "--full"]:
                everything(steps, is_full=True)
            case _:
                print("usage: python -m suite check | test [--full]", file=sys.stderr)
                return 2
    except Failed:
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        print(steps.table(), flush=True)
    return 0


def everything(steps: Steps, is_full: bool) -> None:
    """All that CI checks."""
    if is_full:
        # Long tests of random load take other seeds each day; the number repeats them.
        turn = os.environ.setdefault(rust.TURN, str(int(time.time() // 86_400)))
        print(f"seeds of {rust.TURN}={turn}", flush=True)
    steps.together(
        Step("Rust format", ("cargo", "fmt", "--all", "--check")),
        Step("Python format", ("ruff", "format", "--quiet", "--check", ".")),
        Step("Python lints", ("ruff", "check", "--quiet", ".")),
    )
    # Tests leave a core idle now and then; what waits for no clock takes only that.
    beside = (
        Step("Rust lints", (*IDLE, *CLIPPY, "--workspace", "--all-targets", *NO_WARNINGS)),
        Step("Python types", (*IDLE, "mypy")),
        Step("Stubs", (*IDLE, sys.executable, "-m", "suite.stubs")),
    )
    rust_tests(steps, None, ("--include-ignored",) if is_full else (), beside)
    python_tests(steps, ("--full",) if is_full else ())


def check(steps: Steps, changes: Changes) -> None:
    """What is worth running every few minutes: only what has changed."""
    print(changes.told(), flush=True)
    if changes.crates:
        packages = [f"--package=nandlab-{crate}" for crate in changes.crates]
        steps.one(Step("Rust format", ("cargo", "fmt", "--check", *packages)))
        steps.one(Step("Rust lints", (*CLIPPY, *packages, "--all-targets", *NO_WARNINGS)))
        if tested := rust.units(changes.crates):
            rust_tests(steps, tested, ())
    if changes.python:
        steps.one(Step("Python format", ("ruff", "format", "--quiet", "--check", *changes.python)))
        steps.one(Step("Python lints", ("ruff", "check", "--quiet", *changes.python)))
        steps.one(Step("Python types", ("mypy",)))
    if changes.tests:
        if any(path.startswith("python/") for path in changes.python):
            lay_over()
        if changes.crates:
            print("note: Python tests run with the engine as it is installed", flush=True)
        python_tests(steps, changes.tests)


def lay_over() -> None:
    """Lays the Python files of the tree over the installed package: its engine stays as it is.

    The engine is built anew by the next `./lab test`, which finds its stamp gone.
    """
    found = importlib.util.find_spec("nandlab")
    assert found is not None
    assert found.origin is not None
    (ROOT / ".venv/nandlab-stamp").unlink(missing_ok=True)
    package = Path(found.origin).parent
    left_out = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python/nandlab", package, dirs_exist_ok=True, ignore=left_out)
    for path in package.rglob("*.py"):
        if not (ROOT / "python/nandlab" / path.relative_to(package)).is_file():
            path.unlink()


def rust_tests(
    steps: Steps,
    selected: Sequence[Sequence[str]] | None,
    arguments: Sequence[str],
    beside: Sequence[Step] = (),
) -> None:
    """Builds Rust tests, all where none are selected, and runs them beside other steps."""
    built: list[rust.Binary] = []

    def build() -> bool:
        found = rust.build(selected)
        built.extend(found or [])
        return found is not None

    def run() -> bool:
        is_ok, tests = rust.run(built, arguments, is_kept=selected is None)
        steps.slowest += tests
        return is_ok

    steps.one(Step("Rust tests are built", build))
    tests = Step("Rust tests", run)
    if beside:
        steps.together(tests, *beside)
    else:
        steps.one(tests)


def python_tests(steps: Steps, arguments: Sequence[str]) -> None:
    """Runs Python tests: all of them, or those that the arguments name."""
    # Each worker begins with whole files, so that what their tests share is made once, and takes
    # over what others have not begun when it has no more.
    spread = ("--numprocesses", str(cores()), "--dist", "worksteal")
    command = (sys.executable, "-m", "pytest", *spread, f"--junitxml={TIMES}", *arguments)
    TIMES.unlink(missing_ok=True)
    try:
        steps.one(Step("Python tests", command))
    finally:
        steps.slowest += python_times()


def python_times() -> list[Test]:
    """Seconds of each Python test of the last run."""
    if not TIMES.is_file():
        return []
    cases = ElementTree.parse(TIMES).getroot().iter("testcase")
    return [
        Test(float(case.get("time", 0)), f"{case.get('classname')}::{case.get('name')}")
        for case in cases
    ]


if __name__ == "__main__":
    sys.exit(main())
