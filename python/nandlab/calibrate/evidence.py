"""Evidence: what measured rows say of each knob: intervals, knobs without effect, bounds.

An interval is that of a bootstrap over the fitted rows: each row gets a random weight (exponential:
the Bayesian bootstrap of Rubin, 1981), the simulator's own scatter is added to the residuals, and
the fit is repeated: around the best point with residuals that are linear in the knobs, and among
all points that were tried. The middle part of these fits is the interval. Each of them is drawn
weakly to a random point of the ranges, so that a knob which the rows do not tell spreads over its
range (randomize-then-optimize: Bardsley and others, 2014). Runs of the best point with other seeds
show the scatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nandlab.calibrate.descent import Best, Descent
from nandlab.calibrate.knob import Knob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

SEEDS = 4
"""Runs of the best point with other seeds."""

LOOKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the range at which a knob is looked at, the others at their best."""

DRAWS = 1000
"""Fits of the bootstrap."""

STEP = 0.02
"""Share of the range of the differences that the linear residuals come from."""

NO_EFFECT = 0.002
"""Change of a log ratio that is none, beside three times the scatter: no drive repeats better."""

WHOLE_RANGE = 0.8
"""Share of the range above which an interval says nothing."""

AT_BOUND = 0.005
"""Share of the range next to an end that counts as the end."""

ALIKE = 0.95
"""Cosine of what two knobs change, from which they are named together."""


class Finding(NamedTuple):
    """What is known of a knob."""

    low: float | None
    """Interval; None where there is none."""
    high: float | None
    status: str
    """``fitted``, ``at the lower end``, ``at the upper end``, ``not identified``, ``no effect``."""
    why: str = ""


class Evidence(NamedTuple):
    """What is known of all knobs."""

    findings: list[Finding]
    scatter: Column
    """Standard deviation of each fitted log ratio over seeds."""


UNKNOWN = "not looked at"


def without(knobs: Sequence[Knob]) -> list[Finding]:
    """What is known after Ctrl-C: nothing."""
    return [Finding(None, None, UNKNOWN, "the calibration was interrupted") for _ in knobs]


def evidence(descent: Descent, best: Best, level: float, seed: int, drive_seed: int) -> Evidence:
    """Looks around the best point.

    Raises:
        Enough: Ctrl-C.
    """
    import numpy as np

    knobs = descent.knobs
    scatter = _scatter(descent, best, drive_seed)
    effects = _effects(descent, best, scatter)
    residuals, weights = descent.residuals(best.point)
    jacobian = _jacobian(descent, best)
    turning = [i for i, has_effect in enumerate(effects) if has_effect]
    shares = np.tile(np.array(best.shares), (DRAWS, 1))
    if turning:
        given = (jacobian[:, turning], residuals, weights, scatter)
        shares = _bootstrap(descent, best, turning, *given, seed)
    findings = [
        _finding(knob, best, index, shares, level, turning, knobs, jacobian)
        if effects[index]
        else Finding(
            knob.span.low,
            knob.span.high,
            "no effect",
            "no fitted value depends on it between the ends of its range",
        )
        for index, knob in enumerate(knobs)
    ]
    return Evidence(findings, scatter)


def _scatter(descent: Descent, best: Best, drive_seed: int) -> Column:
    """Standard deviation of each residual over seeds."""
    import numpy as np

    seeds = [drive_seed + 1 + one for one in range(SEEDS)]
    points = descent.points.at([best.values] * SEEDS, seeds)
    runs = [descent.residuals(one)[0] for one in (best.point, *points) if not one.error]
    return np.std(np.array(runs), axis=0, ddof=1) if len(runs) > 1 else np.zeros(len(runs[0]))


def _effects(descent: Descent, best: Best, scatter: Column) -> list[bool]:
    """Whether any fitted value depends on each knob."""
    import numpy as np

    looks = []
    for index in range(len(descent.knobs)):
        for share in LOOKS:
            shares = list(best.shares)
            shares[index] = share
            looks.append(descent.values(shares))
    points = descent.points.at(looks)
    here = descent.residuals(best.point)[0]
    least = np.maximum(3 * math.sqrt(2) * scatter, NO_EFFECT)
    effects = []
    for index in range(len(descent.knobs)):
        mine = points[index * len(LOOKS) : (index + 1) * len(LOOKS)]
        changed = [
            bool(one.error) or bool((np.abs(descent.residuals(one)[0] - here) > least).any())
            for one in mine
        ]
        effects.append(any(changed))
    return effects


