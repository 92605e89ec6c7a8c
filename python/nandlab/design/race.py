"""Race of candidates: replicates until the interval of each figure lies on one side of its limit.

A candidate is out only where the whole interval of a figure is beyond the limit. An undecided one
gets more replicates, up to the last rung; one that is undecided then stays so, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nandlab.design.target import METRICS, Target
from nandlab.display.progress import Progress
from nandlab.drive.trust.figures import is_number
from nandlab.study.definition import Study
from nandlab.study.findings.frame import interval
from nandlab.study.points import LISTED, Combination
from nandlab.study.task import canonical

RUNGS = (3, 6, 12)
"""Replicates of each rung; those of the one before count."""

HOLDS, MISSES, UNDECIDED, FAILED = "holds", "misses", "undecided", "failed"


@dataclass
class Figure:
    """A measured figure of a candidate beside its limit."""

    mean: float
    low: float
    high: float
    limit: float
    is_least: bool

    @property
    def verdict(self) -> str:
        """Whether the interval lies within the limit, beyond it, or on both sides."""
        worst, best = (self.low, self.high) if self.is_least else (self.high, self.low)
        sign = -1.0 if self.is_least else 1.0
        if sign * worst <= sign * self.limit:
            return HOLDS
        return MISSES if sign * best > sign * self.limit else UNDECIDED

    @property
    def margin(self) -> float:
        """Share of the limit between it and the mean; negative beyond the limit."""
        if self.limit == 0:
            # None of it is allowed: where there is none, nothing comes near the limit.
            return inf if self.mean == 0 else -inf
        return (self.mean / self.limit - 1.0) * (1.0 if self.is_least else -1.0)


@dataclass
class Candidate:
    """A drive of the space with what is known of it."""

    axes: Combination
    price: float
    parts: dict[str, float]
    """Price of each part."""
    verdict: str = UNDECIDED
    figures: dict[str, Figure] = field(default_factory=dict)
    replicates: int = 0
    stage: str = ""
    """Step that has decided: ``capacity``, ``short runs``, ``runs`` or ``life``."""
    why: str = ""
    """Reason of a verdict that no figure says."""
    doubts: str = ""
    """Doubts of its runs, by their names."""

    @property
    def missed(self) -> list[str]:
        """Targets that the candidate misses or is undecided about."""
        return [name for name, one in self.figures.items() if one.verdict != HOLDS]


@dataclass
class Race:
    """Runs of candidates, with a count."""

    target: Target
    study: Study
    workers: int | None
    executor: str | Executor
    progress: Callable[[Progress], object] | None
    runs: int = 0
    """Runs that verdicts rest on, those of an earlier start included."""
    run_s: float = 0.0
    """Wall time of these runs, added up."""

    def decide(self, candidates: Sequence[Candidate]) -> None:
        """Gives each candidate a verdict.

        Raises:
            NandlabError: the study cannot be run.
            StudyUnfinished: Ctrl-C.
        """
        if self.target.short_until is not None:
            self._rung(candidates, RUNGS[0], self.target.short_until, "short runs")
            for one in candidates:
                # Only the whole run says that a drive holds.
                one.verdict = UNDECIDED if one.verdict == HOLDS else one.verdict
        before = 0
        for count in RUNGS:
            open_ = [one for one in candidates if one.verdict == UNDECIDED]
            self._rung(open_, count, None, "runs", before)
            before = count

    def _rung(
        self,
        candidates: Sequence[Candidate],
        count: int,
        until: str | None,
        stage: str,
        before: int = 0,
    ) -> None:
        if not candidates:
            return
        given = self.target.given
        run = given.run if until is None else {**given.run, "until": until}
        design = replace(
            given.design, kind=LISTED, listed=[one.axes for one in candidates], replicates=count
        )
        self.study.begin_again(replace(given, run=run, design=design))
        self.study.run(workers=self.workers, executor=self.executor, progress=self.progress)
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in self.study.records():
            rows.setdefault(self._key(row), []).append(row)
        for one in candidates:
            found = rows.get(self._key(one.axes), [])
            self.runs += count - before
            self.run_s += sum(row["wall_s"] or 0.0 for row in found if row["replicate"] >= before)
            one.replicates, one.stage = count, stage
            self._judge(one, found)

    def _key(self, row: dict[str, Any]) -> str:
        return canonical([row[axis.path] for axis in self.target.given.axes])

    def _judge(self, one: Candidate, rows: Sequence[dict[str, Any]]) -> None:
        error = next((row["error"] for row in rows if row["error"]), None)
        if error is not None or len(rows) < one.replicates:
            one.verdict, one.why = FAILED, error or "a run is missing"
            return
        said = {name for row in rows for name in (row["doubts"] or "").split(", ") if name}
        one.doubts = ", ".join(sorted(said))
        for name, limit in self.target.limits.items():
            values = [row[name] for row in rows]
            if not all(map(is_number, values)):
                one.verdict, one.why = FAILED, f"its report has no {name}"
                return
            mean, low, high = interval(values)
            # Every rung has several replicates, so there is an interval.
            assert mean is not None
            assert low is not None
            assert high is not None
            one.figures[name] = Figure(mean, low, high, limit, METRICS[name].is_least)
        verdicts = {figure.verdict for figure in one.figures.values()}
        one.verdict = next(each for each in (MISSES, UNDECIDED, HOLDS) if each in verdicts)
        if "checks" in said:
            one.verdict, one.why = FAILED, "a check of its run has failed"
