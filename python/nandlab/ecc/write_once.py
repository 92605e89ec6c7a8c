"""The write-once code of Rivest and Shamir: two bits in three cells, twice between erases.

In come pages of data and what the cells hold; out come pages of cells and of data.

>>> from nandlab.ecc import write_once
>>> held = write_once.encode([b"old", b"one"])
>>> cells = write_once.encode([b"new", b"two"], held)
>>> write_once.decode(cells)
[b'new', b'two']
"""

from __future__ import annotations

from collections.abc import Sequence

from nandlab import _core
from nandlab.given.arguments import number
from nandlab.given.refusal import refusal

__all__ = ["data_rber", "decode", "encode"]

DATA_PAGES = 2
CELL_PAGES = 3


def encode(data: Sequence[bytes], held: Sequence[bytes] | None = None) -> list[bytes]:
    """Three pages of cells that hold two pages of data.

    Without `held` the cells are erased: the first generation. With it they hold three pages
    of the first one, of which bits only turn from 1 to 0. Data that have not changed keep their
    cells.
    """
    high, low = _pages("data", data, DATA_PAGES)
    cells = None if held is None else _pages("held", held, CELL_PAGES)
    if cells is None:
        return _core.wom_encode((high, low))
    return _core.wom_encode((high, low), (cells[0], cells[1], cells[2]))


def decode(cells: Sequence[bytes]) -> list[bytes]:
    """The two pages of data that three pages of cells hold, whatever their generation."""
    x, y, z = _pages("cells", cells, CELL_PAGES)
    return _core.wom_decode((x, y, z))


def data_rber(rber: float) -> float:
    """Error rate of decoded data, where each cell is wrong with probability `rber`."""
    rber = number("rber", rber)
    if not 0 <= rber <= 1:
        raise refusal("rber", f"{rber:g} is out of range", "0 to 1 (probability)")
    return _core.wom_data_rber(rber)


def _pages(place: str, given: Sequence[bytes], count: int) -> list[bytes]:
    is_pages = isinstance(given, (list, tuple)) and all(
        isinstance(page, (bytes, bytearray, memoryview)) for page in given
    )
    if not is_pages or len(given) != count:
        what = f"{len(given)} of them" if is_pages else type(given).__name__
        raise refusal(place, what, f"{count} pages of bytes, all of one length")
    return [bytes(page) for page in given]
