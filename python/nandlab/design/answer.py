"""Answer of a design: the cheapest drive, what binds it, and what cheaper ones miss."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from nandlab.design.race import FAILED, HOLDS, UNDECIDED, Candidate
from nandlab.design.tail import Tail
from nandlab.design.target import Target

MOST_SHOWN = 5
"""Cheaper drives that the page shows, the dearest first."""


@dataclass(frozen=True)
class Answer:
    """Result of a design."""

    target: Target
    tried: Sequence[Candidate]
    """Drives that were looked at, cheapest first."""
    best: Candidate | None
    """The cheapest that holds; None where none of the space does."""
    tail: Tail | None
    """Cause of the slowest requests of the cheapest drive, where a percentile is limited."""
    drives: int
    """Drives of the space that can be built."""
    refused: Sequence[str]
    """Why the other drives of the space cannot be built."""
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
        return [one for one in reversed(self.tried) if one.verdict != HOLDS]

    def without(self) -> dict[str, float]:
        """Price of the cheapest drive where one target alone is dropped, by that target.

        Only drives that miss this target and no other count: a drive that short runs or its
        capacity have put out was not measured further, and an undecided one is none that holds.
        """
        found: dict[str, float] = {}
        for one in self.tried:
            missed = one.missed
            if one.stage == "runs" and one.verdict not in (HOLDS, FAILED) and len(missed) == 1:
                found.setdefault(missed[0], one.price)
        return found

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
            "drives": self.drives,
            "refused": list(self.refused),
            "tried": len(self.tried),
            "runs": self.runs,
            "run_s": self.run_s,
            "best": None if self.best is None else self._facts(self.best),
            "binding": self.binding,
            "tail": None if self.tail is None else self.tail._asdict(),
            "without": self.without(),
            "cheaper": [self._facts(one) for one in self.cheaper],
            "assumed_prices": {key: self.target.prices[key] for key in self.target.assumed},
        }

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __str__(self) -> str:
        return "\n".join(self._lines())

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
            "command": self.command(one),
        }

    def _lines(self) -> list[str]:
        looked = f"{len(self.tried):,} of {self.drives:,} drives looked at, {self.runs:,} runs"
        if (best := self.best) is None:
            lines = [f"no drive of the space holds; {looked}"]
        else:
            parts = ", ".join(f"{name} {value:.2f}" for name, value in best.parts.items())
            lines = [f"cheapest: {_axes(best)}", f"price {best.price:.2f}: {parts}; {looked}"]
            lines += [
                f"  {name}: {one.mean:.4g} [{one.low:.4g}, {one.high:.4g}],"
                f" limit {one.limit:.4g}" + (f", margin {one.margin:+.0%}" if one.limit else "")
                for name, one in best.figures.items()
            ]
            lines += [f"bound by: {self.binding}"]
            if (tail := self.tail) is not None:
                keys = ", ".join(f"{path}={value}" for path, value in tail.keys.items())
                of = f"; keys: {keys}" if keys else ""
                lines.append(f"{tail.target}: {tail.share:.0%} {tail.cause}{of}")
            lines += [f"doubts: {best.doubts}"] if best.doubts else []
            lines += [f"again: {self.command(best)}"]
        cheaper = self.cheaper
        for one in cheaper[:MOST_SHOWN]:
            lines.append(f"price {one.price:.2f}: {_axes(one)}: {_said(one)}")
        if len(cheaper) > MOST_SHOWN:
            lines.append(f"{len(cheaper) - MOST_SHOWN:,} more do not hold; --json has them")
        for name, price in self.without().items():
            unlived = ", its life not simulated" if self.target.life else ""
            lines.append(f"without {name}: price {price:.2f}{unlived}")
        if self.refused:
            lines.append(f"{len(self.refused):,} drives cannot be built, as: {self.refused[0]}")
        failed = sum(one.verdict == FAILED for one in cheaper)
        if failed and self.best is not None:
            lines.append(f"{failed:,} cheaper drives could not be measured")
        if self.target.assumed:
            lines.append(f"assumed prices: {', '.join(self.target.assumed)}")
        return lines


def _word(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)


def _axes(one: Candidate) -> str:
    return ", ".join(f"{path}={value}" for path, value in one.axes.items())


def _said(one: Candidate) -> str:
    """Why a candidate does not hold."""
    if one.why:
        return f"{one.verdict} ({one.stage}): {one.why}"
    missed = ", ".join(
        f"{name} {one.figures[name].mean:.4g} for {one.figures[name].limit:.4g}"
        for name in one.missed
    )
    sure = f" after {one.replicates} replicates" if one.verdict == UNDECIDED else ""
    return f"{one.verdict}{sure} ({one.stage}): {missed}"
