"""Result of a fit of a cell: parameters with intervals, and what cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab.cell.model import Cell
from nandlab.display.notebook import InNotebook
from nandlab.fit.facts import AT_REFERENCE, WHOLE_CELL, FitFacts, life_in
from nandlab.fit.parameters import Confidence, Parameter, printed
from nandlab.fit.whole_cell.descent import Descent
from nandlab.fit.whole_cell.keys import PAGE_SPREAD, sets
from nandlab.fit.whole_cell.observed import Observed
from nandlab.given.arguments import as_text, path_or_none
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.cell.retry import RetryTable
    from nandlab.cell.source import Source

    Column = NDArray[np.float64]

ALIKE = 0.98
"""Correlation of two parameters from which on the data do not tell them apart."""


class CellFit(InNotebook):
    """Parameters of a cell, fitted to measurements."""

    def __init__(
        self,
        chip: str,
        source: Source,
        descent: Descent,
        u: Column,
        confidence: Confidence,
        notes: Sequence[str],
    ) -> None:
        import numpy as np
        from scipy.stats import t as student

        self.chip = chip
        """Preset or file of the chip that it started from."""
        self.confidence = confidence
        self.data: Observed = descent.model.data
        self.descent = descent
        self.at = u
        # Error rates of the chip of a fit are those of its cell.
        self._source = source._replace(chip={**source.chip, "array": {"name": "table"}})
        free = descent.free
        self._scale = np.array([1.0 if one.is_log else one.scale for one in free])
        self._covariance = descent.covariance(u)
        self.degrees = descent.size - len(free)
        wide = float(student.ppf(0.5 + confidence.of_one / 2, self.degrees))
        ends = descent.ends(u, self._covariance, wide)
        self.parameters = []
        for one, at, (begin, end) in zip(free, u.tolist(), ends, strict=True):
            value, low, high = (_short(one.value(v)) for v in (at, begin, end))
            self.parameters.append(Parameter(one.name, value, low, high))
        self.before = {one.name: one.start for one in free}
        """Values of the chip before the fit."""
        self._is_log = [one.is_log for one in free]
        if descent.pages is not None:
            pages = descent.pages
            begin, end = descent.page_ends(u, confidence.of_one)
            known = Parameter(PAGE_SPREAD, _short(pages.value), _short(begin), _short(end))
            self.parameters.append(known)
            self.before[PAGE_SPREAD] = pages.start
            self._is_log.append(True)
            # Of the other parameters, which are found at any spread, it is independent.
            error = math.log(max(end, 1e-9) / max(begin, 1e-9)) / (2 * wide)
            self._scale = np.append(self._scale, 1.0)
            self._covariance = np.pad(self._covariance, ((0, 1), (0, 1)))
            self._covariance[-1, -1] = error**2
        self.values = {name: _short(value) for name, value in descent.values(u).items()}
        """All values that differ from those of the chip; those that are held among them."""
        self.overdispersion = descent.overdispersion(u)
        self.notes = [*notes, *descent.notes]
        self.apart = self._apart()
        """Sentences on keys that the data hardly tell apart, or hardly know."""

    @property
    def cell(self) -> Cell:
        """The fitted cell."""
        return Cell(self._source, sets(self.values, self.descent.model.tables))

    @property
    def unfitted(self) -> Cell:
        """The cell of the chip before the fit."""
        return Cell(self._source)

    def __getitem__(self, name: str) -> Parameter:
        """A parameter by its name."""
        names = [parameter.name for parameter in self.parameters]
        name = as_text("fit: parameter", name, ", ".join(names))
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise refusal("fit", f"unknown parameter `{name}`", names, given=name)

    def is_log(self) -> list[bool]:
        """Whether `covariance` has each parameter as a logarithm."""
        return list(self._is_log)

    def covariance(self) -> list[list[float]]:
        """Covariance of the parameters in their order; of positive ones, of their logarithms."""
        scaled = self._covariance * self._scale[:, None] * self._scale
        found: list[list[float]] = scaled.tolist()
        return found

    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the most of each stress in the data: beyond it a cell is extrapolated."""
        found = {
            name: (float(column.min()), float(column.max()))
            for name, column in self.data.columns.items()
        }
        if "temperature_c" in found:
            aged = [
                one.retention_hours
                if one.temperature_c is None
                else self.cell.equivalent_hours(one.retention_hours, one.temperature_c)
                for one in self.data.stresses
            ]
            found[AT_REFERENCE] = (min(aged), max(aged))
        return found

    def facts(self) -> FitFacts:
        """Facts of the fit that a chip file keeps."""
        return FitFacts(
            WHOLE_CELL,
            self.data.name,
            self.data.rows,
            [one.name for one in self.parameters],
            [one.value for one in self.parameters],
            self.is_log(),
            self.covariance(),
            {name: list(ends) for name, ends in self.ranges().items()},
        )

    def _apart(self) -> list[str]:
        import numpy as np

        free, found = self.descent.free, []
        covariance = self._covariance[: len(free), : len(free)]
        errors = np.sqrt(np.diag(covariance))
        alike = covariance / np.outer(errors, errors)
        for i, one in enumerate(free):
            for j in range(i):
                if abs(alike[i, j]) > ALIKE:
                    found.append(
                        f"{free[j].name} and {one.name} cannot be told apart: their correlation is "
                        f"{alike[i, j]:.3f}"
                    )
        # A voltage has no size of its own: it is known if it is against the levels' distance.
        volts = [one for one in free if one.name.endswith(("]", "_v")) and not one.is_log]
        sizes = {one.name: one.scale for one in volts}
        for known in self.parameters:
            if known.high - known.low > abs(sizes.get(known.name, known.value)):
                span = f"{known.low:.3g} to {known.high:.3g}"
                found.append(f"{known.name} is hardly known: {known.value:.3g}, {span}")
        return found

    @property
    def method(self) -> str:
        """Method of the intervals, in words."""
        scatter = self.descent.weights
        parts = []
        if len(self.data.counts.errors):
            parts.append(f"rows that differ by {100 * scatter.spread:.3g} %")
        if self.data.histograms:
            parts.append(f"bins that scatter {scatter.wider:.3g} times as much as counts")
        return (
            "binomial likelihood of counts, Poisson likelihood of bins; ends where it has fallen "
            f"as far as Student t says, for {' and '.join(parts)}; {self.confidence.sentence}"
        )

    def _trials(self) -> str:
        counts, histograms = self.data.counts, self.data.histograms
        parts = []
        if len(counts.errors):
            errors, bits = counts.errors.sum(), counts.bits.sum()
            rows = len(counts.errors)
            parts.append(f"{errors:,.0f} errors of {bits:.4g} bits in {rows} rows")
        if histograms:
            cells = sum(float(bins.cells.sum()) for _, bins in histograms)
            parts.append(f"{cells:,.0f} cells in {len(histograms)} histograms")
        return ", ".join(parts)

    def __repr__(self) -> str:
        count = len(self.parameters)
        return f"<fit of the cell of {self.chip}: {self._trials()}, {count} parameters>"

    def __str__(self) -> str:
        """A table for people."""
        lines = [f"cell of {self.chip} fitted to {self.data.name}: {self._trials()}", ""]
        lines += printed(self.parameters, self.confidence, self.before)
        lines += ["", f"intervals: {self.method}"]
        if not math.isnan(self.overdispersion):
            lines.append(
                f"over-dispersion: {self.overdispersion:.3g} (Pearson's chi-squared of the counts "
                "over its degrees of freedom; 1 is the scatter of independent errors)"
            )
        lines += [f"note: {one}" for one in (*self.apart, *self.notes)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        scatter = self.descent.weights
        return {
            "law": WHOLE_CELL,
            "chip": self.chip,
            "data": self.data.name,
            "rows": self.data.rows,
            "trials": self._trials(),
            "level": self.confidence.level,
            "joint": self.confidence.joint > 1,
            "method": self.method,
            "overdispersion": None if math.isnan(self.overdispersion) else self.overdispersion,
            "rows_differ_by": scatter.spread,
            "bins_wider_by": scatter.wider,
            "degrees_of_freedom": self.degrees,
            "parameters": {
                p.name: [p.value, *(end if math.isfinite(end) else None for end in (p.low, p.high))]
                for p in self.parameters
            },
            "before": self.before,
            "held": self.descent.held,
            "is_log": self.is_log(),
            "covariance": self.covariance(),
            "ranges": {name: list(ends) for name, ends in self.ranges().items()},
            "not_told_apart": self.apart,
            "notes": self.notes,
        }

    def retry_table(self, count: int, **given: Any) -> RetryTable:
        """Shifts of all references that correct most codewords over the life of the data.

        Args:
            count: shifts of the table.
            given: as of `nandlab.cell.retry.retry_table`, such as ``t``.
        """
        return self.cell.retry_table(count, **(life_in(self.ranges()) | given))

    def chip_toml(self, retry: RetryTable | None = None) -> str:
        """The text of a chip file: the chip with the fitted cell.

        Args:
            retry: a retry table, which stands in it as a comment: it is a key of drives.
        """
        from nandlab.fit.whole_cell.chip import chip_toml

        return chip_toml(self, retry)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Measured against fitted rates and histograms, also written to `path`."""
        from nandlab.fit.whole_cell.plot import plot_cell

        return plot_cell(self, path_or_none("plot", path))


def _short(value: float) -> float:
    """A value with as many digits as a chip file has of it."""
    return float(f"{value:.10g}")
