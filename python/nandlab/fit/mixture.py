"""Mixtures of Gaussian or Student-t states, fitted to histograms of threshold voltages.

Gaussian as in Wang's equation 2; Student's t, whose tails are as heavy as the data want, after Luo
et al. (JSAC'16), without their asymmetry. Bins are integrals of the density, not its middle.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.fit.estimate import Law
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]

MIXTURES = ("gaussian", "student_t")

LEAST_SHARE = 0.01
"""Of an even share of the cells: a state of fewer is none."""

MOST_DECADES = 3.0
"""Of the interval of a width or a share: both are of what was seen, nothing is drawn out."""

LEAST_BINS = 4

LN_MOST_DEGREES = math.log(1000.0)
"""Of Student's t; with so many it is Gaussian for all purposes."""

CLEAR = 5.0
"""Height over its valleys, in roots of cells (whose noise is 0.5), from which on a maximum is a
state and no noise."""

CURE = "use as many states as the histogram has peaks, or more cells"


class Histogram(NamedTuple):
    """Bins and the cells in them."""

    edges_v: Column
    cells: Column

    @property
    def centres_v(self) -> Column:
        """Middles of the bins."""
        middles: Column = (self.edges_v[1:] + self.edges_v[:-1]) / 2
        return middles


def maxima(bins: Histogram) -> int:
    """Clear maxima of a histogram: the states that a reader sees."""
    import numpy as np
    from scipy.signal import find_peaks

    smooth = np.convolve(bins.cells, (0.25, 0.5, 0.25), mode="same")
    # A state may begin or end with the histogram.
    roots = np.pad(np.sqrt(np.maximum(smooth, 0.0)), 1)
    return len(find_peaks(roots, prominence=CLEAR)[0])


def histogram(data: Measurements) -> Histogram:
    """From the columns `vth_v` and `cells`: an edge is midway between two voltages, or a sweep's.

    Raises:
        NandlabError: too few bins, voltages that do not rise, or there are no cells.
    """
    import numpy as np

    centres, cells = data.need("vth_v", "cells")
    if len(centres) < LEAST_BINS:
        raise refusal(data.name, f"{len(centres)} bins", f"{LEAST_BINS} or more")
    if (np.diff(centres) <= 0).any():
        i = int(np.argmax(np.diff(centres) <= 0)) + 1
        rise = f"{centres[i]:g} after {centres[i - 1]:g}: out of order"
        problem = f"row {data.lines[i]}, column vth_v: {rise}"
        raise refusal(data.name, problem, "each bin above the one before")
    if cells.sum() < 100:
        raise refusal(data.name, f"{cells.sum():.0f} cells", "100 or more")
    if data.sweep is not None:
        return Histogram(data.sweep.edges_v, cells)
    between = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - between[0], 2 * centres[-1] - between[-1]
    return Histogram(np.concatenate(([first], between, [last])), cells)


def mixture(bins: Histogram, family: str, states: int) -> Law:
    """The law of the expected cells of each bin. Coordinates: centre, ln width, ln cells, tail."""
    import numpy as np
    from scipy.special import logsumexp

    if not 2 <= states <= 16:
        raise refusal("fit", f"{states} states: out of range", "2 to 16")
    filled = int(np.count_nonzero(bins.cells))
    if filled < 2 * states:
        # A state in one bin has any width below the bin's.
        raise refusal(
            "fit",
            f"bins with cells: {filled}, too few for the widths of {states} states",
            f"{2 * states} or more",
        )
    each = 4 if family == "student_t" else 3

    def mean(u: Column) -> Column:
        total = np.zeros(len(bins.cells))
        for state in u.reshape(states, each):
            width = math.exp(min(max(state[1], -50.0), 50.0))
            tail = float(state[3]) if family == "student_t" else None
            part = np.diff(distribution((bins.edges_v - state[0]) / width, tail))
            total = total + math.exp(min(state[2], 50.0)) * part
        return total

    def natural(u: Column) -> Column:
        table = u.reshape(states, each)
        ln_cells = np.minimum(table[:, 2], 50.0)
        columns = [table[:, 0], table[:, 1], ln_cells - logsumexp(ln_cells)]
        if family == "student_t":
            columns.append(_tail(table[:, 3]))
        return np.stack(columns, axis=-1).ravel()

    words = ["mu_{}_v", "sigma_{}_v", "weight_{}", "nu_{}"][:each]
    names = [word.format(s) for s in range(states) for word in words]
    is_log = [i > 0 for _ in range(states) for i in range(each)]
    starts = _starts(bins, states, each)
    # Of tails as light as a Gaussian's no more can be known than that they are.
    tails = {name: (0.0, LN_MOST_DEGREES) for name in names if name.startswith("nu_")}
    lighter = "use the law `gaussian`, or " if tails else ""
    return Law(starts, mean, natural, names, is_log, lambda _: lighter + CURE, MOST_DECADES, tails)


