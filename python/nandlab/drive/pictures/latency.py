"""Latency distribution: percentiles upwards, latency to the right, a curve for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.display.picture import COLOURS, GREY, finish, on_axes, owner
from nandlab.drive.latency import is_exceeded
from nandlab.drive.pictures.shared_axes import (
    joint_title,
    latency_ticks,
    line_style,
    named,
    runs_on,
    tag,
    widened,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.drive.latency import Latency
    from nandlab.drive.result import Result

PERCENTILES = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
"""Ticks of the upward axis."""

LEAST_REQUESTS = 20
"""A distribution of fewer requests is not drawn."""

_LOW = {"read": 0.1, "write": 0.1, "trim": 10.0, "flush": 10.0}
"""Percentiles at which the latency axis may begin: what lies below is hardly told from 0 %.

A few flushes of nothing at all must not stretch it.
"""

_MARGIN = 0.02
"""Share of the latency axis beyond its data."""

_BELOW_PT = 46
"""From the axis to the legend below it, past ticks and label."""


def plot_latency(result: Result, axes: Axes | None = None, *, label: str = "") -> Figure:
    """Percentiles over latency on logarithmic axes: one curve for each operation.

    The upward axis has as much room from 90 to 99 % as from 99 to 99.9 %, and ends with the last
    request. The legend lists percentiles and maximum.

    Args:
        result: of a run.
        axes: where to draw; runs that are drawn later on the same have other lines.
        label: of the run, in front of the operations in the legend.
    """
    axes = on_axes(axes, 8.0, 4.9)
    earlier = runs_on(axes)
    every = {op: latency for op in COLOURS if (latency := getattr(result, op)).count > 0}
    shown = {
        op: latency
        for op, latency in every.items()
        if latency.count >= LEAST_REQUESTS and latency.max_us > 0
    }
    drawn: list[Artist] = []
    for op, latency in shown.items():
        latency_us, share = latency.exceedance()
        latency_us = latency_us.clip(_least_us(latency))
        # It starts at 0 %, and leaves the picture at the greatest latency.
        drawn += axes.step(
            [latency_us[0], *latency_us, latency_us[-1]],
            [1.0, *share, 0.5 / latency.count],
            where="pre",
            color=COLOURS[op],
            linewidth=2.2 if op in ("read", "write") else 1.3,
            linestyle=line_style(earlier),
            label=_words(label, op, latency),
        )
    for op, latency in every.items():
        if op not in shown:
            why = "too few to draw" if latency.count < LEAST_REQUESTS else "in no time"
            words = named(label, f"{op} ({quantity.count(latency.count)}, {why})")
            drawn += axes.plot([], [], color=COLOURS[op], linestyle="none", label=words)
    if not shown and not earlier:
        some = any(latency.count < LEAST_REQUESTS for latency in every.values())
        words = f"fewer than {LEAST_REQUESTS} requests" if some else "no requests that take time"
        words = words if every else "no requests"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", color=GREY)
    _limit(axes, shown, has_earlier=earlier > 0)
    axes.set_ylabel("percentile")
    axes.set_xlabel("latency")
    latency_ticks(axes.xaxis)
    tag(drawn, "latency", earlier)
    if axes.get_legend_handles_labels()[0]:
        _legend(axes)
    finish(axes, joint_title(axes, result.title, earlier))
    return owner(axes)


def _words(label: str, op: str, latency: Latency) -> str:
    """Operation, median, the highest percentile that any request exceeds, maximum."""
    backed = [p for p in PERCENTILES[3:6] if is_exceeded(latency.count, p)]
    # Behind a label there is no room for more.
    percents = dict.fromkeys([50.0, *([] if label else backed[:1]), *backed[-1:]])
    said = [f"p{p:g} {quantity.latency(latency.percentile(p))}" for p in percents]
    said.append(f"max {quantity.latency(latency.max_us)}")
    return named(label, f"{op} ({quantity.count(latency.count)}): {', '.join(said)}")


def _limit(axes: Axes, shown: dict[str, Latency], *, has_earlier: bool) -> None:
    """Axes that end where the data end."""
    low, high = axes.get_xlim()
    least_share = axes.get_ylim()[1]
    axes.set_xscale("log")
    axes.set_yscale("log")
    most = max((latency.count for latency in shown.values()), default=100)
    if not has_earlier:
        least_share = 0.5 / most
        low, high = (1.0, 1e3) if not shown else (float("inf"), 0.0)
    if shown:
        least_share = min(least_share, 0.5 / most)
        greatest = max(latency.max_us for latency in shown.values())
        least = min(_least_us(latency, _LOW[op]) for op, latency in shown.items())
        least, greatest = widened(least, greatest)
        beyond = (greatest / least) ** _MARGIN
        low, high = min(low, least / beyond), max(high, greatest * beyond)
    axes.set_xlim(low, high)
    # The share of slower requests, from all of them to none.
    axes.set_ylim(1.0, least_share)
    ticks = [p for p in PERCENTILES if 1 - p / 100 > least_share]
    axes.set_yticks([1 - p / 100 for p in ticks], [f"{p:g} %" for p in ticks])
    axes.yaxis.minorticks_off()


def _least_us(latency: Latency, percent: float = 0.0) -> float:
    """The least latency from a percentile on; no time at all has no place on the axis."""
    edges_us = latency.edges_ns / 1e3
    return float(edges_us[(edges_us > 0) & (edges_us >= latency.percentile(percent))][0])


def _legend(axes: Axes) -> None:
    """Below the panel, where it covers no curve; in it where nothing keeps room below it."""
    from matplotlib.transforms import ScaledTranslation

    figure = owner(axes)
    if figure.get_layout_engine() is None:
        axes.legend(loc="best", frameon=False)
        return
    down = ScaledTranslation(0, -_BELOW_PT / 72, figure.dpi_scale_trans)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes + down,
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
    )
