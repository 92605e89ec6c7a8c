"""Picture of a threshold voltage reduction: the distributions before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.display.picture import COLOURS, GREY, finish, new_figure, save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.endurance.tvr import Tvr


def plot_tvr(result: Tvr, path: Path | None = None) -> Figure:
    """Both distributions on one axis of voltages; the references of the reduced one dashed."""
    figure = new_figure(8.0, 6.4)
    above, below = figure.subplots(2, 1, sharex=True)
    draw_states(above, below, result)
    if path is not None:
        save(figure, path)
    return figure


def draw_states(above: Axes, below: Axes, result: Tvr) -> None:
    """The original distribution into `above`, the reduced one into `below`."""
    cycles, reduced = result.pe_cycles / 1e5, result.reduced_pe_cycles / 1e5
    _states(above, result.mu_v, result.sigma_v)
    _states(below, result.reduced_mu_v, result.sigma_v)
    for reference in result.references_v:
        below.axvline(reference, color=GREY, linewidth=1.4, linestyle=(0, (4, 2)))
    below.set_xlabel("threshold voltage (V)")
    finish(above, f"original: {result.steps:.3g} steps a page, {cycles:.2f}e5 cycles")
    finish(below, f"reduced: {result.reduced_steps:.3g} steps a page, {reduced:.2f}e5 cycles")


def _states(axes: Axes, mu_v: Sequence[float], sigma_v: Sequence[float]) -> None:
    import numpy as np

    share = 1 / len(mu_v)
    colours = list(COLOURS.values())
    for state, (mu, sigma) in enumerate(zip(mu_v, sigma_v, strict=True)):
        x = np.linspace(mu - 4.5 * sigma, mu + 4.5 * sigma, 200)
        density = share / (sigma * np.sqrt(2 * np.pi)) * np.exp(-((x - mu) ** 2) / sigma**2 / 2)
        colour = colours[state % len(colours)]
        axes.plot(x, density, color=colour, linewidth=2.0)
        axes.fill_between(x, density, color=colour, alpha=0.18)
        peak = (mu, density.max())
        axes.annotate(
            f"S{state}", peak, (0, 5), textcoords="offset points", ha="center", color=colour
        )
    axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
    axes.set_ylabel("density (1/V)")
