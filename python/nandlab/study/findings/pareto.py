"""Pareto fronts: combinations that no other one beats in all objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
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


def front(given: Given, rows: Sequence[Mapping[str, Any]], least: int = 2) -> list[dict[str, Any]]:
    """The rows that no other one beats, best first in the first objective.

    Rows with doubts are neither among them nor beat one, unless all rows have doubts: a front of
    such rows says so in each of them.

    Raises:
        NandlabError: fewer than `least` objectives, or no row that has them all.
    """
    wanted = objectives(given, least)
    names = [one.column.name for one in wanted]
    every = [dict(row) for row in rows if all(is_number(row[name]) for name in names)]
    if not every:
        raise refusal("pareto", "no point has all objectives", ", ".join(names))
    whole = [row for row in every if row["doubts"] is None] or every
    costs = [cost(wanted, row) for row in whole]
    best = [row for row, own in zip(whole, costs, strict=True) if not is_beaten(own, costs)]
    return sorted(best, key=lambda row: cost(wanted, row))


def cost(wanted: Sequence[Objective], row: Mapping[str, Any]) -> tuple[float, ...]:
    """What is to be low of a row."""
    return tuple(-row[one.column.name] if one.is_max else row[one.column.name] for one in wanted)


def is_beaten(own: tuple[float, ...], others: Sequence[tuple[float, ...]]) -> bool:
    """Whether another one is as good in all objectives and better in one."""
    return any(
        other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in others
    )
