"""Picture of error-rate curves: measured points with intervals, BCH curves, the capacity."""

from __future__ import annotations

import math
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.display.picture import COLOURS, GREY, columns_below, finish, headline, new_figure, save
from nandlab.ecc.codec import Codec, bch_failure
from nandlab.ecc.soft_read import said
from nandlab.ecc.uber import Ecc
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.ecc.curve import Curve

_QUANTITIES = {
    "fer": "frame error rate",
    "ber": "bit error rate after decoding",
}

_LEVELS = dict(zip((0, 2, 4, 6), COLOURS.values(), strict=True))
"""A colour for each number of extra references."""


_MARKERS = ("o", "s", "^", "D", "P", "X", "*", "p", "<", ">", "h", "d")
"""A mark for each code."""

_DASHES = ((5.0, 2.0), (2.0, 1.5), (6.0, 1.5, 1.0, 1.5), (1.0, 1.2))
"""A pattern for each BCH code; where there are more, those of one pattern differ in their marks."""

_ARROW = 12.0
"""Points from a bound that no failure left to the tip of its arrow."""

_ASIDE = 8.0
"""Points from such a bound to the next one of the same rate."""

_MARK_HEIGHT = 0.13
"""Inches that a mark above the axes takes."""

_AXES_HEIGHT, _LINE_HEIGHT = 4.6, 0.255
"""Inches of the axes with their title, and of a line of the legend."""

_TITLE_LETTERS = 62
"""As many as there is room for."""


def plot_curve(result: Curve, quantity: str = "fer", path: Path | None = None) -> Figure:
    """Failures against the raw bit error rate: a mark for each code, a colour for its levels."""
    if quantity not in _QUANTITIES:
        raise refusal("plot", f"unknown quantity `{quantity}`", _QUANTITIES)
    codecs = result.codecs
    if len(codecs) > len(_MARKERS):
        raise refusal("plot", f"{len(codecs)} codes in a picture", f"1 to {len(_MARKERS)}")
    marks = dict(zip([codec.name for codec in codecs], _MARKERS, strict=False))
    figure = new_figure(8.6, 6.4)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    every = rows = result.rows()
    rates = [*(row["rber"] for row in rows), *result.limits.values()]
    left, right = min(rates), max(rates)
    axes.set_xlim(left / (right / left) ** 0.05, right * (right / left) ** 0.05)
    if quantity == "ber":
        # How many bits a codeword would have lost is not known of one that never did.
        rows = [row for row in rows if row["frame_errors"]]
    for name, mark in marks.items():
        for levels in _LEVELS:
            own = [row for row in every if row["code"] == name and row["levels"] == levels]
            _measured(axes, own, quantity, _LEVELS[levels], mark)
    if quantity == "fer":
        _bounds(figure, axes, every, marks)
    ends = [row[f"{quantity}_{'low' if row['frame_errors'] else 'high'}"] for row in rows]
    # Room for an arrow below the lowest bound.
    bottom = max(min(ends, default=1e-3) / 3, 1e-16)
    axes.set_ylim(bottom, 2.0)
    _name(axes, result, marks)
    for dashes, (bch, alike) in zip(cycle(_DASHES), _shapes(codecs).items(), strict=False):
        _bch(axes, bch, alike, quantity, dashes, marks[alike[0].name] if len(codecs) > 1 else "")
    if any(row["frame_errors"] == 0 for row in rows):
        note = "hollow: upper bound (97.5 %), no failures seen"
        axes.plot([], [], label=note, **_bound(GREY, _MARKERS[0]))
    if not rows:
        note = "no codeword failed, so there is no bit error rate to draw"
        axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", color=GREY)
    axes.set_xlabel("raw bit error rate of a hard read")
    axes.set_ylabel(_QUANTITIES[quantity])
    _plain_ticks(axes)
    finish(axes, "")
    _capacities(figure, axes, result, marks)
    names = axes.get_legend_handles_labels()[1]
    columns = columns_below(figure, names, 12, 2)
    lines = -(-len(names) // columns)
    figure.set_figheight(_AXES_HEIGHT + _MARK_HEIGHT * len(codecs) + _LINE_HEIGHT * lines)
    figure.legend(loc="outside lower left", ncols=columns, frameon=False, fontsize=12)
    title = f"{', '.join(marks)} over {result.channel['name']}"
    if len(title) > _TITLE_LETTERS and len(codecs) > 1:
        title = f"{len(codecs)} codes over {result.channel['name']}"
    headline(figure, title)
    if path is not None:
        save(figure, path)
    return figure


def _measured(
    axes: Axes, rows: list[dict[str, Any]], quantity: str, colour: str, marker: str
) -> None:
    """Points with their intervals; where no codeword failed, neither point nor line."""
    seen = [row for row in rows if row["frame_errors"]]
    x, y = [row["rber"] for row in seen], [row[quantity] for row in seen]
    line = [row[quantity] if row["frame_errors"] else math.nan for row in rows]
    below = [row[quantity] - row[f"{quantity}_low"] for row in seen]
    above = [row[f"{quantity}_high"] - row[quantity] for row in seen]
    style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.8}
    axes.plot([row["rber"] for row in rows], line, zorder=3, **style)
    axes.errorbar(x, y, [below, above], fmt="none", ecolor=colour, alpha=0.5, elinewidth=1.5)


