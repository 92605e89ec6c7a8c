"""Picture of an endurance map: retention on x, temperature on y, cycles as colour and lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.cell.endurance import MOST_PE_CYCLES
from nandlab.cell.plot import duration_ticks
from nandlab.display.picture import finish, new_figure, save

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.cell.endurance import EnduranceMap

    Column = NDArray[np.float64]

_TICKS = (1.0, 2.0, 5.0)
"""Of each decade, cycles that a line stands for."""

CAPPED = 0.999 * MOST_PE_CYCLES
"""What is that much was not looked for any further; interpolation may round it."""

SAME = 1.01
"""Cycles that differ by less are the same: they are found to a thousandth."""

FINE = (81, 61)
"""Retentions and temperatures that a picture is drawn at."""


def plot_map(endurance: EnduranceMap, path: Path | None = None) -> Figure:
    """Cycles between the points of the map are interpolated along the one curve behind it."""
    import numpy as np
    from matplotlib.colors import LogNorm

    hours, celsius, cycles = _fine(endurance)
    figure = new_figure(8.0, 5.4)
    axes = figure.subplots()
    title = f"{endurance.cell.name} · endurance"
    axes.set_xlabel("retention time")
    axes.set_ylabel("temperature (°C)")
    if why := _no_map(cycles):
        axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center")
    else:
        low, high = cycles[cycles >= 1].min(), cycles.max()
        norm = LogNorm(low, high)
        steps = np.geomspace(norm.vmin or low, (norm.vmax or high) * 1.0001, 40)
        axes.set_facecolor("#E4E4E4")
        area = axes.contourf(hours, celsius, cycles, steps, norm=norm, cmap="viridis")
        lines = [
            step * 10.0**decade
            for decade in range(8)
            for step in _TICKS
            if low < step * 10.0**decade < min(high, CAPPED)
        ]
        if high / low > 300:
            lines = [line for line in lines if np.log10(line) % 1 == 0]
        if lines:
            drawn = axes.contour(hours, celsius, cycles, lines, colors="white", linewidths=1.4)
            axes.clabel(drawn, fmt=lambda value: f"{value:,.0f}", fontsize=12)
        bar = figure.colorbar(area, ax=axes, pad=0.02)
        bar.set_label("P/E cycles, worst page", fontsize=13)
        bar.set_ticks(lines if len(lines) > 1 else [low, *lines, high])
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        bar.ax.minorticks_off()
        bar.ax.tick_params(labelsize=12)
    axes.set_xscale("log")
    axes.set_xlim(hours[0], hours[-1])
    duration_ticks(axes, float(hours[0]), float(hours[-1]))
    finish(axes, title)
    ecc = endurance.ecc
    best = "best references" if endurance.is_best else "fixed references"
    said = f"{ecc.t} errors of {ecc.codeword_bits:,} bits, UBER {endurance.uber:.0e}, {best}"
    if (cycles < 1).any():
        said += "; grey: not even fresh cells"
    if (cycles >= CAPPED).any() and not _no_map(cycles):
        said += f"; brightest: more than {MOST_PE_CYCLES:,}"
    axes.set_title(f"{title}\n", loc="left", fontsize=15, fontweight="bold", pad=4)
    below = axes.text(0, 1.025, said, transform=axes.transAxes, fontsize=12)
    # It may be as long as the picture without pushing the colours aside.
    below.set_in_layout(False)
    if path is not None:
        save(figure, path)
    return figure


def _no_map(cycles: Column) -> str:
    """Why the map cannot be drawn; empty where it can."""
    if (cycles < 1).all():
        return "even fresh cells fail"
    if min(cycles.shape) < 2:
        return "one row is no map"
    if cycles.min() >= CAPPED:
        return f"more than {MOST_PE_CYCLES:,} cycles everywhere"
    if cycles.max() < SAME * cycles.min():
        return f"{cycles.max():,.0f} cycles everywhere"
    return ""


def _fine(endurance: EnduranceMap) -> tuple[Column, Column, Column]:
    """Retentions, temperatures and interpolated cycles; 0.5 where even fresh cells fail."""
    import numpy as np

    along, up = FINE
    first, last = endurance.retention_hours[0], endurance.retention_hours[-1]
    hours = np.geomspace(max(first, 1e-3), last, along)
    celsius = np.linspace(endurance.temperature_c[0], endurance.temperature_c[-1], up)
    acts = np.array([[endurance.cell.equivalent_hours(h, c) for h in hours] for c in celsius])
    known = np.array(endurance.curve, float)
    at = np.log(np.maximum(known[:, 0], 1e-9))
    cycles = np.exp(np.interp(np.log(acts), at, np.log(np.maximum(known[:, 1], 0.5))))
    return hours, celsius, cycles
