"""Rows of the test board as measurements to fit; formats: docs/formats/board.md, fit.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nandlab.cell.pages import PAGE_TYPES

NAMES = {"bits": "bits_read", "hours": "retention_hours"}
"""What a fit calls a column of the board."""

KEPT = (
    *("pe_cycles", "retention_hours", "reads", "temperature_c", "bits_read", "bit_errors"),
    *("page_type", "page", "wordline", "layer"),
)
"""What a fit reads of them."""

Columns = Mapping[str, list[object]]


def is_of_board(columns: Columns) -> bool:
    """Whether the test board wrote these columns, which have its `run_hash`."""
    return "run_hash" in columns


def from_board(columns: Columns, lines: Sequence[int]) -> tuple[Columns, Sequence[int]]:
    """The columns that a fit reads, by their names there, and what the rows are called.

    Where the counts of all page types stand in one row, each becomes a row of its own.
    """
    types = [name for name in PAGE_TYPES[4] if {f"{name}_bits", f"{name}_bit_errors"} <= {*columns}]
    named = {NAMES.get(name, name): values for name, values in columns.items()}
    rows = {name: values for name, values in named.items() if name in KEPT}
    if not types:
        return rows, lines
    every = {name: values * len(types) for name, values in rows.items()}
    every["page_type"] = [name for name in types for _ in lines]
    every["bits_read"] = [value for name in types for value in columns[f"{name}_bits"]]
    every["bit_errors"] = [value for name in types for value in columns[f"{name}_bit_errors"]]
    return every, [*lines] * len(types)
