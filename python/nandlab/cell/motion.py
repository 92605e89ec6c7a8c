"""Animation of a cell: levels, errors and error rates over cycles, hours or reads.

Frames become a GIF by Pillow, which comes with matplotlib; a page of HTML holds that GIF within
itself. Nothing else is needed to make one or to look at it.
"""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.cell.model import Cell, State
from nandlab.cell.plot import (
    at,
    draw_levels,
    draw_rber,
    end_of,
    legend,
    name_levels,
    points,
    view_of,
)
from nandlab.cell.words import said
from nandlab.display.picture import GREY, finish, new_figure
from nandlab.given.arguments import whole
from nandlab.given.refusal import refusal
from nandlab.given.replacement import replacing, write_text

if TYPE_CHECKING:
    from PIL.Image import Image

KINDS = (".gif", ".html")

FRAME_MS = 120
HELD_MS = 2500
"""How long the last frame stays."""

_DPI = 84
_COLOURS = 64
"""Of a frame: enough for its lines, and a third of the size."""


def check_motion(path: Path, frames: int) -> None:
    """Refuses a moving picture of an unknown kind, or of too few or too many frames.

    Raises:
        NandlabError: it is so.
    """
    if path.suffix.lower() not in KINDS:
        raise refusal("animate", f"{path}: unknown kind of animation", KINDS)
    whole("animate: frames", frames, 2, 400)


def animate(cell: Cell, path: Path, over: str, state: State, frames: int) -> None:
    """Writes a moving picture from a fresh cell to the state's cycles, hours or reads.

    Raises:
        NandlabError: another kind of file, nothing to go over, or too many frames.
        OSError: the file cannot be written.
    """
    check_motion(path, frames)
    images = _frames(cell, over, state, frames)
    lasts = [FRAME_MS] * (len(images) - 1) + [HELD_MS]
    made = io.BytesIO()
    images[0].save(
        made,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=lasts,
        loop=0,
        optimize=True,
    )
    if path.suffix.lower() == ".gif":
        with replacing(path) as file:
            file.write(made.getvalue())
    else:
        write_text(path, _page(cell, over, made.getvalue()))


def _frames(cell: Cell, over: str, state: State, frames: int) -> list[Image]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    end = end_of(cell, over, state)
    values = points(over, end, frames)
    if values[0] > 0:
        values[0] = 0.0
    states = [at(over, state, value) for value in values]
    view = view_of(cell, [states[0], states[len(states) // 2], states[-1]])
    figure = new_figure(8.0, 8.6)
    figure.set_dpi(_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    heights = {"height_ratios": [1.0, 1.15, 0.8]}
    above, below, rates = figure.subplots(3, 1, gridspec_kw=heights)
    handles = draw_rber(cell, over, state, end, rates)
    finish(rates, "")
    rates.legend(
        handles=handles,
        loc="upper left",
        ncols=5,
        frameon=False,
        fontsize=12,
        borderaxespad=0.1,
        columnspacing=1.2,
    )
    low, high = rates.get_ylim()
    rates.set_ylim(low, min(high * (high / low) ** 0.25, 3.0))
    below.set_xlabel("threshold voltage (V)")
    legend(figure)
    images: list[Any] = []
    for value, now in zip(values, states, strict=True):
        drawn = draw_levels(cell, now, view, above)
        drawn += draw_levels(cell, now, view, below, is_logarithmic=True)
        drawn.append(rates.axvline(max(value, rates.get_xlim()[0]), color=GREY, linewidth=3.0))
        # Not the time that is still to come: a frame says where it is.
        finish(above, f"{cell.name} · {said(now, always=over)}")
        finish(below, "")
        name_levels(cell, above)
        canvas.draw()
        if not images:
            # The places of the axes are settled once, or they would tremble.
            figure.set_layout_engine("none")
        rgba = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
        images.append(rgba.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE))
        for artist in [*drawn, *above.texts]:
            artist.remove()
    return images


def _page(cell: Cell, over: str, gif: bytes) -> str:
    """A page of HTML that holds the picture."""
    title = html.escape(f"{cell.name} over {over}")
    data = base64.b64encode(gif).decode("ascii")
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>body{margin:2em auto;max-width:820px;font-family:sans-serif}"
        "img{width:100%}</style></head>\n"
        f"<body><h1>{title}</h1><p>{html.escape(cell.summary)}</p>\n"
        f'<img alt="{title}" src="data:image/gif;base64,{data}"></body></html>\n'
    )
