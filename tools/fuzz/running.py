"""Running of a case: its files in a folder, its steps one after another, what came of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from fuzz.case import Case, Command, Damage
from fuzz.child import Child
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice

PATIENCE_S = 10.0
"""How long a command may take before it is interrupted."""

GRACE_S = 60.0
"""How long it may take to end then: the machine may be a busy one."""


@dataclass
class Outcome:
    """What came of a command."""

    command: Command
    code: int | None
    """Exit code; below 0 a signal; None where it did not end."""
    out: str
    err: str
    seconds: float
    is_interrupted: bool
    """By the case, or because it took long."""
    before: dict[str, bytes] = field(default_factory=dict)
    """Files of the folder when it began."""
    after: dict[str, bytes] = field(default_factory=dict)
    inputs: frozenset[str] = frozenset()
    """Names of the files that the case began with."""

    @property
    def written(self) -> dict[str, bytes]:
        """Files that are new or other ones."""
        return {name: data for name, data in self.after.items() if self.before.get(name) != data}


def run(case: Case, folder: Path, is_stopped: Callable[[], bool]) -> list[Outcome] | None:
    """Runs the steps of a case in a folder that is made for it; None where that was stopped."""
    place = folder / "files"
    if place.exists():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    for name, data in case.files.items():
        (place / name).write_bytes(data)
    outcomes = []
    for number, step in enumerate(case.steps):
        if isinstance(step, Damage):
            path = place / step.name
            if path.is_file():
                path.write_bytes(damaged(path.read_bytes(), Dice(step.seed)))
            continue
        outcome = _run_one(step, place, folder, number, is_stopped)
        if outcome is None:
            return None
        outcome.inputs = frozenset(case.files)
        outcomes.append(outcome)
    return outcomes


def _run_one(
    command: Command, place: Path, folder: Path, number: int, is_stopped: Callable[[], bool]
) -> Outcome | None:
    """Runs a command."""
    before = contents(place)
    out, err = folder / f"{number}.out", folder / f"{number}.err"
    start = monotonic()
    to = Path("/dev/full") if command.is_out_full else out
    child = Child(command.arguments, place, to, err, is_fresh=command.is_fresh)
    is_interrupted = False
    code = child.wait(command.interrupt_s or PATIENCE_S, is_stopped)
    if code is None and not is_stopped():
        is_interrupted = True
        child.send(command.signal)
        code = child.wait(GRACE_S, is_stopped)
    if code is None:
        child.kill()
        if is_stopped():
            return None
    said, complained = (_text(path) for path in (out, err))
    seconds = monotonic() - start
    after = contents(place)
    return Outcome(command, code, said, complained, seconds, is_interrupted, before, after)


def contents(place: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else ""
