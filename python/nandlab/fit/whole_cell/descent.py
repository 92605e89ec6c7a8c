"""Descent to the most likely cell, with the parameters that the data do not tell left out.

Counts are binomial, bins of histograms Poisson. Where counts scatter more than that, rows differ by
factors (`nandlab.fit.estimate`); where bins do, their deviation is wider by one factor. A parameter
that the data do not tell goes back to the value of the chip, one after the other, the least known
first, and the others are fitted anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nandlab._core import NandlabError
from nandlab.fit.estimate import (
    FLOOR,
    LEAST_EXPECTED,
    bent_of,
    deviance_roots,
    deviation_of,
    spread_of_rows,
)
from nandlab.fit.whole_cell.keys import FORMS, PAGE_SPREAD, Free
from nandlab.fit.whole_cell.model import Model
from nandlab.fit.whole_cell.pages import PageSpread
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

ROUNDS = 6
"""Rounds of weights and descent; two or three are enough."""

MOST_ERROR = 1.0
"""Standard error of a coordinate from which on the data do not tell the parameter: a factor e of
a positive one, the distance of two levels of a voltage."""

REFUSED = 1e3
"""Each residual of a cell that cannot be."""

LOOSE, TIGHT = 1e-5, 1e-9
"""Tolerances of the descent: while parameters are left out, and in the end."""

FIRST_SPREAD = 0.1
"""Deviation of the factors of rows before anything is known of it: rows with many errors, which
chance leaves almost no scatter, do not lead the first descent astray."""

STEP = 1e-4
"""Step of a coordinate, for slopes."""

NEAR = 0.03
"""Part of the root of a deviance in which an end of an interval is found."""

MOST_STEPS = 12
"""On the way to an end."""

AT_END = 1e-3
"""Distance of a coordinate from the end of its range."""

SURE = 3.84
"""Rise of the deviance from which on a value is not that of the data: chi-squared, 1 in 20."""


class Weights(NamedTuple):
    """Scatter of measurements beyond chance, which their weights follow."""

    spread: float = 0.0
    """Deviation of the factors by which rows of counts differ."""
    wider: float = 1.0
    """Factor on the deviation of the cells of a bin."""


class Descent:
    """The parameters that are free, and where they stand."""

    def __init__(self, model: Model, free: Sequence[Free], pages: PageSpread | None = None) -> None:
        self.model = model
        self.free = list(free)
        self.held: dict[str, float] = {}
        """Parameters that the data bound from one side only."""
        self.notes: list[str] = []
        self.weights = Weights(FIRST_SPREAD)
        self.pages = pages
        """Spread of pages, where rows are of single ones; else None."""
        self.form: Column | float = 1.0
        """By how much each row differs, over the root of the mean square of all."""
        data = model.data
        self.observed = [bins.cells for _, bins in data.histograms]
        self.size = len(data.counts.errors) + sum(map(len, self.observed))

    def values(self, u: Column) -> dict[str, float]:
        """The parameters at some coordinates."""
        free = {one.name: one.value(float(at)) for one, at in zip(self.free, u, strict=True)}
        own = {} if self.pages is None else {PAGE_SPREAD: self.pages.value}
        return {**self.held, **own, **free}

    def expected(self, u: Column) -> tuple[Column, list[Column]]:
        """Errors of each row of counts, and cells of each bin.

        Raises:
            NandlabError: a cell that cannot be.
        """
        import numpy as np

        cell = self.model.cell(self.values(u))
        errors = np.maximum(self.model.rates(cell) * self.model.data.counts.bits, FLOOR)
        return errors, [np.maximum(cells, FLOOR) for cells in self.model.cells(cell)]

    def residuals(self, u: Column) -> Column:
        """Signed roots of the deviance of every row and bin."""
        import numpy as np

        try:
            errors, bins = self.expected(u)
        except NandlabError:
            return np.full(self.size, REFUSED)
        counts = self.model.data.counts
        bent = bent_of(counts.bits, counts.bits, self.weights.spread * self.form)
        parts = [deviance_roots(counts.errors, errors, bent)]
        for cells, mean in zip(self.observed, bins, strict=True):
            poisson = bent_of(cells, None, 0.0)
            parts.append(deviance_roots(cells, mean, poisson) / self.weights.wider)
        return np.concatenate(parts)

    def scaled(self, u: Column) -> Column:
        """Expected counts in their own deviations at `u`, whose slopes are the information."""
        import numpy as np

        errors, bins = self.expected(u)
        deviations = self._deviations(errors, bins)

        here = np.concatenate([errors, *bins]) / deviations

        def at(v: Column) -> tuple[Column, float]:
            """Expected values at a coordinate, or at `u` where no cell can be; and the distance."""
            try:
                moved, cells = self.expected(v)
            except NandlabError:
                return here, 0.0
            return np.concatenate([moved, *cells]) / deviations, STEP

        columns = []
        for i in range(len(u)):
            step = np.zeros_like(u)
            step[i] = STEP
            (above, far), (below, near) = at(u + step), at(u - step)
            columns.append((above - below) / max(far + near, STEP))
        return np.stack(columns, axis=-1)

    def _deviations(self, errors: Column, bins: Sequence[Column]) -> Column:
        import numpy as np

        bits = self.model.data.counts.bits
        parts = [deviation_of(errors, bent_of(bits, bits, self.weights.spread * self.form))]
        parts += [self.weights.wider * np.sqrt(cells) for cells in bins]
        return np.concatenate(parts)

    def pearson(self, u: Column) -> Column:
        """Measured less expected values, in standard deviations."""
        import numpy as np

        errors, bins = self.expected(u)
        measured = np.concatenate([self.model.data.counts.errors, *self.observed])
        missed: Column = measured - np.concatenate([errors, *bins])
        return missed / self._deviations(errors, bins)

    def least(self, u: Column, tolerance: float = LOOSE) -> tuple[Column, float]:
        """The coordinates of the least deviance near some, and the deviance."""
        import numpy as np
        from scipy.optimize import least_squares

        if self.size <= len(self.free):
            raise refusal(
                "fit",
                f"{self.size} rows for {len(self.free)} parameters",
                "more rows than parameters",
            )
        low = np.array([one.low for one in self.free])
        high = np.array([one.high for one in self.free])
        inside = np.clip(u, low + 1e-6, high - 1e-6)
        found = least_squares(
            self.residuals,
            inside,
            bounds=(low, high),
            x_scale="jac",
            diff_step=STEP,
            max_nfev=60,
            xtol=tolerance,
            ftol=tolerance,
            gtol=tolerance,
        )
        return found.x, 2 * float(found.cost)

    def weighed(self, u: Column) -> tuple[Column, float]:
        """Place of the least deviance with weights as the scatter says, and the deviance."""
        u, deviance = self.least(u)
        for _ in range(ROUNDS):
            before, self.weights = self.weights, self._scatter(u)
            if all(
                abs(new - old) <= 0.02 * max(new, 1e-3)
                for new, old in zip(self.weights, before, strict=True)
            ):
                break
            u, deviance = self.least(u)
        return u, deviance

    def _scatter(self, u: Column) -> Weights:
        import numpy as np

        errors, bins = self.expected(u)
        counts = self.model.data.counts
        told = errors >= LEAST_EXPECTED
        # Each kind of data has its part of the parameters.
        share = len(self.free) / self.size
        spare = int(told.sum() * (1 - share))
        spread = 0.0
        if spare > 0 and self.pages is not None:
            forms = self.pages.forms(self.model.cell(self.values(u)))
            usual = math.sqrt(float((forms**2).mean())) or 1.0
            of_rows = (counts.errors[told], errors[told], counts.bits[told])
            factor = spread_of_rows(*of_rows, spare, forms[told])
            self.pages.moved(factor)
            self.form, spread = forms / usual, factor * usual
        elif spare > 0:
            spread = spread_of_rows(counts.errors[told], errors[told], counts.bits[told], spare)
        wider = 1.0
        if bins:
            cells, mean = np.concatenate(self.observed), np.concatenate(bins)
            seen = mean >= LEAST_EXPECTED
            square = float(((cells - mean)[seen] ** 2 / mean[seen]).sum())
            wider = math.sqrt(max(square / max(seen.sum() * (1 - share), 1.0), 1.0))
        return Weights(spread, wider)

    def overdispersion(self, u: Column) -> float:
        """Pearson's chi-squared of the counts over its degrees of freedom, as if rows were alike.

        It is nan without counts.
        """
        errors, _ = self.expected(u)
        counts = self.model.data.counts
        told = errors >= LEAST_EXPECTED
        spare = float(told.sum()) * (1 - len(self.free) / self.size)
        if spare <= 0:
            return math.nan
        deviations = deviation_of(errors, bent_of(counts.bits, counts.bits, 0.0))
        return float((((counts.errors - errors) / deviations)[told] ** 2).sum() / spare)

    def covariance(self, u: Column) -> Column:
        """Covariance of the coordinates, scatter included; huge where the data say nothing."""
        import numpy as np

        slopes = self.scaled(u)
        scale = np.sqrt((slopes**2).sum(axis=0))
        scale[scale == 0] = 1e-12
        _, singular, turned = np.linalg.svd(slopes / scale, full_matrices=False)
        root = turned.T / np.maximum(singular, 1e-9 * singular[0]) / scale[:, None]
        found: Column = root @ root.T
        return found

    def page_ends(self, u: Column, level: float) -> tuple[float, float]:
        """Ends of the interval of the spread of pages."""
        assert self.pages is not None
        errors, _ = self.expected(u)
        forms = self.pages.forms(self.model.cell(self.values(u)))
        spare = len(errors) * (1 - len(self.free) / self.size)
        return self.pages.ends(errors, forms, spare, level)

    def ends(self, u: Column, covariance: Column, wide: float) -> list[tuple[float, float]]:
        """Ends of the interval of each coordinate, as far as the likelihood reaches.

        The others go along as the covariance says. The deviance rises by the square of `wide` at an
        end, so that one to whose side the data say nothing is open.
        """
        least = float((self.residuals(u) ** 2).sum())
        found = []
        for i, one in enumerate(self.free):
            error = math.sqrt(covariance[i, i])
            along = covariance[:, i] / error
            sides = []
            for side, end in ((-1.0, one.low), (1.0, one.high)):
                far = wide
                for _ in range(MOST_STEPS):
                    place = u + side * far * along
                    if side * (place[i] - end) >= 0:
                        far = math.inf
                        break
                    rise = float((self.residuals(place) ** 2).sum()) - least
                    ratio = math.sqrt(max(rise, 0.01)) / wide
                    if abs(ratio - 1) < NEAR:
                        break
                    far /= min(max(ratio, 0.4), 3.0)
                sides.append(float(u[i] + side * far * error))
            found.append((sides[0], sides[1]))
        return found

    def run(self, start: Mapping[str, float]) -> Column:
        """The coordinates of the parameters that the data tell; the others are left out."""
        import numpy as np

        begin = [start.get(one.name, one.start) for one in self.free]
        self.free = [
            one if one.is_log else one.begun_at(at)
            for one, at in zip(self.free, begin, strict=True)
        ]
        u = np.array([one.coordinate(at) for one, at in zip(self.free, begin, strict=True)])
        u, deviance = self.weighed(u)
        while self.free:
            errors = np.sqrt(np.diag(self.covariance(u)))
            if errors.max() <= MOST_ERROR:
                ends = zip(self.free, u, strict=True)
                near = [min(at - one.low, one.high - at) < AT_END for one, at in ends]
                if True not in near:
                    break
                u, deviance = self._held(near.index(True), u)
                continue
            # Of effects whose form is not known the form goes first.
            forms = np.array([one.name in FORMS for one in self.free])
            unknown = errors > MOST_ERROR
            among = unknown & forms if (unknown & forms).any() else unknown
            u, deviance = self._left_out(int(np.argmax(np.where(among, errors, -1.0))), u, deviance)
        if not self.free:
            raise refusal("fit", "the data do not determine any key of the cell", hint=MORE)
        # Fewer parameters leave another scatter.
        return self.least(self.weighed(u)[0], TIGHT)[0]

    def _held(self, which: int, u: Column) -> tuple[Column, float]:
        """With a parameter held at the end of its range, to which the data have pushed it."""
        import numpy as np

        one = self.free.pop(which)
        self.held[one.name] = one.value(float(u[which]))
        self.notes.append(
            f"{one.name} is held at {self.held[one.name]:.3g}, the end of its range, to which the "
            "data push it: the cell may lack an effect that they show"
        )
        return self.least(np.delete(u, which))

    def _left_out(self, worst: int, u: Column, deviance: float) -> tuple[Column, float]:
        """Without a parameter: at the chip's own value, or where the data have pushed it."""
        import numpy as np

        one = self.free.pop(worst)
        there, rest = one.value(float(u[worst])), np.delete(u, worst)
        if not self.free:
            return rest, deviance
        found, after = self.least(rest)
        if after - deviance <= SURE:
            self.notes.append(f"{one.name} stays at {one.start:.4g}: the data do not tell it")
            return found, after
        self.held[one.name] = there
        self.notes.append(
            f"{one.name} is held at {there:.3g}, to which the data push it: they bound it from one "
            "side only"
        )
        return self.least(rest)


MORE = "use more rows, or rows in which more columns vary"