def _tail(coordinate: Any) -> Any:
    """Logarithm of nu: of 1 at least, and of no more than is Gaussian for all purposes."""
    from scipy.special import expit

    return LN_MOST_DEGREES * expit(coordinate)


def distribution(z: Column, tail: float | None) -> Column:
    """Share below `z` widths: Gaussian, or Student's t with the degrees at a coordinate."""
    from scipy.special import ndtr, stdtr

    below: Column = ndtr(z) if tail is None else stdtr(math.exp(float(_tail(tail))), z)
    return below


def _starts(bins: Histogram, states: int, each: int) -> list[Column]:
    """States of equal shares, and states at the highest hills: from both the descent begins."""
    import numpy as np

    centres, cells = bins.centres_v, bins.cells
    shares = (np.cumsum(cells) - cells / 2) / cells.sum()
    owner = np.minimum((shares * states).astype(int), states - 1)
    by_share = [cells * (owner == s) for s in range(states)]
    # Hills of the smoothed histogram; each bin goes to the nearest.
    wide = max(len(cells) // (12 * states), 1)
    smooth = np.convolve(cells, np.ones(2 * wide + 1), "same")
    hills: list[int] = []
    apart = (centres[-1] - centres[0]) / (3 * states)
    for i in np.argsort(-smooth):
        if all(abs(centres[i] - centres[hill]) > apart for hill in hills):
            hills.append(int(i))
        if len(hills) == states:
            break
    groups = [by_share]
    if len(hills) == states:
        peaks = centres[sorted(hills)]
        nearest = np.abs(centres[:, None] - peaks).argmin(axis=1)
        groups.insert(0, [cells * (nearest == s) for s in range(states)])
    starts = []
    for group in groups:
        start: list[float] = []
        for part in group:
            total = max(float(part.sum()), 1.0)
            centre = float((part * centres).sum() / total) if part.any() else float(centres.mean())
            spread = math.sqrt(float((part * (centres - centre) ** 2).sum() / total))
            width = max(spread, float(np.diff(centres).min()))
            start += [centre, math.log(width), math.log(total), *([0.0] * (each - 3))]
        starts.append(np.array(start))
    return starts


class Reading(NamedTuple):
    """What reads of a fitted mixture would give."""

    references_v: list[float]
    rber: list[float]
    """Of each reference: the share of all cells on its wrong side."""


def best_references(values: dict[str, float], states: int) -> Reading:
    """Optimal references between neighbouring states, and their error rates."""
    import numpy as np
    from scipy.optimize import minimize_scalar

    order = sorted(range(states), key=lambda s: values[f"mu_{s}_v"])
    references, rber = [], []

    def share_above(state: int, volts: float) -> float:
        z = (volts - values[f"mu_{state}_v"]) / values[f"sigma_{state}_v"]
        nu = values.get(f"nu_{state}")
        return values[f"weight_{state}"] * float(_upper(np.array([z]), nu)[0])

    for low, high in pairwise(order):

        def wrong(volts: float, low: int = low, high: int = high) -> float:
            return share_above(low, volts) + values[f"weight_{high}"] - share_above(high, volts)

        ends = (values[f"mu_{low}_v"], values[f"mu_{high}_v"])
        found = minimize_scalar(wrong, bounds=ends, method="bounded", options={"xatol": 1e-6})
        references.append(float(found.x))
        rber.append(max(float(found.fun), 0.0))
    return Reading(references, rber)


def _upper(z: Column, nu: float | None) -> Column:
    """Share above, exact in the tail."""
    from scipy.special import ndtr, stdtr

    above: Column = ndtr(-z) if nu is None else stdtr(nu, -z)
    return above
