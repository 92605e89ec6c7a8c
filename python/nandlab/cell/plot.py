"""Pictures of a cell: its levels with references and errors, error rates, program times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nandlab._core import page_sites
from nandlab.cell.model import OVER, Cell, State
from nandlab.cell.words import said, said_end
from nandlab.display.picture import COLOURS, GREY, finish, legend_below, new_figure, save
from nandlab.given.arguments import as_text
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

PAGE_COLOURS = (*list(COLOURS.values())[:3], "#CC79A7")
"""Of the page types, from the lower page."""

LEVEL_COLOURS = ("#0072B2", "#56B4E9")
"""Of the levels, in turn: neighbours are told apart."""

ERROR = "#D81B1B"
BEST = "#009E73"

POINTS = 900
"""Voltages that distributions are drawn at."""

MOST_V = 999.0
"""Levels further out are not drawn: a cell tells shares up to a volt more."""

LEAST_DENSITY = 3e-6
"""Shares of cells per volt below this are not drawn."""

_FIELDS = {"cycles": "pe_cycles", "hours": "retention_hours", "reads": "reads"}
_AXES = {
    "cycles": "P/E cycles",
    "hours": "time since programming",
    "reads": "reads of the block since programming",
}
_FIRST = {"cycles": 1.0, "hours": 0.1, "reads": 10.0}
"""Where an axis that is logarithmic begins."""

TEN_YEARS_H = 87600.0


class View(NamedTuple):
    """The voltages and the highest density that compared pictures share."""

    voltages_v: Column
    most: float
    """The highest density."""


def view_of(cell: Cell, states: list[State]) -> View:
    """Voltages and densities that hold the levels in all these states.

    Raises:
        NandlabError: the levels are out of all bounds.
    """
    import numpy as np

    levels = [level for state in states for level in cell.levels(state)]
    low = min(level.mean_v - 5 * max(level.sigma_v, 0.02) for level in levels)
    high = max(level.mean_v + 6 * max(level.sigma_v, 0.02) for level in levels)
    if max(-low, high) > MOST_V:
        raise refusal(
            "cell",
            f"{cell.name}: its levels extend from {low:.0f} to {high:.0f} V",
            f"-{MOST_V:g} to {MOST_V:g} V",
            hint="use less stress",
        )
    voltages = np.linspace(low, high, POINTS)
    share = 1 / len(cell.bits)
    most = max(float(cell.density(voltages, state=state).max()) * share for state in states)
    return View(voltages, max(most, 1e-3))


def plot_levels(cell: Cell, state: State, path: Path | None = None) -> Figure:
    """Distributions of all levels, linear above and logarithmic below."""
    figure = new_figure(8.0, 7.2)
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [1.0, 1.25]})
    view = view_of(cell, [state])
    draw_levels(cell, state, view, above)
    draw_levels(cell, state, view, below, is_logarithmic=True)
    finish(above, f"{cell.name} · {said(state)}")
    finish(below, "")
    name_levels(cell, above)
    below.set_xlabel("threshold voltage (V)")
    legend(figure)
    if path is not None:
        save(figure, path)
    return figure


def legend(figure: Figure) -> None:
    """What is drawn among the levels, below the picture."""
    from matplotlib.lines import Line2D as Line
    from matplotlib.patches import Patch

    handles = [
        Line([], [], color="black", linewidth=1.4, linestyle=(0, (4, 2)), label="reference"),
        Line([], [], color=BEST, linewidth=1.8, label="optimal references"),
        Patch(color=ERROR, alpha=0.75, label="misread"),
    ]
    legend_below(figure, handles)


def name_levels(cell: Cell, axes: Axes) -> None:
    """What each level holds, above it; upright where sixteen are crowded."""
    import numpy as np

    crowded = len(cell.bits) > 8
    for number, line in enumerate(axes.get_lines()[: len(cell.bits)]):
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        axes.annotate(
            cell.bits[number],
            (float(x[y.argmax()]), float(y.max())),
            (0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=11 if crowded else 12,
            rotation=90 if crowded else 0,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.5},
        )


def draw_levels(
    cell: Cell, state: State, view: View, axes: Axes, *, is_logarithmic: bool = False
) -> list[Artist]:
    """Draws the distributions on `axes`; returns the artists, so that they can be removed."""
    import numpy as np

    volts = view.voltages_v
    densities = cell.density(volts, state=state) / len(cell.bits)
    drawn: list[Artist] = []
    thin = 0.55 if len(cell.bits) > 8 else 1.0
    floor = LEAST_DENSITY if is_logarithmic else 0.0
    for level, density in enumerate(densities):
        colour = LEVEL_COLOURS[level % 2]
        shown = np.maximum(density, floor)
        drawn += axes.plot(volts, shown, color=colour, linewidth=1.8 * thin, zorder=3)
        is_wrong = np.zeros(len(volts), bool)
        if level > 0:
            is_wrong |= volts < cell.read_v[level - 1]
        if level < len(cell.read_v):
            is_wrong |= volts > cell.read_v[level]
        for where, shade, alpha, order in (
            (~is_wrong, colour, 0.16, 1),
            (is_wrong, ERROR, 0.75, 2),
        ):
            seen = where & (shown > floor)
            area = axes.fill_between(
                volts, shown, floor, where=seen, color=shade, alpha=alpha, linewidth=0, zorder=order
            )
            drawn.append(area)
    for reference in cell.read_v:
        line = axes.axvline(reference, color="black", linewidth=1.2 * thin)
        line.set_linestyle((0, (4, 2)))
        drawn.append(line)
    for reference in best_v(cell, state):
        drawn.append(axes.axvline(reference, color=BEST, linewidth=1.8 * thin, zorder=2.5))
    axes.set_xlim(float(volts[0]), float(volts[-1]))
    if is_logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(floor, view.most * 2)
        axes.set_ylabel("share of cells (1/V), log")
    else:
        axes.set_ylim(0, view.most * (1.3 if len(cell.bits) > 8 else 1.16))
        axes.set_ylabel("share of cells (1/V)")
    return drawn


def best_v(cell: Cell, state: State) -> list[float]:
    """The optimal references of each page."""
    found = []
    for page in cell.pages:
        shifts = cell.best_shifts_v(page.page_type, state)
        found += [v + shift for v, shift in zip(page.references_v, shifts, strict=True)]
    return sorted(found)


def end_of(cell: Cell, over: str, state: State) -> float:
    """End of the axis: the state's cycles, hours or reads, or a default where these are zero."""
    check_over(over)
    given = float(getattr(state, _FIELDS[over]))
    if given > 0:
        return given
    rated = cell.rated_pe_cycles or 3000
    return {"cycles": 2.0 * rated, "hours": TEN_YEARS_H, "reads": 1e5}[over]


