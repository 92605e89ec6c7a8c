"""Levels of a cell from a fitted histogram: the table `[cell.levels]` of a chip file.

The levels are those that were measured, whatever made them so wide: neighbours, noise and wear are
in the widths, and every mechanism of the cell is off. What moves them by cycles or hours is not in
one histogram.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.fit.mixture import best_references
from nandlab.given.refusal import refusal
from nandlab.given.toml import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nandlab.fit.fitting import Fit
    from nandlab.fit.parameters import Parameter

LEAST, MOST = 3.0, 200.0
"""Of Student's t, as a cell takes them: it has one for all its levels."""

APART, NARROW = 5.0, 0.1
"""A state that is not final stays so many standard deviations of a level below the one it may
become, and is so much narrower: cells that were taken for another state between two passes are in
the histogram already."""


def cell_levels(fitted: Fit, chip: Mapping[str, Any], name: str, gray: str | None) -> list[str]:
    """The lines of `[cell.levels]` for cells of `chip`, whose Gray map is `gray` where it has one.

    Raises:
        NandlabError: the chip's cells have another number of levels.
    """
    states = len([p for p in fitted.parameters if p.name.startswith("mu_")])
    bits = int(chip.get("cell_bits", 0))
    if states != 2**bits:
        raise refusal(
            "fit",
            f"{states} states for {name}, whose cells have {2**bits} levels",
            f"{2**bits} states, or a chip with other cells",
        )
    wanted = mean_degrees({p.name: p for p in fitted.parameters}, states)
    degrees = None if wanted is None else float(f"{min(max(wanted, LEAST), MOST):.4g}")
    # The width of a level is its standard deviation, that of a Student's t its scale.
    scale = 1.0 if degrees is None else math.sqrt(degrees / (degrees - 2))
    lines = []
    if gray is not None:
        # No histogram shows which bits a level holds.
        lines.append(_line("gray", gray, f"derived: of the cell of {Path(name).name}"))
    if wanted is not None and degrees is not None:
        every = ", ".join(f"{fitted[f'nu_{s}'].value:.3g}" for s in range(states))
        source = f"derived: one for all, of {every}"
        if is_beyond(wanted):
            source += f"; their mean {wanted:.3g} is out of range for a cell"
        lines.append(_line("shape", {"student_t": degrees}, source))
    for key, word, factor in (("vth_mean_v", "mu_{}_v", 1.0), ("vth_sigma_v", "sigma_{}_v", scale)):
        found = [fitted[word.format(s)] for s in range(states)]
        spans = ", ".join(f"{factor * p.low:.5g} to {factor * p.high:.5g}" for p in found)
        values = [float(f"{factor * p.value:.8g}") for p in found]
        lines += [f"# measured: {fitted.confidence} {spans}", f"{key} = {toml_value(values)}"]
    reading = best_references({p.name: p.value for p in fitted.parameters}, states)
    volts = [float(f"{v:.6g}") for v in reading.references_v]
    lines += [
        "# derived: optimal references between neighbouring states",
        f"read_v = {toml_value(volts)}",
    ]
    if chip.get("page_order") != "one_shot" and bits > 1:
        lines += _coarse(fitted, states, scale)
    return lines


def _coarse(fitted: Fit, states: int, scale: float) -> list[str]:
    """Where the passes before the last one leave cells, which no histogram of full cells shows."""
    wide = scale * max(fitted[f"sigma_{s}_v"].value for s in range(1, states))
    way = fitted[f"mu_{states // 2}_v"].value - fitted["mu_0_v"].value
    margin = min(APART * wide, 0.5 * way)
    return [
        _line("coarse_margin_v", float(f"{margin:.4g}"), "assumed: well below the final level"),
        _line("coarse_sigma_v", float(f"{NARROW * wide:.4g}"), "assumed: adds no errors"),
    ]


def mean_degrees(found: Mapping[str, Parameter], states: int) -> float | None:
    """One number for all states: the mean of their logarithms, by how well each is known.

    Args:
        found: fitted parameters by their names.
        states: how many there are.

    Returns:
        Degrees of freedom, which a cell may not take; None where the states are Gaussian.
    """
    if "nu_0" not in found:
        return None
    total = weights = 0.0
    for state in range(states):
        nu = found[f"nu_{state}"]
        spread = math.log(nu.high / nu.low) if math.isfinite(nu.high) and nu.low > 0 else math.inf
        weight = 1 / max(spread, 1e-6) ** 2
        total, weights = total + weight * math.log(nu.value), weights + weight
    return math.exp(total / weights) if weights > 0 else MOST


def is_beyond(degrees: float) -> bool:
    """Whether a cell takes no such degrees, so that its file has the nearest that it takes."""
    return not LEAST <= degrees <= MOST


def _line(key: str, value: object, source: str) -> str:
    return f"{f'{key} = {toml_value(value)}':44} # {source}"
