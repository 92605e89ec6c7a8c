"""Fit of a law to measurements of a chip: parameters with intervals, picture, chip file.

What each law is stands in `law` and `mixture`, how it is estimated in `estimate`; rates that are
played back as they were measured, without a law, in `table`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab._core import MOST_LAYERS, NandlabError
from nandlab.display.notebook import InNotebook
from nandlab.fit.cell import LEAST, MOST, is_beyond, mean_degrees
from nandlab.fit.data import Data, Measurements, read_measurements
from nandlab.fit.estimate import Estimate, from_counts, from_rates, lack_of_fit, unweighted
from nandlab.fit.facts import AT_REFERENCE, WHOLE_CELL
from nandlab.fit.law import LAWS, PAGE_FACTOR, Fitted, Options
from nandlab.fit.law.layers import LAYER_FACTORS, group_named
from nandlab.fit.mixture import (
    CURE,
    LEAST_SHARE,
    MIXTURES,
    Histogram,
    best_references,
    histogram,
    maxima,
    mixture,
)
from nandlab.fit.parameters import Confidence, Parameter, printed
from nandlab.fit.table import table
from nandlab.given.arguments import (
    as_text,
    flag,
    named,
    number,
    path_or_none,
    seeded,
    several,
    whole,
)
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

RATES = {**LAWS, "table": table}
"""Laws of rates, and the rates themselves."""

EVERY_LAW = (*RATES, *MIXTURES)

TAKEN_BY: dict[str, Sequence[str]] = {
    "states": MIXTURES,
    "page_bits": ("exponential", "exponential_vth"),
    "reference_c": ("power_law", "retention_law"),
    "reference_v": MIXTURES,
    "least_squares": ("exponential", "exponential_vth"),
    "layers": ("power_law",),
}
"""Laws that options are for."""

TAILS = 100.0
"""Degrees whose interval goes up to more times their value are open above."""

LEAST_EV, MOST_EV = 0.3, 2.0
"""Activation energies of charge loss in electron volts, with room on both sides of the 1.1 eV
of JESD218 (assumed: a factor of two to four to each side)."""

CONDITIONS = ("pe_cycles", "retention_hours", "reads", "temperature_c", "vth_v")
"""Columns of a row that a law may depend on."""

SURE = 1e-3
"""Probability below which a lack of fit is no chance."""

SUSPECT = 20.0
"""Over-dispersion from which on the law itself is in doubt."""


class Fit(InNotebook):
    """A law fitted to measurements. It can be pickled, as for `multiprocessing`."""

    def __init__(
        self,
        law: str,
        data: Measurements,
        estimate: Estimate,
        parameters: list[Parameter],
        array: dict[str, Any],
        confidence: Confidence,
        notes: list[str],
        options: Options,
        bins: Histogram | None = None,
    ) -> None:
        self.law = law
        self.data = data
        self.estimate = estimate
        self.parameters = parameters
        self.array = array
        """The table of an array model, by which a drive uses the fit."""
        self.confidence = confidence
        self.notes = notes
        self.bins = bins
        self._options = options

    def draws(self, count: int, seed: int = 0) -> list[dict[str, Any]]:
        """Array models drawn from the uncertainty of the fit: normal in its coordinates.

        Draws that an array model refuses, because they would heal with stress, are left out.

        Raises:
            NandlabError: the uncertainty is not known.
        """
        import json

        import numpy as np

        count = whole("fit: draws", count, 0, 10**9)
        rng = np.random.default_rng(seeded(seed))
        at, covariance = self.estimate.coordinates, self.estimate.covariance
        if not np.isfinite(covariance).all():
            raise refusal(
                "fit",
                "no data to resample: rates without bits read, and no repeated points",
                hint="give bit_errors and bits_read, or more rows",
            )
        fitted, found = _on(self.data, self.law, self._options), []
        law = fitted.law
        for u in rng.multivariate_normal(at, covariance, count, method="eigh"):
            # What is beyond all numbers the array model refuses.
            with np.errstate(over="ignore", invalid="ignore"):
                natural = law.natural(u)
                values = np.where(law.is_log, np.exp(np.where(law.is_log, natural, 0)), natural)
            array = fitted.array(dict(zip(law.names, map(float, values), strict=True)))
            try:
                _core.Array(json.dumps(array))
            except NandlabError:
                continue
            found.append(array)
        return found

    def covariance(self) -> list[list[float]]:
        """Of the parameters in their order, by what they are normal in: positive ones by ln.

        Its diagonal holds the squares of standard errors; `is_log` of the report says which
        parameters are logarithms. Empty for a histogram, whose states may be in another order.
        """
        import numpy as np

        if self.bins is not None:
            return []
        law = _on(self.data, self.law, self._options).law
        at, step = self.estimate.coordinates, 1e-4
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [
                (law.natural(at + step * unit) - law.natural(at - step * unit)) / (2 * step)
                for unit in np.eye(len(at))
            ]
            slopes = np.stack(columns, axis=-1)
            found: list[list[float]] = (slopes @ self.estimate.covariance @ slopes.T).tolist()
        return found

    def is_log(self) -> list[bool]:
        """Whether `covariance` has each parameter as a logarithm."""
        if self.bins is not None:
            return []
        return list(_on(self.data, self.law, self._options).law.is_log)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the most of each stress in the data: beyond it a law is extrapolated."""
        found: dict[str, tuple[float, float]] = {}
        for name in ("pe_cycles", "retention_hours", "reads", "temperature_c"):
            if name in self.data.columns:
                column = self.data.columns[name]
                found[name] = (float(column.min()), float(column.max()))
        if any(one.name == "activation_ev" for one in self.parameters):
            hours, celsius = self.data.need("retention_hours", "temperature_c")
            law = (self.array["activation_ev"], self.array["reference_c"])
            pairs = zip(hours, celsius, strict=True)
            aged = [h * _core.acceleration(*law, c) for h, c in pairs]
            found[AT_REFERENCE] = (float(min(aged)), float(max(aged)))
        if (heights := self.heights()) is not None:
            found["layer"] = (float(min(heights)[0]), float(max(heights)[0]))
        return found

    def page_types(self) -> list[int]:
        """The page type of each row, as numbers; 0 of all rows if the law does not tell them."""
        if not any(one.name.startswith(PAGE_FACTOR) for one in self.parameters):
            return [0] * self.data.rows
        return self.data.page_types()[1]

    def heights(self) -> list[tuple[int, int]] | None:
        """The layer of each row and the layers of its block; None if the law does not tell them."""
        count = len(self.array.get(LAYER_FACTORS, ()))
        return [(layer, count) for layer in self.data.layers()] if count else None

    def __getitem__(self, name: str) -> Parameter:
        """A parameter by its name."""
        names = [parameter.name for parameter in self.parameters]
        name = as_text("fit: parameter", name, ", ".join(names))
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise refusal("fit", f"unknown parameter `{name}`", names, given=name)

    @property
    def is_counted(self) -> bool:
        """Whether counts were fitted, and not rates."""
        return "rber" not in self.data.columns

    @property
    def method(self) -> str:
        """Method of the intervals, in words."""
        return f"{self.estimate.method}; {self.confidence.sentence}"

    def __repr__(self) -> str:
        name, count = self.data.name, len(self.parameters)
        return f"<fit of {self.law} to {name}: {self._trials()}, {count} parameters>"

    def __str__(self) -> str:
        """A table for people."""
        lines = [f"{self.law} fitted to {self.data.name}: {self._trials()}", ""]
        lines += printed(self.parameters, self.confidence, None)
        lines += ["", f"intervals: {self.method}"]
        if self.is_counted and not math.isnan(self.estimate.overdispersion):
            lines.append(
                f"over-dispersion: {self.estimate.overdispersion:.3g} (Pearson's chi-squared over "
                f"its degrees of freedom; 1 is the scatter of independent errors)"
            )
        if (missed := self.lack_of_fit()) is not None:
            ratio, p = missed
            lines.append(f"lack of fit: F = {ratio:.3g} against rows that repeat, p = {p:.2g}")
            if p < SURE:
                lines.append(
                    "note: the law misses more than rows that repeat scatter: see the residuals"
                    " over each axis, check the columns, or try another law"
                )
        if self.estimate.overdispersion > SUSPECT and len(self.estimate.residuals):
            lines.append(f"note: far more scatter than counts have; {self._cure()}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def lack_of_fit(self) -> tuple[float, float] | None:
        """Lack of fit over the scatter of rows that repeat a condition: F, and its p value.

        None of tables and histograms, and if too few rows repeat.
        """
        import numpy as np

        if self.bins is not None or self.law == "table":
            return None
        # The columns of a measurement that are conditions and no counts.
        names = [name for name in CONDITIONS if name in self.data.columns]
        columns = [self.data.columns[name] for name in names]
        columns.append(np.array(self.page_types(), float))
        if (heights := self.heights()) is not None:
            columns.append(np.array([layer for layer, _ in heights], float))
        conditions = np.stack(columns, axis=-1)
        return lack_of_fit(self.estimate.residuals, conditions, len(self.estimate.coordinates))

    def _cure(self) -> str:
        """Advice where the law does not fit its rows."""
        if self.bins is not None and (seen := maxima(self.bins)) != self._options.states:
            return f"{seen} maxima: `--states {seen}`"
        return "see the residuals, try another law"

    def _trials(self) -> str:
        if self.bins is not None:
            return f"{self.bins.cells.sum():,.0f} cells in {len(self.bins.cells)} bins"
        if not self.is_counted:
            return f"{self.data.rows} rates"
        errors, bits = self.data.columns["bit_errors"], self.data.columns["bits_read"]
        return f"{errors.sum():,.0f} errors of {bits.sum():.4g} bits in {self.data.rows} rows"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON; an interval without an end has null there."""
        scatter = self.estimate.overdispersion
        return {
            "law": self.law,
            "data": self.data.name,
            "rows": self.data.rows,
            "trials": self._trials(),
            "level": self.confidence.level,
            "joint": self.confidence.joint > 1,
            "method": self.method,
            "overdispersion": scatter if self.is_counted and math.isfinite(scatter) else None,
            "degrees_of_freedom": self.estimate.degrees,
            "lack_of_fit": self.lack_of_fit(),
            "parameters": {
                p.name: [p.value, *(end if math.isfinite(end) else None for end in (p.low, p.high))]
                for p in self.parameters
            },
            "is_log": self.is_log(),
            "covariance": [
                [one if math.isfinite(one) else None for one in row] for row in self.covariance()
            ],
            "ranges": {name: list(ends) for name, ends in self.ranges().items()},
            "array": self.array,
            "notes": self.notes,
        }

    def chip_toml(self, chip: str | PathLike[str]) -> str:
        """The text of a chip file: the chip (preset or file) with these error rates.

        Raises:
            NandlabError: no such chip, or rates that an array model refuses.
        """
        from nandlab.fit.chip import chip_toml

        return chip_toml(self, named("chip", chip))

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Data with the law above its residuals, also written to `path`."""
        from nandlab.fit.plot import plot_fit

        return plot_fit(self, path_or_none("plot", path))


@names_checked
def fit(
    data: Data,
    law: str,
    *,
    level: float = 0.95,
    each: bool = False,
    states: int | None = None,
    page_bits: int | None = None,
    least_squares: bool = False,
    reference_c: float | None = None,
    reference_v: float | None = None,
    without: str | Sequence[str] = (),
    layers: int | None = None,
    page_type: str | int | None = None,
    rename: Mapping[str, str] | None = None,
) -> Fit:
    """Fits a law to measurements of a chip.

    Args:
        data: a ``.csv`` or ``.parquet`` file with the columns of docs/formats/fit.md or the rows
            of a board, what `nandlab.board` has found, or such columns in a mapping, an Arrow
            table or a data frame.
        law: ``power_law``, ``exponential``, ``exponential_vth`` or ``retention_law`` of error
            rates, ``table`` of the rates themselves, ``gaussian`` or ``student_t`` states of a
            histogram of voltages.
        level: how often the intervals hold the truth, all of them at once.
        each: one by one instead, which makes them narrower.
        states: of the histogram (4; of a board's sweep the levels of its cells).
        page_bits: bits of the page that the exponential laws count errors in (16384).
        least_squares: fits the exponential laws as their paper does, by least squares of the
            errors without weights, instead of by the likelihood of the counts.
        reference_c: temperature that the law is written for where the data have several: 25 of the
            retention law, 30 of the power law.
        reference_v: voltage of the reference that a board's sweep has moved; left out, that of the
            chip that its Parquet file names, or 0.
        without: terms of the power law that are left out: epsilon, wear, retention, reads,
            page_type, layer; one or several.
        layers: of a block, where the data have a column ``layer``; left out, as many as the last
            one of the data says.
        page_type: only the rows of this page type, as the data call it. `fit_page_types` fits each.
        rename: names of columns in the data, and their names here: ``{"PE": "pe_cycles"}``.

    Raises:
        NandlabError: an unknown law or column, an option that the law does not take, a value
            out of range, data that cannot tell the parameters.
    """
    if as_text("fit: law", law, ", ".join(EVERY_LAW)) not in EVERY_LAW:
        hint = "use nandlab.fit.fit_cell for a whole cell" if law == WHOLE_CELL else ""
        raise refusal("fit", f"unknown law `{law}`", EVERY_LAW, hint=hint, given=law)
    level = number("fit: level", level)
    if not 0.5 <= level < 1:
        raise refusal("fit", f"level = {level:g}: out of range", "0.5 to below 1")
    terms = terms_of(without)
    if terms and law != "power_law":
        raise refusal("fit", f"not supported: terms to leave out with {law}", hint="use power_law")
    given = {"states": states, "page_bits": page_bits}
    least_squares = flag("fit: least_squares", least_squares)
    given["least_squares"] = least_squares or None
    given |= {"layers": layers}
    _check_options(law, {**given, "reference_c": reference_c, "reference_v": reference_v})
    layers = None if layers is None else whole("fit: layers", layers, 1, MOST_LAYERS)
    each = flag("fit: each", each)
    page_bits = whole("fit: page_bits", 16384 if page_bits is None else page_bits, 1, 2**32 - 1)
    if reference_c is not None:
        reference_c = number("fit: reference_c", reference_c)
        if not -100 <= reference_c <= 300:
            raise refusal("fit", f"reference_c = {reference_c:g}: out of range", "-100 to 300")
    if reference_v is not None:
        reference_v = number("fit: reference_v", reference_v)
        if not -100 <= reference_v <= 100:
            raise refusal("fit", f"reference_v = {reference_v:g}: out of range", "-100 to 100 V")
    measured = read_measurements(data, reference_v, rename)
    if page_type is not None:
        measured = of_page_type(measured, str(page_type))
    if reference_v is not None and measured.sweep is None:
        raise refusal(
            "fit",
            f"{measured.name} is not a sweep, and has its own voltages",
            hint="use reference_v with rows of `nandlab board vth_sweep`",
        )
    if law in MIXTURES:
        if states is None:
            states = 4 if measured.sweep is None else measured.sweep.levels
        states = whole("fit: states", states, 2, 16)
        return _fit_states(measured, law, states, level, each)
    _one_kind_of_rate(measured)
    options = Options(page_bits, reference_c, terms, layers=layers, least_squares=least_squares)
    fitted = _on(measured, law, options)
    if law in LAWS:
        fitted.notes.extend(_pooled(measured, fitted.law.names))
    confidence = Confidence(level, 1 if each else len(fitted.law.names))
    if fitted.estimate is not None:
        estimate = fitted.estimate(confidence.of_one)
    elif "rber" in measured.columns:
        by = unweighted if least_squares else from_rates
        estimate = by(fitted.law, measured.columns["rber"], confidence.of_one)
    else:
        errors, bits = measured.need("bit_errors", "bits_read")
        if least_squares:
            estimate = unweighted(fitted.law, errors / bits, confidence.of_one)
        else:
            estimate = from_counts(fitted.law, errors, bits, confidence.of_one)
    parameters = _parameters(fitted.law.names, estimate)
    array = fitted.array({p.name: p.value for p in parameters})
    fitted.notes.extend(_of_no_cell(parameters))
    return Fit(law, measured, estimate, parameters, array, confidence, fitted.notes, options)


def _pooled(measured: Measurements, names: Sequence[str]) -> list[str]:
    """Notes about page types and layers that the law of these parameters does not tell apart."""
    found = []
    types = list(dict.fromkeys(measured.labels.get("page_type", [])))
    if len(types) > 1 and not any(name.startswith(PAGE_FACTOR) for name in names):
        found.append(
            f"one law for the rows of the page types {', '.join(types)}: only power_law has a "
            f"factor for each; use page_type for the rows of one type"
        )
    layers = set(measured.labels.get("layer", []))
    if len(layers) > 1 and not any(map(group_named, names)):
        found.append(
            f"one law for the rows of {len(layers)} layers: only power_law has factors of layers"
        )
    return found


def _of_no_cell(parameters: Sequence[Parameter]) -> list[str]:
    """A note about an activation energy that charge loss does not have."""
    return [
        f"activation_ev = {one.value:.2g} eV is not one of charge loss ({LEAST_EV:g} to "
        f"{MOST_EV:g} eV): temperature_c or retention_hours may be those of other rows"
        for one in parameters
        if one.name == "activation_ev" and not LEAST_EV <= one.value <= MOST_EV
    ]


def of_page_type(measured: Measurements, page_type: str) -> Measurements:
    """The rows of one page type.

    Raises:
        NandlabError: there are none.
    """
    import numpy as np

    types = measured.labels.get("page_type", [])
    known = list(dict.fromkeys(types))
    if page_type not in known:
        expected = ", ".join(known) or "no page_type: there is no such column"
        raise refusal(measured.name, f"no rows of page_type `{page_type}`", expected)
    return measured.only(np.array([of == page_type for of in types]))


def _on(measured: Measurements, law: str, options: Options) -> Fitted:
    """A law on some data, before its estimate. It is made of functions, which no pickle holds."""
    if law not in MIXTURES:
        return RATES[law](measured, options)
    made = mixture(histogram(measured), law, options.states)
    return Fitted(made, lambda values: _states_array(values, options.states), [])


def terms_of(without: object) -> list[str]:
    """Omitted terms: one, several or none."""
    if isinstance(without, Collection) and len(without) == 0:
        return []
    return [as_text("fit: without", term) for term in several("fit: without", without)]


def _check_options(law: str, given: Mapping[str, object]) -> None:
    """Refuses options that the law does not use."""
    for name, value in given.items():
        if value is not None and law not in TAKEN_BY[name]:
            raise refusal(
                "fit",
                f"not supported: {name} with the law {law}",
                hint=f"use it with {', '.join(TAKEN_BY[name])}",
            )


def _fit_states(measured: Measurements, law: str, states: int, level: float, each: bool) -> Fit:
    bins, options = histogram(measured), Options(states=states)
    made = _on(measured, law, options).law
    confidence = Confidence(level, 1 if each else len(made.names))
    estimate = from_counts(made, bins.cells, None, confidence.of_one)
    names = made.names
    per_state = len(names) // states
    # In the order of their voltages, whatever order the descent left them in.
    raw = _parameters(names, estimate)
    groups = sorted(
        (raw[i : i + per_state] for i in range(0, len(raw), per_state)), key=lambda g: g[0].value
    )
    parameters = [
        parameter._replace(name=names[per_state * s + i])
        for s, group in enumerate(groups)
        for i, parameter in enumerate(group)
    ]
    values = {p.name: p.value for p in parameters}
    for state in range(states):
        if (share := values[f"weight_{state}"]) < LEAST_SHARE / states:
            raise refusal(
                "fit",
                f"state {state} of {states} has {share:.2g} of the cells, almost none",
                hint=CURE,
            )
    reading = best_references(values, states)
    array = _states_array(values, states)
    rber, bits = array["epsilon"], math.log2(states)
    at = ", ".join(f"{volts:.3f}" for volts in reading.references_v)
    notes = [f"fewest errors at references {at} V: mean RBER {rber:.3g}, no wear, no retention"]
    if measured.sweep is not None:
        notes.append(measured.sweep.origin)
        if measured.sweep.joined:
            notes.append(
                f"{measured.sweep.joined} steps were joined with a neighbour: noise of two reads "
                f"gave them negative counts"
            )
    if bits != int(bits):
        notes.append(f"{states} states are not a whole number of bits: RBER counts log2 of them")
    light = [p.name for p in parameters if p.name.startswith("nu_") and p.high > TAILS * p.value]
    if light:
        notes.append(f"{', '.join(light)} undetermined: the tails are as light as Gaussian ones")
    degrees = mean_degrees({p.name: p for p in parameters}, states)
    if degrees is not None and is_beyond(degrees):
        nearest_taken = LEAST if degrees < LEAST else MOST
        notes.append(
            f"a cell allows {LEAST:g} to {MOST:g} degrees of Student's t: the chip file has "
            f"{nearest_taken:g} in place of {degrees:.3g}, the mean of nu"
        )
    return Fit(law, measured, estimate, parameters, array, confidence, notes, options, bins)


def _states_array(values: dict[str, float], states: int) -> dict[str, Any]:
    """A rate without wear: the overlap of neighbours at the best references, over the bits."""
    rber = sum(best_references(values, states).rber) / math.log2(states)
    idle = {"alpha": 0.0, "k": 1.0, "beta": 0.0, "m": 0.0, "n": 1.0, "gamma": 0.0, "p": 0.0}
    return {"name": "power_law", "epsilon": rber, **idle, "q": 1.0}


def _parameters(names: Sequence[str], estimate: Estimate) -> list[Parameter]:
    return [
        Parameter(name, float(value), float(low), float(high), trials)
        for name, value, low, high, trials in zip(
            names,
            estimate.values,
            estimate.low,
            estimate.high,
            estimate.trials or [""] * len(names),
            strict=True,
        )
    ]


def _one_kind_of_rate(measured: Measurements) -> None:
    """Counts or rates, and no rate of zero, which has no logarithm."""
    import numpy as np

    has = [name for name in ("rber", "bit_errors", "bits_read") if name in measured.columns]
    if has not in (["rber"], ["bit_errors", "bits_read"]):
        raise refusal(
            measured.name,
            " and ".join(has) if has else "no rates",
            "the columns bit_errors and bits_read, or rber",
        )
    if has == ["rber"] and (measured.columns["rber"] <= 0).any():
        row = measured.lines[int(np.argmax(measured.columns["rber"] <= 0))]
        raise refusal(
            measured.name,
            f"row {row}, column rber: 0 has no logarithm",
            "above 0, or the columns bit_errors and bits_read",
        )
    if has != ["rber"] and measured.columns["bit_errors"].sum() == 0:
        raise refusal(
            measured.name,
            "the column bit_errors has no errors",
            hint="use data with errors",
        )
