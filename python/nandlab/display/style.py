"""Styles of pictures: how wide they are, and how large their letters, on a screen and in print.

A picture is drawn as for a screen, on paper of another width, and then made smaller or larger as a
whole: letters, lines and gaps keep their proportions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal


class Style(NamedTuple):
    """A style."""

    summary: str
    width_in: float | None = None
    """Width of every picture as written, in inches; None where each has its own."""
    scale: float = 1.0
    """Of letters and lines, to those on a screen."""
    dots_per_inch: int = 150

    def drawn_size(self, width: float, height: float) -> tuple[float, float]:
        """The size at which a picture is drawn that has this size on a screen, in inches."""
        if self.width_in is None:
            return width, height
        drawn = self.width_in / self.scale
        # What is narrower has longer legends below it.
        return drawn, height * min(drawn / width, 1.0) ** 0.5


_PRINT_SCALE = 7 / 12
"""Letters of 12 and 13 points on a screen have 7 and 7.6 points in print."""

STYLES = {
    "screen": Style("most pictures 8 inches wide"),
    "print": Style(
        "one column of a paper, 3.4 inches, letters of 7 points", 3.4, _PRINT_SCALE, 300
    ),
    "print-wide": Style("both columns, 7 inches, letters of 7 points", 7.0, _PRINT_SCALE, 300),
}
"""Styles by name."""

_LEAST_LETTERS = 6.0
"""Points of the smallest letters in print."""

_current: ContextVar[Style] = ContextVar("style", default=STYLES["screen"])


def current() -> Style:
    """The style that pictures are drawn in."""
    return _current.get()


def letters(size: float) -> float:
    """A size of letters on a screen that can be read in the current style, in points."""
    style = current()
    return size if style.width_in is None else max(size, _LEAST_LETTERS / style.scale)


def check_style(place: str, name: object) -> Style:
    """The style of a name.

    Raises:
        NandlabError: there is none.
    """
    if not isinstance(name, str) or name not in STYLES:
        raise refusal(place, f"unknown style `{name}`", STYLES, given=str(name))
    return STYLES[name]


@names_checked
@contextmanager
def style(name: str) -> Iterator[None]:
    """While it is entered, pictures are drawn in a style.

    Args:
        name: ``screen``, ``print`` (one column of a paper, 3.4 inches) or ``print-wide`` (both
            columns, 7 inches).

    >>> with nandlab.style("print"):
    ...     result.plot("run.pdf")

    Raises:
        NandlabError: there is no such style.
    """
    before = _current.set(check_style("style", name))
    try:
        yield
    finally:
        _current.reset(before)
