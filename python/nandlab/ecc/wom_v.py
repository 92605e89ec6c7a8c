"""WOM-v: a write-once code of voltage levels, `k` bits in a cell of `N`, several times an erase.

In come pages of data and the levels that cells have; out come levels of cells, a byte for each.

>>> from nandlab.ecc.wom_v import WomV
>>> code = WomV(cell_bits=4, data_bits=2)
>>> code.generations, code.bits_per_cell_and_cycle
(5, 10)
>>> held = code.encode([b"old", b"one"])
>>> levels = code.encode([b"new", b"two"], held)
>>> code.decode(levels)
[b'new', b'two']
>>> all(new >= old for old, new in zip(held, levels, strict=True))
True
"""

from __future__ import annotations

from collections.abc import Sequence

from nandlab import _core
from nandlab.given.arguments import number, whole
from nandlab.given.refusal import refusal

__all__ = ["MOST_CELL_BITS", "WomV"]

MOST_CELL_BITS = 6

Bytes = bytes | bytearray | memoryview


class WomV:
    """A code for cells of `cell_bits` bits, of which each generation stores `data_bits`."""

    def __init__(self, cell_bits: int = 4, data_bits: int = 2) -> None:
        self.cell_bits = whole("cell_bits", cell_bits, 2, MOST_CELL_BITS)
        self.data_bits = whole("data_bits", data_bits, 1, self.cell_bits - 1)
        self._code = _core.WomV(self.cell_bits, self.data_bits)

    @property
    def generations(self) -> int:
        """Writes between erases that always fit, whatever the data are."""
        return self._code.generations()

    @property
    def bits_per_cell_and_cycle(self) -> int:
        """Bits of data that a cell takes between two erases; a plain cell takes `cell_bits`."""
        return self.data_bits * self.generations

    @property
    def mean_rise(self) -> float:
        """Levels that a write lifts a cell by on average, where the data are random."""
        return self._code.mean_rise()

    @property
    def values(self) -> list[int]:
        """What each level means, from the lowest on."""
        return self._code.values()

    def encode(self, data: Sequence[Bytes], held: Bytes | None = None) -> bytes:
        """Levels of cells that hold `data`: bit `i` of each of its pages lies in cell `i`.

        `held` has the levels of the cells now; without it they are erased. No level falls.
        """
        is_pages = isinstance(data, (list, tuple)) and all(
            isinstance(page, (bytes, bytearray, memoryview)) for page in data
        )
        if not is_pages:
            raise refusal("data", type(data).__name__, f"{self.data_bits} pages of bytes")
        cells = None if held is None else _levels("held", held)
        return self._code.encode([bytes(page) for page in data], cells)

    def decode(self, levels: Bytes) -> list[bytes]:
        """The pages of data that cells on these levels hold, whatever their generation."""
        return self._code.decode(_levels("levels", levels))

    def data_rber(self, rber: float) -> float:
        """Error rate of data, where plain pages of the cells have `rber` on average.

        Cells are taken to be wrong by one level, which spoils one bit.
        """
        rber = number("rber", rber)
        if not 0 <= rber <= 1:
            raise refusal("rber", f"{rber:g} is out of range", "0 to 1 (probability)")
        return self._code.data_rber(rber)


def _levels(place: str, given: Bytes) -> bytes:
    if not isinstance(given, (bytes, bytearray, memoryview)):
        raise refusal(place, type(given).__name__, "bytes, one for the level of each cell")
    return bytes(given)
