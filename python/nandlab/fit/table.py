"""Table of measured rates: the points of the array model `table`, and the spread of pages.

No law lies between the points: counts are pooled at each combination of cycles, hours, reads and
page type, and each rate is a parameter with an interval. Where a point was measured on several
pages, the variance of their factor is that at which the counts scatter as much as they should (the
estimating equation of Paule and Mandel, paule1982 in CITATIONS.bib), its interval by quantiles of
chi-squared (viechtbauer2007) with fewer degrees of freedom for the long tail of a lognormal.
Intervals of rates are those of Clopper and Pearson with trials and quantiles as pages that differ
leave them (Korn and Graubard, korn1998).
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.fit.estimate import Estimate, Law
from nandlab.fit.law import Fitted, Options
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]
    Places = NDArray[np.int64]

AXES = {"pe_cycles": "cycles", "retention_hours": "h", "reads": "reads"}
"""Columns of a point, and their units in its name."""

PAGE_LABELS = ("chip", "block", "page", "wordline", "layer")
"""What tells pages apart."""

MOST_VARIANCE = 100.0
"""Of the factor of pages: more is no spread of pages."""


class Grid(NamedTuple):
    """The points of the data."""

    axes: list[Column]
    """Cycles, hours and reads, rising."""
    page_types: tuple[str, ...]
    """None where the data do not tell them apart."""
    place: Places
    """Of each row: its point and page type, counted with the page type last."""

    @property
    def types(self) -> int:
        """Rates of a point."""
        return max(len(self.page_types), 1)

    @property
    def places(self) -> int:
        """Rates of all points."""
        return math.prod(map(len, self.axes)) * self.types


class Pages(NamedTuple):
    """What was measured of each page at each place."""

    place: Places
    rber: Column
    bits: Column
    """Infinite for rates without counts."""
    differ: int
    """Degrees of freedom between pages."""

    @property
    def is_counted(self) -> bool:
        """Whether there are counts, and not rates."""
        return math.isfinite(self.bits[0])

    def mean(self, places: int) -> tuple[Column, Column]:
        """The rate of each place, and the weight that each row has in it."""
        import numpy as np

        weight = np.where(np.isfinite(self.bits), self.bits, 1.0)
        weight = weight / np.bincount(self.place, weight, places)[self.place]
        return np.bincount(self.place, weight * self.rber, places).astype(float), weight


class Spread(NamedTuple):
    """The variance of the factor of pages, with its interval."""

    value: float
    low: float
    high: float


def table(data: Measurements, options: Options) -> Fitted:
    """The rates at the points of a full grid, and the spread of pages where some repeat.

    Raises:
        NandlabError: no full grid, unknown page types, several temperatures, a rate above 0.5.
    """
    import numpy as np

    kept_at, grid = data.kept_at(), _grid(data)
    pages, told_by = _pages(data, grid)
    rates, _ = pages.mean(grid.places)
    names = _names(data, grid)
    if (rates > 0.5).any():
        i = int(np.argmax(rates > 0.5))
        raise refusal(data.name, f"RBER {rates[i]:.3g} at {names[i]}: above 0.5", "up to 0.5")
    repeats = pages.differ > 0
    points = list(product(*(axis.tolist() for axis in grid.axes)))

    def array(values: dict[str, float]) -> dict[str, Any]:
        rber = [values[name] for name in names]
        rows = [
            {"pe_cycles": n, "hours": h, "reads": r, "rber": rber[i : i + grid.types]}
            for i, (n, h, r) in zip(range(0, len(rber), grid.types), points, strict=True)
        ]
        spread = values.get("page_spread", 0.0)
        return {"name": "table", "page_spread": spread, **kept_at, "points": rows}

    def natural(u: Column) -> Column:
        return np.append(u[:-1], max(u[-1], 0.0)) if repeats else u

    def mean(u: Column) -> Column:
        rber: Column = np.exp(u[: grid.places])[grid.place]
        return rber

    law = Law(
        [],
        mean,
        natural,
        [*names, *(["page_spread"] if repeats else [])],
        [True] * grid.places + [False] * repeats,
    )
    notes = [
        f"rates do not change with {name}: it does not vary"
        for name in AXES
        if not data.varies(name)
    ]
    notes.append(
        "linear in ln RBER over ln(1 + x / unit); no drive can start beyond the last point"
    )
    notes += [f"hours hold at {celsius:g} °C" for celsius in kept_at.values()]
    if not grid.page_types:
        notes.append("no column page_type: one rate for all page types of a chip")
    if repeats:
        notes.append(f"page_spread: from {told_by}, of the logarithm of the rate")
        if "rber" in data.columns:
            notes.append("page_spread includes the scatter of counting: the rates have no trials")
    else:
        notes.append("page_spread is 0: no point has several pages or rows")
    none = int((rates == 0).sum())
    if none:
        notes.append(
            f"{none} of {len(rates)} rates without errors are set to ln 2 / bits, at which half of "
            f"all measurements show no error"
        )
    return Fitted(law, array, notes, lambda level: _estimate(law, grid, pages, level))


def _grid(data: Measurements) -> Grid:
    """The axes, and where on them each row is."""
    import numpy as np

    data.need("pe_cycles")
    axes, place = [], np.zeros(data.rows, dtype=np.int64)
    for name in AXES:
        column = data.columns.get(name, np.zeros(data.rows))
        axis, at = np.unique(column, return_inverse=True)
        axes.append(axis)
        place = place * len(axis) + at.reshape(-1)
    types: tuple[str, ...] = ()
    if "page_type" in data.labels:
        types, numbers = data.page_types()
        place = place * len(types) + np.array(numbers)
    grid = Grid(axes, types, place)
    _full(data, grid)
    return grid


def _full(data: Measurements, grid: Grid) -> None:
    """Every combination is there."""
    import numpy as np

    missing = np.setdiff1d(np.arange(grid.places), grid.place)
    if not len(missing):
        return
    shape = (*map(len, grid.axes), grid.types)
    *at, page_type = (int(i) for i in np.unravel_index(missing[0], shape))
    words = [
        f"{name} = {_number(axis[i])}"
        for name, axis, i in zip(AXES, grid.axes, at, strict=True)
        if name in data.columns
    ]
    words += [f"page_type = {grid.page_types[page_type]}"] if grid.page_types else []
    raise refusal(
        data.name,
        f"no row of {', '.join(words)} ({len(missing)} of {grid.places} combinations are missing)",
        "a row for each combination of the values of these columns",
    )


def _names(data: Measurements, grid: Grid) -> list[str]:
    """Of the rates: the values of what varies."""
    shown = [name == "pe_cycles" or data.varies(name) for name in AXES]
    names = []
    for point in product(*grid.axes):
        words = [
            f"{_number(value)} {unit}"
            for value, unit, is_shown in zip(point, AXES.values(), shown, strict=True)
            if is_shown
        ]
        names += [", ".join([*words, *page_type]) for page_type in _each_type(grid)]
    return names


def _each_type(grid: Grid) -> list[list[str]]:
    return [[name] for name in grid.page_types] or [[]]


def _number(value: float) -> str:
    return f"{value:.12g}"


def _pages(data: Measurements, grid: Grid) -> tuple[Pages, str]:
    """Rows of one page at one place become one; and what told pages apart."""
    import numpy as np

    labels = [name for name in PAGE_LABELS if name in data.labels]
    if labels:
        who = list(zip(*(data.labels[name] for name in labels), strict=True))
        told_by = f"pages that {', '.join(labels)} tell{'s' if len(labels) == 1 else ''} apart"
    else:
        who = [(str(i),) for i in range(data.rows)]
        told_by = "the rows of each point, each taken as one page"
    keys: dict[tuple[int, tuple[str, ...]], int] = {}
    at_places = zip(grid.place.tolist(), who, strict=True)
    row = np.array([keys.setdefault(key, len(keys)) for key in at_places])
    place = np.array([at for at, _ in keys])
    if "rber" in data.columns:
        rber = np.bincount(row, data.columns["rber"]) / np.bincount(row)
        bits = np.full(len(keys), math.inf)
    else:
        bits = np.bincount(row, data.columns["bits_read"])
        rber = np.bincount(row, data.columns["bit_errors"]) / bits
    differ = len(keys) - grid.places
    if labels:
        # A page that is measured at many points is one page.
        differ = min(differ, len({(at % grid.types, one) for at, one in keys}) - grid.types)
    return Pages(place, rber, bits, differ), told_by


def _estimate(law: Law, grid: Grid, pages: Pages, level: float) -> Estimate:
    import numpy as np
    from scipy.stats import beta, norm
    from scipy.stats import t as student

    rates, weight = pages.mean(grid.places)
    noise = (rates * (1 - rates))[pages.place] / pages.bits
    spread = _spread(pages, rates, weight, noise, level)
    square = noise + spread.value * rates[pages.place] ** 2
    variance = np.bincount(pages.place, weight**2 * square, grid.places)
    # Few pages tell badly how much pages differ.
    one, free = float(norm.ppf(0.5 + level / 2)), max(pages.differ, 1)
    wide = float(student.ppf(0.5 + level / 2, free)) if spread.value > 0 else one
    seen = rates > 0
    if pages.is_counted:
        bits = np.bincount(pages.place, pages.bits, grid.places)
        errors = rates * bits
        widened = np.ones(grid.places)
        alone = rates[seen] * (1 - rates[seen]) / bits[seen]
        widened[seen] = np.maximum(variance[seen] / alone, 1.0)
        values = np.where(seen, rates, -np.expm1(-math.log(2) / bits))
        k, n = errors / widened * (one / wide) ** 2, bits / widened * (one / wide) ** 2
        # No errors are none, however many trials they are worth.
        k, n = np.where(seen, k, 0.0), np.where(seen, n, bits)
        low = np.where(seen, beta.ppf(0.5 - level / 2, np.maximum(k, 1e-9), n - k + 1), 0.0)
        high = beta.ppf(0.5 + level / 2, k + 1, n - k)
        error = np.sqrt(widened / (errors + 0.5))
        trials = [
            f"{round(k):,} error{'s' if round(k) > 1 else ''} of {n:.4g} bits"
            if k
            else f"no error in {n:.4g} bits: median"
            for k, n in zip(errors, bits, strict=True)
        ]
        kind = "counts pooled by point; Clopper and Pearson"
        method = f"{kind}, widened for pages that differ (Korn and Graubard)"
    else:
        values, error = rates, np.sqrt(variance) / rates
        rows = np.bincount(pages.place, minlength=grid.places)
        if pages.differ < 1:
            error = np.full(grid.places, math.inf)
        with np.errstate(over="ignore"):
            low, high = rates * np.exp(-wide * error), rates * np.exp(wide * error)
        trials = [f"{count} rate{'s' if count > 1 else ''}" for count in rows]
        method = "mean of the rates of a point; Student t of the scatter of its pages"
    coordinates, deviation = np.log(values), error
    if pages.differ > 0:
        found = [math.sqrt(math.log1p(one)) for one in spread]
        values, low, high = (
            np.append(column, one) for column, one in zip((values, low, high), found, strict=True)
        )
        coordinates = np.append(coordinates, found[0])
        deviation = np.append(deviation, (found[2] - found[1]) / (2 * one))
        trials.append(f"{pages.differ} degrees of freedom")
    return Estimate(
        values,
        low,
        high,
        law.mean(coordinates),
        np.empty(0),
        _dispersion(pages, rates, weight, noise),
        pages.differ,
        coordinates,
        np.diag(deviation**2),
        method,
        trials,
    )


def _expected(pages: Pages, weight: Column, variance: Column) -> Column:
    """Of the square of a page's distance from the mean of its point, by the variances of all."""
    import numpy as np

    of_mean = np.bincount(pages.place, weight**2 * variance)[pages.place]
    expected: Column = variance * (1 - 2 * weight) + of_mean
    return expected


