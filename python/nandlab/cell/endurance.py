"""Endurance map of a cell: cycles after which its pages can still be corrected.

`nandlab.endurance` has the same answer for a chip whose error rates are those of its cell: both
search in `nandlab.endurance.rates`, with the same errors to correct and the same references. The
worst page must stay within the bit error rate that ECC and UBER allow after so many hours at a
temperature. The cell knows its own activation energy; retention and temperature together act as
hours at its reference temperature, so one curve over those gives the whole map.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from nandlab.cell.model import MOST_READS, Cell
from nandlab.display import quantity
from nandlab.ecc.pages import PageLimit, failures_of
from nandlab.ecc.uber import Ecc, T, rber_limit
from nandlab.endurance.rates import Rates
from nandlab.given.arguments import flag, number, numbers, path_or_none, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Grid = NDArray[np.float64]

RETENTION_HOURS = (1.0, 6.0, 24.0, 72.0, 168.0, 730.0, 2190.0, 8760.0, 26280.0, 87600.0)
"""An hour to ten years."""

TEMPERATURE_C = (25.0, 30.0, 40.0, 55.0, 70.0, 85.0)

MOST_PE_CYCLES = 10_000_000
"""More are not looked for."""


class EnduranceMap(NamedTuple):
    """Allowed cycles over retention and temperature."""

    cell: Cell
    ecc: Ecc
    uber: float
    rber_limit: float
    """Highest bit error rate that ECC and UBER allow, of pages that are alike."""
    """Highest bit error rate that ECC and UBER allow."""
    is_best: bool
    """Whether the references are optimal for each page."""
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


@names_checked
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
    is_best: bool = True,
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
        uber: uncorrectable bit error rate that is accepted at most.
        is_best: optimal references for each page, as after a search by the controller;
            else where the cell's parameters have them.

    Raises:
        NandlabError: a value out of range, or a cell whose chip has other error rates.
    """
    if cell.notes:
        raise refusal(
            "cell",
            f"the cell of {cell.name} does not give its endurance: {cell.notes[0]}",
            hint="use `nandlab endurance`, which uses the chip's array, or name the cell itself",
        )
    most = 2**31
    # Of their ranges the code itself speaks.
    bits = whole("cell: codeword_bits", codeword_bits, 0, most)
    own = whole("cell: user_bits", user_bits, 0, most)
    ecc = Ecc(whole("cell: t", t, -most, most), bits, own).check()
    uber = number("cell: uber", uber)
    limit = PageLimit(failures_of(ecc), uber * ecc.user_bits)
    hours = numbers("cell: retention_hours", retention_hours)
    celsius = numbers("cell: temperature_c", temperature_c)
    reads, is_best = whole("cell: reads", reads, 0, MOST_READS), flag("is_best", is_best)
    rates, found = Rates.of_cell(cell, is_best=is_best), dict[float, int]()
    rows = []
    for at_c in celsius:
        row = []
        for age in hours:
            acts = cell.equivalent_hours(age, at_c)
            if acts not in found:
                pages = [(page.page_type, acts, reads) for page in cell.pages]
                found[acts] = rates.last_cycle(limit, pages, MOST_PE_CYCLES)
            row.append(found[acts])
        rows.append(row)
    curve = sorted(found.items())
    alike = rber_limit(uber, ecc)
    return EnduranceMap(cell, ecc, uber, alike, is_best, hours, celsius, rows, curve)


def cycles_in_short(pe_cycles: int) -> str:
    """Cycles in few characters: exact below 10,000, then three digits; `>` if no end was found."""
    if pe_cycles >= MOST_PE_CYCLES:
        return f"> {quantity.count(MOST_PE_CYCLES)}"
    return f"{pe_cycles:,}" if pe_cycles < 10_000 else quantity.count(pe_cycles)
