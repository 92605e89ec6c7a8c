"""Replicates of a life: mean and interval of its figures over drives of other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nandlab.study.findings.frame import interval

if TYPE_CHECKING:
    from nandlab.life.result import Life

FIGURES = ("tbw", "years", "dwpd", "write_amplification", "energy_kwh")
"""Figures of a life that have an interval."""


def replicates_of(lives: Sequence[Life]) -> dict[str, Any] | None:
    """Seeds, ends and figures of the lives that have come to an end; None where none has.

    A figure that a life lacks is left out.
    """
    whole = [one for one in lives if one.end != "interrupted"]
    if not whole:
        return None
    figures = {}
    for name in FIGURES:
        each = [getattr(one, name) for one in whole]
        if None not in each:
            mean, low, high = interval(each)
            figures[name] = {"mean": mean, "low": low, "high": high, "each": each}
    return {
        "count": len(whole),
        "seeds": [one.facts.seed for one in whole],
        "ends": [one.end for one in whole],
        "figures": figures,
    }