def _told(pages: Pages, rates: Column, least: float = 0.0) -> Any:
    """Pages that have others beside them, and more than so many errors each."""
    import numpy as np

    count = np.bincount(pages.place, minlength=len(rates))
    mean = rates[pages.place]
    return (count[pages.place] > 1) & (mean > 0) & (mean * pages.bits >= least)


def _spread(pages: Pages, rates: Column, weight: Column, noise: Column, level: float) -> Spread:
    from scipy.optimize import brentq
    from scipy.stats import chi2

    told = _told(pages, rates)
    if pages.differ < 1 or not told.any():
        return Spread(0.0, 0.0, MOST_VARIANCE)
    mean = rates[pages.place]
    squares = (pages.rber - mean)[told] ** 2

    def excess(factor: float, ratio: float) -> float:
        variance = noise + factor * mean**2
        expected = _expected(pages, weight, variance)[told]
        return float(((squares - ratio * expected) / variance[told]).sum())

    least = 0.0 if pages.is_counted else 1e-12

    def solved(ratio: float) -> float:
        if excess(least, ratio) <= 0:
            return 0.0
        if excess(MOST_VARIANCE, ratio) >= 0:
            return MOST_VARIANCE
        return float(brentq(excess, least, MOST_VARIANCE, (ratio,), xtol=1e-12))

    found = solved(1.0)
    # A square of a lognormal scatters as its excess kurtosis says.
    w = 1 + found
    free = pages.differ / (1 + (w**4 + 2 * w**3 + 3 * w**2 - 6) / 2)
    low, high = (float(chi2.ppf(0.5 + side * level / 2, free)) / free for side in (1, -1))
    return Spread(found, min(solved(low), found), max(solved(high), found))


def _dispersion(pages: Pages, rates: Column, weight: Column, noise: Column) -> float:
    """Pearson's chi-squared of pages about their points, over what it is of counting alone."""
    told = _told(pages, rates, 1.0)
    if not pages.is_counted or not told.any():
        return 1.0 if pages.is_counted else math.nan
    squares = (pages.rber - rates[pages.place])[told] ** 2
    expected = _expected(pages, weight, noise)[told]
    return float((squares / noise[told]).sum() / (expected / noise[told]).sum())
