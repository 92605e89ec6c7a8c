"""Pictures of a run: latency distribution, and throughput over time."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.display.picture import COLOURS, GREY, finish, new_figure, on_axes, owner, save
from nandlab.drive.latency import is_exceeded
from nandlab.given.arguments import as_text, path_or_none
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nandlab.drive.result import Result


PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
"""Ticks of the latency axis."""

MOST_POINTS = 240
"""Points along the time axis; more only make noise of a line."""

LEAST_LAST = 0.5
"""Share of an interval below which the last one is merged with the one before."""

LEAST_REQUESTS = 20
"""A distribution of fewer requests is not drawn."""

MOST_MOVED = 4.0
"""Multiple of the host's highest rate at which the collection curve is cut off."""

STYLES = ("-", "--", ":", "-.")
"""Line styles of the first run on axes, and of the runs after it."""

TIME_LABEL = "simulated time "

TIME_UNITS = {"days": 1 / 86400, "hours": 1 / 3600, "s": 1.0, "ms": 1e3, "µs": 1e6}
"""Factors from seconds."""

WORDS_SHARE = 0.18
"""Share of the height of the latency panel that the label of a dot takes."""


def plot_all(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """Latency distribution above throughput over time, also written to `path`.

    Raises:
        NandlabError: nothing was run, or `path` is of a kind that cannot be drawn.
        OSError: `path` cannot be written.
    """
    if not result.has_begun:
        raise refusal(
            "plot", "Ctrl-C came during preconditioning, nothing was run", "a run that has begun"
        )
    to = path_or_none("plot", path)
    figure = new_figure(8.0, 7.6)
    above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": [1.35, 1.0]})
    plot_latency(result, above)
    plot_throughput(result, below)
    below.set_title("", loc="left")
    if to is not None:
        save(figure, to)
    return figure


def plot_latency(result: Result, axes: Axes | None = None, *, label: str = "") -> Figure:
    """Share of requests above a latency, on logarithmic axes: one curve for each operation.

    Args:
        result: of a run.
        axes: where to draw; runs that are drawn later on the same have other lines.
        label: of the run, in front of the operations in the legend.
    """
    axes = on_axes(axes, 8.0, 4.6)
    earlier = _runs_on(axes)
    every = {op: latency for op in COLOURS if (latency := getattr(result, op)).count > 0}
    shown = {
        op: latency
        for op, latency in every.items()
        if latency.count >= LEAST_REQUESTS and latency.max_us > 0
    }
    most = max((latency.count for latency in shown.values()), default=100)
    marks: list[tuple[str, float, float]] = []
    drawn: list[Artist] = []
    for op, latency in shown.items():
        latency_us, share = latency.exceedance()
        is_main = op in ("read", "write")
        # It starts at the top, and falls off the picture at the greatest latency.
        drawn += axes.step(
            [latency_us[0], *latency_us, latency_us[-1]],
            [1.0, *share, 0.5 / latency.count],
            where="pre",
            color=COLOURS[op],
            linewidth=2.2 if is_main else 1.3,
            linestyle=_style(earlier),
            label=_named(label, f"{op} ({quantity.count(latency.count)})"),
        )
        if is_main:
            backed = [p for p in PERCENTILES[:5] if is_exceeded(latency.count, p)]
            percent = max(backed, default=50.0)
            marks.append((op, percent, latency.percentile(percent)))
    for op, latency in every.items():
        if op not in shown:
            why = "too few to draw" if latency.count < LEAST_REQUESTS else "in no time"
            words = _named(label, f"{op} ({quantity.count(latency.count)}, {why})")
            drawn += axes.plot([], [], color=COLOURS[op], linestyle="none", label=words)
    if not shown and not earlier:
        some = any(latency.count < LEAST_REQUESTS for latency in every.values())
        words = f"fewer than {LEAST_REQUESTS} requests" if some else "no requests that take time"
        words = words if every else "no requests"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", color=GREY)
    limits = axes.get_xlim(), axes.get_ylim()
    axes.set_xscale("log")
    axes.set_yscale("log")
    bottom = min(0.5 / most, 0.02, *([limits[1][0]] if earlier else []))
    axes.set_ylim(bottom, 1.25)
    ticks = [p for p in PERCENTILES if 1 - p / 100 > bottom]
    axes.set_yticks([1 - p / 100 for p in ticks], [f"{p:g} %" for p in ticks])
    axes.yaxis.minorticks_off()
    axes.set_ylabel("requests done within")
    axes.set_xlabel("latency")
    if shown:
        main = [shown[op] for op in ("read", "write") if op in shown] or list(shown.values())
        left = max(min(latency.percentile(0.1) for latency in main) / 1.5, 0.1)
        if earlier:
            right = 1.5 * max(latency.max_us for latency in shown.values())
            axes.set_xlim(min(limits[0][0], left), max(limits[0][1], right))
        else:
            axes.set_xlim(left=left)
    elif not earlier:
        axes.set_xlim(1, 1e3)
    _mark(axes, marks, has_words=not earlier)
    _latency_ticks(axes)
    _tag(drawn, "latency", earlier)
    if axes.get_legend_handles_labels()[0]:
        # Falling curves leave the upper right empty; where they do not, another place is found.
        axes.legend(loc="best", frameon=False)
    finish(axes, _title(axes, result.title, earlier))
    return owner(axes)


def _runs_on(axes: Axes) -> int:
    """How many runs axes hold."""
    return sum("-run-" in (one.get_gid() or "") for one in axes.get_children())


def _tag(drawn: Sequence[Artist], picture: str, earlier: int) -> None:
    """Lets a run be counted by one of its artists."""
    if drawn:
        drawn[0].set_gid(f"{picture}-run-{earlier + 1}")


def _style(earlier: int) -> str:
    """Of the lines of a run after so many others."""
    return STYLES[earlier % len(STYLES)]


def _named(label: str, words: str) -> str:
    """An entry of the legend."""
    label = as_text("label", label)
    return f"{label} {words}" if label else words


def _title(axes: Axes, title: str, earlier: int) -> str:
    """The title, after those of runs already drawn, each once."""
    before = axes.get_title(loc="left").split(", ") if earlier else []
    return ", ".join(dict.fromkeys([*before, title]))


def _mark(axes: Axes, marks: list[tuple[str, float, float]], has_words: bool = True) -> None:
    """Dots on the curves at the highest percentile, to 99.99, that any request exceeds."""
    if not has_words:
        for op, percent, latency_us in marks:
            axes.plot(latency_us, 1 - percent / 100, "o", color=COLOURS[op], markersize=7, zorder=5)
        return
    low, high = axes.get_xlim()
    for op, percent, latency_us in marks:
        share = 1 - percent / 100
        axes.plot(latency_us, share, "o", color=COLOURS[op], markersize=7, zorder=5)
        # A curve only falls: right above a dot and left below it, its words have room.
        greater = [us for name, _, us in marks if (us, name) > (latency_us, op)]
        is_left = any((us / latency_us) < (high / low) ** 0.35 for us in greater)
        axes.annotate(
            f"{op} p{percent:g}\n{quantity.latency(latency_us)}",
            (latency_us, share),
            xytext=(-7, -4) if is_left else (7, 4),
            textcoords="offset points",
            ha="right" if is_left else "left",
            va="top" if is_left else "bottom",
            color=COLOURS[op],
            fontweight="bold",
        )
        if is_left:
            # Room for the words below the dot.
            bottom, top = axes.get_ylim()
            least = (share / top**WORDS_SHARE) ** (1 / (1 - WORDS_SHARE))
            axes.set_ylim(bottom=min(bottom, least))
    if marks:
        # Room for the words right of the last dot.
        last = max(latency_us for _, _, latency_us in marks)
        axes.set_xlim(low, max(high, last * (high / low) ** 0.26))


def plot_throughput(result: Result, axes: Axes | None = None, *, label: str = "") -> Figure:
    """Read and write bandwidth over simulated time; what garbage collection moved, in grey.

    The host's rates set the scale. Where garbage collection goes far beyond, as after
    ``precondition="steady"``, it is cut off, and the legend says how high it goes.

    Args:
        result: of a run.
        axes: where to draw; runs that are drawn later on the same are lines without areas, in the
            units of the first.
        label: of the run, in front of the names in the legend.
    """
    axes = on_axes(axes, 8.0, 3.4)
    earlier = _runs_on(axes)
    series = result.series()
    names = ("read_mb_s", "write_mb_s", "gc_moved_mb_s")
    start, duration, rates = _merged(
        series["time_s"].to_numpy(),
        series["duration_s"].to_numpy(),
        [series[name].to_numpy() for name in names],
    )
    unit = _time_unit(float(start[-1] + duration[-1]) if len(start) else 0.0)
    # Without traffic of the host's, as of trims alone, the scale is that of garbage collection.
    scaling = [rate for rate in rates[:2] if rate.any()] or rates
    host_most = max((rate.max(initial=0.0) for rate in scaling), default=0.0)
    is_slow = host_most < 0.5
    if earlier:
        unit = axes.get_xlabel().removeprefix(TIME_LABEL).strip("()")
        is_slow = axes.get_ylabel() == "kB/s"
    scale, factor = TIME_UNITS[unit], 1e3 if is_slow else 1.0
    edges = [*(start * scale), *((start + duration)[-1:] * scale)]
    read, write, moved = (rate * factor for rate in rates)
    top = MOST_MOVED * host_most * factor
    is_cut = moved.max(initial=0.0) > top
    how_high = f" (to {quantity.rate(moved.max() / factor)} MB/s)" if is_cut else ""
    drawn: list[Artist] = []
    for rate, colour, name, alpha, width in (
        (moved, GREY, f"moved by GC{how_high}", 0.35, 0.0),
        (write, COLOURS["write"], "write", 0.18, 1.8),
        (read, COLOURS["read"], "read", 0.18, 1.8),
    ):
        if not rate.any():
            continue
        words = _named(label, name)
        if earlier:
            style = _style(earlier)
            line = axes.stairs(rate, edges, color=colour, linestyle=style, linewidth=1.8)
            line.set_label(words)
            drawn.append(line)
        else:
            drawn.append(_area(axes, edges, rate, colour, words, alpha, width))
    if edges:
        low, high = axes.get_xlim() if earlier else (edges[0], edges[-1])
        axes.set_xlim(min(low, edges[0]), max(high, edges[-1]))
    axes.set_ylim(bottom=0)
    axes.margins(y=0.12)
    if is_cut:
        axes.set_ylim(top=max(top, axes.get_ylim()[1]) if earlier else top)
    axes.set_xlabel(f"{TIME_LABEL}({unit})")
    axes.set_ylabel("kB/s" if is_slow else "MB/s")
    _tag(drawn, "throughput", earlier)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles[::-1],
            labels[::-1],
            loc="lower right",
            bbox_to_anchor=(1.0, 0.995),
            ncols=3,
            frameon=False,
            borderaxespad=0.2,
        )
    finish(axes, _title(axes, result.title, earlier))
    return owner(axes)


