"""Picture of error-rate curves: measured with their intervals, beside BCH and the capacity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._core import NandlabError
from nandlab.codec import Codec, bch_failure
from nandlab.plot import COLOURS, GREY, finish, new_figure, save

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


def plot_curve(result: Curve, quantity: str = "fer", path: Path | None = None) -> Figure:
    """Failures against the raw bit error rate, one curve for each code and number of levels."""
    if quantity not in _QUANTITIES:
        allowed = ", ".join(_QUANTITIES)
        raise NandlabError(f"plot: unknown quantity `{quantity}`; allowed: {allowed}")
    figure = new_figure(8.6, 5.6)
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
    has_none = any(row["frame_errors"] == 0 for row in rows)
    ends = [row[f"{quantity}_{'low' if row['frame_errors'] else 'high'}"] for row in rows]
    bottom = max(min(ends, default=1e-3) / 2, 1e-16)
    axes.set_ylim(bottom, 2.0)
    if quantity == "fer":
        for codec in _shapes(result.codecs):
            _bch(axes, codec)
    _capacities(axes, result)
    axes.set_xlabel("raw bit error rate of a hard read")
    axes.set_ylabel(_QUANTITIES[quantity])
    columns = 3 if len(result.codecs) == 1 else 2
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False)
    _plain_ticks(axes)
    names = ", ".join(codec.name for codec in result.codecs)
    finish(axes, "")
    title = f"{names} over {result.channel['name']}"
    figure.suptitle(title, x=0.02, ha="left", fontsize=15, fontweight="bold")
    if has_none:
        note = "▽ no failure seen: below, with 97.5 %"
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
        axes.text(0.01, 0.015, note, transform=axes.transAxes, color=GREY, fontsize=11, bbox=box)
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


def _shapes(codecs: list[Codec]) -> list[Codec]:
    """One code for each length and parity."""
    return list({(codec.length, codec.dimension): codec for codec in codecs}.values())


def _bch(axes: Axes, codec: Codec) -> None:
    """What a BCH code of the same length and parity would do with a hard read."""
    import numpy as np

    low, high = axes.get_xlim()
    bottom, _ = axes.get_ylim()
    rates = np.geomspace(low, high, 160)
    failures = [bch_failure(float(rate), codec.bch) for rate in rates]
    shown = [(r, f) for r, f in zip(rates, failures, strict=True) if f > bottom / 10]
    label = f"BCH of equal parity, t = {codec.bch.t}"
    x, y = [rate for rate, _ in shown], [failure for _, failure in shown]
    axes.plot(x, y, color=GREY, linestyle=(0, (5, 2)), linewidth=1.6, label=label, zorder=2)


def _capacities(axes: Axes, result: Curve) -> None:
    """Where no code of the rate works any more, by soft levels; once for codes of one rate."""
    left, right = axes.get_xlim()
    drawn: set[tuple[int, float]] = set()
    last = 0.0
    for (_, levels), limit in sorted(result.limits.items(), key=lambda item: item[1]):
        if (levels, limit) in drawn:
            continue
        drawn.add((levels, limit))
        colour = _LEVELS[levels]
        axes.axvline(limit, color=colour, linestyle=":", linewidth=1.6, zorder=1)
        if limit < last * (right / left) ** 0.04:
            # No room for the word; the colour says it.
            continue
        last = limit
        axes.text(
            limit,
            0.03,
            "capacity ",
            transform=axes.get_xaxis_transform(),
            color=colour,
            rotation=90,
            ha="right",
            va="bottom",
        )


def _plain_ticks(axes: Axes) -> None:
    """Rates as numbers that a person says, as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    steps = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high / low < 12 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps if high / low < 100 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
