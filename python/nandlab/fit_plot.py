"""Picture of a fit: data and law above, residuals below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.plot import COLOURS, GREY, finish, new_figure, save

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.fit import Fit

    Column = NDArray[np.float64]

_AXES = {
    "pe_cycles": "P/E cycles",
    "retention_hours": "retention (h)",
    "reads": "reads of the block",
}


def plot_fit(fitted: Fit, path: Path | None = None) -> Figure:
    """Data with the law, and residuals in their own standard deviations."""
    figure = new_figure(8.0, 7.6)
    above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": [1.35, 1.0]})
    if fitted.bins is not None:
        _states(fitted, above)
        x, label = fitted.bins.centres_v, "threshold voltage (V)"
    else:
        x, label = _axis(fitted)
        _rates(fitted, above, x)
        if x.min() > 0 and x.max() > 30 * x.min():
            above.set_xscale("log")
            below.set_xscale("log")
    residuals = fitted.estimate.residuals
    below.axhspan(-2, 2, color=GREY, alpha=0.2, linewidth=0)
    below.axhline(0, color=GREY, linewidth=1.2)
    below.plot(x, residuals, "o", color=COLOURS["read"], markersize=5, alpha=0.7)
    most = max(float(abs(residuals).max()) * 1.1, 3.0)
    below.set_ylim(-most, most)
    below.set_xlabel(label)
    below.set_ylabel("residual (st. dev.)")
    finish(above, f"{fitted.law} fitted to {Path(fitted.data.name).name}")
    finish(below, "")
    if path is not None:
        save(figure, path)
    return figure


def _axis(fitted: Fit) -> tuple[Column, str]:
    """The column to draw over: the first that varies; or else the rows in their order."""
    import numpy as np

    names = [name for name in _AXES if fitted.data.varies(name)]
    if fitted.law == "retention_law":
        names.sort(key=lambda name: name != "retention_hours")
    if not names:
        return np.arange(1.0, fitted.data.rows + 1), "row"
    return fitted.data.columns[names[0]], _AXES[names[0]]


def _rates(fitted: Fit, axes: Axes, x: Column) -> None:
    """Fitted over measured rate where more than one column varies would not be a curve: dots."""
    import numpy as np

    data = fitted.data
    if fitted.is_counted:
        observed = data.columns["bit_errors"] / data.columns["bits_read"]
    else:
        observed = data.columns["rber"]
    shown = observed > 0
    axes.plot(
        x[shown],
        observed[shown],
        "o",
        color=COLOURS["read"],
        markersize=6,
        alpha=0.75,
        label="measured",
    )
    others = ("pe_cycles", "retention_hours", "reads", "vth_v", "temperature_c")
    keys = [
        data.columns[name] for name in others if data.varies(name) and data.columns[name] is not x
    ]
    groups = np.stack(keys, axis=-1) if keys else np.zeros((len(x), 1))
    label: str | None = "fitted law"
    for group in np.unique(groups, axis=0):
        rows = (groups == group).all(axis=1)
        order = np.argsort(x[rows])
        mean = fitted.estimate.mean[rows][order]
        drawn = mean > observed[shown].min() / 10
        axes.plot(
            x[rows][order][drawn], mean[drawn], color=COLOURS["write"], linewidth=1.6, label=label
        )
        label = None
    axes.set_yscale("log")
    axes.set_ylabel("raw bit error rate")
    axes.legend(loc="best", frameon=False)


def _states(fitted: Fit, axes: Axes) -> None:
    bins = fitted.bins
    if bins is None:
        return
    shown = bins.cells > 0
    axes.plot(
        bins.centres_v[shown],
        bins.cells[shown],
        "o",
        color=COLOURS["read"],
        markersize=4,
        alpha=0.7,
        label="measured",
    )
    mean = fitted.estimate.mean
    axes.plot(bins.centres_v, mean, color=COLOURS["write"], linewidth=2.0, label="fitted states")
    axes.set_yscale("log")
    axes.set_ylim(0.5, float(max(mean.max(), bins.cells.max())) * 4)
    axes.set_ylabel("cells in a bin")
    axes.legend(loc="upper left", ncols=2, frameon=False)
