"""Heat map of latency over time: how many requests took how long; reads above writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab.display import quantity
from nandlab.display.picture import COLOURS, GREY, finish, new_figure, owner
from nandlab.drive.pictures.shared_axes import (
    TIME_LABEL,
    TIME_UNITS,
    latency_ticks,
    time_unit,
    widened,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.drive.result import Result

TIME_CELLS, LATENCY_CELLS = 160, 64
"""Cells of a panel at most."""

REQUESTS_PER_CELL = 8
"""Fewer requests have fewer cells along the time: else each would be a speck."""

_COLUMNS = ("op", "completion_ns", "latency_ns")


def plot_heat_map(result: Result) -> Figure:
    """Requests by time of completion and by latency, on a logarithmic latency axis.

    Raises:
        NandlabError: requests were not kept, or their file is gone or another run's.
    """
    import numpy as np
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    table = result.requests().select(_COLUMNS)
    op = table["op"].combine_chunks()
    names = [name for name in COLOURS if name in op.dictionary.to_pylist()]
    codes = op.indices.to_numpy()
    done_ns = table["completion_ns"].to_numpy()
    latency_ns = table["latency_ns"].to_numpy()
    of = {name: codes == op.dictionary.to_pylist().index(name) for name in names}
    present = [name for name in names if of[name].any()]
    # Trims and flushes only where they are all that there is.
    panels = [name for name in present if name in ("read", "write")] or present
    figure = new_figure(8.0, 1.6 + 3.0 * max(len(panels), 1))
    every: NDArray[Any] = np.atleast_1d(figure.subplots(max(len(panels), 1), 1, sharex=True))
    if not panels:
        every[0].text(0.5, 0.5, "no requests", transform=every[0].transAxes, ha="center", c=GREY)
        finish(every[0], result.title)
        return figure
    unit = time_unit(int(done_ns.max()) / 1e9)
    counted = {
        name: _counts(done_ns[of[name]], latency_ns[of[name]], int(done_ns.max()))
        for name in panels
    }
    most = max(int(counts.max()) for counts, _, _ in counted.values())
    for axes, name in zip(every, panels, strict=True):
        _panel(axes, *counted[name], most, TIME_UNITS[unit] / 1e9)
        axes.set_ylabel(f"{name} latency")
        finish(axes, result.title if axes is every[0] else "")
        axes.grid(visible=False)
    every[-1].set_xlabel(f"{TIME_LABEL}({unit})")
    bar = figure.colorbar(every[0].collections[0], ax=list(every), pad=0.02, aspect=20 * len(every))
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if most < 100 else (1.0,)))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: quantity.count(count)))
    bar.set_label("requests in a cell", fontsize=12)
    return owner(every[0])


def _counts(
    done_ns: NDArray[np.uint64], latency_ns: NDArray[np.uint64], end_ns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Requests of each cell, and the edges of the cells in time and in latency."""
    import numpy as np

    # No time at all has no place on a logarithmic axis: it is counted with the least latency.
    latency_ns = latency_ns.clip(latency_ns[latency_ns > 0].min(initial=latency_ns.max() or 1))
    low, high = widened(float(latency_ns.min()), float(latency_ns.max()))
    columns = min(TIME_CELLS, max(len(done_ns) // REQUESTS_PER_CELL, 8))
    edges_ns = np.geomspace(low, high, min(LATENCY_CELLS, columns) + 1)
    # Rounding must not leave the least and the greatest out.
    edges_ns[[0, -1]] = min(low, latency_ns.min()), max(high, latency_ns.max())
    edges_s = np.linspace(0.0, max(end_ns, 1), columns + 1)
    counts, _, _ = np.histogram2d(done_ns, latency_ns, bins=(edges_s, edges_ns))
    return counts, edges_s, edges_ns


def _panel(
    axes: Axes,
    counts: NDArray[np.float64],
    times_ns: NDArray[np.float64],
    latencies_ns: NDArray[np.float64],
    most: int,
    per_ns: float,
) -> None:
    """Cells without a request stay white; the scale of colours is logarithmic."""
    import numpy as np
    from matplotlib.colors import LogNorm

    cells = np.ma.masked_equal(counts.T, 0)
    norm = LogNorm(1, max(most, 2))
    edges_us = latencies_ns / 1e3
    axes.pcolormesh(
        times_ns * per_ns, edges_us, cells, norm=norm, cmap="viridis_r", rasterized=True
    )
    axes.set_yscale("log")
    axes.set_ylim(edges_us[0], edges_us[-1])
    axes.set_xlim(0, times_ns[-1] * per_ns)
    latency_ticks(axes.yaxis)
