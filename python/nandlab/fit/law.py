"""Laws of error rates to fit: those of the array models, in well-conditioned coordinates.

Each takes the columns of a measurement and gives a `Law`, and each says how its parameters are
written as the table of an array model, by which a drive uses them. Coordinates are centred in the
data: the level at the middle of the cycles is known far better than the one at a single cycle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab.fit.estimate import MORE_ROWS, Estimate, Law
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]

NOTHING = -700.0
"""Logarithm of a negligible number: its exponential counts as 0."""


class Fitted(NamedTuple):
    """A law on some data."""

    law: Law
    array: Callable[[dict[str, float]], dict[str, Any]]
    """The table of an array model from the parameters."""
    notes: list[str]
    estimate: Callable[[float], Estimate] | None = None
    """The estimate at a level, where no descent is needed."""


class Options(NamedTuple):
    """What a user may set."""

    page_bits: int = 16384
    reference_c: float | None = None
    without: Sequence[str] = ()
    states: int = 4
    """Of a histogram."""
    least_squares: bool = False
    """Whether rates are fitted without weights; errors of the exponential laws may be negative."""


POWER_REFERENCE_C = 30.0
PAGE_FACTOR = "page_factor_"
"""Begin of the names of factors of page types after the first."""

RETENTION_REFERENCE_C = 25.0
"""Default reference temperature of a law with several temperatures."""


def power_law(data: Measurements, options: Options) -> Fitted:
    """RBER = epsilon + alpha N^k + beta N^m t^n + gamma N^p R^q, t in days (Kim, FAST'19).

    Where the data were kept at several temperatures, t are days at the reference temperature, by
    Arrhenius, and the activation energy is a parameter of the retention term.

    Where the data have several page types, the law is that of the first one, and each other type
    has its rate over it.
    """
    made = _power_law(data, options)
    if "page_type" in options.without or len(set(data.labels.get("page_type", []))) < 2:
        return made
    return _by_page_type(made, data)


def _power_law(data: Measurements, options: Options) -> Fitted:
    """The power law with one rate for all page types."""
    import numpy as np

    terms = ("epsilon", "wear", "retention", "reads")
    for term in options.without:
        if term not in (*terms, "page_type"):
            every = (*terms, "page_type")
            raise refusal("fit", f"without {term}: not a term of the law", every)
    has = {
        "epsilon": True,
        "wear": data.varies("pe_cycles"),
        "retention": data.varies("retention_hours"),
        "reads": data.varies("reads"),
    }
    used = [term for term in terms if has[term] and term not in options.without]
    columns = {"wear": "pe_cycles", "retention": "retention_hours", "reads": "reads"}
    notes = [
        f"no {term} term: {columns[term]} does not vary"
        for term in terms
        if not has[term] and term not in options.without
    ]
    if not used:
        raise refusal(data.name, "every term of the law is left out", "at least one term")
    faster = _faster(data, options) if "retention" in used else None
    if faster is None:
        kept_at = data.kept_at() if "retention" in used else {}
        if options.reference_c is not None:
            problem = "reference_c: the data have one temperature or none"
            raise refusal("fit", problem, hint="use reference_c only where temperature_c varies")
        notes += [f"hours hold at {celsius:g} °C" for celsius in kept_at.values()]
    else:
        kept_at = {"reference_c": faster[1]}
        notes.append(f"reference temperature of the law: {faster[1]:g} °C")
    cycles, middle = _logs(data, "pe_cycles", 1.0)
    days, day = _logs(data, "retention_hours", 24.0)
    reads, read = _logs(data, "reads", 1.0)
    by_cycles = has["wear"]
    # Name, logarithm it multiplies, its middle: in the order of the coordinates.
    powers = {
        "epsilon": [],
        "wear": [("k", cycles, middle)],
        "retention": [*([("m", cycles, middle)] if by_cycles else []), ("n", days, day)],
        "reads": [*([("p", cycles, middle)] if by_cycles else []), ("q", reads, read)],
    }
    scale = {"epsilon": "epsilon", "wear": "alpha", "retention": "beta", "reads": "gamma"}

    def mean(u: Column) -> Column:
        total = np.zeros(data.rows)
        at = 0
        for term in used:
            exponent = np.full(data.rows, u[at])
            at += 1
            for name, logs, _ in powers[term]:
                # Days at the reference temperature, by the energy that comes last.
                late = u[-1] * faster[0] if name == "n" and faster is not None else 0.0
                exponent = exponent + u[at] * (logs + late)
                at += 1
            total = total + np.exp(np.clip(exponent, NOTHING, 100.0))
        return np.minimum(total, 0.5)

    def natural(u: Column) -> Column:
        found = np.array(u, dtype=float)
        at = 0
        for term in used:
            here = at
            at += 1
            for _, _, centre in powers[term]:
                found[here] -= u[at] * centre
                at += 1
        return found

    names, is_log = [], []
    for term in used:
        names += [scale[term], *(name for name, _, _ in powers[term])]
        is_log += [True, *(False for _ in powers[term])]
    least, most = _rates(data)
    starts = []
    for first, second in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.5, 1.5), (0.5, 0.3)):
        start: list[float] = []
        for term in used:
            level = least if term == "epsilon" else most / 4
            start.append(math.log(max(level, 1e-15)))
            for name, _, _ in powers[term]:
                start.append(first if name in ("k", "q") else second)
        starts.append(np.array(start))

    if faster is not None:
        names.append("activation_ev")
        is_log.append(False)
        starts = [np.append(start, energy) for start in starts for energy in (0.5, 1.1)]

    def array(values: dict[str, float]) -> dict[str, Any]:
        energy = {name: values[name] for name in ("activation_ev",) if name in values}
        idle = {"k": 1.0, "m": 0.0, "n": 1.0, "p": 0.0, "q": 1.0}
        every = ("epsilon", "alpha", "k", "beta", "m", "n", "gamma", "p", "q")
        table = {name: values.get(name, idle.get(name, 0.0)) for name in every}
        return {"name": "power_law", **table, **kept_at, **energy}

    of_term = {"activation_ev": "retention"} | {
        name: term for term in used for name in (scale[term], *(n for n, *_ in powers[term]))
    }
    falls = has["wear"] and _falls(data, "pe_cycles")

    def cure(left_open: Sequence[str]) -> str:
        without = [term for term in used if term in {of_term[name] for name in left_open}]
        if len(without) == len(used):
            return MORE_ROWS
        terms = ", ".join(f"`{term}`" for term in without)
        why = " (rates fall with pe_cycles)" if falls else ""
        return f"leave out {terms}{why}, or {MORE_ROWS}"

    return Fitted(Law(starts, mean, natural, names, is_log, cure), array, notes)


def _by_page_type(made: Fitted, data: Measurements) -> Fitted:
    """The law of the first page type, and factors of the others as the last coordinates."""
    import numpy as np

    (types, at), law, rates = data.page_types(), made.law, np.log(_observed(data))
    place, more = np.array(at), len(types) - 1
    names = [f"{PAGE_FACTOR}{i}" for i in range(1, len(types))]
    means = np.array([rates[place == i].mean() for i in range(len(types))])
    factors = means[1:] - means[0]

    def mean(u: Column) -> Column:
        factor = np.exp(np.clip(np.append(0.0, u[-more:]), NOTHING, 100.0))
        rate: Column = np.minimum(law.mean(u[:-more]) * factor[place], 0.5)
        return rate

    def natural(u: Column) -> Column:
        return np.concatenate([law.natural(u[:-more]), u[-more:]])

    def cure(left_open: Sequence[str]) -> str:
        own = [name for name in left_open if name not in names]
        return law.cure(own) if own else "use more rows of each page type"

    def array(values: dict[str, float]) -> dict[str, Any]:
        return made.array(values) | {name: values[name] for name in names}

    ratios = [
        f"{name}: rate of {of} pages over that of {types[0]} pages"
        for name, of in zip(names, types[1:], strict=True)
    ]
    together = law._replace(
        start=[np.append(start, factors) for start in law.start],
        mean=mean,
        natural=natural,
        names=[*law.names, *names],
        is_log=[*law.is_log, *[True] * more],
        cure=cure,
    )
    return Fitted(together, array, [*made.notes, *ratios])


def exponential(data: Measurements, options: Options) -> Fitted:
    """Errors of a page = a exp(b N / 1e5) - 1, never below zero (Wang, ICS'14, section 3.3)."""
    import numpy as np

    [cycles] = data.need("pe_cycles")
    _vary(data, "pe_cycles")
    n = cycles / 1e5
    _, most = _rates(data)
    # Centred high, where the errors are.
    centre = float(n.max())
    bits, least = options.page_bits, _least_rate(options)

    def mean(u: Column) -> Column:
        errors = np.exp(np.clip(u[0] + np.exp(min(u[1], 50.0)) * (n - centre), NOTHING, 100)) - 1
        rate: Column = np.clip(errors / bits, least, 0.5)
        return rate

    def natural(u: Column) -> Column:
        return np.array([u[0] - np.exp(min(u[1], 50.0)) * centre, u[1]])

    top = math.log(most * bits + 1.0)
    span = float(n.max() - n.min())
    starts = [np.array([top, math.log(growth / span)]) for growth in (0.5, 1.0, 2.0, 5.0, 12.0)]

    def array(values: dict[str, float]) -> dict[str, Any]:
        law = {"alpha_1": 0.0, "beta_1": values["a"], "alpha_2": 0.0, "beta_2": values["b"]}
        return {"name": "exponential", "vth_v": 1.0, **law, "page_bits": bits}

    return Fitted(Law(starts, mean, natural, ["a", "b"], [True, True]), array, [])


def exponential_vth(data: Measurements, options: Options) -> Fitted:
    """The same with a and b linear in ln V (Wang, equations 6 to 9)."""
    import numpy as np

    cycles, volts = data.need("pe_cycles", "vth_v")
    _vary(data, "pe_cycles", "vth_v")
    if (volts <= 0).any():
        i = int(np.argmax(volts <= 0))
        raise refusal(data.name, f"vth_v = {volts[i]:g}: it has no logarithm", "above 0 V (eq. 6)")
    n, ln_v = cycles / 1e5, np.log(volts)
    low, high = float(ln_v.min()), float(ln_v.max())
    part = (ln_v - low) / (high - low)
    centre, bits, least = float(n.max()), options.page_bits, _least_rate(options)
    _, most = _rates(data)

    def ab(u: Column) -> tuple[Column, Column]:
        """At the lowest and the highest voltage."""
        b = np.exp(np.minimum(u[2:4], 50.0))
        return np.exp(np.clip(u[0:2] - b * centre, NOTHING, 100)), b

    def mean(u: Column) -> Column:
        a, b = ab(u)
        a_at, b_at = a[0] + (a[1] - a[0]) * part, b[0] + (b[1] - b[0]) * part
        errors = a_at * np.exp(np.clip(b_at * n, NOTHING, 100)) - 1
        rate: Column = np.clip(errors / bits, least, 0.5)
        return rate

    def natural(u: Column) -> Column:
        found = []
        for pair in ab(u):
            slope = (pair[1] - pair[0]) / (high - low)
            found += [slope, pair[0] - slope * low]
        return np.array(found)

    top = math.log(most * bits + 1.0)
    span = float(n.max() - n.min())
    starts = [
        np.array([top, top, math.log(g / span), math.log(g / span)]) for g in (1.0, 2.0, 5.0, 12.0)
    ]

    def array(values: dict[str, float]) -> dict[str, Any]:
        middle = float(np.exp(ln_v.mean()))
        return {"name": "exponential", "vth_v": middle, **values, "page_bits": bits}

    names = ["alpha_1", "beta_1", "alpha_2", "beta_2"]
    note = "vth_v of the array is the middle of the data; set it to the mean of your chip's states"
    return Fitted(Law(starts, mean, natural, names, [False] * 4), array, [note])


def retention_law(data: Measurements, options: Options) -> Fitted:
    """Luo 2018: ln RBER = (a N + b) ln t + c N + d, t in seconds at a reference temperature."""
    import numpy as np

    cycles, hours = data.need("pe_cycles", "retention_hours")
    _vary(data, "pe_cycles", "retention_hours")
    with_energy = data.varies("temperature_c")
    reference_c = RETENTION_REFERENCE_C if options.reference_c is None else options.reference_c
    celsius = data.columns.get("temperature_c", np.full(data.rows, reference_c))
    # By which power of e time goes faster, for each electron volt.
    faster = np.log([_core.acceleration(1.0, reference_c, c) for c in celsius])
    # What is read at once is no older for being warm.
    bare = np.log(np.maximum(hours * 3600, 1e-300))
    seconds = np.maximum(bare, 0.0)
    middle, size = float(cycles.mean()), float(cycles.std())
    second = float(seconds.mean())
    x = (cycles - middle) / size
    fixed = np.zeros(data.rows) if with_energy else faster * 1.1

    def mean(u: Column) -> Column:
        energy = u[4] * faster if with_energy else fixed
        late = np.maximum(bare + energy, 0.0) - second
        logs = u[0] + u[1] * x + u[2] * late + u[3] * x * late
        rate: Column = np.exp(np.clip(logs, NOTHING, -0.7))
        return rate

    def natural(u: Column) -> Column:
        slope = u[3] / size
        level = u[1] / size - slope * second
        b = u[2] - slope * middle
        d = u[0] - u[2] * second - middle * (u[1] / size - slope * second)
        return np.array([slope, b, level, d, *u[4:]])

    rate = _observed(data)
    basis = [np.ones(data.rows), x, seconds - second, x * (seconds - second)]
    linear = np.linalg.lstsq(np.stack(basis, axis=-1), np.log(rate), rcond=None)[0]
    starts = [np.append(linear, e) for e in (0.5, 1.1)] if with_energy else [linear]
    names = ["a_slope", "b_slope", "c_level", "d_level"]
    notes = []
    if with_energy:
        names.append("activation_ev")
    elif "temperature_c" in data.columns and celsius[0] != reference_c:
        notes.append("the data have one temperature: activation_ev = 1.1 is assumed")

    def array(values: dict[str, float]) -> dict[str, Any]:
        where = {"temperature_c": reference_c, "reference_c": reference_c}
        return {"name": "retention_law", **where, **values}

    return Fitted(Law(starts, mean, natural, names, [False] * len(names)), array, notes)


LAWS: dict[str, Callable[[Measurements, Options], Fitted]] = {
    "power_law": power_law,
    "exponential": exponential,
    "exponential_vth": exponential_vth,
    "retention_law": retention_law,
}
"""Laws of rates by their names."""


def _faster(data: Measurements, options: Options) -> tuple[Column, float] | None:
    """By which power of e time goes faster in each row, for each electron volt, and than where.

    Nothing where the rows were kept at one temperature.
    """
    import numpy as np

    hours = data.columns.get("retention_hours")
    if hours is None or not data.varies("temperature_c"):
        return None
    # Rows that were read at once say nothing of temperature.
    celsius = data.columns["temperature_c"]
    if (celsius[hours > 0] == celsius[hours > 0][:1]).all():
        return None
    reference_c = POWER_REFERENCE_C if options.reference_c is None else options.reference_c
    return np.log([_core.acceleration(1.0, reference_c, c) for c in celsius]), reference_c


def _least_rate(options: Options) -> float:
    """Of an exponential law: its paper's fit leaves it at -1 error in a young page."""
    return -math.inf if options.least_squares else 0.0


def _vary(data: Measurements, *names: str) -> None:
    for name in names:
        if not data.varies(name):
            raise refusal(
                data.name,
                f"the column {name} has one value only",
                "at least two values",
            )


def _falls(data: Measurements, name: str) -> bool:
    """Whether the rates at a column's highest value are below those at its lowest."""
    import numpy as np

    column, logs = data.columns[name], np.log(_observed(data))
    ends = (logs[column == end].mean() for end in (column.min(), column.max()))
    return bool(np.diff([*ends])[0] < 0)


def _logs(data: Measurements, name: str, unit: float) -> tuple[Column, float]:
    """Logarithms of a column less that of its middle, and that of its middle."""
    import numpy as np

    values = data.columns.get(name)
    if values is None or not (values > 0).any():
        return np.zeros(data.rows), 0.0
    values = values / unit
    middle = float(np.log(values[values > 0]).mean())
    with np.errstate(divide="ignore"):
        logs = np.log(values) - middle
    return np.maximum(logs, NOTHING), middle


def _observed(data: Measurements) -> Column:
    """Rates, never zero."""
    if "rber" in data.columns:
        return data.columns["rber"]
    errors, bits = data.columns["bit_errors"], data.columns["bits_read"]
    rates: Column = (errors + 0.5) / (bits + 1.0)
    return rates


def _rates(data: Measurements) -> tuple[float, float]:
    """The least and the greatest."""
    rates = _observed(data)
    return float(rates.min()), float(rates.max())
