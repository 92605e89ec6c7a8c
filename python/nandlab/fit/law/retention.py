"""Retention law: the logarithm of the rate is linear in that of time (Luo 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.fit.estimate import Law
from nandlab.fit.law.columns import check_varies, observed
from nandlab.fit.law.contract import NOTHING, Fitted, Options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]

RETENTION_REFERENCE_C = 25.0
"""Default reference temperature of a law with several temperatures."""


def retention_law(data: Measurements, options: Options) -> Fitted:
    """Luo 2018: ln RBER = (a N + b) ln t + c N + d, t in seconds at a reference temperature."""
    import numpy as np

    cycles, hours = data.need("pe_cycles", "retention_hours")
    check_varies(data, "pe_cycles", "retention_hours")
    with_energy = data.varies("temperature_c")
    reference_c = RETENTION_REFERENCE_C if options.reference_c is None else options.reference_c
    celsius = data.columns.get("temperature_c", np.full(data.rows, reference_c))
    # By which power of e time goes faster, for each electron volt.
    faster = np.log([_core.acceleration(1.0, reference_c, c) for c in celsius])
    # What is read at once is no older for being warm.
    bare = np.log(np.maximum(hours * 3600, 1e-300))
    seconds = np.maximum(bare, 0.0)
    middle, size = float(cycles.mean()), float(cycles.std())
    second = float(seconds.mean())
    x = (cycles - middle) / size
    fixed = np.zeros(data.rows) if with_energy else faster * 1.1

    def mean(u: Column) -> Column:
        energy = u[4] * faster if with_energy else fixed
        late = np.maximum(bare + energy, 0.0) - second
        logs = u[0] + u[1] * x + u[2] * late + u[3] * x * late
        rate: Column = np.exp(np.clip(logs, NOTHING, -0.7))
        return rate

    def natural(u: Column) -> Column:
        slope = u[3] / size
        level = u[1] / size - slope * second
        b = u[2] - slope * middle
        d = u[0] - u[2] * second - middle * (u[1] / size - slope * second)
        return np.array([slope, b, level, d, *u[4:]])

    rate = observed(data)
    basis = [np.ones(data.rows), x, seconds - second, x * (seconds - second)]
    linear = np.linalg.lstsq(np.stack(basis, axis=-1), np.log(rate), rcond=None)[0]
    starts = [np.append(linear, e) for e in (0.5, 1.1)] if with_energy else [linear]
    names = ["a_slope", "b_slope", "c_level", "d_level"]
    notes = []
    if with_energy:
        names.append("activation_ev")
    elif "temperature_c" in data.columns and celsius[0] != reference_c:
        notes.append("the data have one temperature: activation_ev = 1.1 is assumed")

    def array(values: dict[str, float]) -> dict[str, Any]:
        where = {"temperature_c": reference_c, "reference_c": reference_c}
        return {"name": "retention_law", **where, **values}

    return Fitted(Law(starts, mean, natural, names, [False] * len(names)), array, notes)
