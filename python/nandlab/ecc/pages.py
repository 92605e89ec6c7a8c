"""Pages that differ: failures of a code over pages whose error rates scatter around their mean.

A drive draws for each page a lognormal factor of the mean rate, from `QUANTILES` equally likely
ones (`chip.array.name = "table"`). Far in the tail of a code the few worst pages have nearly all
failures: at the mean rate alone a code looks better by orders of magnitude. Taranalli et al. (2016)
measured that rates scatter over pages, and describe it by a beta-binomial law instead
(`nandlab.ecc.uber`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.ecc.uber import Ecc

    Column = NDArray[np.float64]

Failures = Callable[["Column"], "Column"]
"""Probability that a codeword cannot be corrected, at each raw bit error rate."""

QUANTILES = 1024
"""Kinds of pages that a drive draws from: `QUANTILES` of `nand::array::table`."""

MOST_SPREAD = 2.0
"""Widest spread of pages that a limit is worked out for."""


def failures_of(ecc: Ecc) -> Failures:
    """Failures of a code that corrects t errors for certain: the tail of the binomial."""
    from scipy.special import betainc

    def of_rber(rber: Column) -> Column:
        import numpy as np

        return np.asarray(betainc(ecc.t + 1, ecc.codeword_bits - ecc.t, rber))

    return of_rber


def lognormal(rber_spread: float) -> float:
    """Deviation of the logarithm of a lognormal rate, from that of the rate over its mean."""
    return math.sqrt(math.log1p(rber_spread**2))


def relative(spread: float) -> float:
    """Deviation of a lognormal rate over its mean, from that of its logarithm."""
    return math.sqrt(math.expm1(spread**2))


def check_spreads(rber_spreads: Iterable[float]) -> None:
    """Refuses standard deviations of the rate over pages, over its mean, that no limit is known of.

    Raises:
        NandlabError: one of them is out of range.
    """
    most = math.floor(relative(MOST_SPREAD))
    for one in rber_spreads:
        if not 0 <= one <= most:
            raise refusal("endurance", f"rber_spread = {one:g}: out of range", f"0 to {most}")


def mean_failure(failures: Failures, rber: float, spread: float) -> float:
    """Mean probability of failure over pages with this mean rate.

    Args:
        failures: of the code.
        rber: mean raw bit error rate.
        spread: standard deviation of the logarithm of the rate over pages; 0 is none.
    """
    import numpy as np

    if rber <= 0:
        return 0.0
    if spread == 0:
        return float(failures(np.array([rber]))[0])
    factors = np.exp(spread * deviates() - spread**2 / 2)
    return float(failures(np.minimum(rber * factors, 0.5)).mean())


class PageLimit:
    """The highest mean rate at which pages meet a UBER, by how much they differ."""

    def __init__(self, failures: Failures, target: float) -> None:
        """`target` is the probability of failure that is accepted at most."""
        self._failures = failures
        self._target = target
        self._ln_limits: Column | None = None

    def __call__(self, spread: float) -> float:
        """The limit where the logarithm of the rate has this standard deviation over pages."""
        import numpy as np

        if spread == 0:
            return math.exp(self._ln_limit(0.0))
        # Beyond the last one nothing is left of a limit that could be told apart.
        spread = min(spread, MOST_SPREAD)
        # Smooth in the spread, so a few are worked out and the others lie between them.
        spreads = np.linspace(0, MOST_SPREAD, 81)
        if self._ln_limits is None:
            self._ln_limits = np.array([self._ln_limit(float(one)) for one in spreads])
        return math.exp(float(np.interp(spread, spreads, self._ln_limits)))

    def _ln_limit(self, spread: float) -> float:
        from scipy.optimize import brentq

        def over(ln_rber: float) -> float:
            failed = mean_failure(self._failures, math.exp(ln_rber), spread)
            return math.log(max(failed, 1e-300)) - math.log(self._target)

        low, high = math.log(1e-300), math.log(0.5)
        if over(high) <= 0 or over(low) >= 0:
            return high if over(high) <= 0 else low
        return float(brentq(over, low, high, xtol=1e-10))


def deviates() -> Column:
    """Normal deviates of the kinds of pages, from the best to the worst."""
    import numpy as np
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES))
