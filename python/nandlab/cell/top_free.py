"""Code that stores any data without the highest level, and reads them back exactly.

The levels of a cell depend on its pages, programmed one after another. The last page of a wordline
leaves out each cell that its bit could take to the highest level: the bit there is the other one,
and data go on in the next cell. A reader knows these cells from the pages below. To have few of
them, a segment of a lower page is stored inverted where this helps, with a flag that says so.

The cost follows in closed form: `b` bits a cell less the share `q` of cells left out, and less the
flags. Random data without flags have `q = 2 ** (1 - b)`: 1.5 of 2 bits of an MLC cell, which is the
entropy of its levels (1/4, 1/4, 1/2, 0). No code without the highest level stores more than
`log2(2 ** b - 1)`, 1.585 bits. Asymmetric coding (Tanakamaru et al., ISSCC 2011) inverts segments
to have fewer cells at a level; here none is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.uint8]


@dataclass
class TopFree:
    """Coder of the pages of one block, in the order in which they are programmed."""

    words: Sequence[int]
    """Bits of a cell at each level, the lower page in the lowest bit."""
    bits: int
    """Of a cell; at least 2."""
    segment_bits: int
    """Cells of a lower page that share a flag; they divide a page."""
    lines: dict[tuple[int, int], Bits] = field(default_factory=dict)
    """Cells of each wordline that may still become the highest level."""

    def encode(self, site: tuple[int, int, int], cells: int, data: Bits) -> tuple[Bits, Bits, int]:
        """Bits of the page at `site`, its flags, and how many bits of `data` it takes.

        It takes none where `data` do not fill the page.
        """
        import numpy as np

        *line, page = site
        near = self._near(line, cells)
        top = self._top(page)
        none = np.zeros(0, dtype=np.uint8)
        if page + 1 < self.bits:
            if len(data) < cells:
                return none, none, 0
            row = data[:cells].copy()
            segments = (near & (row == top)).reshape(-1, self.segment_bits).sum(axis=1)
            own = near.reshape(-1, self.segment_bits).sum(axis=1)
            flags = (2 * segments > own).astype(np.uint8)
            row ^= np.repeat(flags, self.segment_bits)
            self.lines[line[0], line[1]] = near & (row == top)
            return row, flags, cells
        room = int(cells - near.sum())
        if len(data) < room:
            return none, none, 0
        row = np.full(cells, 1 - top, dtype=np.uint8)
        row[~near] = data[:room]
        return row, none, room

    def decode(self, site: tuple[int, int, int], row: Bits, flags: Bits) -> Bits:
        """Data of the page at `site`, after the pages below it."""
        import numpy as np

        *line, page = site
        near = self._near(line, len(row))
        if page + 1 == self.bits:
            return row[~near]
        self.lines[line[0], line[1]] = near & (row == self._top(page))
        return row ^ np.repeat(flags, self.segment_bits)

    def _near(self, line: list[int], cells: int) -> NDArray[np.bool_]:
        import numpy as np

        near = self.lines.get((line[0], line[1]))
        return np.ones(cells, dtype=np.bool_) if near is None else near.astype(np.bool_)

    def _top(self, page: int) -> int:
        """Bit of a page in the highest level."""
        return self.words[-1] >> page & 1
