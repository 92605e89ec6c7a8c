"""Power law of cycles, retention and reads (Kim, FAST'19), with factors of pages and layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.fit.estimate import MORE_ROWS, Law
from nandlab.fit.law.columns import centred_logs, is_falling, least_and_most
from nandlab.fit.law.contract import NOTHING, Fitted, Options
from nandlab.fit.law.factors import FACTORS, by_layer, by_page_type, differ
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]

POWER_REFERENCE_C = 30.0
"""Default reference temperature of the retention term."""


def power_law(data: Measurements, options: Options) -> Fitted:
    """RBER = epsilon + alpha N^k + beta N^m t^n + gamma N^p R^q, t in days (Kim, FAST'19).

    Where the data were kept at several temperatures, t are days at the reference temperature, by
    Arrhenius, and the activation energy is a parameter of the retention term.

    Where the data have several page types, the law is that of the first one, and each other type
    has its rate over it. Where they have several layers, the law is that of their geometric mean,
    and each layer has its rate over it.
    """
    several = [label for label in FACTORS if label not in options.without and differ(data, label)]
    if options.layers is not None and "layer" not in several:
        problem = "layers: the data have no column layer that varies, or it is left out"
        raise refusal("fit", problem, hint="leave out layers, or give each row its layer")

    def of_mean(rows: Measurements) -> Fitted:
        made = _power_law(rows, options)
        return by_page_type(made, rows) if "page_type" in several else made

    return by_layer(of_mean, data, options.layers) if "layer" in several else of_mean(data)


def _power_law(data: Measurements, options: Options) -> Fitted:
    """The power law with one rate for all page types and layers."""
    import numpy as np

    terms = ("epsilon", "wear", "retention", "reads")
    for term in options.without:
        if term not in (every := (*terms, *FACTORS)):
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
    cycles, middle = centred_logs(data, "pe_cycles", 1.0)
    days, day = centred_logs(data, "retention_hours", 24.0)
    reads, read = centred_logs(data, "reads", 1.0)
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
    least, most = least_and_most(data)
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
    falls = has["wear"] and is_falling(data, "pe_cycles")

    def cure(left_open: Sequence[str]) -> str:
        without = [term for term in used if term in {of_term[name] for name in left_open}]
        if len(without) == len(used):
            return MORE_ROWS
        terms = ", ".join(f"`{term}`" for term in without)
        why = " (rates fall with pe_cycles)" if falls else ""
        return f"leave out {terms}{why}, or {MORE_ROWS}"

    return Fitted(Law(starts, mean, natural, names, is_log, cure), array, notes)


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
