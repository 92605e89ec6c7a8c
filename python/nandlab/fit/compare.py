"""Comparison of laws on the same measurements: by AIC, and by held-out rows.

A law with more parameters fits the rows that it was fitted to at least as well. Akaike's criterion
(IEEE TAC 19, 716, 1974) charges 2 for each parameter. The likelihood of held-out rows charges
nothing: each fifth of the rows is predicted by the law fitted to the others. Counts are
beta-binomial with the spread of rows that the fit has found (`estimate`), binomial where it has
found none; rates without counts are lognormal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab._core import NandlabError
from nandlab.display.notebook import InNotebook
from nandlab.fit.data import Data, Measurements, read_measurements
from nandlab.fit.fitting import TAKEN_BY, Fit, fit, of_page_type
from nandlab.fit.law import LAWS
from nandlab.fit.predict import predict
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

FOLDS = 5
"""Parts of the rows, each of which is held out once."""


class Row(NamedTuple):
    """A law on the measurements."""

    law: str
    parameters: int
    """With the spread of rows, if any."""
    log_likelihood: float
    aic: float
    held_out: float | None
    """Logarithm of the likelihood of the rows that were held out, in all; None where a part of the
    rows cannot tell the law's parameters."""
    overdispersion: float | None


class Comparison(InNotebook):
    """Laws on the same measurements, the likeliest first."""

    def __init__(self, name: str, rows: Sequence[Row], refused: dict[str, str]) -> None:
        self.name = name
        self.rows = sorted(rows, key=lambda row: row.aic)
        self.refused = refused
        """Laws that the measurements cannot tell, and why."""

    @property
    def best(self) -> str:
        """The law of the least AIC."""
        return self.rows[0].law

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "data": self.name,
            "folds": FOLDS,
            "laws": [row._asdict() for row in self.rows],
            "refused": self.refused,
        }

    def __repr__(self) -> str:
        return f"<comparison of laws on {self.name}: {', '.join(row.law for row in self.rows)}>"

    def __str__(self) -> str:
        """A table for people."""
        lines = [
            f"laws compared on {self.name}",
            "",
            f"{'law':16} {'parameters':>10} {'AIC':>12} {'more':>9} {'held-out ln L':>14} "
            f"{'over-dispersion':>16}",
        ]
        for row in self.rows:
            held = "" if row.held_out is None else f"{row.held_out:.1f}"
            scatter = "" if row.overdispersion is None else f"{row.overdispersion:.3g}"
            more = row.aic - self.rows[0].aic
            lines.append(
                f"{row.law:16} {row.parameters:>10} {row.aic:>12.1f} {more:>9.1f} {held:>14} "
                f"{scatter:>16}"
            )
        lines += [
            "",
            "Better: lower AIC, higher held-out likelihood; a difference of 10 is decisive.",
        ]
        told = [row for row in self.rows if row.held_out is not None]
        if told and max(told, key=lambda row: row.held_out or -math.inf).law != self.best:
            lines.append(
                "note: the two criteria disagree; more rows, or more different rows, would decide"
            )
        lines += [f"note: no {law}: {why}" for law, why in self.refused.items()]
        return "\n".join(lines)


def compare(
    data: Data, laws: Sequence[str], *, page_type: str | int | None = None, **given: Any
) -> Comparison:
    """Compares laws of rates on the same measurements.

    Args:
        data: as of `nandlab.fit`.
        laws: two or more laws of rates.
        page_type: only the rows of this page type.
        given: options of `nandlab.fit`; each goes to the laws that take it.

    Raises:
        NandlabError: an unknown law, one that is not of rates, or no law that can be fitted.
    """
    if given.pop("least_squares", False):
        raise refusal(
            "fit",
            "not supported: least_squares in a comparison, which is by likelihood",
            hint="fit one law",
        )
    chosen = list(dict.fromkeys(laws))
    for law in chosen:
        if law not in LAWS:
            raise refusal("fit", f"`{law}` cannot be compared", LAWS, given=law)
    if len(chosen) < 2:
        raise refusal("fit", f"only one law to compare: {', '.join(chosen)}", "two or more laws")
    measured = read_measurements(data, given.pop("reference_v", None), given.pop("rename", None))
    if page_type is not None:
        measured = of_page_type(measured, str(page_type))
    rows, refused = [], {}
    for law in chosen:
        options = _taken(law, given)
        try:
            found = fit(measured, law, **options)
        except NandlabError as error:
            refused[law] = str(error)
            continue
        likelihood = float(_log_likelihood(found, measured, found.estimate.mean).sum())
        parameters = len(found.estimate.coordinates) + (found.estimate.spread > 0)
        aic = 2 * parameters - 2 * likelihood
        held = _held_out(measured, found, options)
        scatter = found.estimate.overdispersion if found.is_counted else None
        rows.append(Row(law, parameters, likelihood, aic, held, scatter))
    if not rows:
        raise refusal(
            "fit",
            "; ".join(refused.values()),
            hint="use data from which at least one law can be fitted",
        )
    return Comparison(measured.name, rows, refused)


def _taken(law: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that a law takes."""
    taken = {name: value for name, value in given.items() if value is not None}
    if law != "power_law":
        taken.pop("without", None)
    return {name: of for name, of in taken.items() if law in TAKEN_BY.get(name, (law,))}


def _held_out(measured: Measurements, whole: Fit, options: dict[str, Any]) -> float | None:
    """Logarithm of the likelihood of all rows, each by a fit that has not seen it."""
    import numpy as np

    part = np.random.default_rng(0).permutation(measured.rows) % FOLDS
    total = 0.0
    for fold in range(FOLDS):
        seen = part != fold
        if seen.all():
            continue
        try:
            found = fit(measured.only(seen), whole.law, **options)
            # A term whose column does not vary among fewer rows is no law of all rows.
            if [p.name for p in found.parameters] != [p.name for p in whole.parameters]:
                return None
            types, heights = whole.page_types(), whole.heights()
            mean = predict(found.array, measured.columns, measured.rows, types, heights)
        except NandlabError:
            return None
        total += float(_log_likelihood(found, measured, mean)[~seen].sum())
    return total


def _log_likelihood(found: Fit, measured: Measurements, mean: Column) -> Column:
    """Of every row, at the mean rates of a law."""
    import numpy as np
    from scipy.stats import betabinom, binom, norm

    spread = found.estimate.spread
    if not found.is_counted:
        rber = measured.columns["rber"]
        logs: Column = norm.logpdf(np.log(rber), np.log(mean), spread) - np.log(rber)
        return logs
    errors, bits = measured.need("bit_errors", "bits_read")
    rate = np.clip(mean, 1e-15, 0.5)
    if spread == 0:
        counted: Column = binom.logpmf(errors, bits, rate)
        return counted
    # Mean and deviation fix the two parameters of the beta.
    together = np.maximum((1 - rate) / (rate * spread**2) - 1, 1e-3)
    spread_out: Column = betabinom.logpmf(errors, bits, rate * together, (1 - rate) * together)
    return spread_out
