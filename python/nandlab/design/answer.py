"""Answer of a design: the cheapest drive, what binds it, and what would change it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.catalogue import load_config
from nandlab.design.race import FAILED, HOLDS, Candidate
from nandlab.design.space import ALIKE, Space
from nandlab.design.tail import Tail
from nandlab.design.target import Target
from nandlab.given.arguments import path_or_none
from nandlab.lint.check import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Step(NamedTuple):
    """A limit at which a cheaper drive would hold."""

    limit: float
    price: float


@dataclass(frozen=True)
class Answer:
    """Result of a design."""

    target: Target
    space: Space
    tried: Sequence[Candidate]
    """Drives that were looked at, cheapest first."""
    best: Candidate | None
    """The cheapest that holds; None where none of the space does."""
    tail: Tail | None
    """Cause of the slowest requests of the cheapest drive, where a percentile is limited."""
    findings: Sequence[Finding]
    """Assumptions of the cheapest drive and of its workload that may mislead."""
    runs: int
    """Runs that the verdicts rest on."""
    run_s: float
    """Wall time of these runs, added up."""

    @property
    def binding(self) -> str | None:
        """The target with the least margin, of the cheapest drive."""
        if self.best is None:
            return None
        figures = self.best.figures
        return min(figures, key=lambda name: figures[name].margin)

    @property
    def cheaper(self) -> list[Candidate]:
        """Drives of the winner's price or less that do not hold, the dearest first."""
        most = inf if self.best is None else self.best.price
        return [one for one in reversed(self.tried) if one.verdict != HOLDS and one.price <= most]

    @property
    def assumed(self) -> dict[str, float]:
        """Prices that the winner's price rests on and that the target does not give."""
        if self.best is None:
            return {}
        task = self.space.tasks[id(self.best)]
        config = load_config(task.drive, task.sets).config
        return self.target.prices.assumed(config, self.best.parts)

    def steps(self) -> dict[str, list[Step]]:
        """Sensitivity of the price to each target: limits at which cheaper drives would hold.

        Only drives that miss this target and no other in whole runs count: one that its capacity,
        a closed form or short runs have put out was not measured further. Such a drive would hold
        at the worse end of its interval. The first step of a target is the smallest change.
        """
        found: dict[str, list[Step]] = {}
        for one in self.tried:
            missed = one.missed
            saves = self.best is None or one.price * ALIKE < self.best.price
            is_measured = one.stage == "runs" and one.verdict not in (HOLDS, FAILED)
            if saves and is_measured and len(missed) == 1:
                figure = one.figures[missed[0]]
                worst = figure.low if figure.is_least else figure.high
                found.setdefault(missed[0], []).append(Step(worst, one.price))
        for name, steps in found.items():
            limit = self.target.limits[name]
            kept: list[Step] = []
            for step in sorted(steps, key=lambda each: (abs(each.limit - limit), each.price)):
                if not kept or step.price < kept[-1].price:
                    kept.append(step)
            found[name] = kept
        return found

    def without(self) -> dict[str, float]:
        """Price of the cheapest measured drive that misses one target alone, by that target."""
        return {name: steps[-1].price for name, steps in self.steps().items()}

    def command(self, one: Candidate) -> str:
        """A command that runs a candidate again, on its own seed."""
        given = self.target.given
        settings: dict[str, Any] = {}
        for axis in given.axes:
            settings.update(axis.settings(one.axes[axis.path]))
        words = ["nandlab", "run", "--drive", self._placed(settings.pop("drive", given.drive))]
        for key, value in given.run.items():
            text = self._placed(value) if key in ("workload", "trace") else _word(value)
            words += [f"--{key.replace('_', '-')}", text]
        if given.seed is not None:
            words += ["--seed", str(given.seed)]
        for text in [*given.sets, *(f"{key}={_word(value)}" for key, value in settings.items())]:
            words += ["--set", text]
        return shlex.join(words)

    def to_dict(self) -> dict[str, Any]:
        """All of it as tables and lists."""
        return {
            "drives": len(self.space.candidates),
            "refused": self.space.refused,
            "tried": len(self.tried),
            "runs": self.runs,
            "run_s": self.run_s,
            "best": None if self.best is None else self._facts(self.best),
            "binding": self.binding,
            "tail": None if self.tail is None else self.tail._asdict(),
            "steps": {
                name: [one._asdict() for one in steps] for name, steps in self.steps().items()
            },
            "without": self.without(),
            "cheaper": [self._facts(one) for one in self.cheaper],
            "assumed_prices": self.assumed,
            "findings": [one._asdict() for one in self.findings],
        }

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Drives by price and dearest figure, and what each target costs, also into `path`."""
        from nandlab.design.plot import plot_answer

        return plot_answer(self, path_or_none("plot", path))

    def __str__(self) -> str:
        from nandlab.design.page import lines_of

        return "\n".join(lines_of(self))

    def _placed(self, name: str) -> str:
        """A path of the target file as seen from here; a preset or the text of jobs as it is."""
        is_path = "\n" not in name and (self.target.given.folder / name).is_file()
        return str(self.target.given.folder / name) if is_path else name

    def _facts(self, one: Candidate) -> dict[str, Any]:
        figures = {
            name: {
                **{key: getattr(each, key) for key in ("mean", "low", "high", "limit")},
                "margin": each.margin if isfinite(each.margin) else None,
                "verdict": each.verdict,
            }
            for name, each in one.figures.items()
        }
        facts = ("axes", "price", "parts", "verdict", "stage", "why", "doubts", "replicates")
        return {key: getattr(one, key) for key in facts} | {
            "figures": figures,
            "lived": one.lived,
            "command": self.command(one),
        }


def _word(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
