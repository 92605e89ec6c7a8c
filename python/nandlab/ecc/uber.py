"""Uncorrectable bit error rate (UBER): codewords with more errors than can be corrected.

UBER = P(more than t errors in a codeword) / user bits of it (Mielke et al., IRPS'08). Errors are
binomial where every page has one bit error rate, and beta-binomial where the rate differs from
page to page: Taranalli et al. (2016) measured that, and that the binomial is too low then. Tails
are sums of logarithms of every term, so that 1e-300 is as exact as 0.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nandlab.given.arguments import number
from nandlab.given.refusal import refusal

MOST_CODEWORD_BITS = 2**20
"""Of a codeword: every count of errors in it is a term. Codes of flash have 2^13 to 2^17."""

_LEAST_LN_RBER = math.log(1e-305)
"""Below it a float has no room for a rate."""

T = 300
"""Default t: errors that are corrected in 34,560 bits.

Codes of this rate correct fewer by hard decision and more with one soft read: of LDPC that is
measured, `nandlab.ecc.code_limit` knows."""


class Ecc(NamedTuple):
    """A code that corrects up to `t` errors of a codeword."""

    t: int = T
    codeword_bits: int = 34560
    user_bits: int = 32768

    def check(self) -> Ecc:
        """The code itself, checked.

        Raises:
            NandlabError: it cannot be.
        """
        if self.codeword_bits > MOST_CODEWORD_BITS:
            raise refusal("ecc", f"{self.codeword_bits} bits", f"1 to {MOST_CODEWORD_BITS}")
        if self.codeword_bits < 1 or not 1 <= self.user_bits <= self.codeword_bits:
            raise refusal(
                "ecc",
                f"{self.user_bits} user bits of {self.codeword_bits}",
                "1 to the bits of the codeword",
            )
        if not 0 <= self.t < self.codeword_bits:
            raise refusal("ecc", f"t = {self.t}: out of range", f"0 to {self.codeword_bits - 1}")
        return self


def _checked(ecc: object) -> Ecc:
    """The code, if its numbers fit together.

    Raises:
        NandlabError: it is none, or cannot be.
    """
    if not isinstance(ecc, Ecc):
        raise refusal("uber", f"ecc: {ecc!r}", "nandlab.ecc.uber.Ecc")
    return ecc.check()


def ln_codeword_failure(rber: float, ecc: Ecc, rber_spread: float = 0.0) -> float:
    """Natural logarithm of the probability that a codeword cannot be corrected.

    Args:
        rber: mean raw bit error rate.
        ecc: the code.
        rber_spread: standard deviation of the rate from page to page, over its mean; 0 is none.

    Raises:
        NandlabError: a rate or a spread out of range.
    """
    import numpy as np
    from scipy.special import gammaln, logsumexp

    _checked(ecc)
    rber, rber_spread = number("uber: rber", rber), number("uber: rber_spread", rber_spread)
    if not 0 <= rber <= 1:
        raise refusal("uber", f"rber = {rber:g}: out of range", "0 to 1")
    if not 0 <= rber_spread < math.inf:
        raise refusal("uber", f"rber_spread = {rber_spread:g}: out of range", "0 or more")
    if rber == 0:
        return -math.inf
    if rber == 1:
        return 0.0
    n = ecc.codeword_bits
    k = np.arange(ecc.t + 1, n + 1, dtype=float)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    if rber_spread == 0:
        terms = ways + k * math.log(rber) + (n - k) * math.log1p(-rber)
    else:
        # Mean rber and deviation rber_spread x rber fix the two parameters of the beta.
        together = (1 - rber) / (rber * rber_spread**2) - 1
        if together <= 0:
            raise refusal(
                "uber",
                f"rber_spread = {rber_spread:g} at rber = {rber:g}: wider than possible",
                f"below {math.sqrt((1 - rber) / rber):.3g}",
            )
        # The ratio of beta functions as products over draws: errors, good bits, all. As a
        # difference of logarithms of gamma functions it would lose every digit at a small spread.
        i = np.arange(n) / together
        errors = np.cumsum(np.log(rber + i))
        good = np.concatenate(([0.0], np.cumsum(np.log1p(i - rber))))
        terms = ways + errors[ecc.t :] + good[n - ecc.t - 1 :: -1] - np.log1p(i).sum()
    # Rounding may put a sum over nearly everything a hair above one.
    return min(float(logsumexp(terms)), 0.0)


def uber(rber: float, ecc: Ecc, rber_spread: float = 0.0) -> float:
    """Uncorrectable errors for each bit that a user reads."""
    return math.exp(ln_codeword_failure(rber, ecc, rber_spread)) / ecc.user_bits


def rber_limit(target: float, ecc: Ecc, rber_spread: float = 0.0) -> float:
    """The highest mean bit error rate at which the UBER is at most `target`.

    Raises:
        NandlabError: a target out of range.
    """
    from scipy.optimize import brentq

    _checked(ecc)
    target, rber_spread = number("uber: target", target), number("uber: rber_spread", rber_spread)
    if not 0 < target < 1 / ecc.user_bits:
        raise refusal(
            "uber", f"target = {target:g}: out of range", f"above 0, below {1 / ecc.user_bits:.3g}"
        )
    goal = math.log(target) + math.log(ecc.user_bits)

    def over(ln_rber: float) -> float:
        return ln_codeword_failure(math.exp(ln_rber), ecc, rber_spread) - goal

    high = math.log(0.5)
    if rber_spread > 0:
        high = min(high, -math.log1p(rber_spread**2) - 1e-9)
    if over(high) <= 0:
        return math.exp(high)
    low = math.log(1e-30)
    while over(low) > 0:
        if low <= _LEAST_LN_RBER:
            raise refusal(
                "uber",
                f"target = {target:g}: no RBER is low enough",
                hint="use a higher target, or a larger t",
            )
        low = max(2 * low, _LEAST_LN_RBER)
    return math.exp(float(brentq(over, low, high, xtol=1e-12)))
