"""Axes of the pictures of runs: ticks of latencies, units of time, several runs on the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.given.arguments import as_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

STYLES = ("-", "--", ":", "-.")
"""Line styles of the first run on axes, and of the runs after it."""

TIME_LABEL = "simulated time "

TIME_UNITS = {"days": 1 / 86400, "hours": 1 / 3600, "s": 1.0, "ms": 1e3, "µs": 1e6}
"""Factors from seconds."""

_LEAST_RANGE = 2.0
"""Greatest over least latency of an axis: a single latency lies in the middle."""

_SUBS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (5.0, (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)),
    (100.0, (1.0, 2.0, 5.0)),
    (float("inf"), (1.0,)),
)
"""Ticks of a decade, by the greatest over the least latency."""


def widened(least: float, greatest: float) -> tuple[float, float]:
    """A range of latencies that is no smaller than an axis needs."""
    lacking = max(_LEAST_RANGE * least / greatest, 1.0) ** 0.5
    return least / lacking, greatest * lacking


def latency_ticks(axis: Axis) -> None:
    """Round latencies on a logarithmic axis, in units that a person says."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = next(subs for range_, subs in _SUBS if high / low < range_)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda us, _: quantity.latency(us)))
    axis.set_minor_formatter(NullFormatter())


def runs_on(axes: Axes) -> int:
    """How many runs axes hold."""
    return sum("-run-" in (one.get_gid() or "") for one in axes.get_children())


def tag(drawn: Sequence[Artist], picture: str, earlier: int) -> None:
    """Lets a run be counted by one of its artists."""
    if drawn:
        drawn[0].set_gid(f"{picture}-run-{earlier + 1}")


def line_style(earlier: int) -> str:
    """Of the lines of a run after so many others."""
    return STYLES[earlier % len(STYLES)]


def named(label: str, words: str) -> str:
    """An entry of the legend."""
    label = as_text("label", label)
    return f"{label} {words}" if label else words


def joint_title(axes: Axes, title: str, earlier: int) -> str:
    """The title, after those of runs already drawn, each once."""
    before = axes.get_title(loc="left").split(", ") if earlier else []
    return ", ".join(dict.fromkeys([*before, title]))


def time_unit(seconds: float) -> str:
    """A unit in which the number is short."""
    for size, unit in ((172800.0, "days"), (7200.0, "hours"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return unit
    return "µs"
