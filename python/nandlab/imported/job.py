"""A fio job under construction: options with a comment above each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nandlab.imported.given import Given
from nandlab.imported.result import Unmatched
from nandlab.imported.written import commented, listed


@dataclass
class Job:
    """A section of a job file."""

    name: str
    given: Given
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def put(self, option: str, value: object, *names: str, how: str = "") -> None:
        """Sets an option.

        Args:
            option: of fio.
            value: of it.
            names: keys of the other simulator that it comes from.
            how: what else is to be said of it.
        """
        self.given.move(names, option)
        told = [self.given.spoken(name) for name in names] + ([how] if how else [])
        self.lines += [*commented(["; ".join(told)] if told else []), f"{option}={value}"]


def job_file(head: Sequence[str], jobs: Sequence[Job], unmatched: Sequence[Unmatched]) -> str:
    """The text of a job file."""
    notes = list(dict.fromkeys(note for job in jobs for note in job.notes))
    lines = [*commented(head), *listed(unmatched, notes)]
    for job in jobs:
        lines += ["", f"[{job.name}]", *job.lines]
    return "\n".join(lines) + "\n"
