"""Table of a comparison: a line for each figure, a column of ratios for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab.display import notebook, quantity
from nandlab.display.label import Label
from nandlab.display.sheet import Cell, Number, Sheet
from nandlab.drive.trust.figures import FEW_BEYOND, FEW_MARK

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from nandlab.compare.comparison import Comparison

_COLOURS = {"better": "green", "worse": "red"}
_MARKS = {"better": " +", "worse": " -", "same": " ="}


def table(comparison: Comparison) -> Table:
    """The table for a terminal."""
    from rich.table import Table

    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("")
    first, *others = comparison.groups
    result.add_column(_title(first.name, len(first.reports)), justify="right", overflow="fold")
    for group in others:
        title = _title(group.name, len(group.reports))
        result.add_column(title, justify="right", overflow="fold")
        result.add_column("ratio", justify="right", no_wrap=True)
    for name, rows in comparison.lines().items():
        cells: list[str | Text] = [_number(rows[0], "base")]
        for row in rows:
            cells += [_number(row, "value"), _ratio(row)]
        result.add_row(name, *cells)
    if _has_few(comparison):
        result.caption, result.caption_justify = FEW_BEYOND, "left"
    return result


def sheet(comparison: Comparison) -> Sheet:
    """The table for a paper: means and ratios with intervals."""
    first, *others = comparison.groups
    columns = [Label("figure"), Label(_title(first.name, len(first.reports)))]
    for group in others:
        columns += [Label(_title(group.name, len(group.reports))), Label("ratio")]
    rows: list[list[Cell]] = []
    for name, every in comparison.lines().items():
        # µ has its place in a paper; figures are named without it.
        cells: list[Cell] = [name.replace("(u", "(µ"), _cell(every[0], "base")]
        for row in every:
            ratio = Number(row["ratio"], row["ratio_low"], row["ratio_high"], is_ratio=True)
            cells += [_cell(row, "value"), ratio]
        rows.append(cells)
    return Sheet(columns, rows, [FEW_BEYOND] if _has_few(comparison) else [])


def _cell(row: dict[str, Any], key: str) -> Number:
    mark = FEW_MARK if row[f"{key}_few_beyond"] else ""
    return Number(row[key], row[f"{key}_low"], row[f"{key}_high"], mark)


def _has_few(comparison: Comparison) -> bool:
    return any(row["base_few_beyond"] or row["value_few_beyond"] for row in comparison.rows())


def text(comparison: Comparison) -> str:
    """The table as text."""
    said = [f"note: {notice}" for notice in comparison.notices()]
    return "\n".join([notebook.text_of(table(comparison)), *said])


def _title(name: str, replicates: int) -> str:
    return name if replicates == 1 else f"{name} ({replicates} runs)"


def _number(row: dict[str, Any], key: str) -> str:
    value: float | None = row[key]
    if value is None:
        return "-"
    mark = FEW_MARK if row[f"{key}_few_beyond"] else ""
    return (quantity.rate(value) if value < 1e6 else f"{value:.4g}") + mark


def _ratio(row: dict[str, Any]) -> Text:
    """A ratio with its interval; the mark says it without colours."""
    from rich.text import Text

    if row["ratio"] is None:
        return Text("-")
    said = f"{row['ratio']:.3f}"
    if row["ratio_low"] is not None:
        said += f" ({row['ratio_low']:.3f} to {row['ratio_high']:.3f})"
    colour = _COLOURS.get(row["verdict"])
    said += _MARKS.get(row["verdict"], "")
    return Text(said, style=colour or "")
