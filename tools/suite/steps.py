"""Steps of a suite: each runs, is timed, and ends the suite where it fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "target" / "suite"
"""Folder of what the steps leave behind: output of Rust tests, times of Python tests."""


class Test(NamedTuple):
    """One test that was run."""

    seconds: float
    name: str


class Step(NamedTuple):
    """A named command, or a function that returns whether it went well."""

    name: str
    run: Sequence[str] | Callable[[], bool]


class Took(NamedTuple):
    """A step that has ended."""

    name: str
    seconds: float
    is_ok: bool


class Failed(Exception):
    """A step went wrong: the suite ends."""


class Steps:
    """The steps of one suite, in order."""

    def __init__(self) -> None:
        self.took: list[Took] = []
        self.slowest: list[Test] = []
        self.start = time.monotonic()

    def one(self, step: Step) -> None:
        """Runs a step, whose output is seen as it comes."""
        print(f"== {step.name}", flush=True)
        began = time.monotonic()
        is_ok = step.run() if callable(step.run) else _runs(step.run)
        self._ended(step, time.monotonic() - began, is_ok)

    def together(self, *steps: Step) -> None:
        """Runs steps side by side; what commands say is shown at the end, functions print alone."""
        print(f"== Side by side: {', '.join(step.name for step in steps)}", flush=True)
        with ThreadPoolExecutor(len(steps)) as pool:
            for step, (seconds, is_ok, said) in zip(steps, pool.map(_quietly, steps), strict=True):
                print(f"== {step.name}", flush=True)
                print(said, end="" if said.endswith("\n") or not said else "\n", flush=True)
                self._ended(step, seconds, is_ok)

    def _ended(self, step: Step, seconds: float, is_ok: bool) -> None:
        self.took.append(Took(step.name, seconds, is_ok))
        print(f"   {step.name}: {seconds:.1f} s", flush=True)
        if not is_ok:
            print(f"FAILED: {step.name}", file=sys.stderr)
            raise Failed(step.name)

    def table(self) -> str:
        """Seconds of each step, and the slowest tests."""
        lines = ["", "seconds  step"]
        lines += [
            f"{took.seconds:7.1f}  {took.name}{'' if took.is_ok else ' (failed)'}"
            for took in self.took
        ]
        lines += [f"{time.monotonic() - self.start:7.1f}  in all, without the installation"]
        if self.slowest:
            lines += ["", "seconds  slowest tests"]
            lines += [f"{t.seconds:7.1f}  {t.name}" for t in sorted(self.slowest)[:-11:-1]]
        return "\n".join(lines)


def _runs(command: Sequence[str]) -> bool:
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _quietly(step: Step) -> tuple[float, bool, str]:
    """Seconds, success and output of a command; a function has printed its own."""
    began = time.monotonic()
    if callable(step.run):
        is_ok = step.run()
        return time.monotonic() - began, is_ok, ""
    ended = subprocess.run(
        step.run,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return time.monotonic() - began, ended.returncode == 0, ended.stdout


def cores() -> int:
    """Processor cores of this machine."""
    return os.cpu_count() or 1
