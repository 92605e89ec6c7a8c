"""Columns of measurements as laws take them: logarithms, rates, and what varies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.fit.law.contract import NOTHING
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]


def check_varies(data: Measurements, *names: str) -> None:
    """Refuses data in which a column has one value.

    Raises:
        NandlabError: a column does not vary.
    """
    for name in names:
        if not data.varies(name):
            raise refusal(
                data.name,
                f"the column {name} has one value only",
                "at least two values",
            )


def is_falling(data: Measurements, name: str) -> bool:
    """Whether the rates at a column's highest value are below those at its lowest."""
    import numpy as np

    column, logs = data.columns[name], np.log(observed(data))
    ends = (logs[column == end].mean() for end in (column.min(), column.max()))
    return bool(np.diff([*ends])[0] < 0)


def centred_logs(data: Measurements, name: str, unit: float) -> tuple[Column, float]:
    """Logarithms of a column less that of its middle, and that of its middle."""
    import numpy as np

    values = data.columns.get(name)
    if values is None or not (values > 0).any():
        return np.zeros(data.rows), 0.0
    values = values / unit
    middle = float(np.log(values[values > 0]).mean())
    with np.errstate(divide="ignore"):
        logs = np.log(values) - middle
    return np.maximum(logs, NOTHING), middle


def observed(data: Measurements) -> Column:
    """Rates, never zero."""
    if "rber" in data.columns:
        return data.columns["rber"]
    errors, bits = data.columns["bit_errors"], data.columns["bits_read"]
    rates: Column = (errors + 0.5) / (bits + 1.0)
    return rates


def least_and_most(data: Measurements) -> tuple[float, float]:
    """The least and the greatest."""
    rates = observed(data)
    return float(rates.min()), float(rates.max())
