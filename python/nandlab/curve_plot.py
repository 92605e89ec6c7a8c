"""Picture of error-rate curves: measured with their intervals, beside BCH and the capacity."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._core import NandlabError
from nandlab.codec import Codec, bch_failure
from nandlab.plot import COLOURS, GREY, finish, new_figure, save
from nandlab.uber import Ecc

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.curve import Curve

_QUANTITIES = {
    "fer": "frame error rate",
    "ber": "bit error rate after decoding",
}

_LEVELS = dict(zip((0, 2, 4, 6), COLOURS.values(), strict=True))
"""A colour for each number of soft levels."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_WORDS = {0: "hard read", 2: "2 soft levels", 4: "4 soft levels", 6: "6 soft levels"}


_DASHES = ((5.0, 2.0), (2.0, 1.5), (6.0, 1.5, 1.0, 1.5), (1.0, 1.2))
"""A pattern for each BCH code."""

_NUMBER_WIDTH, _MARK_HEIGHT = 0.02, 0.04
"""Of the axes: what a number and a mark above them take."""


def plot_curve(result: Curve, quantity: str = "fer", path: Path | None = None) -> Figure:
    """Failures against the raw bit error rate, one curve for each code and number of levels."""
    if quantity not in _QUANTITIES:
        allowed = ", ".join(_QUANTITIES)
        raise NandlabError(f"plot: unknown quantity `{quantity}`; allowed: {allowed}")
    figure = new_figure(8.6, 6.4)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    rows = result.rows()
    rates = [row["rber"] for row in rows]
    limits = list(result.limits.values())
    left = min(rates, default=1e-3)
    right = max([*rates, *limits], default=1e-2)
    axes.set_xlim(left / (right / left) ** 0.03, right * (right / left) ** 0.03)
    # How many bits a codeword would have lost is not known of one that never did.
    rows = [row for row in rows if row["frame_errors"] or quantity == "fer"]
    for marker, codec in zip(_MARKERS, result.codecs, strict=False):
        for levels, colour in _LEVELS.items():
            own = [row for row in rows if row["code"] == codec.name and row["levels"] == levels]
            if own:
                name = _WORDS[levels]
                label = f"{codec.name}, {name}" if len(result.codecs) > 1 else name
                _measured(axes, own, quantity, colour, marker, label)
    ends = [row[f"{quantity}_{'low' if row['frame_errors'] else 'high'}"] for row in rows]
    bottom = max(min(ends, default=1e-3) / 2, 1e-16)
    axes.set_ylim(bottom, 2.0)
    for dashes, alike in zip(cycle(_DASHES), _shapes(result.codecs).values(), strict=False):
        _bch(axes, alike, quantity, dashes)
    if any(row["frame_errors"] == 0 for row in rows):
        note = "no failure seen: below, with 97.5 %"
        axes.plot([], [], "v", color=GREY, markerfacecolor="none", label=note)
    axes.set_xlabel("raw bit error rate of a hard read")
    axes.set_ylabel(_QUANTITIES[quantity])
    _plain_ticks(axes)
    finish(axes, "")
    _capacities(axes, result)
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=12)
    names = ", ".join(codec.name for codec in result.codecs)
    title = f"{names} over {result.channel['name']}"
    figure.suptitle(title, x=0.02, ha="left", fontsize=15, fontweight="bold")
    if path is not None:
        save(figure, path)
    return figure


def _measured(
    axes: Axes, rows: list[dict[str, Any]], quantity: str, colour: str, marker: str, label: str
) -> None:
    """Points with their intervals; where no codeword failed, the upper end alone."""
    seen = [row for row in rows if row["frame_errors"]]
    none = [row for row in rows if not row["frame_errors"]]
    x, y = [row["rber"] for row in seen], [row[quantity] for row in seen]
    below = [row[quantity] - row[f"{quantity}_low"] for row in seen]
    above = [row[f"{quantity}_high"] - row[quantity] for row in seen]
    style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.8}
    axes.plot(x, y, label=label, zorder=3, **style)
    axes.errorbar(x, y, [below, above], fmt="none", ecolor=colour, alpha=0.5, elinewidth=1.5)
    ends = [row[f"{quantity}_high"] for row in none]
    style |= {"marker": "v", "markerfacecolor": "none", "linestyle": "none", "alpha": 0.7}
    axes.plot([row["rber"] for row in none], ends, **style)


def _shapes(codecs: list[Codec]) -> dict[tuple[int, int], list[Codec]]:
    """Codes by length and parity."""
    shapes: dict[tuple[int, int], list[Codec]] = {}
    for codec in codecs:
        shapes.setdefault((codec.length, codec.dimension), []).append(codec)
    return shapes


def _bch(axes: Axes, codecs: list[Codec], quantity: str, dashes: tuple[float, ...]) -> None:
    """What a BCH code of the same length and parity would do with a hard read."""
    import numpy as np

    bch = codecs[0].bch
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
    axes.plot(x, y, color=GREY, linestyle=(0, dashes), linewidth=1.6, label=label, zorder=2)


def _bch_bit_errors(rber: float, bch: Ecc) -> float:
    """Bit errors of a BCH code that leaves a word with more than t errors as it was read.

    Each bit is wrong with t or more errors among the others: p P(X >= t), X of n - 1 bits.
    """
    return rber * bch_failure(rber, Ecc(bch.t - 1, bch.codeword_bits - 1, bch.codeword_bits - 1))


def _capacities(axes: Axes, result: Curve) -> None:
    """Where no code of the rate works any more: lines with marks of codes and numbers of levels."""
    from math import log

    left, right = axes.get_xlim()
    marks = {codec.name: marker for marker, codec in zip(_MARKERS, result.codecs, strict=False)}
    lines: dict[tuple[float, int], list[str]] = {}
    for (name, levels), limit in sorted(result.limits.items(), key=lambda item: item[1]):
        lines.setdefault((limit, levels), []).append(name)
    at = 0.0
    for (limit, levels), names in lines.items():
        colour = _LEVELS[levels]
        axes.axvline(limit, color=colour, linestyle=":", linewidth=1.6, zorder=1)
        # Beside the number before it, where the lines are nearer than numbers are wide.
        at = max(log(limit / left) / log(right / left), at + _NUMBER_WIDTH)
        shown = names if len(result.codecs) > 1 else []
        for row, name in enumerate(shown):
            axes.plot(
                at,
                1.0 + _MARK_HEIGHT * (row + 1),
                marks.get(name, "."),
                color=colour,
                markersize=5,
                transform=axes.transAxes,
                clip_on=False,
            )
        above = (at, 1.0 + _MARK_HEIGHT * (len(shown) + 0.6))
        place: dict[str, Any] = {"xycoords": "axes fraction", "ha": "center", "va": "bottom"}
        axes.annotate(str(levels), above, color=colour, fontsize=12, **place)
    label = "capacity ends, by soft levels" + (" and code" if len(result.codecs) > 1 else "")
    axes.plot([], [], ":", color=GREY, linewidth=1.6, label=label)


def _plain_ticks(axes: Axes) -> None:
    """Rates as numbers that a person says, as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    steps = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high / low < 12 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps if high / low < 100 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
