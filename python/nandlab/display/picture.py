"""Pictures: their colours, sizes and titles, and the kinds of files that they are written to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nandlab.display.style import STYLES, Style, current
from nandlab.display.written import FORMATS, write_figure
from nandlab.given.refusal import refusal
from nandlab.given.replacement import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

COLOURS = {"read": "#0072B2", "write": "#D55E00", "trim": "#009E73", "flush": "#CC79A7"}
"""From the palette of Okabe and Ito, told apart by the colour-blind."""


GREY = "#8C8C8C"


TITLE_SHARE = 0.88
"""Share of a figure's width that a title may take, beside the axis label."""


WHOLE_SHARE = 0.96
"""The same of a title that begins at the edge of the figure."""


_LEAST_SHARE = 0.85
"""Of the width of a panel on a screen, what it needs at least."""


_TALLEST = 0.55
"""Of a panel in print, its height to its width: paper is dear."""


_LEAST_HEIGHT = 2.6
"""Inches that such a panel may have in any case, as drawn."""


_drawn_in: WeakKeyDictionary[Figure, Style] = WeakKeyDictionary()
"""Styles of figures."""


TITLE_SIZES = (15, 10)
"""A title is as large as has room; one that is too long even at its least is wrapped."""


def save(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of its file name, in the size of the style it was drawn in.

    Raises:
        NandlabError: no such kind of picture.
        OSError: the file cannot be written.
    """
    check_kind(path)
    style = _drawn_in.get(figure, STYLES["screen"])
    with replacing(path) as file:
        write_figure(figure, style, path.suffix.lstrip(".").lower(), file)


def check_kind(path: Path) -> None:
    """Refuses a picture of an unknown kind.

    Raises:
        NandlabError: no such kind of picture.
    """
    if path.suffix.lstrip(".").lower() not in FORMATS:
        raise refusal(
            "plot", f"{path}: unknown kind of picture", ", ".join(f".{kind}" for kind in FORMATS)
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
    """An empty figure of a size in inches on a screen, without a display; see `current`."""
    ready_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from nandlab.display.figure import Picture

    style = current()
    size = style.drawn_size(width, height)
    figure = Picture(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    _drawn_in[figure] = style
    return figure


def panels_of(
    count: int, panel: tuple[float, float], across: int, more: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, in lines that are no longer than its style has room for.

    Args:
        count: of panels.
        panel: width and height of one on a screen, in inches.
        across: how many stand side by side on a screen.
        more: height beside that of the panels.
    """
    width, height = panel
    style = current()
    if style.width_in is not None:
        drawn = style.width_in / style.scale
        across = max(min(across, int(drawn / (_LEAST_SHARE * width))), 1)
        width = drawn / across
        height = min(height, max(_TALLEST * width, _LEAST_HEIGHT)) if count > 1 else height
    down = -(-count // across)
    figure = new_figure(width * across, height * down + more)
    lines = figure.subplots(down, across, squeeze=False)
    every = [axes for line in lines for axes in line]
    for unused in every[count:]:
        unused.set_axis_off()
    return figure, every[:count]


def headline(figure: Figure, text: str, size: float = 15) -> None:
    """The title of a figure with panels: smaller where it is long, wrapped where that is no help.

    Args:
        figure: below it.
        text: of the title.
        size: of its letters, in points.
    """
    words = figure.suptitle(text, x=0.02, ha="left", fontsize=size, fontweight="bold", wrap=False)
    _shrunk(figure, words, size, WHOLE_SHARE)


def _shrunk(figure: Figure, words: Text, size: float, room: float) -> None:
    """Makes a title as large as has room, and wraps it where it is too long at its least size."""
    wide = words.get_window_extent().width / figure.bbox.width
    words.set_fontsize(max(TITLE_SIZES[1], size * min(1.0, room / max(wide, 1e-9))))
    words.set_wrap(True)


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
        raise refusal("axes", f"{axes!r}", "one matplotlib axes, or None")
    return axes


def owner(axes: Axes) -> Figure:
    """The figure that axes are of."""
    figure: Any = axes.get_figure()
    found: Figure = figure
    return found


def finish(axes: Axes, title: str) -> None:
    """The look that all pictures share."""
    figure = owner(axes)
    size, _ = TITLE_SIZES
    words = axes.set_title(title, loc="left", fontsize=size, fontweight="bold", pad=10, wrap=False)
    _shrunk(figure, words, size, TITLE_SHARE)
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


_LEGEND_SIZE = 12
"""Points of the letters of a legend."""

_LETTERS_PER_INCH = 93 / 8
"""Of a legend in this size."""


def columns_below(figure: Figure, names: Sequence[str], size: float, most: int) -> int:
    """In how many columns a legend has room below a figure.

    Args:
        figure: as it is.
        names: of the legend.
        size: of its letters, in points.
        most: columns at most.
    """
    # In letters: what the picture has room for, and what stands before and between names.
    room = round(_LETTERS_PER_INCH * _LEGEND_SIZE / size * float(figure.get_size_inches()[0]))
    return min(max(room // (max(map(len, names)) + 9), 1), most)


def legend_below(
    figure: Figure, handles: Sequence[Artist], size: float = _LEGEND_SIZE, most: int = 5
) -> None:
    """A legend below the picture, where it hides nothing, in as many columns as have room."""
    names = [str(handle.get_label()) for handle in handles]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns_below(figure, names, size, most),
        frameon=False,
        fontsize=size,
        columnspacing=1.2,
        handlelength=2.6,
    )
