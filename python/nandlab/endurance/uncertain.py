"""Uncertainty of an endurance whose error rates were fitted.

Laws are drawn from the covariance of their parameters. A cell is too slow for hundreds of draws, so
its interval is that of the delta method: by how much each axis of the covariance moves the rate of
the worst page at the end of its life, over the slope of that rate with the cycles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.cell.source import Source
from nandlab.endurance.rates import MOST_PE_CYCLES, PageState, Rates, RberLimit
from nandlab.fit.facts import FitFacts
from nandlab.fit.whole_cell.keys import assignments, sets

Ends = tuple[int | None, int | None]

STEP = 0.02
"""Part of the cycles over which a rate has its slope."""

SCALES = (1.0, 0.3, 0.1)
"""Standard deviations to each side, the first at which a cell can be."""


class Uncertain(Protocol):
    """Other rates that the measurements allow."""

    @property
    def rates(self) -> Sequence[Rates]:
        """Each of them."""
        ...

    def ends(
        self,
        limit: RberLimit,
        best: tuple[Rates, Sequence[PageState]],
        states: Sequence[Sequence[PageState]],
        cycles: int,
        level: float,
    ) -> Ends:
        """The interval of an endurance.

        Args:
            limit: up to which a page may err.
            best: the rates that were fitted, and the states of their pages.
            states: of the pages of each of the other rates.
            cycles: the endurance.
            level: of the interval.
        """
        ...


class Drawn:
    """Draws of a law."""

    def __init__(self, rates: Sequence[Rates]) -> None:
        self._rates = rates

    @property
    def rates(self) -> Sequence[Rates]:
        """Each draw."""
        return self._rates

    def ends(
        self,
        limit: RberLimit,
        best: tuple[Rates, Sequence[PageState]],
        states: Sequence[Sequence[PageState]],
        cycles: int,
        level: float,
    ) -> Ends:
        """Quantiles of the endurances of the draws."""
        found = sorted(
            one.last_cycle(limit, of) for one, of in zip(self.rates, states, strict=True)
        )
        if not found:
            return None, None
        out = round((1 - level) / 2 * (len(found) - 1))
        return found[out], found[-1 - out]


class _Sides(NamedTuple):
    """A cell on each side of the fitted one."""

    scale: float
    above: Rates
    below: Rates


class AlongAxes:
    """Cells on both sides of the fitted one, along each axis of the covariance.

    Args:
        sides: cells, axis by axis.
        is_open: an axis has no cell on one of its sides: nothing bounds the endurance.
    """

    def __init__(self, sides: Sequence[_Sides], *, is_open: bool = False) -> None:
        self._is_open = is_open
        self._scales = [one.scale for one in sides]
        self._rates = [rates for one in sides for rates in (one.above, one.below)]

    @property
    def rates(self) -> Sequence[Rates]:
        """Both sides of each axis."""
        return self._rates

    def ends(
        self,
        limit: RberLimit,
        best: tuple[Rates, Sequence[PageState]],
        states: Sequence[Sequence[PageState]],
        cycles: int,
        level: float,
    ) -> Ends:
        """Ends by the delta method: normal in the logarithm of the cycles."""
        from scipy.stats import norm

        if self._is_open or not 1 < cycles < MOST_PE_CYCLES:
            return None, None
        step = max(round(STEP * cycles), 1)
        low, high = cycles - step, cycles + step
        rise = _excess(*best, limit, high) - _excess(*best, limit, low)
        slope = rise / math.log(high / max(low, 1))
        if slope <= 0:
            return None, None
        over = [_excess(one, of, limit, cycles) for one, of in zip(self.rates, states, strict=True)]
        moved = [
            (above - below) / (2 * scale)
            for above, below, scale in zip(over[::2], over[1::2], self._scales, strict=True)
        ]
        wide = float(norm.ppf(0.5 + level / 2)) * math.hypot(*moved) / slope
        most = min(cycles * math.exp(min(wide, 50.0)), MOST_PE_CYCLES)
        return math.floor(cycles * math.exp(-wide)), math.ceil(most)


def _excess(rates: Rates, pages: Sequence[PageState], limit: RberLimit, pe_cycles: int) -> float:
    """Logarithm of the rate of the worst page over its limit."""
    return max(
        math.log(max(rate, 1e-300)) - math.log(limit(rates.spread(page, pe_cycles)))
        for page, rate in zip(pages, rates.after(pages, pe_cycles), strict=True)
    )


def cells_along_axes(about: Source, facts: FitFacts, *, is_best: bool) -> AlongAxes:
    """Cells on both sides of a fitted one.

    Args:
        about: the fitted cell.
        facts: of its fit, with a covariance.
        is_best: whether references stand where each page errs least.
    """
    import numpy as np

    tables = about.effective
    is_log = np.asarray(facts.is_log, dtype=bool)
    values = np.asarray(facts.values, dtype=float)
    middle = np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)
    squares, axes = np.linalg.eigh(np.asarray(facts.covariance))

    def cell_at(place: Any) -> Rates:
        moved = np.where(is_log, np.exp(np.where(is_log, place, 0.0)), place)
        own = sets(dict(zip(facts.parameters, moved.tolist(), strict=True)), tables)
        given, bits = [*about.sets, *own], about.cell_bits
        cell = _core.Cell(about.text, about.place, given, bits, about.page_order)
        return Rates(about.name, {}, cell, bits, is_best=is_best)

    sides = []
    is_open = False
    for square, axis in zip(squares, axes.T, strict=True):
        if square <= 0:
            continue
        for scale in SCALES:
            step = scale * math.sqrt(square) * axis
            try:
                sides.append(_Sides(scale, cell_at(middle + step), cell_at(middle - step)))
            except NandlabError:
                # A cell cannot be so far from the fitted one: nearer by then.
                continue
            break
        else:
            is_open = True
    return AlongAxes(sides, is_open=is_open)


def is_unchanged(facts: FitFacts, tables: Mapping[str, Any]) -> bool:
    """Whether a cell's tables have the fitted values still."""
    try:
        own = assignments(dict(zip(facts.parameters, facts.values, strict=True)), tables)
    except (KeyError, IndexError):
        return False
    for key, value in own.items():
        table, _, name = key.partition(".")
        there = tables.get(table, {}).get(name)
        mine, theirs = (one if isinstance(one, list) else [one] for one in (value, there))
        if len(mine) != len(theirs) or None in theirs:
            return False
        for one, other in zip(mine, theirs, strict=True):
            if not math.isclose(float(one), float(other), rel_tol=1e-9):
                return False
    return True
