"""Picture of a measurement: as its procedure says, rates with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.plot import COLOURS, GREY, finish, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.board import Measurement

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_EXTRA = ("#56B4E9", "#E69F00", "#000000", "#F0E442")


def plot_measurement(result: Measurement, path: Path | None = None) -> Figure:
    """One panel for each quantity, above the same horizontal axis."""
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
        all_axes[-1].set_xscale("symlog" if _has_zero(curves, picture) else "log")
    all_axes[-1].set_xlabel(picture["x"]["label"])
    if len(curves) > 1:
        all_axes[0].legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=5, frameon=False, fontsize=12
        )
    title = f"{result.procedure} on {Path(result.chip).stem}"
    figure.suptitle(title, x=0.02, ha="left", fontsize=15, fontweight="bold")
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


def _has_zero(curves: dict[str, dict[str, list[Any]]], picture: dict[str, Any]) -> bool:
    return any(min(curve[picture["x"]["column"]]) <= 0 for curve in curves.values())


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
        shown = [i for i, value in enumerate(y) if value > 0 or not is_log]
        style = {"color": colour, "markersize": 5, "marker": _MARKERS[index % len(_MARKERS)]}
        line = "-" if picture["style"] == "lines" else "none"
        if len(x) > 60 and line == "-":
            style["marker"] = ""
        axes.plot([x[i] for i in shown], [y[i] for i in shown], line, label=label, lw=1.8, **style)
        if low is None or high is None:
            continue
        if line == "-":
            floor = [max(value, 1e-300) for value in low]
            at = [i for i in shown if floor[i] > 0]
            axes.fill_between(
                [x[i] for i in at],
                [max(low[i], y[i] / 30) if is_log else low[i] for i in at],
                [high[i] for i in at],
                color=colour,
                alpha=0.18,
                linewidth=0,
            )
        if is_log:
            none = [i for i in range(len(x)) if y[i] <= 0]
            axes.plot(
                [x[i] for i in none],
                [high[i] for i in none],
                "v",
                color=colour,
                markerfacecolor="none",
                markersize=5,
                alpha=0.6,
            )
            has_none = has_none or bool(none)
    if is_log:
        axes.set_yscale("log")
    elif min((min(curve[name]) for curve in curves.values()), default=0) >= 0:
        axes.set_ylim(bottom=0)
    if has_none:
        axes.text(
            0.99,
            0.02,
            "▽ none seen: below, with 97.5 %",
            transform=axes.transAxes,
            ha="right",
            color=GREY,
        )


def _bars(axes: Axes, result: Measurement, panel: Any) -> None:
    rows = result.table().to_pylist()
    names = [row[result.picture["x"]["column"]] for row in rows]
    values = [row[panel["column"]] for row in rows]
    bars = axes.bar(names, values, color=COLOURS["read"], width=0.6)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=3)
    if panel["log"]:
        axes.set_yscale("log")
    axes.margins(y=0.15)
