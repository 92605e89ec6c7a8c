"""Race of candidates: replicates until the interval of each figure lies on one side of its limit.

A candidate is out only where the whole interval of a figure is beyond the limit. An undecided one
gets more replicates, up to the last rung; one that is undecided then stays so, and says so. The
looks at a figure share their error (`confidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nandlab.design.confidence import RUNGS, error_of, interval_of
from nandlab.design.price import price_of_power
from nandlab.design.target import METRICS, POWER, Target
from nandlab.display.progress import Progress
from nandlab.drive.trust.figures import is_number
from nandlab.study.definition import Study
from nandlab.study.points import LISTED, Combination
from nandlab.study.task import canonical

HOLDS, MISSES, UNDECIDED, FAILED = "holds", "misses", "undecided", "failed"

_SHORT = "short runs"


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
        """Whether the interval lies within the limit, beyond it, or on both sides.

        A limit of 0 is kept where no event was seen: no number of runs proves that there is none.
        """
        if self.limit == 0 and not self.is_least:
            return HOLDS if self.mean == 0 else MISSES
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
    parts: dict[str, float]
    """Price of each part: ``flash``, ``controller``, ``dram``, ``power``."""
    verdict: str = UNDECIDED
    figures: dict[str, Figure] = field(default_factory=dict)
    replicates: int = 0
    stage: str = ""
    """Step that has decided: ``capacity``, ``closed form``, ``short runs``, ``runs`` or ``life``;
    empty of a drive that was not looked at."""
    why: str = ""
    """Reason of a verdict that no figure says."""
    doubts: str = ""
    """Doubts of its runs, by their names."""

    lived: dict[str, Any] = field(default_factory=dict)
    """Facts of its simulated life, by their names."""

    @property
    def price(self) -> float:
        """Sum of its parts."""
        return sum(self.parts.values())

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
            self._rung(candidates, RUNGS[0], self.target.short_until, _SHORT)
            for one in candidates:
                # A short run says that a drive misses; only the whole run says more.
                if one.verdict != MISSES:
                    one.verdict, one.why = UNDECIDED, ""
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
        few = {name for row in rows for name in (row["few_beyond"] or "").split(", ")}
        said |= {f"few_beyond {name}" for name in few & self.target.limits.keys()}
        one.doubts = ", ".join(sorted(said))
        is_short = one.stage == _SHORT
        has_short = self.target.short_until is not None
        error_share = error_of(one.replicates, has_short=has_short, is_short=is_short)
        for name, limit in self.target.limits.items():
            values = [row[name] for row in rows]
            if not all(map(is_number, values)):
                one.verdict, one.why = FAILED, f"its report has no {name}"
                return
            metric = METRICS[name]
            ends = interval_of(values, error_share, is_count=metric.is_count)
            one.figures[name] = Figure(*ends, limit, metric.is_least)
        self._price_power(one, [row.get(POWER) for row in rows])
        verdicts = {figure.verdict for figure in one.figures.values()}
        one.verdict = next(each for each in (MISSES, UNDECIDED, HOLDS) if each in verdicts)
        if "checks" in said:
            one.verdict, one.why = FAILED, "a check of its run has failed"

    def _price_power(self, one: Candidate, powers_w: Sequence[Any]) -> None:
        """Adds the price of the power of a drive with an energy report, where years are asked."""
        years = self.target.life.get("years")
        if years is not None and all(map(is_number, powers_w)):
            mean_w = sum(powers_w) / len(powers_w)
            one.parts["power"] = price_of_power(mean_w, years, self.target.prices)
