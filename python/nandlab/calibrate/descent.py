"""Descent: values of the knobs with the least weighted sum of squares of log ratios.

A Sobol' sequence looks over the whole range. From the best of its points steps of Levenberg and
Marquardt go down: the residuals are taken as linear, by differences that get smaller, and each step
is that of least squares within the range, for several dampings at once. Whole numbers are rounded,
and at the end their neighbours are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nandlab.calibrate.knob import Knob
from nandlab.calibrate.points import Enough, Point, Points
from nandlab.calibrate.row import Row
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

FAILED = 5.0
"""Log ratio that stands for a value that a simulation does not have: a factor of 150."""

FIRST_POINTS = 8
"""Points of the Sobol' sequence for each knob, at least; their number is a power of two."""

STEPS = (0.02, 0.01, 0.005, 0.0025)
"""Shares of the range by which knobs are moved for differences."""

DAMPINGS = (1e-4, 1e-2, 1.0)
"""Of the steps that are tried at once, times the mean of the curvature."""

LEAST_GAIN = 1e-3
"""Relative gain of a step below which the next differences are smaller."""

MOST_STEPS = 24

COARSE_STEPS, COARSE_GAIN = 5, 0.02
"""Steps from each point that is begun from, at most, and the relative gain that ends them."""

STARTS = 5
"""Points from which steps go down with the largest differences, before the best end goes on."""

APART = 0.3
"""Distance of these points, in shares of the ranges."""


@dataclass
class Best:
    """A point with its loss; that of one which cannot run is infinite."""

    shares: list[float]
    values: list[float]
    point: Point
    loss: float


