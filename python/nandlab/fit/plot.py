"""Picture of a fit: data and law above, residuals below; for a table only its points."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.display.picture import COLOURS, GREY, finish, legend_below, new_figure, save
from nandlab.fit.law.layers import group_named
from nandlab.fit.predict import predict

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from nandlab.fit.fitting import Fit

    Column = NDArray[np.float64]

_UNITS = {
    "pe_cycles": "P/E cycles",
    "retention_hours": "h",
    "reads": "reads",
    "vth_v": "V",
    "temperature_c": "°C",
}
"""Of what tells the curves apart, behind a value."""

MOST_NAMED = 9
"""Curves of more groups have the colours of one condition that has no more values, if any has."""

_PAGE_TYPE = "page type"
"""Condition of a fit that tells page types apart."""

_LAYER = "layer"
"""Condition of a fit that tells layers apart."""

POINTS = 1000
"""Points of a curve."""

_AXES = {
    "pe_cycles": "P/E cycles",
    "retention_hours": "retention (h)",
    "reads": "reads of the block",
}
"""Conditions that a picture may be drawn over."""

_LABELS = {**_AXES, "vth_v": "threshold voltage (V)", "temperature_c": "temperature (°C)"}


def plot_fit(fitted: Fit, path: Path | None = None) -> Figure:
    """Data with the law, and residuals in their own standard deviations."""
    import numpy as np

    if "points" in fitted.array:
        return _points(fitted, path)
    if fitted.bins is not None:
        x, label = fitted.bins.centres_v, "threshold voltage (V)"
        others, groups = [], {"": np.full(len(x), True)}
    else:
        x, label = _axis(fitted)
        others, groups = _others(fitted, x), _groups(fitted, x)
    colours, key = _colours_of(groups, others)
    axes_of = [(label, x), *((name, values) for name, values, _ in others)]
    heights = None if fitted.bins is not None else fitted.heights()
    if heights is not None:
        axes_of.append((_LAYER, np.array([layer for layer, _ in heights], float)))
    panels = len(axes_of)
    figure = new_figure(8.0 if panels < 4 else 2.6 * panels, 8.2)
    grid = figure.add_gridspec(2, panels, height_ratios=[1.35, 1.0])
    above = figure.add_subplot(grid[0, : panels - 1] if heights else grid[0, :])
    shared = above if panels == 1 else None
    below = [figure.add_subplot(grid[1, 0], sharex=shared)]
    below += [figure.add_subplot(grid[1, i], sharey=below[0]) for i in range(1, panels)]
    if heights is not None:
        _profile(fitted, figure.add_subplot(grid[0, panels - 1]))
    if fitted.bins is not None:
        _states(fitted, above)
    else:
        _spaced(above, x)
        legend_below(figure, _rates(fitted, above, x, groups, colours, key))
    residuals = fitted.estimate.residuals
    most = max(float(abs(residuals).max()) * 1.1, 3.0)
    for axes, (name, values) in zip(below, axes_of, strict=True):
        axes.axhspan(-2, 2, color=GREY, alpha=0.2, linewidth=0)
        axes.axhline(0, color=GREY, linewidth=1.2)
        for rows, colour in zip(groups.values(), colours, strict=True):
            axes.plot(values[rows], residuals[rows], "o", color=colour, markersize=5, alpha=0.7)
        axes.set_ylim(-most, most)
        axes.set_xlabel(name)
        if name == _PAGE_TYPE:
            types = fitted.data.page_types()[0]
            axes.set_xticks(range(len(types)), types)
        elif panels > 1 and name != _LAYER:
            _spaced(axes, values, from_zero=True)
        finish(axes, "")
    if panels > 1:
        above.set_xlabel(label)
    below[0].set_ylabel("residual (st. dev.)")
    finish(above, f"{fitted.law} fitted to {Path(fitted.data.name).name}")
    if path is not None:
        save(figure, path)
    return figure


def _profile(fitted: Fit, axes: Axes) -> None:
    """Factors of the layers with their intervals."""
    named = [(group_named(one.name), one) for one in fitted.parameters]
    layers = [layer for group, _ in named for layer in group or ()]
    each = [one for group, one in named for _ in group or ()]
    axes.axhline(1, color=GREY, linewidth=1.2)
    axes.fill_between(
        layers,
        [one.low for one in each],
        [one.high for one in each],
        step="mid",
        color=COLOURS["read"],
        alpha=0.3,
        linewidth=0,
    )
    factors = [one.value for one in each]
    axes.step(layers, factors, where="mid", color=COLOURS["write"], linewidth=1.6)
    axes.set_xlabel(_LAYER)
    axes.set_ylabel(f"layer factor, {fitted.confidence}")
    finish(axes, "")


def _axis(fitted: Fit) -> tuple[Column, str]:
    """The column to draw over: the first that varies; or else the rows in their order."""
    import numpy as np

    names = [name for name in _AXES if fitted.data.varies(name)]
    if fitted.law == "retention_law":
        names.sort(key=lambda name: name != "retention_hours")
    if not names:
        return np.arange(1.0, fitted.data.rows + 1), "row"
    return fitted.data.columns[names[0]], _AXES[names[0]]


class _Condition(NamedTuple):
    """A condition of the rows that varies."""

    label: str
    values: Column
    words: list[str]
    """Value of each row, for people."""


def _others(fitted: Fit, x: Column) -> list[_Condition]:
    """The conditions that vary besides the one on the axis; the page type last."""
    import numpy as np

    data, found = fitted.data, []
    for name, unit in _UNITS.items():
        if data.varies(name) and data.columns[name] is not x:
            column = data.columns[name]
            label = _LABELS[name]
            found.append(_Condition(label, column, [f"{value:g} {unit}" for value in column]))
    types = fitted.page_types()
    if max(types) > 0:
        names = data.page_types()[0]
        found.append(_Condition(_PAGE_TYPE, np.array(types, float), [names[i] for i in types]))
    return found


def _spaced(axes: Axes, values: Column, *, from_zero: bool = False) -> None:
    """Decades where the values have many; `from_zero` also where some of them are 0."""
    positive = values[values > 0]
    if not len(positive) or positive.max() <= 30 * positive.min():
        return
    if values.min() > 0:
        axes.set_xscale("log")
    elif from_zero:
        least, most = float(positive.min()), float(positive.max())
        axes.set_xscale("symlog", linthresh=least, linscale=0.4)
        axes.set_xlim(-least / 2, 1.6 * most)


def _groups(fitted: Fit, x: Column) -> dict[str, NDArray[np.bool_]]:
    """Rows of each curve over `x`, by what tells them apart; one without a name where nothing."""
    import numpy as np

    others = _others(fitted, x)
    if not others:
        return {"": np.full(len(x), True)}
    keys = np.stack([other.values for other in others], axis=-1)
    groups = {}
    for group in np.unique(keys, axis=0):
        rows = (keys == group).all(axis=1)
        groups[", ".join(other.words[int(np.argmax(rows))] for other in others)] = rows
    return groups


def _colours_of(
    groups: dict[str, NDArray[np.bool_]], others: list[_Condition]
) -> tuple[list[Any], dict[str, Any]]:
    """The colour of each group, and the key: names of few groups, of many those of one condition.

    The condition is the first one of few values.
    """
    import numpy as np

    if 1 < len(groups) <= MOST_NAMED:
        colours = _colours(len(groups))
        return colours, dict(zip(groups, colours, strict=True))
    for other in others:
        distinct = [*np.unique(other.values)]
        if 1 < len(distinct) <= MOST_NAMED < len(groups):
            of_value = dict(zip(distinct, _colours(len(distinct)), strict=True))
            words = dict(zip(other.values, other.words, strict=True))
            colours = [of_value[other.values[rows][0]] for rows in groups.values()]
            return colours, {words[value]: colour for value, colour in of_value.items()}
    return [COLOURS["read"]] * len(groups), {}


def _colours(count: int) -> list[Any]:
    """A colour for each of the curves, dark to light in their order."""
    from matplotlib import colormaps

    if not 1 < count <= MOST_NAMED:
        return [COLOURS["read"]] * count
    return [colormaps["viridis"](0.85 * i / (count - 1)) for i in range(count)]


def _rates(
    fitted: Fit,
    axes: Axes,
    x: Column,
    groups: dict[str, NDArray[np.bool_]],
    colours: list[Any],
    key: dict[str, Any],
) -> list[Line2D]:
    """Rates with the law, a curve of one colour for each group of rows: what a legend names."""
    import numpy as np
    from matplotlib.lines import Line2D as Line

    data = fitted.data
    if fitted.is_counted:
        bits = data.columns["bits_read"]
        observed = data.columns["bit_errors"] / bits
        # No errors of so many bits: the end of the interval of Clopper and Pearson.
        most = -np.expm1(np.log((1 - fitted.confidence.level) / 2) / bits)
    else:
        observed = most = data.columns["rber"]
    is_zero = observed == 0
    least = min(observed[~is_zero].min() / 10, most[is_zero].min(initial=1.0) / 2)
    for (name, rows), colour in zip(groups.items(), colours, strict=True):
        shown, zero = rows & ~is_zero, rows & is_zero
        axes.plot(x[shown], observed[shown], "o", color=colour, markersize=6, alpha=0.75)
        axes.plot(x[zero], most[zero], "v", color=colour, markersize=7, markerfacecolor="white")
        at, mean = _curve(fitted, axes, x, rows)
        drawn = mean > least
        line = colour if key else COLOURS["write"]
        axes.plot(at[drawn], mean[drawn], color=line, linewidth=1.6, label=name)
    handles = [Line([], [], color=of, linewidth=1.6, label=name) for name, of in key.items()]
    said = GREY if key else COLOURS["write"]
    handles.append(Line([], [], color=said, linewidth=1.6, label="fitted law"))
    said = GREY if key else COLOURS["read"]
    handles.append(Line([], [], color=said, marker="o", linestyle="none", label="measured"))
    if is_zero.any():
        label = f"no errors: upper bound, {100 * fitted.confidence.level:g} %"
        handles.append(Line([], [], color=said, marker="v", linestyle="none", label=label))
        handles[-1].set_markerfacecolor("white")
    axes.set_yscale("log")
    axes.set_ylabel("raw bit error rate")
    return handles


def _curve(fitted: Fit, axes: Axes, x: Column, rows: NDArray[np.bool_]) -> tuple[Column, Column]:
    """The law over the rows of a group, finely; at the rows alone where no drive could have it."""
    import numpy as np

    columns = {name: column[rows] for name, column in fitted.data.columns.items()}
    spaced = np.geomspace if axes.get_xscale() == "log" else np.linspace
    at = spaced(x[rows].min(), x[rows].max(), POINTS)
    finely = {
        name: at if fitted.data.columns[name] is x else np.full(POINTS, column[0])
        for name, column in columns.items()
    }
    try:
        page_type = fitted.page_types()[int(np.argmax(rows))]
        return at, predict(fitted.array, finely, POINTS, [page_type] * POINTS)
    except NandlabError:
        order = np.argsort(x[rows])
        return x[rows][order], fitted.estimate.mean[rows][order]


def _points(fitted: Fit, path: Path | None) -> Figure:
    """Points with their confidence intervals, and the interpolation of a drive."""
    import numpy as np
    from matplotlib.lines import Line2D as Line

    points = fitted.array["points"]
    stress = np.array([[point["pe_cycles"], point["hours"], point["reads"]] for point in points])
    rates = fitted.parameters[: len(points) * len(points[0]["rber"])]
    value, low, high = (
        np.array([getattr(rate, end) for rate in rates]).reshape(len(points), -1)
        for end in ("value", "low", "high")
    )
    varying = [i for i, name in enumerate(_AXES) if fitted.data.varies(name)] or [0]
    over, others = varying[0], varying[1:]
    x = stress[:, over]
    curves = [
        (group, page_type)
        for group in np.unique(stress[:, others], axis=0)
        for page_type in range(value.shape[1])
    ]
    array = _core.Array(json.dumps(fitted.array))
    is_named = 1 < len(curves) <= MOST_NAMED
    is_typed = "page_type" in fitted.data.labels
    figure = new_figure(8.0, 5.8)
    axes = figure.subplots()
    handles = []
    for (group, page_type), colour in zip(curves, _colours(len(curves)), strict=True):
        rows = (stress[:, others] == group).all(axis=1)
        at, rate = x[rows], value[rows, page_type]
        ends = np.abs([low[rows, page_type] - rate, high[rows, page_type] - rate])
        axes.errorbar(at, rate, np.where(np.isfinite(ends), ends, 0), fmt="o", color=colour)
        between = np.concatenate([np.linspace(a, b, 24) for a, b in pairwise(at)] or [at])
        states = np.tile(stress[rows][0], (len(between), 1))
        states[:, over] = between
        played = array.rber([(page_type, round(n), h, round(r)) for n, h, r in states.tolist()])
        names = [*_AXES]
        words = [f"{of:g} {_UNITS[names[i]]}" for of, i in zip(group, others, strict=True)]
        words += [rates[page_type].name.rpartition(", ")[2]] if is_typed else []
        lines = axes.plot(between, played, color=colour, linewidth=1.6, label=", ".join(words))
        handles += lines if is_named else []
    played_back = Line([], [], color=GREY, linewidth=1.6, label="played back")
    measured = Line([], [], color=GREY, marker="o", linestyle="none")
    measured.set_label(f"measured, {fitted.confidence} intervals")
    legend_below(figure, [*handles, played_back, measured])
    axes.set_yscale("log")
    if x.max() > 30 * x[x > 0].min(initial=x.max()):
        if x.min() > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=x[x > 0].min())
    axes.set_xlabel([*_AXES.values()][over])
    axes.set_ylabel("raw bit error rate")
    finish(axes, f"measured rates of {Path(fitted.data.name).name}")
    if path is not None:
        save(figure, path)
    return figure


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