def check_over(over: str) -> None:
    """Refuses an axis that is not one of `OVER`.

    Raises:
        NandlabError: an unknown kind.
    """
    if as_text("cell: over", over, ", ".join(OVER)) not in OVER:
        raise refusal("cell", f"unknown over `{over}`", OVER)


def at(over: str, state: State, value: float) -> State:
    """The state with another number of cycles, hours or reads."""
    if over == "hours":
        return state._replace(retention_hours=value)
    if over == "reads":
        return state._replace(reads=round(value))
    return state._replace(pe_cycles=round(value))


def points(over: str, end: float, count: int) -> list[float]:
    """Points of the axis: evenly spaced cycles, logarithmically spaced hours and reads."""
    import numpy as np

    if over == "cycles":
        return sorted({float(round(value)) for value in np.linspace(0, end, count)})
    values = np.geomspace(min(_FIRST[over], end / 10), end, count)
    if over == "hours":
        return [float(value) for value in values]
    # Reads are whole, and the axis has no 0.
    return sorted({max(1.0, float(round(value))) for value in values})


def plot_rber(cell: Cell, over: str, state: State, path: Path | None = None) -> Figure:
    """Error rate of each page type; dashed at optimal references."""
    end = end_of(cell, over, state)
    figure = new_figure(8.0, 5.2)
    axes = figure.subplots()
    handles = draw_rber(cell, over, state, end, axes)
    legend_below(figure, handles)
    named = said(at(over, state, 0), without=over)
    finish(axes, f"{cell.name} · {named}" if named else cell.name)
    if path is not None:
        save(figure, path)
    return figure


