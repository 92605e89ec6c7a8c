"""Spread of pages: the key of a cell that the scatter of rows tells, where each is of one page.

Pages differ by the width of their wordline, which moves their error rates the more the farther
these lie in the tail of a level: the cell itself says by how much at each stress. The spread is the
one at which rows scatter as much as they should (as that of `nandlab.fit.table`); its interval has
quantiles of chi-squared, with fewer degrees of freedom for the long tail of a lognormal, and no
more than there are pages.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nandlab.fit.estimate import spread_of_rows
from nandlab.fit.whole_cell.model import Model, state_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab import _core

    Column = NDArray[np.float64]

LEAST, MOST = 1e-4, 1.0
"""Ends of the spread: less is none, and more no cell takes."""


class PageSpread:
    """The spread of pages, and how it shows in each row."""

    def __init__(self, model: Model, start: float) -> None:
        self._model = model
        self.start = start
        self.value = start

    def forms(self, cell: _core.Cell) -> Column:
        """Standard deviation of the logarithm of the rate over pages, at the stress of each row."""
        import numpy as np

        counts, known = self._model.data.counts, dict[tuple[int, int], float]()
        rows = list(zip(counts.place.tolist(), counts.page_type.tolist(), strict=True))
        for place, page in set(rows):
            state = state_of(cell, self._model.data.stresses[place])
            known[place, page] = cell.page_spread(page, [], state)
        return np.array([known[row] for row in rows])

    def moved(self, factor: float) -> None:
        """Takes another spread, within what a cell takes."""
        self.value = min(max(self.value * factor, LEAST), MOST)

    def ends(
        self, errors: Column, forms: Column, spare: float, level: float
    ) -> tuple[float, float]:
        """The interval, from the scatter of rows about their expected errors.

        Args:
            errors: expected of each row.
            forms: of each row, at the spread that was found.
            spare: degrees of freedom of the rows.
            level: of the interval.
        """
        import numpy as np
        from scipy.stats import chi2

        counts = self._model.data.counts
        w = math.exp(float(np.mean(forms**2)))
        free = min(spare, counts.pages - 1.0) / (1 + (w**4 + 2 * w**3 + 3 * w**2 - 6) / 2)
        ends = []
        for side in (1, -1):
            ratio = float(chi2.ppf(0.5 + side * level / 2, free)) / free
            found = spread_of_rows(counts.errors, errors, counts.bits, ratio * spare, forms)
            ends.append(min(self.value * found, MOST))
        return min(ends[0], self.value), max(ends[1], self.value)
