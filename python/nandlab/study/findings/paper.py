"""Table of a study for a paper: a row for each combination of its axes, means with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nandlab.display.label import Label
from nandlab.display.sheet import KINDS, Cell, Number, Sheet, write_sheet
from nandlab.drive.trust.figures import FEW_BEYOND, FEW_MARK, is_number
from nandlab.study.findings.frame import mean_names
from nandlab.study.given import Given
from nandlab.study.task import canonical

TABLES = (".parquet", *KINDS)
"""Endings of the files that a table of a study is written to."""


def write_means(path: Path, given: Given, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes means over replicates as LaTeX or CSV, by the ending of `path`.

    Raises:
        OSError: it cannot be written.
    """
    write_sheet(path, sheet(given, rows), mean_names(given), rows)


def sheet(given: Given, rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """The table of the means of a study, in their order."""
    columns = [given.label(one.path) for one in given.axes]
    columns += [given.label(one.name) for one in given.columns]
    has_doubts = any(row["doubts"] for row in rows)
    return Sheet(
        [*columns, *([Label("doubts")] if has_doubts else [])],
        [
            [
                *(value_cell(row[one.path]) for one in given.axes),
                *(mean_cell(row, one.name) for one in given.columns),
                *([row["doubts"] or ""] if has_doubts else []),
            ]
            for row in rows
        ],
        [FEW_BEYOND] if any(row["few_beyond"] for row in rows) else [],
    )


def mean_cell(row: Mapping[str, Any], name: str) -> Number:
    """The mean of a column, with its interval and mark."""
    is_of_few = name in (row["few_beyond"] or "").split(", ")
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return Number(row[name], low, high, FEW_MARK if is_of_few else "")


def value_cell(value: Any) -> Cell:
    """A value of an axis."""
    return Number(value, is_given=True) if is_number(value) else value_text(value)


def value_text(value: Any) -> str:
    """A value of an axis in few letters: of files their names, of jobs the first line."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str) and ("/" in value or "\n" in value):
        return Path(value.strip().splitlines()[0]).name
    return value if isinstance(value, str) else canonical(value)
