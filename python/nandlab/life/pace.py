"""Pace of a life: how much the host writes in a day."""

from __future__ import annotations

import re

from nandlab.given.arguments import number
from nandlab.given.refusal import refusal

HOURS_PER_YEAR = 8760.0

_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([kmgtp]?)(i?)b?\s*", re.IGNORECASE)


def bytes_of(place: str, given: object) -> float:
    """A size in bytes: a number, or a text as ``20GB`` or ``64GiB``.

    Raises:
        NandlabError: it is neither, or not above 0.
    """
    if isinstance(given, str):
        found = _SIZE.fullmatch(given)
        if found is None:
            raise refusal(place, repr(given), "a size, as 20GB, 64GiB or 5e10")
        base = 1024 if found[3] else 1000
        size = float(found[1]) * float(base ** " kmgtp".index(found[2].lower() or " "))
    else:
        size = number(place, given)
    if not 0 < size < 1e24:
        raise refusal(place, f"{given!r}: out of range", "more than 0 bytes")
    return size


class Pace:
    """Bytes that the host writes in an hour of calendar time."""

    def __init__(
        self, writes_per_day: str | float | None, dwpd: float | None, capacity_bytes: int
    ) -> None:
        """By a size a day, by drive writes a day, or by the run of each window."""
        if writes_per_day is not None and dwpd is not None:
            raise refusal("life", "writes_per_day and dwpd are both given", hint="give one of them")
        self.given: float | None = None
        """Bytes an hour; None where the run of each window gives the rate."""
        if writes_per_day is not None:
            self.given = bytes_of("writes_per_day", writes_per_day) / 24
        if dwpd is not None:
            each = number("dwpd", dwpd)
            if not 0 < each < 1e6:
                raise refusal("dwpd", f"{each:g}: out of range", "above 0")
            self.given = each * capacity_bytes / 24

    @property
    def said(self) -> str:
        """Where the rate comes from."""
        return "of its runs" if self.given is None else "given"
