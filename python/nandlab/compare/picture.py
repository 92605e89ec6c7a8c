"""Picture of a comparison: latency over percentiles, reads and writes, a curve for each group."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.compare.comparison import Estimate, estimate, half_interval
from nandlab.display.picture import COLOURS, finish, legend_below, panels_of, save
from nandlab.drive.pictures.shared_axes import latency_ticks, widened
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.compare.comparison import Comparison
    from nandlab.report.tables import LatencyUs, Report

_PERCENTILES: dict[float, Callable[[LatencyUs], float]] = {
    50.0: lambda latency: latency.p50,
    90.0: lambda latency: latency.p90,
    99.0: lambda latency: latency.p99,
    99.9: lambda latency: latency.p99_9,
    99.99: lambda latency: latency.p99_99,
    99.999: lambda latency: latency.p99_999,
}

_PALETTE = (*COLOURS.values(), "#56B4E9", "#E69F00", "#000000")

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def plot_comparison(comparison: Comparison, path: Path | None) -> Figure:
    """Draws it, also to `path`; bars are intervals of means over replicates.

    Raises:
        NandlabError: another kind of file, or too many groups.
        OSError: it cannot be written.
    """
    from nandlab.display.picture import check_kind

    if path is not None:
        check_kind(path)
    groups = comparison.groups
    if len(groups) > len(_PALETTE):
        raise refusal("plot", f"{len(groups)} groups", f"at most {len(_PALETTE)}")
    ops = [op for op in COLOURS if any(_count(g.reports[0], op) for g in groups)]
    if not ops:
        raise refusal("plot", "no requests in these reports", "runs with requests")
    figure, panels = panels_of(len(ops), (4.6 if len(ops) > 1 else 9.2, 5.2), len(ops))
    for axes, op in zip(panels, ops, strict=True):
        for index, group in enumerate(groups):
            _curve(axes, group.reports, op, index, group.name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1.0, 0.5e-3 / 100)
        shares = [1 - percent / 100 for percent in _PERCENTILES]
        axes.set_xticks(shares, [f"{percent:g}" for percent in _PERCENTILES])
        axes.minorticks_off()
        axes.set_xlabel("percentile")
        axes.set_ylabel("latency")
        low, high = axes.get_ylim()
        axes.set_ylim(*widened(low, high))
        latency_ticks(axes.yaxis)
        finish(axes, f"{op}s" if op != "flush" else "flushes")
        _end(axes)
    handles, _ = panels[0].get_legend_handles_labels()
    legend_below(figure, handles)
    if path is not None:
        save(figure, path)
    return figure


def _count(report: Report, op: str) -> int:
    return int(report.host[op].latency_us.count) if op in report.host else 0


def _curve(axes: Axes, reports: list[Report], op: str, index: int, name: str) -> None:
    x, y, spread = [], [], []
    for percent, percentile in _PERCENTILES.items():
        found = _estimate(reports, op, percentile)
        if found is not None and found.mean > 0:
            x.append(1 - percent / 100)
            y.append(found.mean)
            spread.append(min(half_interval(found), 0.99 * found.mean))
    axes.errorbar(
        x,
        y,
        spread if any(spread) else None,
        color=_PALETTE[index],
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=5,
        linewidth=1.7,
        capsize=3,
        label=name,
    )


def _estimate(reports: list[Report], op: str, of: Callable[[LatencyUs], float]) -> Estimate | None:
    return estimate(reports, lambda report: of(report.host[op].latency_us))


def _end(axes: Axes) -> None:
    """The axis ends behind the last percentile that a curve has."""
    import numpy as np

    lines = [np.asarray(line.get_xdata(True), dtype=float) for line in axes.get_lines()]
    ends = [float(x.min()) for x in lines if len(x)]
    axes.set_xlim(0.7, min(ends, default=0.01) / 1.6)
