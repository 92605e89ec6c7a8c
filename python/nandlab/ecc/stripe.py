"""Stripes of pages with parity: the chance that data are lost which their code has given up.

With q the probability that a page cannot be read, and k other pages of data in its stripe, it is
lost beside m pages of parity with probability q P(m or more of the other k + m - 1 fail): with one
page of parity q (1 - (1 - q)^k), about k q^2. Pages are read and rebuilt in units of `words`
codewords, all of which must be decoded.

Pages of a stripe are taken to fail independently and with one probability: they have one age and
are the same page of their blocks. Pages that fail together, such as those of dies or blocks that
are worse than others, are lost more often. So are reads of several units, which a drive rebuilds
together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from nandlab.given.arguments import whole

MOST_DIES = 2**16
"""Most pages of a stripe."""

MOST_WORDS = 2**16
"""Most codewords of a unit."""

_LEAST_LN = math.log(1e-300)
"""Below it a float has no room for a probability."""


class Stripe(NamedTuple):
    """A page on each of several dies, some of them parity."""

    dies: int
    """Pages of the stripe, those of parity among them."""
    parity: int
    """Pages of parity: as many may be missing."""
    words: int = 1
    """Codewords of a unit, which are read and rebuilt together."""

    @property
    def said(self) -> str:
        """Its parity in words."""
        pages = "a page" if self.parity == 1 else f"{self.parity} pages"
        return f"{pages} of parity in stripes of {self.dies}"

    def check(self) -> Stripe:
        """The stripe itself, checked.

        Raises:
            NandlabError: it cannot be.
        """
        dies = whole("stripe: dies", self.dies, 2, MOST_DIES)
        whole("stripe: parity", self.parity, 1, dies - 1)
        whole("stripe: words", self.words, 1, MOST_WORDS)
        return self

    def lost(self, failure: float) -> float:
        """Probability that a codeword is lost, where its code fails with that of `failure`."""
        from scipy.special import betainc

        unit = -math.expm1(self.words * math.log1p(-failure)) if failure < 1 else 1.0
        others = self.dies - 1
        return failure * float(betainc(self.parity, others - self.parity + 1, unit))

    def failure(self, lost: float) -> float:
        """Highest probability of failure of the code at which at most `lost` codewords are lost."""
        from scipy.optimize import brentq

        def over(ln_failure: float) -> float:
            return self.lost(math.exp(ln_failure)) - lost

        if over(0.0) <= 0:
            return 1.0
        if over(_LEAST_LN) >= 0:
            return math.exp(_LEAST_LN)
        return math.exp(float(brentq(over, _LEAST_LN, 0.0, xtol=1e-12)))


def stripe_of(config: Mapping[str, Any]) -> Stripe | None:
    """The stripes of a drive by its configuration; None without parity."""
    if not (parity := int(config.get("parity", {}).get("pages", 0))):
        return None
    ftl, drive = config["ftl"], config["drive"]
    of_drive = int(drive["channels"]) * int(drive["dies_per_channel"])
    # A stripe stays in its reclaim group.
    dies = int(ftl["superblock_dies"]) or of_drive // int(ftl.get("reclaim_groups", 1))
    # Left out, a unit is 4096 bytes, or a page where that is smaller.
    unit = int(ftl["unit_bytes"]) or min(4096, int(config["chip"]["geometry"]["page_bytes"]))
    return Stripe(dies, parity, math.ceil(unit / int(config["ecc"]["payload_bytes"])))
