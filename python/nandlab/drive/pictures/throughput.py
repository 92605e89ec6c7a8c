"""Throughput over time: what the host reads and writes, and what garbage collection moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.display.picture import COLOURS, GREY, finish, on_axes, owner
from nandlab.drive.pictures.shared_axes import (
    TIME_LABEL,
    TIME_UNITS,
    joint_title,
    line_style,
    named,
    runs_on,
    tag,
    time_unit,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.drive.result import Result

MOST_POINTS = 240
"""Points along the time axis; more only make noise of a line."""

LEAST_LAST = 0.5
"""Share of an interval below which the last one is merged with the one before."""

MOST_MOVED = 4.0
"""Multiple of the host's highest rate at which the collection curve is cut off."""


def plot_throughput(result: Result, axes: Axes | None = None, *, label: str = "") -> Figure:
    """Read and write bandwidth over simulated time; what garbage collection moved, in grey.

    The host's rates set the scale. Where garbage collection goes far beyond, as after
    ``precondition="steady"``, it is cut off, and the legend says how high it goes.

    Args:
        result: of a run.
        axes: where to draw; runs that are drawn later on the same are lines without areas, in the
            units of the first.
        label: of the run, in front of the names in the legend.
    """
    axes = on_axes(axes, 8.0, 3.4)
    earlier = runs_on(axes)
    series = result.series()
    names = ("read_mb_s", "write_mb_s", "gc_moved_mb_s")
    start, duration, rates = _merged(
        series["time_s"].to_numpy(),
        series["duration_s"].to_numpy(),
        [series[name].to_numpy() for name in names],
    )
    unit = time_unit(float(start[-1] + duration[-1]) if len(start) else 0.0)
    # Without traffic of the host's, as of trims alone, the scale is that of garbage collection.
    scaling = [rate for rate in rates[:2] if rate.any()] or rates
    host_most = max((rate.max(initial=0.0) for rate in scaling), default=0.0)
    is_slow = host_most < 0.5
    if earlier:
        unit = axes.get_xlabel().removeprefix(TIME_LABEL).strip("()")
        is_slow = axes.get_ylabel() == "kB/s"
    scale, factor = TIME_UNITS[unit], 1e3 if is_slow else 1.0
    edges = [*(start * scale), *((start + duration)[-1:] * scale)]
    read, write, moved = (rate * factor for rate in rates)
    top = MOST_MOVED * host_most * factor
    is_cut = moved.max(initial=0.0) > top
    how_high = f" (to {quantity.rate(moved.max() / factor)} MB/s)" if is_cut else ""
    drawn: list[Artist] = []
    for rate, colour, name, alpha, width in (
        (moved, GREY, f"moved by GC{how_high}", 0.35, 0.0),
        (write, COLOURS["write"], "write", 0.18, 1.8),
        (read, COLOURS["read"], "read", 0.18, 1.8),
    ):
        if not rate.any():
            continue
        words = named(label, name)
        if earlier:
            line = axes.stairs(
                rate, edges, color=colour, linestyle=line_style(earlier), linewidth=1.8
            )
            line.set_label(words)
            drawn.append(line)
        else:
            drawn.append(_area(axes, edges, rate, colour, words, alpha, width))
    if edges:
        low, high = axes.get_xlim() if earlier else (edges[0], edges[-1])
        axes.set_xlim(min(low, edges[0]), max(high, edges[-1]))
    axes.set_ylim(bottom=0)
    axes.margins(y=0.12)
    if is_cut:
        axes.set_ylim(top=max(top, axes.get_ylim()[1]) if earlier else top)
    axes.set_xlabel(f"{TIME_LABEL}({unit})")
    axes.set_ylabel("kB/s" if is_slow else "MB/s")
    tag(drawn, "throughput", earlier)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles[::-1],
            labels[::-1],
            loc="lower right",
            bbox_to_anchor=(1.0, 0.995),
            ncols=3,
            frameon=False,
            borderaxespad=0.2,
        )
    finish(axes, joint_title(axes, result.title, earlier))
    return owner(axes)


def _area(
    axes: Axes,
    edges: list[float],
    rate: NDArray[np.float64],
    colour: str,
    label: str,
    alpha: float,
    width: float,
) -> Artist:
    from matplotlib.colors import to_rgba

    return axes.stairs(
        rate,
        edges,
        fill=True,
        facecolor=to_rgba(colour, alpha),
        edgecolor=colour if width else "none",
        linewidth=width,
        label=label,
    )


def _merged(
    start: NDArray[np.float64], duration: NDArray[np.float64], rates: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]]:
    """As few intervals as can be drawn: neighbours become one, with their mean rates."""
    import numpy as np

    together = -(-len(start) // MOST_POINTS) or 1
    firsts = np.arange(0, len(start), together)
    if not len(firsts):
        return start, duration, rates
    merged = np.add.reduceat(duration, firsts)
    if len(merged) > 1 and merged[-1] < LEAST_LAST * merged[-2]:
        # The run ended early in it: a few requests over so little time make a spike.
        firsts = firsts[:-1]
        merged = np.add.reduceat(duration, firsts)
    means = [np.add.reduceat(rate * duration, firsts) / merged for rate in rates]
    return start[firsts], merged, means
