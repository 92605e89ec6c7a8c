"""Picture of a fit of a cell: measured rates and histograms with the fitted ones, and residuals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.cell.pages import PAGE_TYPES
from nandlab.display.picture import COLOURS, GREY, finish, new_figure, save
from nandlab.fit.whole_cell.observed import EVERY_PAGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.fit.whole_cell.found import CellFit

MOST_SHOWN = 4
"""Histograms that are drawn: the first, the last and those between them."""


def plot_cell(found: CellFit, path: Path | None = None) -> Figure:
    """Rates and histograms above, their residuals in standard deviations below."""
    has_counts, bins = len(found.data.counts.errors) > 0, found.data.histograms
    columns = has_counts + bool(bins)
    figure = new_figure(5.4 * columns + 2.2, 7.6)
    grid = figure.add_gridspec(2, columns, height_ratios=[1.4, 1.0])
    errors, cells = found.descent.expected(found.at)
    residuals = found.descent.pearson(found.at)
    if has_counts:
        above, below = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
        _rates(found, above, below, errors, residuals[: len(errors)])
    if bins:
        above = figure.add_subplot(grid[0, columns - 1])
        below = figure.add_subplot(grid[1, columns - 1], sharex=above)
        _histograms(found, above, below, cells, residuals[len(errors) :])
    if path is not None:
        save(figure, path)
    return figure


def _rates(found: CellFit, above: Axes, below: Axes, errors: Any, residuals: Any) -> None:
    """Measured over fitted rates, by page type."""
    counts, names = found.data.counts, PAGE_TYPES[found.cell.cell_bits]
    fitted, seen = errors / counts.bits, counts.errors > 0
    for number, colour in zip((EVERY_PAGE, *range(len(names))), _colours(len(names)), strict=True):
        rows = counts.page_type == number
        if not rows.any():
            continue
        name = "all pages" if number == EVERY_PAGE else f"{names[number]} pages"
        shown = rows & seen
        measured = counts.errors[shown] / counts.bits[shown]
        above.plot(fitted[shown], measured, "o", color=colour, markersize=5, alpha=0.8, label=name)
        below.plot(fitted[rows], residuals[rows], "o", color=colour, markersize=5, alpha=0.8)
    ends = [fitted.min(), fitted.max()]
    above.plot(ends, ends, color=GREY, linewidth=1.4, label="the fitted cell")
    above.set_yscale("log")
    above.set_ylabel("measured error rate")
    above.legend(frameon=False)
    finish(above, f"cell fitted to {Path(found.data.name).name}")
    for axes in (above, below):
        axes.set_xscale("log")
    _band(below, "fitted error rate")


def _histograms(found: CellFit, above: Axes, below: Axes, cells: Any, residuals: Any) -> None:
    """Cells by voltage, measured and fitted."""
    count = len(cells)
    picked = sorted({round(i * (count - 1) / max(MOST_SHOWN - 1, 1)) for i in range(MOST_SHOWN)})
    colours = dict(zip(picked, _colours(len(picked)), strict=False))
    at = 0
    for i, ((place, bins), mean) in enumerate(zip(found.data.histograms, cells, strict=True)):
        own = residuals[at : at + len(mean)]
        at += len(mean)
        if i not in colours:
            continue
        stress = found.data.stresses[place]
        label = f"{stress.pe_cycles:,} cycles, {stress.retention_hours:g} h"
        label += "" if stress.temperature_c is None else f", {stress.temperature_c:g} °C"
        shown = bins.cells > 0
        above.plot(bins.centres_v[shown], bins.cells[shown], ".", color=colours[i], alpha=0.6)
        above.plot(bins.centres_v, mean, color=colours[i], linewidth=1.4, label=label)
        told = mean >= 1
        below.plot(bins.centres_v[told], own[told], ".", color=colours[i], alpha=0.6)
    above.set_yscale("log")
    above.set_ylim(bottom=0.5)
    above.set_ylabel("cells in a bin")
    above.legend(frameon=False)
    finish(above, "measured and fitted histograms")
    _band(below, "threshold voltage (V)")


def _band(axes: Axes, label: str) -> None:
    axes.axhspan(-2, 2, color=GREY, alpha=0.2, linewidth=0)
    axes.axhline(0, color=GREY, linewidth=1.2)
    axes.set_xlabel(label)
    axes.set_ylabel("residual (st. dev.)")
    finish(axes, "")


def _colours(count: int) -> list[Any]:
    """Colours of a few curves, dark to light; that of measured rates first."""
    from matplotlib import colormaps

    return [
        COLOURS["read"],
        *(colormaps["viridis"](0.85 * i / max(count - 1, 1)) for i in range(count)),
    ]
