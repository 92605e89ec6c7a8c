"""Picture of endurances: cycles over retention, a curve for each of the other values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.display.picture import COLOURS, GREY, finish, legend_below, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nandlab.endurance.chip import Endurance, Point

_FOOT = 0.035
"""Between the axis and the marks of points without cycles, a row of them for each curve."""

_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
_MARKERS = "os^D"


def plot_endurance(result: Endurance, path: Path | None = None) -> Figure:
    """Logarithmic axes; the legend names only differences between the curves."""
    from matplotlib.lines import Line2D as Line
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    from nandlab.endurance.chip import duration

    curves: dict[tuple[float, int | None, float, float, int], list[Point]] = {}
    for point in result.points:
        parity = point.parity_pages
        key = (point.temperature_c, point.t, point.uber, point.rber_spread, parity)
        curves.setdefault(key, []).append(point)
    differs = [len({key[i] for key in curves}) > 1 for i in range(1, 5)]
    figure = new_figure(8.0, 5.4)
    axes = figure.subplots()
    colours = list(COLOURS.values())
    # A colour for each temperature; a line and a mark for each of the rest, or, of one
    # temperature, a colour too.
    temperatures = list(dict.fromkeys(key[0] for key in curves))
    others = list(dict.fromkeys(key[1:] for key in curves))
    handles = []
    if len(temperatures) > 1:
        for index, celsius in enumerate(temperatures):
            shade = colours[index % len(colours)]
            handles.append(Line([], [], color=shade, linewidth=5, label=f"{celsius:g} °C"))
    if len(others) > 1:
        for index, (t, uber, spread, parity) in enumerate(others):
            said = [f"t = {t}", f"UBER {uber:.0e}", f"spread {spread:g}", f"parity {parity}"]
            label = ", ".join(word for word, is_said in zip(said, differs, strict=True) if is_said)
            shade = GREY if len(temperatures) > 1 else colours[index % len(colours)]
            handles.append(Line([], [], color=shade, linewidth=2.2, markersize=6, label=label))
            handles[-1].set_linestyle(_STYLES[index % len(_STYLES)])
            handles[-1].set_marker(_MARKERS[index % len(_MARKERS)])
    has_none = False
    for index, (key, points) in enumerate(curves.items()):
        colour, style = temperatures.index(key[0]), others.index(key[1:])
        if len(temperatures) == 1:
            colour = style
        shown = [point for point in points if point.pe_cycles > 0 and point.retention_hours > 0]
        axes.plot(
            [point.retention_hours for point in shown],
            [point.pe_cycles for point in shown],
            marker=_MARKERS[style % len(_MARKERS)],
            markersize=6,
            linewidth=2.2,
            color=colours[colour % len(colours)],
            linestyle=_STYLES[style % len(_STYLES)],
            zorder=3,
        )
        none = [point for point in points if point.pe_cycles == 0 and point.retention_hours > 0]
        axes.plot(
            [point.retention_hours for point in none],
            [_FOOT * (1 + index)] * len(none),
            marker="v",
            markerfacecolor="white",
            markersize=7,
            color=colours[colour % len(colours)],
            linestyle="none",
            transform=axes.get_xaxis_transform(),
            zorder=4,
        )
        has_none = has_none or bool(none)
        low = [point.pe_cycles_low for point in shown if point.pe_cycles_low is not None]
        high = [point.pe_cycles_high for point in shown if point.pe_cycles_high is not None]
        if low:
            ages = [point.retention_hours for point in shown]
            shade = colours[colour % len(colours)]
            axes.fill_between(ages, low, high, color=shade, alpha=0.2, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not any(point.pe_cycles > 0 for point in result.points):
        axes.set_ylim(1, 1e4)
    foot = _FOOT * (1 + len(curves)) if has_none else 0.0
    low_end, high_end = axes.get_ylim()
    axes.set_ylim(low_end / (high_end / low_end) ** foot, high_end)
    hours = sorted({point.retention_hours for point in result.points if point.retention_hours > 0})
    axes.set_xticks(hours)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    if high_end / low_end > 10:
        # Within a decade matplotlib labels between its powers, too.
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("retention time")
    axes.set_ylabel("endurance (P/E cycles)")
    if handles:
        legend_below(figure, handles)
    if has_none:
        axes.text(
            0.99,
            0.98,
            "▽ 0 cycles",
            transform=axes.transAxes,
            ha="right",
            va="top",
            color=GREY,
        )
    finish(axes, f"endurance of {result.chip}")
    if path is not None:
        save(figure, path)
    return figure
