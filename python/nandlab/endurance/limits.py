"""Limits of an endurance: bit error rates at which a code, or a drive with parity, meets a UBER.

A stripe with parity gives back pages that the code gives up, so the UBER of a drive follows from
that of its code (`nandlab.ecc.stripe`): a drive meets its target where the code meets a higher one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from nandlab.ecc.code_limit import CodeLimit, code_limit, failures_of_code, limit_of_errors
from nandlab.ecc.pages import Failures, PageLimit, failures_of, lognormal, relative
from nandlab.ecc.stripe import Stripe
from nandlab.ecc.uber import Ecc, T
from nandlab.endurance.rates import PageState, Rates, RberLimit
from nandlab.given.arguments import several, whole
from nandlab.given.refusal import refusal


class Target(NamedTuple):
    """UBER that is asked of a code alone, or of a drive with parity."""

    uber: float
    stripe: Stripe | None = None
    """Stripe that gives back what the code gives up; None of a code alone."""

    def of_code(self, user_bits: int) -> float:
        """UBER that the code must meet."""
        if self.stripe is None:
            return self.uber
        return self.stripe.failure(self.uber * user_bits) / user_bits


class Limit:
    """The bit error rate up to which a code meets a UBER, by how much pages differ."""

    def __init__(
        self,
        found: CodeLimit,
        failures: Failures,
        target: Target,
        rber_spread: float | None,
    ) -> None:
        """`rber_spread` is None where pages differ as a drive draws those of the chip."""
        self.found = found
        self.target = target
        self._own = None if rber_spread is None else lognormal(rber_spread)
        self._pages = PageLimit(failures, found.uber * found.ecc.user_bits)

    @property
    def note(self) -> str:
        """A reservation about the limit; empty where it follows from the code."""
        if self.target.stripe is None or not self.found.note:
            return self.found.note
        return f"with {self.target.stripe.said}: {self.found.note}"

    def of(self, spread: float) -> float:
        """The limit where pages of the chip differ by `spread`."""
        spread = spread if self._own is None else self._own
        # Of pages that are alike to the last digit.
        return self.found.rber if spread == 0 else self._pages(spread)

    def ends(self) -> list[RberLimit]:
        """Ends of its interval, if failures of the code were measured."""

        def moved(end: float) -> RberLimit:
            return lambda spread: self.of(spread) * end / self.found.rber

        return [moved(end) for end in (self.found.low, self.found.high) if end is not None]

    def at(self, rates: Rates, pages: Sequence[PageState], pe_cycles: int) -> tuple[float, float]:
        """Relative spread of the pages nearest to their limit, and that bit error rate."""
        spreads = [rates.spread(page, pe_cycles) for page in pages]
        of_pages = zip(rates.after(pages, pe_cycles), spreads, strict=True)
        _, nearest = max(of_pages, key=lambda page: page[0] / self.of(page[1]))
        return relative(nearest if self._own is None else self._own), self.of(nearest)


def by_errors(
    sizes: Mapping[str, Any], targets: Sequence[Target], spreads: Sequence[float | None]
) -> tuple[Ecc, list[Limit]]:
    """Limits of codes with these t."""
    plain, most = Ecc(), 2**31
    bits, own = (
        whole(f"endurance: {name}", getattr(plain, name) if given is None else given, 1, most)
        for name, given in sizes.items()
        if name != "t"
    )
    every = several("endurance: t", T if sizes["t"] is None else sizes["t"])
    # Of its range the code itself speaks.
    codes = [Ecc(whole("endurance: t", t, -most, most), bits, own).check() for t in every]
    limits = [
        Limit(limit_of_errors("", ecc, target.of_code(own)), failures_of(ecc), target, spread)
        for ecc in codes
        for target in targets
        for spread in spreads
    ]
    return Ecc(codeword_bits=bits, user_bits=own), limits


def by_code(
    code: str | PathLike[str],
    levels: int,
    sizes: Mapping[str, Any],
    targets: Sequence[Target],
    spreads: Sequence[float | None],
) -> tuple[Ecc, list[Limit]]:
    """Limits of a named code."""
    for name, given in sizes.items():
        if given is not None:
            raise refusal(
                "endurance",
                f"code and {name} are both given: the code has its own",
                hint="give one of them",
            )
    failures, user_bits = failures_of_code(code, levels=levels)
    found = [
        (code_limit(code, levels=levels, uber=target.of_code(user_bits)), target)
        for target in targets
    ]
    return found[0][0].ecc, [
        Limit(one, failures, target, spread) for one, target in found for spread in spreads
    ]
