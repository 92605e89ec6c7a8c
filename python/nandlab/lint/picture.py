"""Picture of the two settings of a check: bars of the figures that differ."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.display.picture import COLOURS, GREY, check_kind, finish, headline, panels_of, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nandlab.compare.comparison import Comparison
    from nandlab.lint.check import Check

_LONGEST = 16
"""Characters of a line below a bar."""

_ASSUMED, _INSTEAD = GREY, COLOURS["read"]


def plot_pair(check: Check, comparison: Comparison, path: Path | None = None) -> Figure:
    """A panel for each figure of the pair, also written to `path`.

    Raises:
        NandlabError: another kind of file.
        OSError: it cannot be written.
    """
    if path is not None:
        check_kind(path)
    rows = {row["figure"]: row for row in comparison.rows()}
    shown = [rows[name] for name in check.pair.figures if name in rows]
    count = max(len(shown), 1)
    figure, panels = panels_of(count, (max(3.1, 4.2 / count), 3.6), count)
    for axes, row in zip(panels, shown, strict=True):
        values = [row["base"] or 0.0, row["value"] or 0.0]
        names = [textwrap.fill(name, _LONGEST) for name in comparison.names]
        bars = axes.bar(names, values, color=[_ASSUMED, _INSTEAD], width=0.6)
        axes.bar_label(bars, [quantity.rate(value) for value in values], padding=3)
        axes.set_ylim(0, 1.15 * max(*values, 1e-12))
        axes.set_yticks([])
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
        finish(axes, row["figure"].replace("(us)", "(µs)"))
        axes.grid(visible=False)
    headline(figure, f"{check.code} {check.title}", 13)
    if path is not None:
        save(figure, path)
    return figure
