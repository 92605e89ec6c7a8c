"""Pictures as files: PNG, SVG and PDF in the size of their style."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from nandlab.display.style import Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _png(figure: Figure, style: Style, file: IO[bytes]) -> None:
    dots = style.dots_per_inch
    figure.savefig(file, format="png", dpi=dots * style.scale, pil_kwargs={"dpi": (dots, dots)})


def _svg(figure: Figure, style: Style, file: IO[bytes]) -> None:
    out = io.BytesIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()

    def scaled(found: re.Match[bytes]) -> bytes:
        return b'%s="%.6fpt"' % (found[1], float(found[2]) * style.scale)

    for side in (b"width", b"height"):
        # The first one is of the picture; its `viewBox` says what is drawn.
        text = re.sub(b"(" + side + rb')="([\d.]+)pt"', scaled, text, count=1)
    file.write(text)


@contextmanager
def _at_72_dpi(figure: Figure) -> Iterator[None]:
    """While it is entered, a dot of the figure is a point of a page."""
    before = figure.dpi
    figure.dpi = 72
    try:
        yield
    finally:
        figure.dpi = before


def _pdf(figure: Figure, style: Style, file: IO[bytes]) -> None:
    """As matplotlib does it, on a page that is scaled."""
    import matplotlib
    from matplotlib.backends import backend_mixed, backend_pdf

    mixed: Any = backend_mixed
    points: Any = backend_pdf
    # Journals refuse fonts of type 3.
    with matplotlib.rc_context({"pdf.fonttype": 42}), _at_72_dpi(figure):
        width, height = figure.get_size_inches()
        dots = style.dots_per_inch * style.scale
        pages = points.PdfFile(file)
        try:
            pages.newPage(width * style.scale, height * style.scale)
            pages.output(style.scale, 0, 0, style.scale, 0, 0, points.Op.concat_matrix)
            inner = points.RendererPdf(pages, dots, height, width)
            renderer = mixed.MixedModeRenderer(figure, width, height, dots, inner)
            figure.draw(renderer)
            renderer.finalize()
            pages.finalize()
        finally:
            pages.close()


_SCALED: dict[str, Callable[[Figure, Style, IO[bytes]], None]] = {
    "png": _png,
    "svg": _svg,
    "pdf": _pdf,
}

FORMATS = tuple(_SCALED)
"""Formats of pictures, as the endings of files."""


def write_figure(figure: Figure, style: Style, format: str, file: IO[bytes]) -> None:
    """Writes a figure in one of the `FORMATS`, as large as its style wants it.

    Raises:
        OSError: it cannot be written.
    """
    if style.scale == 1:
        figure.savefig(file, format=format, dpi=style.dots_per_inch)
    else:
        _SCALED[format](figure, style, file)
