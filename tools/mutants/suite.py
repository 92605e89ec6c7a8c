"""Suite: a part of the tests, run in a process group with limits, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple

from suite.rust import Binary

from mutants.list import ROOT, Refused
from mutants.schema import VARIABLE

MOST_KIB = 12 << 20
"""Addresses of a process, as `ulimit -v` takes them: a fault may ask for memory without end."""

WHOLE = "pytest:--ignore=tests/house"
"""All tests in Python but those of the tree, whose files the copy has changed."""

_LAST = 400
"""Characters of the output that an error repeats."""


class Outcome(NamedTuple):
    """The end of a suite."""

    how: str
    """``passed``, ``failed``, ``timeout``, ``empty`` (no test has run), or ``stopped``."""
    test: str
    """The first test that has failed; empty where the output names none."""
    seconds: float
    said: str
    """The end of the output."""


class Bench:
    """The tests of a copy that has been built."""

    def __init__(self, folder: Path, programs: Sequence[Binary], jobs: int) -> None:
        self._folder = folder.resolve()
        self._programs = {f"cargo:{one.package}:{one.target}": one for one in programs}
        self._threads = str(max((os.cpu_count() or 1) // jobs, 1))
        self._running: set[int] = set()
        self._is_stopped = False
        self._lock = Lock()

    def all(self) -> list[str]:
        """The suites that make up all tests: a program of Rust each, then those in Python."""
        return [*self._programs, WHOLE]

    def run(self, suite: str, mutant: str, limit_s: float) -> Outcome:
        """Runs a suite with a mutant awake, or with none where its name is empty.

        Raises:
            Refused: there is no such suite.
        """
        command, folder = self._command(suite)
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        environment |= {
            "RUST_TEST_THREADS": self._threads,
            # A failure that is kept would be tried first with the next mutant.
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }
        environment.setdefault("NANDLAB_TRACES", str(ROOT.parent / "shared" / "traces"))
        if mutant:
            environment[VARIABLE] = mutant
        start = monotonic()
        with tempfile.TemporaryFile() as output:
            code = self._code(command, folder, environment, output.fileno(), limit_s)
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        how = "stopped" if self._is_stopped else _how(suite, code, said)
        return Outcome(how, _first_failure(said), monotonic() - start, said[-_LAST:].strip())

    def stop(self) -> None:
        """Ends every suite that runs, and those that would begin."""
        with self._lock:
            self._is_stopped = True
            for group in self._running:
                _end(group)

    def _command(self, suite: str) -> tuple[list[str], Path]:
        kind, _, rest = suite.partition(":")
        if kind == "pytest":
            python = self._folder / ".venv" / "bin" / "python"
            if not python.exists():
                raise Refused(f"{suite}: there is no {python}")
            options = ["-x", "-rfE", "-p", "no:cacheprovider"]
            return [str(python), "-m", "pytest", *options, *rest.split()], self._folder
        parts = suite.split(":", 3)
        program = self._programs.get(":".join(parts[:3]))
        if program is None:
            raise Refused(f"{suite}: no such test program; expected: {', '.join(self._programs)}")
        return [program.path, *parts[3:]], Path(program.folder)

    def _code(
        self,
        command: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        output: int,
        limit_s: float,
    ) -> int | None:
        """The exit code of a command; below 0 a signal; None where it did not end."""
        limited = ["sh", "-c", f'ulimit -v {MOST_KIB}; exec "$@"', "sh", *command]
        with self._lock:
            if self._is_stopped:
                return None
            process = subprocess.Popen(
                limited,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            self._running.add(process.pid)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with self._lock:
                # Whatever a failed test has left behind goes too.
                _end(process.pid)
                self._running.discard(process.pid)
            process.wait()


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _how(suite: str, code: int | None, said: str) -> str:
    if code is None:
        return "timeout"
    is_pytest = suite.startswith("pytest:")
    # 4 and 5 of pytest: no such file, no test.
    if is_pytest and code in (4, 5):
        return "empty"
    if code:
        return "failed"
    # A whole program may have no tests; a part that is named has some.
    is_named = is_pytest or suite.count(":") > 2
    has_passed = re.search(r"\b[1-9]\d* passed\b", said) is not None
    return "passed" if has_passed or not is_named else "empty"


def _first_failure(said: str) -> str:
    found = re.search(r"^test (\S+) .*\.\.\. FAILED$|^(?:FAILED|ERROR) (\S+)", said, re.M)
    if found is None:
        found = re.search(r"^thread '([^']+)'.* panicked at()", said, re.M)
    return (found[1] or found[2]) if found else ""
