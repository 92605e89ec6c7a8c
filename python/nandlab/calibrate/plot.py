"""Picture of a calibration: measured and simulated values on one axis, a panel for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.calibrate.row import Row, load_of
from nandlab.display.picture import GREY, headline, legend_below, panels_of, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.calibrate.result import Calibration

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of the series, by Okabe and Ito."""

_MARKS = {"fitted": "o", "held out": "s"}
_LABELS = {
    "iops": "IOPS",
    "bandwidth_mb_s": "bandwidth (MB/s)",
    "write_amplification": "write amplification",
}
_COLUMNS = 3


def plot_calibration(found: Calibration, rows: Sequence[Row], path: Path | None = None) -> Figure:
    """A panel for each metric: marks are measured, lines and crosses are simulated."""
    metrics = list(dict.fromkeys(one.metric for one in found.residuals))
    width = 2 if len(metrics) == 4 else min(len(metrics), _COLUMNS)
    figure, panels = panels_of(len(metrics), (4.2, 3.5), width, 0.9)
    over, at, is_log = _across(rows)
    colours = dict(zip(dict.fromkeys(row.series for row in rows), PALETTE * 9, strict=False))
    for panel, metric in zip(panels, metrics, strict=True):
        _panel(panel, found, rows, metric, at, colours, is_log)
        panel.set_xlabel(over)
    _legend(figure, found, colours)
    headline(figure, f"{found.facts['drive']}, calibrated on {found.data}", 12)
    if path is not None:
        save(figure, path)
    return figure


def _across(rows: Sequence[Row]) -> tuple[str, dict[str, float], bool]:
    """What the panels lie over: what is offered, requests in flight, or the order of the rows."""
    rates = [row.columns.get("rate_iops") for row in rows]
    if all(rates) and len(set(rates)) > 1:
        at = {row.place: float(row.columns["rate_iops"]) for row in rows}
        return "requests offered a second", at, False
    loads = {row.place: load_of(row.columns) for row in rows}
    if len(set(loads.values())) > 1:
        return "requests in flight", loads, True
    return "row", {row.place: 1.0 + i for i, row in enumerate(rows)}, False


def _panel(
    axes: Axes,
    found: Calibration,
    rows: Sequence[Row],
    metric: str,
    at: dict[str, float],
    colours: dict[str, str],
    is_log: bool,
) -> None:
    series = {row.place: row.series for row in rows}
    chosen = [one for one in found.residuals if one.metric == metric]
    for name, colour in colours.items():
        mine = sorted(
            (one for one in chosen if series[one.place] == name), key=lambda r: at[r.place]
        )
        drawn = [(at[one.place], one.simulated) for one in mine if one.simulated is not None]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), color=colour, linewidth=1.3, marker="x", zorder=2)
        for use, mark in _MARKS.items():
            points = [(at[one.place], one.measured) for one in mine if one.use == use]
            if points:
                face = colour if use == "fitted" else "white"
                axes.scatter(
                    [x for x, _ in points],
                    [y for _, y in points],
                    s=44,
                    marker=mark,
                    facecolors=face,
                    edgecolors=colour,
                    linewidths=1.5,
                    zorder=3,
                    alpha=0.85,
                )
    values = [value for one in chosen for value in (one.measured, one.simulated) if value]
    if is_log:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if values and max(values) / min(values) > 8:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(_label(metric))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _label(metric: str) -> str:
    if metric in _LABELS:
        return _LABELS[metric]
    of, _, rest = metric.partition("_")
    if of in ("read", "write"):
        return f"{of}: {_label(rest)}"
    return f"{metric.removesuffix('_us').replace('_', '.')} (µs)"


def _legend(figure: Figure, found: Calibration, colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    uses = {one.use for one in found.residuals}
    shown = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    for use, mark in _MARKS.items():
        if use in uses:
            face = GREY if use == "fitted" else "white"
            label = f"measured, {use}"
            shown.append(
                Line2D(
                    [], [], color=GREY, marker=mark, linestyle="", markerfacecolor=face, label=label
                )
            )
    shown.append(Line2D([], [], color=GREY, marker="x", label="simulated"))
    legend_below(figure, shown)
