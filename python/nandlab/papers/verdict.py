"""Verdict on a row: our figure, one or more seeds of it, beside the figure that a paper prints.

Only *predicted* rows count: those that the model could have missed.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

PREDICTED, CONTRADICTION = "predicted", "contradiction"

KINDS = {
    PREDICTED: "the model could have missed it: two-sided against a printed figure, with no number"
    " fitted to it or chosen by it",
    "bound": "one-sided, or a sign",
    "arithmetic": "a repeated calculation of the paper, or of a row beside it",
    "given": "an input of the model, or follows from one",
    "calibrated": "the model was fitted to it",
    "chosen": "one of several readings or settings, kept because it fits",
    CONTRADICTION: "figures of the paper disagree; the reason shows the arithmetic",
}
"""Classes of rows."""

MET, NOT_MET, UNDECIDED = "met", "not met", "undecided"
HOLDS, FAILS_TO_HOLD = "holds", "does not hold"

VERDICTS = (MET, NOT_MET, UNDECIDED, HOLDS, FAILS_TO_HOLD)
"""Outcomes: the first three of predicted rows, the others of rows that do not count."""

TRACE = "trace "
"""Begins the `needs` of a row that runs on a trace which is not part of nandlab."""


class Row(NamedTuple):
    """A figure that a paper prints."""

    name: str
    claim: str
    relation: str
    """``=``, or ``<=`` and ``>=`` where the paper gives a bound."""
    paper: float
    unit: str
    place: str
    needs: str
    """The part of nandlab that the row waits for, or its trace; empty where it always runs."""

    @property
    def trace(self) -> str:
        """Name of the trace that it runs on, without `.zst`; empty where it needs none."""
        return self.needs.removeprefix(TRACE) if self.needs.startswith(TRACE) else ""

    @property
    def waits(self) -> bool:
        """Whether it waits for a part of nandlab."""
        return bool(self.needs) and not self.trace


class Expected(NamedTuple):
    """Terms of a row: when it is met, and what it counts for."""

    kind: str
    """One of `KINDS`."""
    relative: float = 0.0
    absolute: float = 0.0
    gain: str = ""
    """Name of its group of gains, of which each may be off by half; empty: no gain."""
    explained: str = ""
    """Why ours differs; holds within `explained_range` only."""
    explained_range: tuple[float, float] = (math.nan, math.nan)
    seeds: int = 0
    """Runs of a random row, each with a seed of its own; 0 where nothing is random."""


class Contradiction(NamedTuple):
    """Figures of a paper that cannot all hold."""

    printed: str
    """Figures that the paper prints, with their places."""
    why: str
    """Arithmetic that shows why they cannot all hold."""


class Outcome(NamedTuple):
    """A row that was run."""

    paper: str
    row: Row
    expected: Expected
    figures: tuple[float, ...]
    """Ours, by seed; one where nothing is random."""

    @property
    def ours(self) -> float:
        """The mean over seeds."""
        return math.fsum(self.figures) / len(self.figures)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean over seeds (Student); 0 for a single figure."""
        count = len(self.figures)
        if count < 2:
            return 0.0
        from nandlab.compare.comparison import Estimate, half_interval

        return half_interval(Estimate(self.ours, count, statistics.stdev(self.figures)))

    @property
    def slack(self) -> float:
        """The tolerance, in the unit of the row.

        That of a gain is half of the printed gain or one point, whichever is larger, if its own is
        not stricter.
        """
        printed = abs(self.row.paper)
        own = max(self.expected.absolute, self.expected.relative * printed)
        if not self.expected.gain:
            return own
        most = max(printed / 2, 1.0)
        return min(own, most) if own else most

    @property
    def admitted(self) -> tuple[float, float]:
        """The least and the most that is the paper's figure within the tolerance."""
        printed = self.row.paper
        # A hair for binary fractions: 0.36 - 0.355 is more than 0.005.
        slack = self.slack + 1e-12 * max(abs(printed), 1.0)
        least = -math.inf if self.row.relation == "<=" else printed - slack
        most = math.inf if self.row.relation == ">=" else printed + slack
        return least, most

    def admits(self, figure: float) -> bool:
        """Whether a figure is the paper's within the tolerance, or keeps its bound."""
        least, most = self.admitted
        return least <= figure <= most

    @property
    def is_met(self) -> bool | None:
        """Whether ours is admitted; None where the interval does not decide."""
        least, most = self.admitted
        low, high = self.ours - self.half_width, self.ours + self.half_width
        if least <= low and high <= most:
            return True
        return None if low <= most and high >= least else False

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        met = self.is_met
        if met is None:
            return UNDECIDED
        if self.expected.kind == PREDICTED:
            return MET if met else NOT_MET
        return HOLDS if met else FAILS_TO_HOLD

    @property
    def is_explained(self) -> bool:
        """Whether it has a reason, and ours lies in the range that the reason is for."""
        least, most = self.expected.explained_range
        return least <= self.ours <= most

    @property
    def fails(self) -> bool:
        """Whether it is not met for no reason that is known."""
        return self.is_met is False and not self.is_explained

    @property
    def tolerance(self) -> str:
        """As it is read."""
        if self.expected.gain or self.expected.absolute:
            return f"± {self.slack:g} {self.row.unit}".strip()
        return f"{100 * self.expected.relative:g} % of it" if self.expected.relative else "exact"


def predicted(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Counts of the verdicts of predicted rows."""
    return Counter(one.verdict for one in outcomes if one.expected.kind == PREDICTED)


def tally(outcomes: Sequence[Outcome]) -> str:
    """Counts of verdicts in one line: first the predicted rows, which alone count."""
    count = predicted(outcomes)
    total = count.total()
    said = f"{len(outcomes)} rows: {count[MET]} of {total} predicted met"
    if total:
        said += f" ({100 * count[MET] / total:.1f} %)"
    said += f", {count[NOT_MET]} not met, {count[UNDECIDED]} undecided"
    apart = []
    for kind in KINDS:
        rows = [one for one in outcomes if one.expected.kind == kind]
        if rows and kind != PREDICTED:
            off = sum(one.is_met is False for one in rows)
            apart.append(f"{len(rows)} {kind}{f' ({off} do not hold)' if off else ''}")
    fails = sum(one.fails for one in outcomes)
    said += f"; not counted: {', '.join(apart)}" if apart else ""
    return f"{said}; {fails} outside of what is explained" if fails else said


def gains(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each group of gains, with the score of a model that says "nothing changes"."""
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.expected.gain:
            groups.setdefault(one.expected.gain, []).append(one)
    return [
        f"gains, {name}: {sum(one.is_met is True for one in rows)} of {len(rows)} within their"
        f' tolerance; "nothing changes" has {sum(one.admits(0.0) for one in rows)}'
        for name, rows in groups.items()
    ]
