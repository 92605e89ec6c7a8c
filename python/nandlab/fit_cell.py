"""A fitted histogram as the levels of a cell: what a chip file has under `[cell.levels]`.

The levels are those that were measured, whatever made them so wide: neighbours, noise and wear are
in the widths, and every mechanism of the cell is off. What moves them by cycles or hours is not in
one histogram.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nandlab._core import NandlabError
from nandlab.fit_mixture import best_references
from nandlab.toml_value import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nandlab.fit import Fit

DEGREES = (3.0, 200.0)
"""Of Student's t, as a cell takes them: it has one for all its levels."""

APART, NARROW = 5.0, 0.1
"""A state that is not final stays so many standard deviations of a level below the one it may
become, and is so much narrower: cells that were taken for another state between two passes are in
the histogram already."""


def cell_levels(fitted: Fit, chip: Mapping[str, Any], name: str) -> list[str]:
    """The lines of `[cell.levels]` for cells of `chip`.

    Raises:
        NandlabError: the chip's cells have another number of levels.
    """
    states = len([p for p in fitted.parameters if p.name.startswith("mu_")])
    bits = int(chip.get("cell_bits", 0))
    if states != 2**bits:
        problem = f"fit: {states} states for {name}, whose cells have {2**bits} levels"
        raise NandlabError(f"{problem}; allowed: --states {2**bits}, or a chip of such cells")
    degrees = _degrees(fitted, states)
    # The width of a level is its standard deviation, that of a Student's t its scale.
    scale = 1.0 if degrees is None else math.sqrt(degrees / (degrees - 2))
    lines = []
    if degrees is not None:
        every = ", ".join(f"{fitted[f'nu_{s}'].value:.3g}" for s in range(states))
        lines.append(_line("shape", {"student_t": degrees}, f"derived: one for all, of {every}"))
    for key, word, factor in (("vth_mean_v", "mu_{}_v", 1.0), ("vth_sigma_v", "sigma_{}_v", scale)):
        found = [fitted[word.format(s)] for s in range(states)]
        spans = ", ".join(f"{factor * p.low:.5g} to {factor * p.high:.5g}" for p in found)
        values = [float(f"{factor * p.value:.8g}") for p in found]
        lines += [f"# measured: {fitted.confidence} {spans}", f"{key} = {toml_value(values)}"]
    reading = best_references({p.name: p.value for p in fitted.parameters}, states)
    volts = [float(f"{v:.6g}") for v in reading.references_v]
    lines += ["# derived: where neighbouring states err least", f"read_v = {toml_value(volts)}"]
    if chip.get("page_order") != "one_shot" and bits > 1:
        lines += _coarse(fitted, states, scale)
    return lines


def _coarse(fitted: Fit, states: int, scale: float) -> list[str]:
    """Where the passes before the last one leave cells, which no histogram of full cells shows."""
    wide = scale * max(fitted[f"sigma_{s}_v"].value for s in range(1, states))
    way = fitted[f"mu_{states // 2}_v"].value - fitted["mu_0_v"].value
    margin = min(APART * wide, 0.5 * way)
    return [
        _line("coarse_margin_v", float(f"{margin:.4g}"), "assumed: clear of the final level"),
        _line("coarse_sigma_v", float(f"{NARROW * wide:.4g}"), "assumed: adds no errors"),
    ]


def _degrees(fitted: Fit, states: int) -> float | None:
    """One number for all states: the mean of their logarithms, by how well each is known."""
    if fitted.law != "student_t":
        return None
    total = weights = 0.0
    for state in range(states):
        nu = fitted[f"nu_{state}"]
        spread = math.log(nu.high / nu.low) if math.isfinite(nu.high) and nu.low > 0 else math.inf
        weight = 1 / max(spread, 1e-6) ** 2
        total, weights = total + weight * math.log(nu.value), weights + weight
    mean = math.exp(total / weights) if weights > 0 else DEGREES[1]
    return float(f"{min(max(mean, DEGREES[0]), DEGREES[1]):.4g}")


def _line(key: str, value: object, source: str) -> str:
    return f"{f'{key} = {toml_value(value)}':44} # {source}"
