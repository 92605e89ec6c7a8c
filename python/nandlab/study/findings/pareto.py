"""Pareto fronts: combinations within the limits that no other one beats in all objectives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
from nandlab.study.findings.certainty import Certainty, Costs, cost
from nandlab.study.findings.limits import is_within
from nandlab.study.given import Given, Objective


def objectives(given: Given, least: int = 2) -> list[Objective]:
    """The objectives of a study.

    Raises:
        NandlabError: fewer than `least`.
    """
    if len(given.objectives) < least:
        expected = "two or more, as objectives = ['max iops', 'min write_us_p99']"
        raise refusal(f"{given.place}: objectives", f"{len(given.objectives)}", expected)
    return given.objectives


def front(
    given: Given,
    rows: Sequence[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]] = (),
    *,
    least: int = 2,
) -> list[dict[str, Any]]:
    """The rows within the limits that no other one there beats, best first in the first objective.

    Rows with doubts are neither among them nor beat one, unless all rows have doubts: a front of
    such rows says so in each of them. Where the study has replicates, rows that are not surely
    beaten are among them, and each has `number` (from 1), `is_on_front` (whether no row beats its
    means), and `no_sure_advantage_over`: numbers of rows that it is not surely better than in any
    objective.

    Args:
        given: the study.
        rows: means of its points.
        records: the replicates of these.
        least: how many objectives there must be.

    Raises:
        NandlabError: fewer than `least` objectives, no row within the limits, or none that has all
            objectives.
    """
    wanted = objectives(given, least)
    names = [one.column.name for one in wanted]
    within = [row for row in rows if is_within(given, row)]
    if rows and not within:
        limits = "; ".join(one.text for one in given.limits)
        raise refusal("pareto", "no point is within the limits", limits)
    every = [dict(row) for row in within if all(is_number(row[name]) for name in names)]
    if not every:
        raise refusal("pareto", "no point has all objectives", ", ".join(names))
    whole = [row for row in every if row["doubts"] is None] or every
    whole.sort(key=lambda row: cost(wanted, row))
    costs = [cost(wanted, row) for row in whole]
    best = [row for row, own in zip(whole, costs, strict=True) if not is_beaten(own, costs)]
    if given.design.replicates == 1:
        return best
    certainty = Certainty(given, records)
    for row in whole:
        row["is_on_front"] = row in best
    # Those of the front first: they are the most likely to be surely better.
    rivals = sorted(whole, key=lambda row: not row["is_on_front"])

    def may_be_best(row: Mapping[str, Any]) -> bool:
        own = cost(wanted, row)
        return not any(
            beats(cost(wanted, other), own) and certainty.is_better(other, row) for other in rivals
        )

    shown = [row for row in whole if row["is_on_front"] or may_be_best(row)]
    for number, row in enumerate(shown, 1):
        row["number"] = number
        row["no_sure_advantage_over"] = [
            place
            for place, other in enumerate(shown, 1)
            if other is not row and not certainty.is_better(row, other)
        ]
    return shown


def is_beaten(own: Costs, others: Sequence[Costs]) -> bool:
    """Whether another one is as good in all objectives and better in one."""
    return any(beats(other, own) for other in others)


def beats(one: Costs, other: Costs) -> bool:
    """Whether one is as good as the other in all objectives, and better in one."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
