"""Exponential laws of cycles: errors of a page, at one voltage or by the voltage (Wang, ICS'14)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nandlab.fit.estimate import Law
from nandlab.fit.law.columns import check_varies, least_and_most
from nandlab.fit.law.contract import NOTHING, Fitted, Options
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]


def exponential(data: Measurements, options: Options) -> Fitted:
    """Errors of a page = a exp(b N / 1e5) - 1, never below zero (Wang, ICS'14, section 3.3)."""
    import numpy as np

    [cycles] = data.need("pe_cycles")
    check_varies(data, "pe_cycles")
    n = cycles / 1e5
    _, most = least_and_most(data)
    # Centred high, where the errors are.
    centre = float(n.max())
    bits, least = options.page_bits, _least_rate(options)

    def mean(u: Column) -> Column:
        errors = np.exp(np.clip(u[0] + np.exp(min(u[1], 50.0)) * (n - centre), NOTHING, 100)) - 1
        rate: Column = np.clip(errors / bits, least, 0.5)
        return rate

    def natural(u: Column) -> Column:
        return np.array([u[0] - np.exp(min(u[1], 50.0)) * centre, u[1]])

    top = math.log(most * bits + 1.0)
    span = float(n.max() - n.min())
    starts = [np.array([top, math.log(growth / span)]) for growth in (0.5, 1.0, 2.0, 5.0, 12.0)]

    def array(values: dict[str, float]) -> dict[str, Any]:
        law = {"alpha_1": 0.0, "beta_1": values["a"], "alpha_2": 0.0, "beta_2": values["b"]}
        return {"name": "exponential", "vth_v": 1.0, **law, "page_bits": bits}

    return Fitted(Law(starts, mean, natural, ["a", "b"], [True, True]), array, [])


def exponential_vth(data: Measurements, options: Options) -> Fitted:
    """The same with a and b linear in ln V (Wang, equations 6 to 9)."""
    import numpy as np

    cycles, volts = data.need("pe_cycles", "vth_v")
    check_varies(data, "pe_cycles", "vth_v")
    if (volts <= 0).any():
        i = int(np.argmax(volts <= 0))
        raise refusal(data.name, f"vth_v = {volts[i]:g}: it has no logarithm", "above 0 V (eq. 6)")
    n, ln_v = cycles / 1e5, np.log(volts)
    low, high = float(ln_v.min()), float(ln_v.max())
    part = (ln_v - low) / (high - low)
    centre, bits, least = float(n.max()), options.page_bits, _least_rate(options)
    _, most = least_and_most(data)

    def ab(u: Column) -> tuple[Column, Column]:
        """At the lowest and the highest voltage."""
        b = np.exp(np.minimum(u[2:4], 50.0))
        return np.exp(np.clip(u[0:2] - b * centre, NOTHING, 100)), b

    def mean(u: Column) -> Column:
        a, b = ab(u)
        a_at, b_at = a[0] + (a[1] - a[0]) * part, b[0] + (b[1] - b[0]) * part
        errors = a_at * np.exp(np.clip(b_at * n, NOTHING, 100)) - 1
        rate: Column = np.clip(errors / bits, least, 0.5)
        return rate

    def natural(u: Column) -> Column:
        found = []
        for pair in ab(u):
            slope = (pair[1] - pair[0]) / (high - low)
            found += [slope, pair[0] - slope * low]
        return np.array(found)

    top = math.log(most * bits + 1.0)
    span = float(n.max() - n.min())
    starts = [
        np.array([top, top, math.log(g / span), math.log(g / span)]) for g in (1.0, 2.0, 5.0, 12.0)
    ]

    def array(values: dict[str, float]) -> dict[str, Any]:
        middle = float(np.exp(ln_v.mean()))
        return {"name": "exponential", "vth_v": middle, **values, "page_bits": bits}

    names = ["alpha_1", "beta_1", "alpha_2", "beta_2"]
    note = "vth_v of the array is the middle of the data; set it to the mean of your chip's states"
    return Fitted(Law(starts, mean, natural, names, [False] * 4), array, [note])


def _least_rate(options: Options) -> float:
    """Of an exponential law: its paper's fit leaves it at -1 error in a young page."""
    return -math.inf if options.least_squares else 0.0
