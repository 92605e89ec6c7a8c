"""Case: files, and the commands that are run on them one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Command:
    """A command line of `nandlab`."""

    arguments: list[str]
    interrupt_s: float | None = None
    """Seconds after which it gets `signal`."""
    signal: str = "SIGINT"
    is_fresh: bool = False
    """In a Python of its own. Otherwise in a fork of one that has imported nandlab: much faster."""
    is_out_full: bool = False
    """Standard output is a full device."""


@dataclass
class Damage:
    """A change of a file that an earlier command has written."""

    name: str
    seed: str


Step = Command | Damage


@dataclass
class Case:
    """What one draw stands for."""

    seed: int
    number: int
    kind: str
    files: dict[str, bytes] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    is_repeated: bool = False
    """Everything is done twice; both must give the same."""

    @property
    def name(self) -> str:
        """Name of the folder of a failure."""
        return f"{self.seed}-{self.number}-{self.kind}"

    def facts(self) -> dict[str, Any]:
        """Everything but the contents of the files, for JSON."""
        return {
            "seed": self.seed,
            "number": self.number,
            "kind": self.kind,
            "is_repeated": self.is_repeated,
            "steps": [vars(step) for step in self.steps],
        }

    @classmethod
    def of(cls, facts: dict[str, Any], files: dict[str, bytes]) -> Case:
        """The case of `facts` and its files."""
        steps: list[Step] = [
            Command(**step) if "arguments" in step else Damage(**step) for step in facts["steps"]
        ]
        return cls(
            facts["seed"], facts["number"], facts["kind"], files, steps, facts["is_repeated"]
        )
