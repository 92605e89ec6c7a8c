"""What was measured of a cell: error counts and histograms, by the stress before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nandlab.cell.pages import PAGE_TYPES
from nandlab.fit.data import Data, Measurements, read_measurements
from nandlab.fit.mixture import Histogram, histogram
from nandlab.fit.table import PAGE_LABELS
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Places = NDArray[np.int64]

STRESSES = ("pe_cycles", "retention_hours", "temperature_c", "reads")
"""Columns that a cell depends on."""

EVERY_PAGE = -1
"""Page type of rows that pool all of them."""


class Stressed(NamedTuple):
    """Stress before a measurement."""

    pe_cycles: int
    retention_hours: float
    temperature_c: float | None
    """Left out where the data do not say it: then hours are those of the cell's reference."""
    reads: int


class Counts(NamedTuple):
    """Error counts, of one length."""

    place: Places
    """Number of the stress of each row."""
    page_type: Places
    errors: Column
    bits: Column
    pages: int = 0
    """Number of pages, where each row is of one; else 0."""


class Observed(NamedTuple):
    """All measurements of a fit."""

    name: str
    rows: int
    stresses: list[Stressed]
    """Every stress once, rising with cycles."""
    counts: Counts
    histograms: list[tuple[int, Histogram]]
    """Number of the stress, and the cells that were counted after it."""
    columns: Mapping[str, Column]
    """Stress of every row of all tables, of columns that any of them has."""

    def varies(self, name: str) -> bool:
        """Whether the measurements differ in a stress; of temperatures where time has passed."""
        if name == "temperature_c":
            kept = {one.temperature_c for one in self.stresses if one.temperature_c is not None}
            return len(kept) > 1
        column = self.columns.get(name)
        return column is not None and bool((column != column[0]).any())


def observed(
    data: Data | Sequence[Data], cell_bits: int, rename: Mapping[str, str] | None
) -> Observed:
    """Measurements by their stress, of one table or several.

    Raises:
        NandlabError: a table that is neither counts nor histograms, or of another chip.
    """
    import numpy as np

    tables = list(data) if isinstance(data, list | tuple) else [data]
    if not tables:
        raise refusal("fit", "no measurements", "a table of error counts or histograms")
    each = [read_measurements(one, rename=rename, is_part=len(tables) > 1) for one in tables]
    for old, new in (rename or {}).items():
        if not any(new in {*one.columns, *one.labels} for one in each):
            raise refusal("fit", f"rename: no column `{old}` in any table")
    rows = [(table, _stresses(table)) for table in each]
    every = sorted({one for _, of in rows for one in of}, key=_order)
    number = {one: i for i, one in enumerate(every)}
    parts, histograms = [], []
    for table, of in rows:
        place = np.array([number[one] for one in of])
        if "cells" in table.columns:
            histograms += [(int(at), _bins(table, place == at)) for at in np.unique(place)]
        else:
            parts.append(_counts(table, place, cell_bits))
    none = Counts(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
    joined = Counts(
        np.concatenate([one.place for one in (none, *parts)]),
        np.concatenate([one.page_type for one in (none, *parts)]),
        np.concatenate([one.errors for one in (none, *parts)]),
        np.concatenate([one.bits for one in (none, *parts)]),
        max((one.pages for one in parts), default=0) if all(one.pages for one in parts) else 0,
    )
    named = {}
    for name in STRESSES:
        told = [table.columns[name] for table in each if name in table.columns]
        if told:
            # A table without temperatures says nothing of them; of others it has none.
            least = min(column.min() for column in told) if name == "temperature_c" else 0.0
            columns = [table.columns.get(name, np.full(table.rows, least)) for table in each]
            named[name] = np.concatenate(columns)
    names = ", ".join(table.name for table in each)
    return Observed(names, sum(t.rows for t in each), every, joined, histograms, named)


def _stresses(table: Measurements) -> list[Stressed]:
    import numpy as np

    none = np.zeros(table.rows)
    cycles, hours, reads = (
        table.columns.get(name, none) for name in ("pe_cycles", "retention_hours", "reads")
    )
    celsius = table.columns.get("temperature_c")
    if celsius is None and (hours > 0).any():
        kept: list[float | None] = [None] * table.rows
    else:
        found = none if celsius is None else celsius
        kept = [c if h > 0 else None for c, h in zip(found.tolist(), hours, strict=True)]
    return [
        Stressed(round(n), h, c, round(r))
        for n, h, c, r in zip(cycles.tolist(), hours.tolist(), kept, reads.tolist(), strict=True)
    ]


def _order(one: Stressed) -> tuple[float, ...]:
    celsius = -1e9 if one.temperature_c is None else one.temperature_c
    return one.pe_cycles, one.retention_hours, celsius, one.reads


def _bins(table: Measurements, rows: NDArray[np.bool_]) -> Histogram:
    if table.sweep is not None:
        raise refusal(
            table.name,
            "rows of `board vth_sweep` do not say the stress of their block",
            "the columns vth_v and cells, with pe_cycles, retention_hours, temperature_c, reads",
        )
    return histogram(table.only(rows))


def _counts(table: Measurements, place: Places, cell_bits: int) -> Counts:
    import numpy as np

    if "rber" in table.columns:
        raise refusal(
            table.name,
            "column rber: rates have no weight beside histograms",
            "the columns bit_errors and bits_read",
        )
    errors, bits = table.need("bit_errors", "bits_read")
    types = np.full(table.rows, EVERY_PAGE)
    if "page_type" in table.labels:
        names, numbers = table.page_types()
        if len(names) != cell_bits:
            raise refusal(
                table.name,
                f"{len(names)} page types for cells of {cell_bits} bits",
                f"{', '.join(PAGE_TYPES[cell_bits])}, or no column page_type",
            )
        types = np.array(numbers)
    return Counts(place, types, errors, bits, _pages(table))


def _pages(table: Measurements) -> int:
    """Number of pages that the rows are of; 0 where they do not name them."""
    named = [table.labels[name] for name in PAGE_LABELS if name in table.labels]
    if "page_type" not in table.labels or not {"page", "wordline"} & {*table.labels}:
        return 0
    return len({*zip(*named, table.labels["page_type"], strict=True)})
