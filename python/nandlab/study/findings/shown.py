"""Table of a study for terminals and notebooks: means over replicates, the first rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nandlab.display.notebook import html_of
from nandlab.drive.trust.figures import FEW_BEYOND, FEW_MARK

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nandlab.study.definition import Study

MOST_LINES = 20
"""Lines of the table, where no other number is asked for."""

_MOST_POINTS = 10_000
"""Points of a study whose rows a notebook reads without being asked to."""


def study_html(study: Study) -> str:
    """What a notebook shows of a study: what it is, and the table of what has run."""
    rows = study.means() if len(study) <= _MOST_POINTS else []
    return html_of(repr(study), *(["", *table_of(study, rows)] if rows else []))


def table_of(
    study: Study, rows: Sequence[dict[str, Any]], most: int | None = MOST_LINES
) -> Iterator[RenderableType]:
    """The table of rows of a study, at most so many, and how many more there are.

    Of a front it says what is certain.
    """
    from rich.table import Table

    given = study.given
    table = Table(box=None, pad_edge=False, header_style="bold")
    lines = rows[:most]
    is_front = "is_on_front" in rows[0] if rows else False
    if is_front:
        table.add_column("", justify="right")
    for axis in given.axes:
        table.add_column(str(given.label(axis.path)), overflow="fold")
    for column in given.columns:
        # Names may break over lines, figures may not.
        widest = max((len(_interval(row, column.name)) for row in lines), default=1)
        name = str(given.label(column.name))
        table.add_column(name, justify="right", overflow="fold", min_width=widest)
    has_doubts = any(row["doubts"] for row in rows)
    if has_doubts:
        table.add_column("doubts")
    if is_front:
        table.add_column("front", min_width=5)
        table.add_column("may equal", overflow="fold", min_width=9)
    for row in lines:
        axes = [_text(row[axis.path]) for axis in given.axes]
        figures = [_interval(row, column.name) for column in given.columns]
        cells = [*axes, *figures, *([row["doubts"] or ""] if has_doubts else [])]
        if is_front:
            others = ", ".join(map(str, row["no_sure_advantage_over"]))
            cells = [str(row["number"]), *cells, "yes" if row["is_on_front"] else "maybe", others]
        table.add_row(*cells)
    yield table
    if any(row["few_beyond"] for row in lines):
        yield FEW_BEYOND
    if len(rows) > len(lines):
        more = f"... {len(rows) - len(lines):,} more (--rows all), also in"
        yield f"{more} {study.out / 'results.parquet'}"


def _interval(row: dict[str, Any], name: str) -> str:
    value, low = row[name], row[f"{name}_low"]
    if value is None:
        return "-"
    mark = FEW_MARK if name in (row["few_beyond"] or "").split(", ") else ""
    return (f"{value:.4g}" if low in (None, value) else f"{value:.4g} ± {value - low:.2g}") + mark


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
