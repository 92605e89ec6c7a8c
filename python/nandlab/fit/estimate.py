"""Estimate behind every fit: likelihood of counts, or least squares of logarithms of rates.

Counts: the binomial (rates) or Poisson (histograms) deviance is brought to its least. Intervals are
Wald intervals from the expected Fisher information, on the scale of the logarithm for what must be
positive, with Student's t. Where the counts scatter more than their distribution allows, rows
differ. Pages and blocks differ by factors, so the variance of a row of rates gets a part with the
square of its mean: variance = binomial + spread^2 mean^2 (McCullagh and Nelder 1989, section 9.2),
the spread where Pearson's chi-squared is its degrees of freedom (Breslow, Applied Statistics 33,
38, 1984), and the law is fitted anew with such weights. Bins of a histogram do not differ so: there
the root of chi-squared over its degrees of freedom widens the intervals, and never narrows them.

Rates without counts: least squares of ln RBER; the scatter of the residuals gives the intervals.
Papers also fit the rates themselves by least squares without weights (`unweighted`), by which the
rows with the most errors decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

LEAST_EXPECTED = 1.0
"""Expected errors from which a row counts for the over-dispersion."""

MOST_REFITS = 20
"""Rounds of weights and fit; three or four are enough."""

MOST_DECADES = 12.0
"""Most decades of a positive parameter, two standard errors to each side: with more, the data do
not know it, whatever the level of the intervals and however few rows make them wide."""

ERRORS_EACH_SIDE = 2.0

LEAST_REPEATED = 5
"""Rows that repeat others, from which on their scatter is known."""

AT_MOST = 0.01
"""Distance at which a parameter counts as at its limit."""

FLOOR = 1e-12
"""Expected counts are at least this, so that every count has a likelihood."""


MORE_ROWS = "use more rows, or rows in which more columns vary"


class Law(NamedTuple):
    """A law with free parameters, in coordinates in which it is well conditioned."""

    start: Sequence[Column]
    """Where to start from; the best end wins."""
    mean: Callable[[Column], Column]
    """Expected rate (or count) of each row at some coordinates."""
    natural: Callable[[Column], Column]
    """The parameters at some coordinates; those that are positive as their logarithm."""
    names: Sequence[str]
    is_log: Sequence[bool]
    """Which of the parameters `natural` gives as logarithms."""
    cure: Callable[[Sequence[str]], str] = lambda _: MORE_ROWS
    """Advice where the data do not determine the parameters of these names."""
    most_decades: float = MOST_DECADES
    """Decades to which the data must know a positive parameter."""
    may_be_open: Mapping[str, tuple[float, float]] = {}
    """Parameters of which no more is asked, with the least and the most of what `natural` gives of
    each. The coordinate of the same place moves such a parameter, and it alone."""
    dependent: int = 0
    """Parameters, the last ones, that follow from the others: they have no coordinate."""

    @property
    def free(self) -> int:
        """Coordinates of the law."""
        return len(self.names) - self.dependent

    def refuse_open(self, names: Sequence[str]) -> NoReturn:
        """Says which parameters the data leave open.

        Raises:
            NandlabError: always.
        """
        raise refusal("fit", f"the data do not determine {', '.join(names)}", hint=self.cure(names))


class Estimate(NamedTuple):
    """Estimated coordinates with their covariance, and how well they fit."""

    values: Column
    low: Column
    high: Column
    mean: Column
    """Expected rate (or count) of each row."""
    residuals: Column
    """In standard deviations as the fit weighed the rows: over-dispersion included."""
    overdispersion: float
    """Pearson's chi-squared over its degrees of freedom, as if rows were alike; nan for rates."""
    degrees: int
    """Rows less parameters."""
    coordinates: Column
    covariance: Column
    """Covariance of the coordinates, over-dispersion included."""
    method: str
    """Method of the intervals, in words."""
    trials: Sequence[str] = ()
    """Trials of each value, if it depends on some of the rows only."""
    spread: float = 0.0
    """Deviation of the factors by which rows differ; of rates that of their logarithms."""


