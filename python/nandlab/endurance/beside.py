"""Error rates of a chip whose array is not its cell: what drives have beside what a cell shows.

A chip that was fitted to measurements keeps the cell of the chip that it was made from. Commands
that simulate that cell say the rates of the array too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.cell.model import Cell
from nandlab.cell.pages import PAGE_TYPES
from nandlab.cell.source import is_of_the_cell, of_tables
from nandlab.endurance.rates import Rates
from nandlab.endurance.uncertain import is_unchanged
from nandlab.fit.facts import WHOLE_CELL, FitFacts, hours_text
from nandlab.fit.law.layers import LAYER_FACTORS


def rates_beside(
    name: str,
    chip: Mapping[str, Any],
    *,
    pe_cycles: int,
    retention_hours: float,
    reads: int,
    temperature_c: float | None = None,
) -> dict[str, float] | None:
    """The rates of a chip's array by page type; None where they are those of its cell.

    A rate is the mean over all layers of a block.

    Args:
        name: of the chip, for errors.
        chip: its tables, with ``array`` and ``cell_bits``.
        pe_cycles: of the block.
        retention_hours: since the data were written.
        reads: of the block since then.
        temperature_c: of the hours; left out, the one that the rates hold for.

    Raises:
        NandlabError: a state beyond the measured points.
    """
    array = chip.get("array")
    if not isinstance(array, Mapping) or is_of_the_cell(array):
        return None
    bits = int(chip["cell_bits"])
    rates, hours = Rates(name, array, bits=bits), retention_hours
    if temperature_c is not None:
        hours = rates.aging(None, None)(hours, temperature_c)
    pages = [(page, hours, reads) for page in range(bits)]
    return dict(zip(PAGE_TYPES[bits], rates.mean(pages, pe_cycles), strict=True))


def by_layer(array: Mapping[str, Any]) -> list[str]:
    """A note about layers of a block whose rates differ by an array model."""
    return Rates("", array).by_layer if LAYER_FACTORS in array else []


def beyond_fit(
    chip: Mapping[str, Any],
    *,
    pe_cycles: float,
    retention_hours: float,
    reads: float = 0,
    temperature_c: float | None = None,
) -> list[str]:
    """Notes where the rates of a fitted chip are asked for more than its data hold.

    Args:
        chip: its tables, with ``array`` and the facts of its fit as ``fit``.
        pe_cycles: of the block.
        retention_hours: since the data were written.
        reads: of the block since then.
        temperature_c: of the hours; left out, the one that the rates hold for.
    """
    if "fit" not in chip:
        return []
    array, notes = chip["array"], list[str]()
    facts, hours = FitFacts.read(chip["fit"], "chip.fit"), retention_hours
    if is_of_the_cell(array):
        if facts.law != WHOLE_CELL:
            return []
        about = of_tables(chip)
        if not is_unchanged(facts, about.effective):
            return []
        if temperature_c is not None:
            hours = Cell(about).equivalent_hours(hours, temperature_c)
    else:
        # Rates of a table end with its points; those changed since are no longer of the fit.
        if facts.law == "table" or not facts.is_of(array):
            return []
        notes += facts.layers_beyond(len(array.get(LAYER_FACTORS, ())))
        if temperature_c is not None:
            hours = Rates("", array).aging(None, None)(hours, temperature_c)
    if not facts.is_beyond(pe_cycles, hours, reads, temperature_c):
        return notes
    of_reads = f", {reads:,.0f} reads" if reads else ""
    return [
        *notes,
        f"error rates at {pe_cycles:,.0f} cycles{of_reads} and {hours_text(hours)} h are"
        f" extrapolations of {facts.title}: {facts.ends()}",
    ]


def in_words(rates: Mapping[str, float]) -> str:
    """Rates for people: one number where all page types have it."""
    told = {name: f"{rate:.3e}" for name, rate in rates.items()}
    if len({*told.values()}) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{name} {rate}" for name, rate in told.items())
