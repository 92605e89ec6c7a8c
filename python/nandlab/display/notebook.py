"""Notebook display: results as text in a monospaced font, readable on light and dark pages."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDTH = 110
"""Columns of what is shown."""

_PRE = '<pre style="line-height: normal; white-space: pre; overflow-x: auto">{code}</pre>'
"""Without a colour of its own: text has that of the page."""

_COLOURS = {
    "black": (118, 118, 118),
    "red": (222, 66, 66),
    "green": (38, 138, 62),
    "yellow": (168, 108, 12),
    "blue": (48, 122, 214),
    "magenta": (184, 78, 184),
    "cyan": (14, 132, 142),
    "white": (118, 118, 118),
}
"""Colours of medium lightness: they stand out from white and from black."""


class InNotebook:
    """A result that a notebook shows as its `str`, in a monospaced font."""

    def _repr_html_(self) -> str:
        return _PRE.format(code=escape(str(self)))


def text_of(*parts: RenderableType) -> str:
    """Parts of a table as plain text."""
    page = _page()
    page.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in page.export_text().splitlines())


def html_of(*parts: RenderableType) -> str:
    """Parts of a table as HTML, with the colours that they have in a terminal."""
    from rich.terminal_theme import TerminalTheme

    page = _page()
    page.print(*parts, sep="\n")
    every = list(_COLOURS.values())
    theme = TerminalTheme((255, 255, 255), (0, 0, 0), every, every)
    return page.export_html(theme=theme, inline_styles=True, code_format=_PRE)


def _page() -> Console:
    """A console that keeps what is printed, and shows it nowhere."""
    from rich.console import Console

    # In a notebook rich shows whatever a console prints, even into a file: once too often.
    return Console(
        record=True,
        file=StringIO(),
        width=_WIDTH,
        force_terminal=True,
        force_jupyter=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