def _area(
    axes: Axes,
    edges: list[float],
    rate: NDArray[np.float64],
    colour: str,
    label: str,
    alpha: float,
    width: float,
) -> Artist:
    from matplotlib.colors import to_rgba

    return axes.stairs(
        rate,
        edges,
        fill=True,
        facecolor=to_rgba(colour, alpha),
        edgecolor=colour if width else "none",
        linewidth=width,
        label=label,
    )


def _merged(
    start: NDArray[np.float64], duration: NDArray[np.float64], rates: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]]:
    """As few intervals as can be drawn: neighbours become one, with their mean rates."""
    import numpy as np

    together = -(-len(start) // MOST_POINTS) or 1
    firsts = np.arange(0, len(start), together)
    if not len(firsts):
        return start, duration, rates
    merged = np.add.reduceat(duration, firsts)
    if len(merged) > 1 and merged[-1] < LEAST_LAST * merged[-2]:
        # The run ended early in it: a few requests over so little time make a spike.
        firsts = firsts[:-1]
        merged = np.add.reduceat(duration, firsts)
    means = [np.add.reduceat(rate * duration, firsts) / merged for rate in rates]
    return start[firsts], merged, means


def _latency_ticks(axes: Axes) -> None:
    """Ticks at 1, 10, 100 of a unit that a person says."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    decades = high / low
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 100 else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: quantity.latency(us)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _time_unit(seconds: float) -> str:
    """A unit in which the number is short."""
    for size, unit in ((172800.0, "days"), (7200.0, "hours"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return unit
    return "µs"