def _bounds(figure: Figure, axes: Axes, rows: list[dict[str, Any]], marks: dict[str, str]) -> None:
    """Where no codeword failed, the upper end alone.

    It has the code's own mark, hollow, and an arrow to where the rate may be. Codes that have seen
    as many words have the same bound: those of one rate stand side by side.
    """
    from matplotlib.transforms import ScaledTranslation

    of_rate: dict[float, list[dict[str, Any]]] = {}
    for row in rows:
        if not row["frame_errors"]:
            of_rate.setdefault(row["rber"], []).append(row)
    for rber, alike in of_rate.items():
        for place, row in enumerate(alike):
            aside = (place - (len(alike) - 1) / 2) * _ASIDE / 72
            style = _bound(_LEVELS[row["levels"]], marks[row["code"]])
            moved = ScaledTranslation(aside, 0, figure.dpi_scale_trans)
            style |= {"transform": axes.transData + moved, "clip_on": False}
            axes.plot([rber], [row["fer_high"]], **style)


def _bound(colour: str, marker: str) -> dict[str, Any]:
    """How a bound is drawn: one mark, of a hollow one of five points and an arrow down from it."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.path import Path as Outline
    from matplotlib.transforms import Affine2D

    mark = MarkerStyle(marker)
    hollow = mark.get_path().transformed(mark.get_transform() + Affine2D().scale(5.0))
    tip, barb = -_ARROW, 2.5
    stem = Outline([(0, -3), (0, tip), (-barb, tip + barb), (0, tip), (barb, tip + barb)])
    return {
        # A mark of one's own is made as large as twice its farthest point.
        "marker": Outline.make_compound_path(hollow, stem),
        "markersize": 2 * _ARROW,
        "markerfacecolor": "none",
        "color": colour,
        "linestyle": "none",
    }


def _name(axes: Axes, result: Curve, marks: dict[str, str]) -> None:
    """Legend entries of marks and colours."""
    if len(marks) > 1:
        for name, mark in marks.items():
            axes.plot([], [], mark, color="black", markersize=6, label=name)
    for levels in sorted({levels for _, levels in result.limits}):
        axes.plot([], [], color=_LEVELS[levels], linewidth=2.4, label=said(levels))


def _shapes(codecs: list[Codec]) -> dict[Ecc, list[Codec]]:
    """Codes by what corrects as a BCH code of their length and parity."""
    shapes: dict[Ecc, list[Codec]] = {}
    for codec in codecs:
        if codec.bch is not None:
            shapes.setdefault(codec.bch, []).append(codec)
    return shapes


def _bch(
    axes: Axes,
    bch: Ecc,
    codecs: list[Codec],
    quantity: str,
    dashes: tuple[float, ...],
    marker: str,
) -> None:
    """What a BCH code of the same length and parity would do with a hard read."""
    import numpy as np

    low, high = axes.get_xlim()
    bottom, _ = axes.get_ylim()
    rates = np.geomspace(low, high, 160)
    of = bch_failure if quantity == "fer" else _bch_bit_errors
    found = [of(float(rate), bch) for rate in rates]
    shown = [(r, f) for r, f in zip(rates, found, strict=True) if f > bottom / 10]
    names = " and ".join(codec.name for codec in codecs)
    label = f"BCH in place of {names}, t = {bch.t}"
    if all(codec.certain_errors == bch.t for codec in codecs):
        label = f"{names} by its binomial tail, t = {bch.t}"
    x, y = [rate for rate, _ in shown], [failure for _, failure in shown]
    style: dict[str, Any] = {"color": GREY, "linestyle": (0, dashes), "linewidth": 1.6}
    style |= {"marker": marker, "markersize": 5, "markerfacecolor": "white", "markevery": 0.12}
    axes.plot(x, y, label=label, zorder=2, **style)


def _bch_bit_errors(rber: float, bch: Ecc) -> float:
    """Bit errors of a BCH code that returns a word with more than t errors unchanged.

    Each bit is wrong with t or more errors among the others: p P(X >= t), X of n - 1 bits.
    """
    return rber * bch_failure(rber, Ecc(bch.t - 1, bch.codeword_bits - 1, bch.codeword_bits - 1))


def _capacities(figure: Figure, axes: Axes, result: Curve, marks: dict[str, str]) -> None:
    """Where no code of the rate works any more: lines, and above them a row of marks for each code.

    So the marks of a line stand on it, however near the next line is.
    """
    from matplotlib.transforms import ScaledTranslation

    rows = {name: len(marks) - row for row, name in enumerate(marks)}
    for (name, levels), limit in result.limits.items():
        colour = _LEVELS[levels]
        axes.axvline(limit, color=colour, linestyle=":", linewidth=1.6, zorder=1)
        if len(marks) > 1:
            above = ScaledTranslation(0, _MARK_HEIGHT * rows[name], figure.dpi_scale_trans)
            place = axes.get_xaxis_transform() + above
            style: dict[str, Any] = {"color": colour, "markersize": 5, "clip_on": False}
            axes.plot(limit, 1.0, marks[name], transform=place, **style)
    label = "capacity limit, by soft reads" + (" and code" if len(marks) > 1 else "")
    axes.plot([], [], ":", color=GREY, linewidth=1.6, label=label)


def _plain_ticks(axes: Axes) -> None:
    """Rates at round numbers, as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    steps = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high / low < 12 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps if high / low < 100 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
