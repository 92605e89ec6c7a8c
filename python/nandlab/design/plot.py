"""Picture of an answer: the figure that costs most over the price of drives, and steps of price."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.design.page import axes_text
from nandlab.design.race import FAILED, HOLDS, MISSES, UNDECIDED, Candidate
from nandlab.display.label import label_of
from nandlab.display.picture import COLOURS, GREY, headline, panels_of, save
from nandlab.display.style import letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.design.answer import Answer

_COLOURS = {HOLDS: COLOURS["trim"], MISSES: COLOURS["write"], UNDECIDED: COLOURS["flush"]}

_MARKERS = {HOLDS: "o", MISSES: "x", UNDECIDED: "s"}

_BOUND = "closed form"

_LINES = (*COLOURS.values(), GREY)

_WIDE = 30.0
"""Largest over smallest value from which on an axis is logarithmic."""


def plot_answer(answer: Answer, path: Path | None = None) -> Figure:
    """Two panels: drives by price and dearest figure; price over a change of each limit."""
    figure, (drives, steps) = panels_of(2, (6.0, 4.2), 2)
    name = _dearest(answer)
    _draw_drives(drives, answer, name)
    _draw_steps(steps, answer)
    for axes in (drives, steps):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    best = answer.best
    said = "no drive holds" if best is None else f"price {best.price:.2f}: {axes_text(best)}"
    headline(figure, f"{answer.target.path.stem}: {said}", 12)
    if path is not None:
        save(figure, path)
    return figure


def _dearest(answer: Answer) -> str:
    """The target that costs most; where none does, the one that binds, or is missed most often."""
    if without := answer.without():
        return min(without, key=lambda name: without[name])
    counts = Counter(name for one in answer.tried for name in one.missed)
    known = [name for name, _ in counts.most_common() if name in answer.target.limits]
    return answer.binding or next(iter([*known, *answer.target.limits]))


def _draw_drives(axes: Axes, answer: Answer, name: str) -> None:
    shown: list[float] = []
    for verdict in (MISSES, UNDECIDED, HOLDS):
        group = [one for one in answer.tried if one.verdict == verdict]
        ran = [one for one in group if name in one.figures and one.stage != _BOUND]
        shown += _draw_measured(axes, ran, name, verdict)
        if verdict == MISSES:
            bounded = [one for one in group if name in one.figures and one.stage == _BOUND]
            values = [one.figures[name].mean for one in bounded]
            if values:
                axes.scatter(
                    [one.price for one in bounded],
                    values,
                    marker="v",
                    facecolors="none",
                    edgecolors=_COLOURS[MISSES],
                    label="out by its bound",
                )
            shown += values
    limit = answer.target.limits[name]
    axes.axhline(limit, color=GREY, linestyle=":", label=f"limit {limit:g}")
    looked = {id(one) for one in answer.tried}
    unrun = [one for one in answer.space.candidates if id(one) not in looked]
    others = [one for one in answer.tried if one.verdict == FAILED or name not in one.figures]
    for group, colour, said in ((others, _COLOURS[MISSES], "out before"), (unrun, GREY, "not run")):
        if group:
            axes.plot(
                [one.price for one in group],
                [0.02] * len(group),
                "|",
                color=colour,
                transform=axes.get_xaxis_transform(),
                label=f"{said}: {len(group):,}",
            )
    if answer.best is not None and name in answer.best.figures:
        axes.scatter(
            [answer.best.price],
            [answer.best.figures[name].mean],
            s=160,
            facecolors="none",
            edgecolors="black",
            label="cheapest",
        )
    positive = [value for value in (*shown, limit) if value > 0]
    if positive and max(positive) > _WIDE * min(positive):
        axes.set_yscale("log")
    axes.set_xlabel("price")
    axes.set_ylabel(str(label_of(name)))
    axes.legend(fontsize=letters(8), frameon=False)


def _draw_measured(axes: Axes, ran: list[Candidate], name: str, verdict: str) -> list[float]:
    figures = [one.figures[name] for one in ran]
    if figures:
        below = [one.mean - one.low for one in figures]
        above = [one.high - one.mean for one in figures]
        axes.errorbar(
            [one.price for one in ran],
            [one.mean for one in figures],
            yerr=[below, above],
            fmt=_MARKERS[verdict],
            color=_COLOURS[verdict],
            capsize=2,
            label=verdict,
        )
    return [one.mean for one in figures]


def _draw_steps(axes: Axes, answer: Answer) -> None:
    limits = answer.target.limits
    # A limit of 0 cannot be relaxed by a share of it.
    steps = {name: each for name, each in answer.steps().items() if limits[name]}
    prices = [one.price for one in (answer.best,) if one is not None]
    for colour, (name, found) in zip(_LINES * len(steps), steps.items(), strict=False):
        limit = limits[name]
        changes = [100 * abs(step.limit / limit - 1) for step in found]
        along = [*([0.0] if prices else []), *changes, 1.1 * changes[-1]]
        axes.step(
            along,
            [*prices, *(step.price for step in found), found[-1].price],
            where="post",
            marker=".",
            color=colour,
            label=name,
        )
    axes.set_xlabel("limit relaxed by (%)")
    axes.set_ylabel("price of the cheapest drive")
    if steps:
        axes.margins(y=0.3)
        axes.legend(fontsize=letters(8), frameon=False)
    else:
        said = "no cheaper drive misses one target alone"
        axes.text(0.5, 0.5, said, ha="center", transform=axes.transAxes, color=GREY)
