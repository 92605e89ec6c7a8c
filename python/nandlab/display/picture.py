"""Pictures: their colours, sizes and titles, and the kinds of files that they are written to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.given.refusal import refusal
from nandlab.given.replacement import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"read": "#0072B2", "write": "#D55E00", "trim": "#009E73", "flush": "#CC79A7"}
"""From the palette of Okabe and Ito, told apart by the colour-blind."""


GREY = "#8C8C8C"


TITLE_SHARE = 0.88
"""Share of a figure's width that a title may take, beside the axis label."""


TITLE_SIZES = (15, 10)
"""A title is as large as has room; one that is too long even at its least is wrapped."""


def save(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of its file name.

    Raises:
        NandlabError: no such kind of picture.
        OSError: the file cannot be written.
    """
    check_kind(path)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.lstrip(".").lower(), dpi=150)


def check_kind(path: Path) -> None:
    """Refuses a picture of an unknown kind.

    Raises:
        NandlabError: no such kind of picture.
    """
    kinds = ("png", "svg", "pdf")
    if path.suffix.lstrip(".").lower() not in kinds:
        raise refusal(
            "plot", f"{path}: unknown kind of picture", ", ".join(f".{kind}" for kind in kinds)
        )


def ready_matplotlib() -> None:
    """Imports matplotlib, also where the environment names a backend that it does not know.

    A notebook passes its backend to processes that it starts; pictures are drawn without one.
    """
    if "matplotlib" in sys.modules:
        return
    try:
        import matplotlib
    except ValueError:
        backend = os.environ.pop("MPLBACKEND", None)
        if backend is None:
            raise
        try:
            import matplotlib  # noqa: F401
        finally:
            os.environ["MPLBACKEND"] = backend


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, without a display."""
    ready_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from nandlab.display.figure import Picture

    figure = Picture(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def on_axes(axes: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure of a size in inches.

    Raises:
        NandlabError: it is no axes of matplotlib.
    """
    ready_matplotlib()
    from matplotlib.axes import Axes

    if axes is None:
        return new_figure(width, height).subplots()
    if not isinstance(axes, Axes):
        raise refusal("axes", f"{axes!r}", "one axes of matplotlib, or None")
    return axes


def owner(axes: Axes) -> Figure:
    """The figure that axes are of."""
    figure: Any = axes.get_figure()
    found: Figure = figure
    return found


def finish(axes: Axes, title: str) -> None:
    """The look that all pictures share."""
    figure = owner(axes)
    size, least = TITLE_SIZES
    words = axes.set_title(title, loc="left", fontsize=size, fontweight="bold", pad=10, wrap=False)
    wide = words.get_window_extent().width / figure.bbox.width
    words.set_fontsize(max(least, size * min(1.0, TITLE_SHARE / max(wide, 1e-9))))
    words.set_wrap(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=12)
    axes.xaxis.label.set_fontsize(13)
    axes.yaxis.label.set_fontsize(13)
    legend = axes.get_legend()
    texts = legend.get_texts() if legend is not None else []
    for text in [*texts, *axes.texts]:
        text.set_fontsize(12)


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend below the picture, where it hides nothing, in as many columns as have room."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    # In letters: what the picture has room for, and what stands before and between names.
    columns = min(max(93 // (longest + 9), 1), 5)
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=12,
        columnspacing=1.2,
        handlelength=2.6,
    )
