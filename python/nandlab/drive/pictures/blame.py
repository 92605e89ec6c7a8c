"""Picture of what requests waited for: stacked bars by operation and percentile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.display.picture import GREY, finish, legend_below, new_figure, save
from nandlab.display.style import letters
from nandlab.drive.blame import BANDS, plural

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.drive.blame import Blame, Explanation

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#F0E442", "#444444"),
)
"""Colours of the causes that matter most, from the palette of Okabe and Ito; the rest is grey."""

LEAST_REQUESTS = 10
"""Bars of fewer requests are not drawn."""


def plot_blame(blame: Blame, path: Path | None) -> Figure:
    """Shares of the mean latency by cause, of the requests from each percentile on.

    Raises:
        OSError: `path` cannot be written.
    """
    operations = blame.operations()
    rows = {
        op: [row for row in (blame.explain(p, op) for p in BANDS) if row.requests >= LEAST_REQUESTS]
        for op in operations
    }
    rows = {op: found for op, found in rows.items() if found}
    # Where all time has one cause, a picture says no more than the table.
    told = {op: found for op, found in rows.items() if any(map(_is_mixed, found))}
    rows = told or rows
    bars = sum(len(found) for found in rows.values())
    figure = new_figure(8.0, 1.6 + 0.9 * len(rows) + 0.34 * bars)
    ratios = [len(found) + 1.5 for found in rows.values()]
    panels = figure.subplots(max(len(rows), 1), 1, squeeze=False, height_ratios=ratios or [1])
    colours = _colours([row for found in rows.values() for row in found])
    for axes, (op, found) in zip(panels[:, 0], rows.items(), strict=False):
        _draw(axes, found, colours)
        finish(axes, f"{plural(op)}: what the slowest waited for")
    panels[-1, 0].set_xlabel("share of the mean latency (at the right)")
    if rows:
        handles: dict[str, Artist] = {}
        for axes in panels[:, 0]:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        legend_below(figure, list(handles.values()), 10, 4)
    if path is not None:
        save(figure, path)
    return figure


def _colours(rows: list[Explanation]) -> dict[str, str]:
    """A colour for each of the causes that matter most."""
    most: dict[str, float] = {}
    for row in rows:
        for cause, time_us in row.causes_us.items():
            most[cause] = max(most.get(cause, 0.0), time_us / row.mean_us)
    order = sorted(most, key=lambda cause: -most[cause])
    return dict(zip(order, PALETTE, strict=False))


def _draw(axes: Axes, rows: list[Explanation], colours: dict[str, str]) -> None:
    names = [_name(row.percent) for row in rows]
    left = [0.0] * len(rows)
    for cause, colour in colours.items():
        # Requests that take no time have waited for nothing.
        shares = [row.causes_us.get(cause, 0.0) / (row.mean_us or 1.0) for row in rows]
        if any(share > 0 for share in shares):
            axes.barh(names, shares, left=left, color=colour, label=cause, height=0.72)
        left = [at + share for at, share in zip(left, shares, strict=True)]
    rest = [1.0 - at for at in left]
    if any(share > 0.005 for share in rest):
        axes.barh(names, rest, left=left, color=GREY, label="other", height=0.72)
    for index, row in enumerate(rows):
        axes.text(1.01, index, f"{quantity.latency(row.mean_us)}", va="center", fontsize=letters(9))
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")


def _is_mixed(row: Explanation) -> bool:
    return max(row.causes_us.values(), default=0.0) < 0.99 * row.mean_us


def _name(percent: float) -> str:
    return "all" if percent == 0 else f"slowest {100 - percent:.6g} %"
