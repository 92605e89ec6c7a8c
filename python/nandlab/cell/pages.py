"""Page types of a cell by name or number: ``lower`` is 0, and is programmed first."""

from __future__ import annotations

from nandlab.given.arguments import whole
from nandlab.given.refusal import refusal

PAGE_TYPES = {
    1: ("lower",),
    2: ("lower", "upper"),
    3: ("lower", "middle", "upper"),
    4: ("lower", "middle", "upper", "top"),
}
"""Names of page types by bits of a cell, as the board has them."""

MOST_PAGE_TYPES = 4
"""Page types of cells whose bits nothing says, at most."""


def page_number(place: str, given: object, bits: int) -> int:
    """The number of a page type that an argument holds, by its name or as a number.

    Args:
        place: what messages call it.
        given: what was given; text may hold a number.
        bits: of a cell; 0 where they are not known, and only ``lower`` is a name.

    Raises:
        NandlabError: a cell of so many bits has no such page.
    """
    most = (bits or MOST_PAGE_TYPES) - 1
    names = PAGE_TYPES.get(bits, ("lower",))
    if isinstance(given, str):
        if given in names:
            return names.index(given)
        if not given.strip().isdecimal():
            allowed = f"{', '.join(names)}, or a number of 0 to {most}"
            raise refusal(place, f"unknown page `{given}`", allowed, given=given, names=names)
        given = int(given)
    return whole(place, given, 0, most, f", or {', '.join(names)}")