def _jacobian(descent: Descent, best: Best) -> Column:
    """Differences around the best point, which stays the best whatever they find."""
    most, descent.most = descent.most, None
    kept = descent.best
    try:
        return descent.jacobian(best, STEP)
    finally:
        descent.best, descent.most = kept, most


def _bootstrap(
    descent: Descent,
    best: Best,
    turning: Sequence[int],
    jacobian: Column,
    residuals: Column,
    weights: Column,
    scatter: Column,
    seed: int,
) -> Column:
    """Shares of all knobs in each fit of the bootstrap."""
    import numpy as np
    from scipy.optimize import lsq_linear

    draws = np.random.default_rng(seed)
    fitted = [row for row in descent.rows if not row.is_held_out]
    of_row = np.repeat(np.arange(len(fitted)), [len(row.measured) for row in fitted])
    values, count = len(residuals), jacobian.shape[1]
    # Residuals of a fit are smaller than those that the same knobs will have elsewhere.
    units = len(fitted) if len(fitted) > count else values
    grow = math.sqrt(units / (units - count)) if units > count else 1.0
    here = np.array(best.shares)
    ends = (-here[turning] - 1e-9, 1 - here[turning] + 1e-9)
    tried = descent.tried_points()
    elsewhere = np.array([descent.residuals(one.point)[0] for one in tried])
    # The ranges count as what was known before: uniform, with a variance of a twelfth.
    spread = (grow * residuals) ** 2 + scatter**2 + NO_EFFECT**2
    variance = (weights * spread).sum() / values
    pull = math.sqrt(12 * variance)
    places = np.array([one.shares for one in tried])[:, turning]
    found = np.tile(here, (DRAWS, 1))
    for number in range(DRAWS):
        row_weights = weights * draws.exponential(size=len(fitted))[of_row]
        noise = scatter * draws.standard_normal(values)
        root = np.sqrt(row_weights)
        drawn = grow * residuals + noise
        toward = draws.random(count)
        step = lsq_linear(
            np.vstack([jacobian * root[:, None], pull * np.eye(count)]),
            np.concatenate([-drawn * root, pull * (toward - here[turning])]),
            ends,
        )
        losses = ((grow * elsewhere + noise) ** 2 * row_weights).sum(axis=1)
        losses += pull**2 * ((places - toward) ** 2).sum(axis=1)
        other = int(losses.argmin())
        if losses[other] < 2 * step.cost:
            found[number] = tried[other].shares
        else:
            found[number, turning] += step.x
    return found


def _finding(
    knob: Knob,
    best: Best,
    index: int,
    shares: Column,
    level: float,
    turning: Sequence[int],
    knobs: Sequence[Knob],
    jacobian: Column,
) -> Finding:
    """What a knob's bootstrap says."""
    import numpy as np

    tail = 50 * (1 - level)
    low, high = np.percentile(shares[:, index], [tail, 100 - tail])
    here = best.shares[index]
    low, high = max(min(float(low), here), 0.0), min(max(float(high), here), 1.0)
    ends = _outward(knob, low, high, best.values[index])
    if high - low >= WHOLE_RANGE:
        why = "its interval is most of its range"
        with_others = [
            knobs[other].name
            for other in turning
            if other != index and _likeness(jacobian, index, other) > ALIKE
        ]
        if with_others:
            why += f"; it can be traded for {', '.join(with_others)}"
        return Finding(*ends, "not identified", why)
    for is_at, status, side in (
        (here <= AT_BOUND, "at the lower end", "below"),
        (here >= 1 - AT_BOUND, "at the upper end", "above"),
    ):
        if is_at:
            return Finding(*ends, status, f"the best value may lie {side} the range")
    return Finding(*ends, "fitted")


def _outward(knob: Knob, low: float, high: float, value: float) -> tuple[float, float]:
    """An interval of shares as values; that of whole numbers ends at whole numbers."""
    span = knob.span
    if not span.is_whole:
        return min(knob.at(low), value), max(knob.at(high), value)

    def bare(share: float) -> float:
        if span.is_log:
            return float(span.low * (span.high / span.low) ** share)
        return span.low + (span.high - span.low) * share

    first, last = math.floor(bare(low) + 1e-9), math.ceil(bare(high) - 1e-9)
    return max(min(first, value), span.low), min(max(last, value), span.high)


def _likeness(jacobian: Column, one: int, other: int) -> float:
    """Cosine of the changes that two knobs make."""
    import numpy as np

    a, b = jacobian[:, one], jacobian[:, other]
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return abs(float(a @ b)) / size if size else 0.0
