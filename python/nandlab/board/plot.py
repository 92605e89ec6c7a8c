"""Picture of a measurement: the curves that its procedure names, rates with their intervals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._core import NandlabError
from nandlab.display.picture import COLOURS, GREY, columns_below, finish, headline, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.board.measurement import Measurement

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_MARKERS = 60
"""A line of more points has no markers."""

_EXTRA = ("#56B4E9", "#E69F00", "#000000", "#F0E442")

FREE = 0.05
"""Of the span of voltages with cells, left free on each side of it."""

HEADROOM = 1.06
"""Of an axis that begins at zero, over the highest point."""


def plot_measurement(result: Measurement, path: Path | None = None) -> Figure:
    """One panel for each quantity, above the same horizontal axis."""
    from matplotlib.ticker import EngFormatter

    picture = result.picture
    panels = picture["panels"]
    figure = new_figure(8.0, 4.8 if len(panels) == 1 else 3.5 * len(panels))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    curves = _curves(result)
    for axes, panel in zip(all_axes, panels, strict=True):
        if picture["style"] == "bars":
            _bars(axes, result, panel)
        else:
            _draw(axes, curves, picture, panel)
        axes.set_ylabel(panel["label"])
        finish(axes, "")
    if picture["style"] == "bars":
        all_axes[-1].tick_params(axis="x", rotation=20)
    elif picture["x"]["log"]:
        _logarithmic(all_axes[-1], curves, picture["x"]["column"])
    if picture["style"] != "bars":
        all_axes[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    all_axes[-1].set_xlabel(picture["x"]["label"])
    if picture["x"]["column"] == "shift_v":
        _where_cells_are(all_axes[-1], curves)
        _references(all_axes[-1], result)
    if len(curves) > 1:
        names = all_axes[0].get_legend_handles_labels()[1]
        all_axes[0].legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns_below(figure, names, 12, 5),
            frameon=False,
            fontsize=12,
        )
    title = f"{result.procedure} on {Path(result.chip).stem}"
    headline(figure, title)
    if path is not None:
        save(figure, path)
    return figure


def _curves(result: Measurement) -> dict[str, dict[str, list[Any]]]:
    """Columns of each curve, by its name."""
    table = result.table()
    if table.num_rows == 0:
        return {}
    names = result.picture["series"]
    curves: dict[str, dict[str, list[Any]]] = {}
    for row in table.to_pylist():
        curve = curves.setdefault(" ".join(str(row[name]) for name in names), {})
        for name, value in row.items():
            curve.setdefault(name, []).append(value)
    return curves


def _logarithmic(axes: Axes, curves: dict[str, dict[str, list[Any]]], name: str) -> None:
    """Makes the horizontal axis logarithmic, with a zero where there is one."""
    values = [value for curve in curves.values() for value in curve[name]]
    above = [value for value in values if value > 0]
    if not above:
        # Of a run that was interrupted there may be the point at zero alone.
        return
    if len(above) == len(values):
        axes.set_xscale("log")
        return
    # The linear part ends at a power of ten; no tick but zero falls into it.
    linear = 10.0 ** math.floor(math.log10(min(above)))
    decades = math.log10(max(above) / linear)
    axes.set_xscale("symlog", linthresh=linear, linscale=max(0.3, 0.15 * decades))
    axes.set_xticks([0.0, *(linear * 10.0**power for power in range(math.ceil(decades) + 1))])
    axes.set_xlim(-0.2 * linear, 1.3 * max(above))


def _draw(
    axes: Axes, curves: dict[str, dict[str, list[Any]]], picture: dict[str, Any], panel: Any
) -> None:
    colours = [*COLOURS.values(), *_EXTRA]
    name, is_log = panel["column"], panel["log"]
    has_none = False
    for index, (label, curve) in enumerate(curves.items()):
        colour = colours[index % len(colours)]
        x, y = curve[picture["x"]["column"]], curve[name]
        low, high = curve.get(f"{name}_low"), curve.get(f"{name}_high")
        is_line = picture["style"] == "lines"
        style: dict[str, Any] = {
            "color": colour,
            "markersize": 5,
            "marker": _MARKERS[index % len(_MARKERS)],
        }
        # More curves than colours: the second round is dashed and hollow.
        is_again = index >= len(colours)
        if is_again:
            style["markerfacecolor"] = "white"
        if is_line and len(x) > MOST_MARKERS:
            style["marker"] = ""
        # Where nothing was seen, a curve on a logarithmic axis has a gap.
        shown = [value if value > 0 or not is_log else math.nan for value in y]
        style["linestyle"] = ("--" if is_again else "-") if is_line else "none"
        axes.plot(x, shown, label=label, linewidth=1.8, zorder=3, **style)
        if low is None or high is None:
            continue
        ends = [(a, b, c, d) for a, b, c, d in zip(x, shown, low, high, strict=True) if b == b]
        if ends:
            at, middle, below, above = zip(*ends, strict=True)
            away = [
                [m - b for m, b in zip(middle, below, strict=True)],
                [a - m for m, a in zip(middle, above, strict=True)],
            ]
            axes.errorbar(at, middle, away, fmt="none", ecolor=colour, alpha=0.45, elinewidth=1.4)
        if is_log:
            none = [(a, d) for a, b, d in zip(x, y, high, strict=True) if b <= 0]
            axes.plot(
                [a for a, _ in none],
                [d for _, d in none],
                marker="v",
                color=colour,
                markerfacecolor="none",
                markersize=5,
                alpha=0.5,
                linestyle="none",
            )
            has_none = has_none or bool(none)
    if is_log:
        axes.set_yscale("log")
    elif min((min(curve[name]) for curve in curves.values()), default=0) >= 0:
        # By the data: with the zero in, limits leave the highest curve no room.
        most = float(axes.dataLim.y1)
        axes.set_ylim(0, HEADROOM * most if most > 0 else None)
    if has_none:
        axes.text(
            0.99,
            0.02,
            "▽ upper bound (97.5 %): no errors seen",
            transform=axes.transAxes,
            ha="right",
            color=GREY,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )


def _where_cells_are(axes: Axes, curves: dict[str, dict[str, list[Any]]]) -> None:
    """Leaves out the voltages below and above all cells."""
    found = [
        volts
        for curve in curves.values()
        for volts, cells in zip(curve["shift_v"], curve["cells_found"], strict=True)
        if cells > 0
    ]
    if found:
        free = FREE * (max(found) - min(found))
        axes.set_xlim(min(found) - free, max(found) + free)


def _references(axes: Axes, result: Measurement) -> None:
    """The chip's references, each by its page, from the lower page's lowest; none if unknown."""
    from nandlab.cell.model import cell

    sets = json.loads((result.table().schema.metadata or {}).get(b"set", b"[]"))
    own = [text.removeprefix("chip.cell.") for text in sets if text.startswith("chip.cell")]
    try:
        pages = cell(result.chip, set=own).pages
    except NandlabError:
        # Another cell than the chip's own, which only the engine has put together.
        return
    axes.set_ylim(top=1.2 * axes.get_ylim()[1])
    zero = min(pages[0].references_v)
    low, high = axes.get_xlim()
    for page in pages:
        for volts in page.references_v:
            if low < volts - zero < high:
                axes.axvline(volts - zero, color=GREY, linestyle=":", linewidth=1.6, zorder=1)
                axes.text(
                    volts - zero,
                    0.98,
                    f"{page.name} ",
                    transform=axes.get_xaxis_transform(),
                    color=GREY,
                    rotation=90,
                    ha="right",
                    va="top",
                )


def _bars(axes: Axes, result: Measurement, panel: Any) -> None:
    rows = result.table().to_pylist()
    names = [row[result.picture["x"]["column"]] for row in rows]
    values = [row[panel["column"]] for row in rows]
    bars = axes.bar(names, values, color=COLOURS["read"], width=0.6)
    labels = [f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in values]
    axes.bar_label(bars, labels, padding=3)
    if panel["log"]:
        axes.set_yscale("log")
    axes.margins(y=0.15)
