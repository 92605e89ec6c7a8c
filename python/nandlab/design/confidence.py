"""Confidence of a verdict: 95 % over all looks at a figure of a drive, with an interval each.

Each rung of replicates is a look that may end the race. Looks at 95 % each would be wrong more
often than 5 % together, so they share an error of 5 %: the intervals of all looks together leave
out the mean with a chance of 5 % at most, however the looks depend on each other (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nandlab.study.findings.frame import CONFIDENCE, interval

ERROR = 1.0 - CONFIDENCE
"""Largest chance that the interval of any look at a figure leaves out its mean."""

RUNGS = (3, 6, 12)
"""Replicates of each rung of whole runs; those of the one before count."""

QUARTERS = {3: 2, 6: 1, 12: 1}
"""Quarters of the error that the rungs spend. A quarter of the first is that of short runs, where
there are any: at two degrees of freedom an interval is wide in any case."""


def error_of(rung: int, *, has_short: bool, is_short: bool = False) -> float:
    """Chance of a look that its interval leaves out the mean."""
    quarters = 1 if is_short else QUARTERS[rung] - (has_short and rung == RUNGS[0])
    return ERROR * quarters / 4


def interval_of(
    values: Sequence[float], error: float, *, is_count: bool
) -> tuple[float, float, float]:
    """The mean of two values or more, and the ends of its interval.

    Student's interval of a mean. Of counts of rare events it is the exact interval of a Poisson
    process (Garwood, Biometrika 28, 1936), so that none seen is not none at all; where counts
    scatter more than those of such a process, as events that come in bursts do, Student's is wider
    and is taken.
    """
    mean, low, high = interval(values, 1.0 - error)
    # Two values have an interval.
    assert mean is not None
    assert low is not None
    assert high is not None
    if is_count:
        few, many = counted(math.fsum(values), error)
        low, high = max(min(low, few / len(values)), 0.0), max(high, many / len(values))
    return mean, low, high


def counted(events: float, error: float) -> tuple[float, float]:
    """Ends of the exact interval of a mean of which so many events were seen."""
    from scipy.special import gammaincinv

    low = float(gammaincinv(events, error / 2)) if events else 0.0
    return low, float(gammaincinv(events + 1, 1 - error / 2))