@dataclass
class Descent:
    """A fit under way."""

    points: Points
    most: int | None = None
    """Points that may be tried."""
    best: Best | None = None
    tried: int = 0
    failed: int = 0
    first_error: str = ""
    is_over: bool = False
    """Whether it has come to its end."""
    _seen: dict[tuple[float, ...], Best] = field(default_factory=dict)

    @property
    def knobs(self) -> Sequence[Knob]:
        """What is turned."""
        return self.points.knobs

    @property
    def rows(self) -> Sequence[Row]:
        """What is fitted, and what is held out."""
        return self.points.rows

    def run(self, starts: Sequence[Sequence[float]], seed: int) -> None:
        """Fits, from given shares and the points of a Sobol' sequence.

        Raises:
            NandlabError: no point can run.
        """
        with suppress(Enough):
            looked = self._look([*map(list, starts), *self._sobol(seed)])
            if self.best is not None:
                self._go_down(looked)
                self.is_over = True
        if self.best is None and not self.points.stop.asked:
            first = f"; the first one: {self.first_error}"
            raise refusal("fit", f"none of {self.tried} points can run{first}")

    def _go_down(self, looked: Sequence[Best]) -> None:
        """From the best of the first points to the end."""
        ends = [self._coarse(one) for one in self._apart(looked)]
        best = self._fine(min(ends, key=_loss))
        while (beside := self._neighbours(best)) is not best:
            best = self._fine(beside)

    def _sobol(self, seed: int) -> list[list[float]]:
        from scipy.stats import qmc

        count = len(self.knobs)
        power = max(3, math.ceil(math.log2(FIRST_POINTS * count)))
        drawn = qmc.Sobol(count, scramble=True, seed=seed).random_base2(power)
        return [[float(share) for share in point] for point in drawn]

    def _apart(self, looked: Sequence[Best]) -> list[Best]:
        """The best points that are not beside each other, to begin from."""
        found: list[Best] = []
        for one in sorted((each for each in looked if not each.point.error), key=_loss):
            if all(math.dist(one.shares, other.shares) >= APART for other in found):
                found.append(one)
            if len(found) == STARTS:
                break
        return found

    def _look(self, shares: Sequence[Sequence[float]]) -> list[Best]:
        """The points at shares, run where they were not before; keeps the best of all."""
        values = [self.values(each) for each in shares]
        new = list(dict.fromkeys(tuple(each) for each in values if tuple(each) not in self._seen))
        left = len(new) if self.most is None else max(self.most - self.tried, 0)
        # Ctrl-C takes away no more than the points under way.
        at_once = self.points.at_once
        for first in range(0, min(left, len(new)), at_once):
            some = new[first : min(first + at_once, left)]
            for each, point in zip(some, self.points.at(some), strict=True):
                self._keep(each, point)
        if left < len(new):
            raise Enough
        return [self._seen[tuple(each)] for each in values]

    def _keep(self, values: tuple[float, ...], point: Point) -> None:
        loss = math.inf if point.error else self.loss(point)
        one = Best(self.shares(values), list(values), point, loss)
        self._seen[values] = one
        self.tried += 1
        if point.error:
            self.failed += 1
            self.first_error = self.first_error or point.error
        elif self.best is None or loss < self.best.loss:
            self.best = one

    def values(self, shares: Sequence[float]) -> list[float]:
        """Values of the knobs at shares of their ranges."""
        return [knob.at(share) for knob, share in zip(self.knobs, shares, strict=True)]

    def shares(self, values: Sequence[float]) -> list[float]:
        """Shares of the ranges at values."""
        return [knob.share(value) for knob, value in zip(self.knobs, values, strict=True)]

    def tried_points(self) -> list[Best]:
        """All points that could run."""
        return [one for one in self._seen.values() if not one.point.error]

    # --- Residuals --------------------------------------------------------------------------------

    def loss(self, point: Point) -> float:
        """Weighted mean of the squares of the fitted log ratios."""
        residuals, weights = self.residuals(point)
        return float((weights * residuals**2).sum() / weights.sum())

    def residuals(self, point: Point) -> tuple[Column, Column]:
        """Log ratios of the fitted values, simulated to measured, and their weights."""
        import numpy as np

        found, weights = [], []
        for row, values in zip(self.rows, point.values, strict=True):
            if row.is_held_out:
                continue
            for index, value in enumerate(row.measured.values()):
                simulated = values[index] if values else None
                found.append(FAILED if simulated is None else math.log(simulated / value))
                weights.append(row.weight)
        return np.array(found), np.array(weights)

    def jacobian(self, here: Best, step: float, *, is_central: bool = True) -> Column:
        """Change of the residuals by share of the range, for each knob, by differences.

        Raises:
            Enough: so.
        """
        import numpy as np

        ends: list[tuple[list[float], list[float]]] = []
        shares = here.shares
        for index, knob in enumerate(self.knobs):
            least = max(step, self._move(knob, shares[index]))
            low, high = list(shares), list(shares)
            if is_central or shares[index] + least > 1.0:
                low[index] = max(shares[index] - least, 0.0)
            if is_central or shares[index] + least <= 1.0:
                high[index] = min(shares[index] + least, 1.0)
            ends.append((low, high))
        looked = self._look([end for pair in ends for end in pair])
        columns = []
        for index in range(len(ends)):
            low_end, high_end = looked[2 * index], looked[2 * index + 1]
            # A side of the point that cannot run is left out.
            low_end = here if low_end.point.error else low_end
            high_end = here if high_end.point.error else high_end
            width = high_end.shares[index] - low_end.shares[index]
            change = self.residuals(high_end.point)[0] - self.residuals(low_end.point)[0]
            columns.append(change / width if width else np.zeros_like(change))
        jacobian: Column = np.array(columns).T
        return jacobian

    def _move(self, knob: Knob, share: float) -> float:
        """The share that moves a whole number by one."""
        if not knob.span.is_whole:
            return 0.0
        value = knob.at(share)
        return max(abs(knob.share(value + way) - knob.share(value)) for way in (-1, 1))

    # --- Steps ------------------------------------------------------------------------------------

    def _coarse(self, best: Best) -> Best:
        """Where a few steps from a point lead, with one-sided differences."""
        for _ in range(COARSE_STEPS):
            before = best
            best = self._step(best, STEPS[0], is_central=False)
            if best.loss >= before.loss * (1 - COARSE_GAIN):
                break
        return best

    def _fine(self, best: Best) -> Best:
        """Where steps from a point end: they gain nothing with the smallest differences."""
        level = 0
        for _ in range(MOST_STEPS):
            before = best
            best = self._step(best, STEPS[level], is_central=True)
            if best.loss < before.loss * (1 - LEAST_GAIN):
                continue
            level += 1
            if level == len(STEPS) or best.loss == 0.0:
                break
        return best

    def _step(self, best: Best, step: float, *, is_central: bool) -> Best:
        """The best of the points to which linear residuals lead, or the point itself."""
        jacobian = self.jacobian(best, step, is_central=is_central)
        residuals, weights = self.residuals(best.point)
        looked = self._look(self._candidates(best.shares, jacobian, residuals, weights))
        return min(best, *looked, key=_loss)

    def _candidates(
        self, shares: Sequence[float], jacobian: Column, residuals: Column, weights: Column
    ) -> list[list[float]]:
        """Where the linear residuals are least, for each damping."""
        import numpy as np
        from scipy.optimize import lsq_linear

        root = np.sqrt(weights)
        a, b = jacobian * root[:, None], -residuals * root
        mean = float((a**2).sum() / max(a.shape[1], 1)) or 1.0
        here = np.array(shares)
        low, high = -here - 1e-12, 1 - here + 1e-12
        found = []
        for damping in DAMPINGS:
            more = math.sqrt(damping * mean) * np.eye(a.shape[1])
            step = lsq_linear(
                np.vstack([a, more]), np.concatenate([b, np.zeros(a.shape[1])]), (low, high)
            ).x
            found.append([float(min(max(one, 0.0), 1.0)) for one in here + step])
        return found

    def _neighbours(self, best: Best) -> Best:
        """The best of the whole numbers beside those of a point, or the point itself."""
        tried = []
        for index, knob in enumerate(self.knobs):
            if not knob.span.is_whole:
                continue
            for way in (-1, 1):
                value = best.values[index] + way
                if knob.span.low <= value <= knob.span.high:
                    other = list(best.shares)
                    other[index] = knob.share(value)
                    tried.append(other)
        found = min([best, *self._look(tried)], key=_loss)
        return found if found.loss < best.loss * (1 - LEAST_GAIN) else best


def _loss(one: Best) -> float:
    return one.loss
