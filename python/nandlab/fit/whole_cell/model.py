"""Forward model of a fit of a cell: the engine's own closed form at each stress of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.cell.model import reads_at
from nandlab.fit.whole_cell.keys import sets
from nandlab.fit.whole_cell.observed import EVERY_PAGE, Observed, Stressed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.cell.source import Source

    Column = NDArray[np.float64]


class Model:
    """Measurements that a cell with other parameters would have shown."""

    def __init__(self, source: Source, tables: Mapping[str, Any], data: Observed) -> None:
        self._source = source
        self.tables = tables
        """Tables of the cell as it is."""
        self.data = data

    def cell(self, values: Mapping[str, float]) -> _core.Cell:
        """The cell with some values changed.

        Raises:
            NandlabError: a cell that cannot be.
        """
        about = self._source
        given = [*about.sets, *sets(values, self.tables)]
        return _core.Cell(about.text, about.place, given, about.cell_bits, about.page_order)

    def rates(self, cell: _core.Cell) -> Column:
        """The error rate of each row of counts."""
        import numpy as np

        counts = self.data.counts
        if not len(counts.place):
            return np.empty(0)
        used, at = np.unique(counts.place, return_inverse=True)
        states = [state_of(cell, self.data.stresses[i]) for i in used]
        by_page = cell.rber_by_shift(states, [0.0], 1.0).reshape(len(used), -1)
        page = np.where(counts.page_type == EVERY_PAGE, 0, counts.page_type)
        own, pooled = by_page[at, page], by_page.mean(axis=1)[at]
        return np.where(counts.page_type == EVERY_PAGE, pooled, own)

    def cells(self, cell: _core.Cell) -> list[Column]:
        """The cells of each bin of each histogram, as many as it counts in all.

        All levels hold as many cells. Those beyond the ends of a histogram are not in it.
        """
        import numpy as np

        found = []
        for place, bins in self.data.histograms:
            state = state_of(cell, self.data.stresses[place])
            sides = cell.sides(state, np.ascontiguousarray(bins.edges_v))
            above, below = (side.reshape(-1, len(bins.edges_v)) for side in sides)
            # The difference of the tails that are small there.
            upper = above[:, :-1] < 0.5
            share = np.where(upper, -np.diff(above), np.diff(below)).clip(min=0.0).sum(axis=0)
            found.append(bins.cells.sum() * share / max(float(share.sum()), 1e-300))
        return found


def state_of(cell: _core.Cell, stress: Stressed) -> tuple[int, float, int, int]:
    """A stress as a cell takes it: its hours and reads at the cell's reference temperatures."""
    hours, reads = stress.retention_hours, stress.reads
    if stress.temperature_c is not None:
        hours = cell.equivalent_hours(hours, stress.temperature_c)
        reads = reads_at(cell, reads, stress.temperature_c)
    return stress.pe_cycles, hours, reads, 0