def from_counts(law: Law, observed: Column, trials: Column | None, level: float) -> Estimate:
    """Binomial with `trials`, Poisson with counts only.

    Raises:
        NandlabError: fewer rows than parameters, or data that leave a parameter open.
    """
    import numpy as np

    size = np.ones_like(observed) if trials is None else trials

    def expected(u: Column) -> Column:
        return np.maximum(law.mean(u) * size, FLOOR)

    def roots(spread: float) -> Callable[[Column], Column]:
        bent = bent_of(size, trials, spread)
        return lambda u: deviance_roots(observed, expected(u), bent)

    u = _least(law, roots(0.0), len(observed))
    mean = expected(u)
    pearson = (observed - mean) / deviation_of(mean, bent_of(size, trials, 0.0))
    degrees = len(observed) - law.free
    told = mean >= LEAST_EXPECTED
    spare = int(told.sum()) - law.free
    dispersion = float((pearson[told] ** 2).sum() / spare) if spare > 0 else 1.0
    kind, widened, spread = "binomial", 1.0, 0.0
    if trials is None:
        kind, widened = "Poisson", max(dispersion, 1.0)
        wider = f"widened by {math.sqrt(dispersion):.3g}" if dispersion > 1 else "not widened"
    elif dispersion > 1:
        for _ in range(MOST_REFITS):
            before, spread = spread, spread_of_rows(observed[told], mean[told], size[told], spare)
            # From the starts once more: without weights a term may have been lost in the scatter.
            starts = [u, *law.start] if before == 0 else [u]
            u = _least(law._replace(start=starts), roots(spread), len(observed))
            mean = expected(u)
            if abs(spread - before) <= 1e-3 * spread:
                break
        wider = f"widened for rows that differ by {100 * spread:.3g} %"
    else:
        wider = "not widened"
    deviation = deviation_of(mean, bent_of(size, trials, spread))
    jacobian = _jacobian(lambda v: expected(v) / deviation, u)
    estimate = _intervals(law, u, jacobian, widened, max(spare, 1), level)
    return estimate._replace(
        mean=mean / size,
        residuals=(observed - mean) / deviation / math.sqrt(widened),
        overdispersion=dispersion,
        degrees=degrees,
        method=f"{kind} likelihood; Wald (Fisher, Student t), {wider}",
        spread=spread,
    )


def lack_of_fit(
    residuals: Column, conditions: Column, parameters: int
) -> tuple[float, float] | None:
    """Lack of fit of a law over the scatter of rows that repeat a condition.

    The F test of lack of fit against pure error, as books on regression have it.

    Args:
        residuals: of the rows, in standard deviations.
        conditions: of the rows, of shape (rows, columns).
        parameters: of the law.

    Returns:
        The ratio F of mean squares and its p value; None if too few conditions repeat.
    """
    import numpy as np
    from scipy.stats import f as fisher

    _, group = np.unique(conditions, axis=0, return_inverse=True)
    group, groups = group.reshape(-1), int(group.max()) + 1
    means = (np.bincount(group, residuals) / np.bincount(group))[group]
    repeated, missed = len(residuals) - groups, groups - parameters
    if repeated < LEAST_REPEATED or missed < 1:
        return None
    pure = float(((residuals - means) ** 2).sum() / repeated)
    if pure == 0:
        return None
    ratio = float((means**2).sum() / missed) / pure
    return ratio, float(fisher.sf(ratio, missed, repeated))


def bent_of(size: Column, trials: Column | None, spread: Column | float) -> Column:
    """The bend of a variance of mean + bend mean^2: binomial -1 / trials, Poisson about 0."""
    import numpy as np

    bent: Column = np.zeros_like(size) + spread**2 - (0.0 if trials is None else 1 / size)
    # The deviance divides by it.
    return np.where(bent == 0, 1e-30, bent)


