"""Facts of a fit that a chip file keeps: the range of its data, the covariance of its parameters.

A fit gives them, `[fit]` of a chip file holds them, and an endurance uses them, whichever of the
two it was asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab.fit.law.layers import value_in, with_values
from nandlab.given.toml import toml_value

if TYPE_CHECKING:
    from nandlab.fit.fitting import Fit

ARRAY_KEYS = {"beta_1": "a", "beta_2": "b"}
"""Keys of an array model whose fitted parameters have other names."""


WHOLE_CELL = "cell"
"""Law of a fit of a whole cell."""

AT_REFERENCE = "hours_at_reference"
"""Range of the hours at the reference temperature, if the data were kept at several."""


def hours_text(hours: float) -> str:
    """Hours for people."""
    return f"{hours:,.0f}" if hours >= 1000 else f"{hours:.4g}"


def life_in(ranges: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The life that the measurements of a fit reach over, as `Cell.retry_table` takes it.

    Hours are those at the reference temperature; reads of the block are left out.
    """
    begin, end = ranges.get("pe_cycles", (0, 0))
    kept = ranges.get(AT_REFERENCE, ranges.get("retention_hours", (0.0, 0.0)))
    return {"pe_cycles": (round(begin), round(end)), "retention_hours": kept[1]}


class FitFacts(NamedTuple):
    """What a fit of a law says of itself."""

    law: str
    data: str
    rows: int
    parameters: Sequence[str]
    values: Sequence[float]
    is_log: Sequence[bool]
    """Which parameters the covariance has as natural logarithms."""
    covariance: Sequence[Sequence[float]] = ()
    """Covariance of the parameters in their order; empty if it is not known."""
    ranges: Mapping[str, Sequence[float]] = {}
    """Least and most of each stress in the data."""

    @property
    def title(self) -> str:
        """Name of what was fitted, in a sentence."""
        return "the fitted cell" if self.law == WHOLE_CELL else self.law

    @classmethod
    def of(cls, fitted: Fit) -> FitFacts:
        """Those of a fit of error rates.

        Of a table only the ranges: its rates are known one by one, as the file says at each.
        """
        covariance: list[list[float]] = []
        parameters = [] if fitted.law == "table" else fitted.parameters
        if parameters:
            covariance = fitted.covariance()
            if not all(math.isfinite(one) for row in covariance for one in row):
                covariance = []
        return cls(
            fitted.law,
            fitted.data.name,
            fitted.data.rows,
            [one.name for one in parameters],
            [float(one.value) for one in parameters],
            [bool(one) for one in fitted.is_log()] if parameters else [],
            covariance,
            {name: list(ends) for name, ends in fitted.ranges().items()},
        )

    @classmethod
    def read(cls, table: object, place: str) -> FitFacts:
        """Those of a chip's table `[fit]`.

        Raises:
            NandlabError: keys that there are not, or numbers that do not belong together.
        """
        _core.check_fit_facts(json.dumps(table), place)
        assert isinstance(table, Mapping)
        return cls(**table)

    def is_beyond(
        self, pe_cycles: float, hours: float, reads: float = 0, temperature_c: float | None = None
    ) -> bool:
        """Whether a law is asked for more than the data hold.

        Rates of a table end with its points, which other messages say.

        Args:
            pe_cycles: of the block.
            hours: at the reference temperature of the law.
            reads: of the block.
            temperature_c: at which the hours passed, if it is known. It counts for laws whose
                activation energy was fitted.
        """
        if self.law == "table":
            return False
        cycles, most_hours, most_reads, warmth = self._ends()
        is_beyond = pe_cycles > cycles or hours > most_hours * (1 + 1e-9) or reads > most_reads
        if warmth is None or temperature_c is None or hours == 0:
            return is_beyond
        return is_beyond or not warmth[0] <= temperature_c <= warmth[1]

    def ends(self) -> str:
        """The ends of the data in words."""
        cycles, hours, reads, warmth = self._ends()
        of_reads = f", {reads:,.0f} reads" if "reads" in self.ranges else ""
        at = "" if warmth is None else f", kept at {warmth[0]:g} to {warmth[1]:g} °C"
        return f"its data end at {cycles:,.0f} cycles{of_reads} and {hours_text(hours)} h{at}"

    def _ends(self) -> tuple[float, float, float, tuple[float, float] | None]:
        """Most cycles, hours at the reference and reads; the temperatures if they vary.

        Data without reads say nothing of them: their rates hold for any.
        """
        ranges = self.ranges
        kept = ranges.get(AT_REFERENCE, ranges.get("retention_hours", (0.0, 0.0)))
        least, most = ranges.get("temperature_c", (0.0, 0.0))
        return (
            ranges.get("pe_cycles", (0.0, 0.0))[1],
            kept[1],
            ranges.get("reads", (0.0, math.inf))[1],
            (least, most) if AT_REFERENCE in ranges else None,
        )

    def layers_beyond(self, count: int) -> list[str]:
        """A note where some of so many layers lie outside of the data."""
        first, last = self.ranges.get("layer", (0, count - 1))
        outside = [*range(round(first)), *range(round(last) + 1, count)]
        if not outside:
            return []
        return [
            f"error rates of {len(outside)} of {count} layers are extrapolations of {self.title}: "
            f"its data have layers {first:g} to {last:g}"
        ]

    def lines(self) -> list[str]:
        """The keys below `[fit]` of a chip file."""
        rows = [f"    {toml_value(row)}," for row in self.covariance]
        return [
            "# derived: of the fit; notes and intervals use it, the results of a drive do not.",
            *(
                f"{key} = {toml_value(value)}"
                for key, value in self._asdict().items()
                if key != "covariance"
            ),
            *(["covariance = [", *rows, "]"] if rows else []),
        ]

    def is_of(self, array: Mapping[str, Any]) -> bool:
        """Whether an array model has the fitted values still."""
        there = [value_in(array, key) for key in self._keys(array)]
        return len(there) == len(self.values) and all(
            one is not None and math.isclose(one, value, rel_tol=1e-9)
            for one, value in zip(there, self.values, strict=True)
        )

    def draws(self, array: Mapping[str, Any], count: int, seed: int = 0) -> list[dict[str, Any]]:
        """Array models drawn from the covariance of the parameters.

        Draws that an array model refuses, because they would heal with stress, are left out.
        """
        import numpy as np

        is_log = np.asarray(self.is_log, dtype=bool)
        values = np.asarray(self.values, dtype=float)
        middle = np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)
        rng = np.random.default_rng(seed)
        found, keys = [], self._keys(array)
        # What is beyond all numbers the array model refuses.
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = rng.multivariate_normal(middle, self.covariance, count, method="eigh")
            drawn = np.where(is_log, np.exp(np.where(is_log, drawn, 0.0)), drawn)
        for numbers in drawn.tolist():
            model = with_values(array, keys, numbers)
            try:
                _core.Array(json.dumps(model))
            except _core.NandlabError:
                continue
            found.append(model)
        return found

    def _keys(self, array: Mapping[str, Any]) -> list[str]:
        """Keys of the parameters in an array model."""
        names = {name: key for key, name in ARRAY_KEYS.items()}
        keys = [name if name in array else names.get(name, name) for name in self.parameters]
        return [key for key in keys if value_in(array, key) is not None]
