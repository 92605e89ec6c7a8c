"""Keeper: the folder of a failure, with all that is needed to run it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from fuzz.case import Case, Command
from fuzz.running import Outcome


def keep(case: Case, outcomes: list[Outcome], problems: list[str], root: Path) -> Path:
    """Writes the folder of a failure: inputs, steps, command lines, outputs, what is broken."""
    folder = root / case.name
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    for name, data in case.files.items():
        (inputs / name).write_bytes(data)
    (folder / "case.json").write_text(json.dumps(case.facts(), indent=1))
    (folder / "problems.txt").write_text("\n".join(problems) + "\n", "utf-8", "backslashreplace")
    lines = [
        "nandlab " + shlex.join(step.arguments)
        if isinstance(step, Command)
        else f"# {step.name} is damaged, by the dice of {step.seed}"
        for step in case.steps
    ]
    text = "\n".join([*lines, "# Again: ./lab fuzz --again " + shlex.quote(str(folder))])
    (folder / "commands.sh").write_text(text + "\n", "utf-8", "backslashreplace")
    for number, outcome in enumerate(outcomes):
        kept = folder / f"step-{number}"
        kept.mkdir(exist_ok=True)
        for name, said in (("stdout", outcome.out), ("stderr", outcome.err)):
            (kept / name).write_text(said, "utf-8", "backslashreplace")
        ended = f"{outcome.code} after {outcome.seconds:.1f} s"
        (kept / "exit").write_text(f"{ended}{', interrupted' * outcome.is_interrupted}\n")
        for name, data in outcome.written.items():
            path = kept / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return folder


def kept(folder: Path) -> Case:
    """The case of such a folder."""
    files = {path.name: path.read_bytes() for path in (folder / "inputs").iterdir()}
    return Case.of(json.loads((folder / "case.json").read_text()), files)