def deviation_of(mean: Column, bent: Column) -> Column:
    """The standard deviation of counts with this mean and bend."""
    import numpy as np

    deviation: Column = np.sqrt(np.maximum(mean + bent * mean**2, FLOOR))
    return deviation


def deviance_roots(observed: Column, mean: Column, bent: Column) -> Column:
    """Signed roots of the (quasi-)deviance of counts: their squares add up to it."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(observed > 0, observed * np.log(observed / mean), 0.0)
        # Of a binomial: 1 less the rate, that is what is right; none of it counts nothing.
        right = 1 + bent * observed
        change = np.log1p(bent * observed) - np.log1p(np.maximum(bent * mean, FLOOR - 1))
        deviance = part - np.where(right > 0, right * change, 0.0) / bent
    signed: Column = np.sign(observed - mean) * np.sqrt(2 * np.maximum(deviance, 0.0))
    return signed


def spread_of_rows(
    observed: Column, mean: Column, trials: Column, spare: float, form: Column | float = 1.0
) -> float:
    """Deviation of the factors of rows: where Pearson's chi-squared is its degrees of freedom.

    Args:
        observed: of each row.
        mean: expected of each row.
        trials: of each row.
        spare: degrees of freedom.
        form: by how much rows differ in units of what is returned.
    """
    from scipy.optimize import brentq

    def excess(ln_spread: float) -> float:
        bent = bent_of(trials, trials, math.exp(ln_spread) * form)
        return float((((observed - mean) / deviation_of(mean, bent)) ** 2).sum()) - spare

    least, most = -30.0, 30.0
    return math.exp(brentq(excess, least, most)) if excess(least) > 0 else 0.0


def from_rates(law: Law, rber: Column, level: float) -> Estimate:
    """Least squares of the logarithm of rates.

    Raises:
        NandlabError: fewer rows than parameters, or data that leave a parameter open.
    """
    import numpy as np

    def residuals(u: Column) -> Column:
        difference: Column = np.log(rber) - np.log(np.maximum(law.mean(u), 1e-30))
        return difference

    estimate, deviation = _even(law, residuals, len(rber), level)
    return estimate._replace(overdispersion=math.nan, spread=deviation)


def unweighted(law: Law, rber: Column, level: float) -> Estimate:
    """Least squares of rates, which all weigh alike.

    Raises:
        NandlabError: fewer rows than parameters, or data that leave a parameter open.
    """
    scale = float(rber.max()) or 1.0

    def residuals(u: Column) -> Column:
        difference: Column = (rber - law.mean(u)) / scale
        return difference

    estimate, _ = _even(law, residuals, len(rber), level)
    return estimate._replace(method="least squares of rates, not weighted; Wald, Student t")


def _even(
    law: Law, residuals: Callable[[Column], Column], rows: int, level: float
) -> tuple[Estimate, float]:
    """Least squares of residuals that weigh alike, and their standard deviation."""
    u = _least(law, residuals, rows)
    degrees = rows - law.free
    rest = residuals(u)
    variance = float((rest**2).sum() / degrees)
    estimate = _intervals(law, u, _jacobian(residuals, u), variance, degrees, level)
    deviation = math.sqrt(variance)
    fitted = estimate._replace(
        mean=law.mean(u), residuals=rest / (deviation or 1.0), degrees=degrees
    )
    return fitted, deviation


def _least(law: Law, residuals: Callable[[Column], Column], rows: int) -> Column:
    """The coordinates with the least sum of squares, over all starts."""
    import numpy as np
    from scipy.optimize import least_squares

    if rows <= law.free:
        raise refusal(
            "fit",
            f"{rows} rows for {law.free} parameters ({', '.join(law.names)})",
            "more rows than parameters",
        )
    best, least = None, math.inf
    for start in law.start:
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            if not np.isfinite(residuals(start)).all():
                continue
            try:
                found = least_squares(
                    lambda u: np.nan_to_num(residuals(u), nan=1e9, posinf=1e9, neginf=-1e9),
                    start,
                    x_scale="jac",
                    max_nfev=400,
                    xtol=1e-12,
                    ftol=1e-12,
                    gtol=1e-12,
                )
            except ValueError:
                continue
        if found.cost < least:
            best, least = found.x, found.cost
    if best is None:
        raise refusal(
            "fit", "the fit of this law did not converge from any start", hint="use another law"
        )
    coordinates: Column = best
    return coordinates


def _jacobian(function: Callable[[Column], Column], u: Column) -> Column:
    """By central differences."""
    import numpy as np

    columns = []
    for i in range(len(u)):
        step = np.zeros_like(u)
        step[i] = 1e-5 * max(abs(u[i]), 1e-2)
        columns.append((function(u + step) - function(u - step)) / (2 * step[i]))
    return np.stack(columns, axis=-1)


def _intervals(
    law: Law, u: Column, jacobian: Column, variance: float, degrees: int, level: float
) -> Estimate:
    import numpy as np
    from scipy.stats import t as student

    with np.errstate(divide="ignore"):
        natural = law.natural(u)
    # At the most that it can be a parameter moves no more with its coordinate: what the others are
    # is asked as if it were known.
    at_most = np.array(
        [
            name in law.may_be_open and end > law.may_be_open[name][1] - AT_MOST
            for name, end in zip(law.names, natural, strict=True)
        ]
    )
    free = ~at_most[: law.free]
    jacobian = jacobian[:, free]
    # Scaled, so that coordinates of different sizes do not look singular.
    scale = np.sqrt((jacobian**2).sum(axis=0))
    values = np.where(law.is_log, np.exp(np.where(law.is_log, natural, 0)), natural)
    known = scale > 0
    _, singular, turned = np.linalg.svd(jacobian / np.where(known, scale, 1.0), full_matrices=False)
    if not known.all() or singular[-1] < 1e-9 * singular[0]:
        # What moves when the coordinates go where the data say nothing.
        nowhere = np.zeros_like(u)
        nowhere[free] = turned[-1] / np.where(known, scale, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = np.abs(_jacobian(law.natural, u) @ nowhere)
        # What has no finite logarithm left is the most open of all.
        moves = np.where(np.isfinite(moves), moves, np.inf)
        names = [
            name for name, move in zip(law.names, moves, strict=True) if move >= 0.05 * moves.max()
        ]
        law.refuse_open(names)
    # A root of the covariance: products of it cannot turn negative by rounding.
    root = np.zeros((len(u), len(singular)))
    root[free] = math.sqrt(variance) * turned.T / singular / scale[:, None]
    covariance = root @ root.T
    error = np.sqrt(((_jacobian(law.natural, u) @ root) ** 2).sum(axis=1))
    wide = float(student.ppf(0.5 + level / 2, degrees)) * error
    is_open = law.is_log & ~(2 * ERRORS_EACH_SIDE * error <= law.most_decades * math.log(10))
    is_open &= ~np.isin(law.names, list(law.may_be_open))
    if is_open.any():
        law.refuse_open(list(np.asarray(law.names)[is_open]))
    low, high = natural - wide, natural + wide
    least = [law.may_be_open.get(name, (0.0, 0.0))[0] for name in law.names]
    low, high = np.where(at_most, least, low), np.where(at_most, np.inf, high)
    with np.errstate(over="ignore"):
        low = np.where(law.is_log, np.exp(np.where(law.is_log, low, 0)), low)
        high = np.where(law.is_log, np.exp(np.where(law.is_log, high, 0)), high)
    blank, method = np.empty(0), "least squares of ln RBER; Wald, Student t"
    return Estimate(values, low, high, blank, blank, math.nan, degrees, u, covariance, method)
