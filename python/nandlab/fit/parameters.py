"""Parameters of a fit with their intervals, and how often these hold the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Parameter(NamedTuple):
    """A fitted parameter with its interval."""

    name: str
    value: float
    low: float
    high: float
    trials: str = ""
    """Its trials, if not all of the data."""


class Confidence(NamedTuple):
    """How often intervals hold the truth."""

    level: float
    joint: int
    """Parameters whose intervals all hold at once that often; 1 where each is for itself."""

    @property
    def of_one(self) -> float:
        """The level of a single interval, by Sidak's inequality (JASA 62, 626, 1967).

        It holds for normal and Student's t estimates whatever their correlations.
        """
        return float(self.level ** (1 / self.joint))

    def __str__(self) -> str:
        return f"{100 * self.level:g} %" + (" joint" if self.joint > 1 else "")

    @property
    def sentence(self) -> str:
        """For people."""
        if self.joint == 1:
            return f"each holds the truth {100 * self.level:g} times in 100"
        return (
            f"all {self.joint} hold the truth jointly at least {100 * self.level:g} times in 100 "
            f"(Sidak: each is a {100 * self.of_one:.4g} % interval)"
        )


def printed(
    parameters: Sequence[Parameter], confidence: Confidence, before: Mapping[str, float] | None
) -> list[str]:
    """A table for people, with a column for the values before the fit if there were any."""
    wide = max(14, *(len(one.name) for one in parameters))
    had = "" if before is None else f" {'before':>11}"
    lines = [f"{'parameter':{wide}}{had} {'value':>13}   {f'{confidence} interval':>26}"]
    for one in parameters:
        had = "" if before is None else f" {before[one.name]:>11.4g}"
        span = f"{one.low:.5g} .. {one.high:.5g}"
        line = f"{one.name:{wide}}{had} {one.value:>13.6g}   {span:>26}   {one.trials}"
        lines.append(line.rstrip())
    return lines
