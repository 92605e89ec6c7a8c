"""Laws of error rates to fit: those of the array models, in well-conditioned coordinates.

Each takes the columns of a measurement and gives a `Law`, and each says how its parameters are
written as the table of an array model, by which a drive uses them. Coordinates are centred in the
data: the level at the middle of the cycles is known far better than the one at a single cycle.
`power` has factors of page types and layers (`factors`); `exponential` and `retention` have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nandlab.fit.law.contract import Fitted, Options
from nandlab.fit.law.exponential import exponential, exponential_vth
from nandlab.fit.law.factors import PAGE_FACTOR
from nandlab.fit.law.power import power_law
from nandlab.fit.law.retention import retention_law

if TYPE_CHECKING:
    from nandlab.fit.data import Measurements

__all__ = ["LAWS", "PAGE_FACTOR", "Fitted", "Options"]

LAWS: dict[str, Callable[[Measurements, Options], Fitted]] = {
    "power_law": power_law,
    "exponential": exponential,
    "exponential_vth": exponential_vth,
    "retention_law": retention_law,
}
"""Laws of rates by their names."""
