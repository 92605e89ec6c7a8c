"""Picture of a life: latency, write amplification, wear and UBER over what the host has written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.display.picture import COLOURS, GREY, headline, panels_of, save
from nandlab.display.style import letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nandlab.life.result import Life

_SHADES = ("p50", "p99", "p99_9", "p99_99")
_STYLES = ("-", "--", "-.", ":")


def plot_life(life: Life, path: Path | None = None) -> Figure:
    """Four panels over the terabytes written; the year of each stands at the top."""
    figure, axes = panels_of(4, (5.0, 3.6), 2)
    tb = [window.tb_written for window in life.windows]
    _latencies(axes[0], life, tb)
    _amplification(axes[1], life, tb)
    _wear(axes[2], life, tb)
    _errors(axes[3], life, tb)
    for one in axes:
        one.set_xlabel("written by the host (TB)")
        one.grid(alpha=0.3)
        one.spines[["top", "right"]].set_visible(False)
    how = f"{life.tbw:,.4g} TB in {life.years:.3g} years, end: {life.end}"
    headline(figure, f"{life.facts.drive}: {how}", 12)
    if path is not None:
        save(figure, path)
    return figure


def _latencies(axes: Axes, life: Life, tb: list[float]) -> None:
    for op in ("read", "write"):
        for key, style in zip(_SHADES, _STYLES, strict=True):
            values = [getattr(window, f"{op}_us_{key}") for window in life.windows]
            if any(value is not None for value in values):
                label = f"{op} {key.replace('_', '.')}"
                axes.plot(tb, _shown(values), style, color=COLOURS[op], label=label, marker=".")
    axes.set_yscale("log")
    axes.set_ylabel("latency (µs)")
    axes.legend(
        fontsize=letters(7), frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.17)
    )


def _amplification(axes: Axes, life: Life, tb: list[float]) -> None:
    aged = [window.write_amplification for window in life.windows]
    run = [window.run_write_amplification for window in life.windows]
    axes.plot(tb, _shown(aged), color=COLOURS["write"], marker=".", label="since the window before")
    axes.plot(tb, _shown(run), "--", color=GREY, marker=".", label="of the timed run")
    axes.set_ylabel("write amplification")
    axes.set_ylim(bottom=0)
    _legend(axes)


def _wear(axes: Axes, life: Life, tb: list[float]) -> None:
    windows = life.windows
    low, high = [w.pe_cycles_min for w in windows], [w.pe_cycles_max for w in windows]
    axes.fill_between(tb, low, high, color=COLOURS["read"], alpha=0.25, label="least to most")
    mean = [window.pe_cycles_mean for window in windows]
    axes.plot(tb, mean, color=COLOURS["read"], marker=".", label="mean")
    axes.set_ylabel("P/E cycles of the blocks in use")
    axes.set_ylim(bottom=0)
    failed = [window.failed_blocks for window in windows]
    if any(failed):
        other = axes.twinx()
        other.plot(tb, failed, color=COLOURS["flush"], marker=".", label="failed blocks")
        other.set_ylabel("failed blocks", color=COLOURS["flush"])
        other.set_ylim(bottom=0)
    _legend(axes)


def _errors(axes: Axes, life: Life, tb: list[float]) -> None:
    uber = [window.uber for window in life.windows]
    of_code = [window.uber_of_code for window in life.windows]
    rber = [window.rber for window in life.windows]
    is_shown = False
    for values, colour, label in (
        (uber, COLOURS["write"], "UBER after the retention time"),
        ([] if of_code == uber else of_code, COLOURS["flush"], "UBER without parity"),
        (rber, COLOURS["read"], "RBER of data read"),
    ):
        positive: list[Any] = [value if value else None for value in values]
        if any(value is not None for value in positive):
            axes.plot(tb, _shown(positive), color=colour, marker=".", label=label)
            is_shown = True
    if not is_shown:
        axes.text(0.5, 0.5, "no bit errors", ha="center", transform=axes.transAxes, color=GREY)
        return
    axes.set_yscale("log")
    if any(uber):
        limit = life.facts.uber
        axes.axhline(limit, color=GREY, linestyle=":", label=f"UBER limit {limit:.0e}")
        axes.set_ylim(max(axes.get_ylim()[0], limit * 1e-15), 1)
    axes.set_ylabel("error rate")
    _legend(axes)


def _shown(values: list[Any]) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=letters(8), frameon=False)
