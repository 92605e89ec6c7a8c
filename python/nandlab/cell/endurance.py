"""Endurance map of a cell: how many cycles a page can still be corrected after.

The same question that `nandlab.endurance` asks of a chip's error rates, asked of the cell: the
worst page must stay within the bit error rate that ECC and UBER allow after so many hours at a
temperature. The cell knows its own activation energy; retention and temperature together act as
hours at its reference temperature, so one curve over those gives the whole map.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from nandlab.cell.model import MOST_READS, Cell, State
from nandlab.display import quantity
from nandlab.ecc.uber import Ecc, rber_limit
from nandlab.given.arguments import flag, numbers, path_or_none, whole

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Grid = NDArray[np.float64]

RETENTION_HOURS = (1.0, 6.0, 24.0, 72.0, 168.0, 730.0, 2190.0, 8760.0, 26280.0, 87600.0)
"""An hour to ten years."""

TEMPERATURE_C = (25.0, 30.0, 40.0, 55.0, 70.0, 85.0)

T = 300
"""Errors of 34,560 bits: about what LDPC of this rate corrects by hard decision."""

MOST_PE_CYCLES = 10_000_000
"""More are not looked for."""


class EnduranceMap(NamedTuple):
    """Allowed cycles over retention and temperature."""

    cell: Cell
    ecc: Ecc
    uber: float
    rber_limit: float
    """Highest bit error rate that ECC and UBER allow."""
    is_best: bool
    """Whether references stand where each page errs least."""
    retention_hours: list[float]
    temperature_c: list[float]
    pe_cycles: list[list[int]]
    """By temperature, then retention; 0 where not even fresh cells last, `MOST_PE_CYCLES` where
    that many or more do."""
    curve: list[tuple[float, int]]
    """Hours at the cell's reference temperature, rising, and the cycles that last so long."""

    def __repr__(self) -> str:
        over = f"{len(self.temperature_c)} temperatures x {len(self.retention_hours)} retentions"
        return f"<endurance of cell {self.cell.name}: {over}>"

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "ecc": self.ecc._asdict(),
            "uber": self.uber,
            "rber_limit": self.rber_limit,
            "best_references": self.is_best,
            "retention_hours": self.retention_hours,
            "temperature_c": self.temperature_c,
            "pe_cycles": self.pe_cycles,
        }

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Colours and lines of equal endurance, also into `path`."""
        from nandlab.cell.endurance_plot import plot_map

        return plot_map(self, path_or_none("plot", path))


def cell_map(
    cell: Cell,
    *,
    retention_hours: ArrayLike = RETENTION_HOURS,
    temperature_c: ArrayLike = TEMPERATURE_C,
    reads: int = 0,
    t: int = T,
    codeword_bits: int = 34560,
    user_bits: int = 32768,
    uber: float = 1e-15,
    is_best: bool = False,
) -> EnduranceMap:
    """Cycles after which the worst page of a cell still lasts.

    Args:
        cell: which one.
        retention_hours: how long data are kept.
        temperature_c: at which temperatures.
        reads: of the block since it was programmed.
        t: errors that a codeword may hold.
        codeword_bits: with parity.
        user_bits: without.
        uber: uncorrectable bit error rate that is still allowed.
        is_best: references stand where each page errs least, as after a search by the controller.

    Raises:
        NandlabError: a value out of range.
    """
    most = 2**31
    # Of their ranges the code itself speaks.
    bits = whole("cell: codeword_bits", codeword_bits, 0, most)
    own = whole("cell: user_bits", user_bits, 0, most)
    ecc = Ecc(whole("cell: t", t, -most, most), bits, own).check()
    limit = rber_limit(uber, ecc)
    hours = numbers("cell: retention_hours", retention_hours)
    celsius = numbers("cell: temperature_c", temperature_c)
    reads, is_best = whole("cell: reads", reads, 0, MOST_READS), flag("is_best", is_best)
    found: dict[float, int] = {}
    rows = []
    for at_c in celsius:
        row = []
        for age in hours:
            acts = cell.equivalent_hours(age, at_c)
            if acts not in found:
                found[acts] = _last_cycle(cell, acts, reads, limit, is_best=is_best)
            row.append(found[acts])
        rows.append(row)
    curve = sorted(found.items())
    return EnduranceMap(cell, ecc, uber, limit, is_best, hours, celsius, rows, curve)


def cycles_in_short(pe_cycles: int) -> str:
    """Cycles in few characters: exact below 10,000, then three digits; `>` if no end was found."""
    if pe_cycles >= MOST_PE_CYCLES:
        return f"> {quantity.count(MOST_PE_CYCLES)}"
    return f"{pe_cycles:,}" if pe_cycles < 10_000 else quantity.count(pe_cycles)


def _last_cycle(cell: Cell, hours: float, reads: int, limit: float, *, is_best: bool) -> int:
    """The last cycle before the first at which a page is beyond the limit.

    The worst page of every preset errs more often with each cycle until half of its bits are wrong,
    so steps may be long.
    """

    def lasts(pe_cycles: int) -> bool:
        for page in cell.pages:
            state = State(pe_cycles=pe_cycles, hours=hours, reads=reads)
            shifts = cell.best_shifts_v(page.page_type, state) if is_best else ()
            if cell.rber(page.page_type, shifts_v=shifts, **state._asdict()) > limit:
                return False
        return True

    if not lasts(0):
        return 0
    low, high = 0, 256
    while lasts(high):
        if high == MOST_PE_CYCLES:
            return MOST_PE_CYCLES
        low, high = high, min(4 * high, MOST_PE_CYCLES)
    # A thousandth is near enough.
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (middle, high) if lasts(middle) else (low, middle)
    return low
