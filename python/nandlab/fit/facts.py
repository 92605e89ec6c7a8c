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
from nandlab.given.toml import toml_value

if TYPE_CHECKING:
    from nandlab.fit.fitting import Fit

ARRAY_KEYS = {"beta_1": "a", "beta_2": "b"}
"""Keys of an array model whose fitted parameters have other names."""


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
    """Of the parameters in their order; empty if it is not known."""
    ranges: Mapping[str, Sequence[float]] = {}
    """Least and most of each stress in the data."""

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

    def lines(self) -> list[str]:
        """The keys below `[fit]` of a chip file."""
        rows = [f"    {toml_value(row)}," for row in self.covariance]
        return [
            "# derived: of the fit; `nandlab endurance` uses it, a drive does not.",
            *(
                f"{key} = {toml_value(value)}"
                for key, value in self._asdict().items()
                if key != "covariance"
            ),
            *(["covariance = [", *rows, "]"] if rows else []),
        ]

    def is_of(self, array: Mapping[str, Any]) -> bool:
        """Whether an array model has the fitted values still."""
        keys = self._keys(array)
        return len(keys) == len(self.values) and all(
            math.isclose(float(array[key]), value, rel_tol=1e-9)
            for key, value in zip(keys, self.values, strict=True)
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
            model = {**array, **dict(zip(keys, numbers, strict=True))}
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
        return [key for key in keys if key in array]