def draw_rber(
    cell: Cell, over: str, state: State, end: float, axes: Axes, *, count: int = 49
) -> list[Line2D]:
    """Draws the curves of `plot_rber` on `axes`; returns the entries of a legend."""
    from matplotlib.lines import Line2D as Line

    values = points(over, end, count)
    states = [at(over, state, value) for value in values]
    handles: list[Line2D] = []
    highest, lowest = 1e-12, 1.0
    for page in cell.pages:
        colour = PAGE_COLOURS[page.page_type]
        rates = [float(cell.rber(page.page_type, **each._asdict())) for each in states]
        best = [
            float(
                cell.rber(
                    page.page_type,
                    shifts_v=cell.best_shifts_v(page.page_type, each),
                    **each._asdict(),
                )
            )
            for each in states
        ]
        seen = [rate if rate > 0 else float("nan") for rate in rates]
        handles += axes.plot(values, seen, color=colour, linewidth=2.2, label=page.name)
        axes.plot(values, best, color=colour, linewidth=1.6, linestyle=(0, (3, 2)))
        highest = max([highest, *rates, *best])
        lowest = min([lowest, *(rate for rate in best if rate > 0)])
    axes.set_ylim(max(min(lowest, highest) / 2, 1e-13), min(highest * 3, 1.0))
    axes.set_yscale("log")
    axes.set_ylabel("raw bit error rate")
    axes.set_xlabel(_AXES[over])
    if over == "cycles":
        axes.set_xlim(0, end)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    else:
        axes.set_xscale("log")
        axes.set_xlim(values[0], max(end, 10 * values[0]))
    if over == "hours":
        duration_ticks(axes, values[0], end)
    dashed = Line([], [], color=GREY, linewidth=1.6, linestyle=(0, (3, 2)))
    dashed.set_label("best references")
    return [*handles, dashed]


def duration_ticks(axes: Axes, low: float, high: float) -> None:
    """Ticks at round times: hours, days, years."""
    from matplotlib.ticker import FixedLocator, NullLocator

    named = {
        0.1: "6 min",
        1.0: "1 h",
        24.0: "1 day",
        730.0: "1 month",
        8760.0: "1 year",
        87600.0: "10 years",
    }
    ticks = [hours for hours in named if low * 0.99 <= hours <= high * 1.01]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(
        lambda value, _: named.get(min(ticks, key=lambda t: abs(t - value)), "")
    )
    axes.xaxis.set_minor_locator(NullLocator())


MOST_PAGES = 64
"""Pages that are drawn of a block; the pattern repeats."""


def plot_program(cell: Cell, pe_cycles: int = 0, path: Path | None = None) -> Figure:
    """Program time of each page of a block by its number: why some are fast.

    Raises:
        NandlabError: neither the cell nor its chip has program times.
    """
    from matplotlib.patches import Patch

    times, of = program_us(cell, pe_cycles)
    wordline = len(cell.pages) * (2 if cell.page_order == "even_odd" else 1)
    block = int(cell.chip.get("geometry", {}).get("pages_per_block", 2 * MOST_PAGES))
    block = max(block // wordline, 1) * wordline
    pages = min(block, MOST_PAGES)
    figure = new_figure(8.0, 4.6)
    axes = figure.subplots()
    if cell.page_order == "one_shot":
        starts = list(range(0, pages, wordline))
        middles = [start + (wordline - 1) / 2 for start in starts]
        colour = COLOURS["read"]
        axes.bar(middles, [times[0]] * len(starts), width=wordline * 0.86, color=colour)
        label = f"one program, {wordline} pages" if wordline > 1 else "each page"
        handles = [Patch(color=colour, label=label)]
    else:
        sites = page_sites(cell.page_order, cell.cell_bits, block)[:pages]
        for page, (_, _, page_type) in enumerate(sites):
            axes.bar(page, times[page_type], width=0.8, color=PAGE_COLOURS[page_type])
        handles = [Patch(color=PAGE_COLOURS[p.page_type], label=p.name) for p in cell.pages]
    axes.set_xlim(-1, pages)
    axes.set_ylim(0, max(times) * 1.08)
    axes.set_xlabel(f"page number (of {block:,} in the block)")
    axes.set_ylabel("program time (µs)")
    legend_below(figure, handles)
    finish(axes, f"{cell.name} · {of}")
    if path is not None:
        save(figure, path)
    return figure


def program_us(cell: Cell, pe_cycles: int) -> tuple[list[float], str]:
    """Program times by page type, and where they come from: the chip's own, or the cell's.

    Raises:
        NandlabError: they are unknown.
    """
    times = cell.times(pe_cycles).program_us
    own = cell.chip.get("timing", {}).get("t_program_us")
    if own not in (None, "cell") and pe_cycles == 0:
        listed = list(own) if isinstance(own, list) else [own] * len(cell.pages)
        return [float(us) for us in listed], "times of the chip, fresh"
    if max(times) == 0:
        raise refusal(
            "cell",
            f"{cell.name} has no program times",
            hint="use a cell with program.pulse_us, or a chip",
        )
    return times, f"times of the cell, {said_end('cycles', pe_cycles)}"
