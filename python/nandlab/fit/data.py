"""Measurements of a real chip: CSV, Parquet or tables in, checked columns with units out."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Complex, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from nandlab.board.measurement import Measurement
from nandlab.fit.board import from_board, is_of_board
from nandlab.fit.sweep import Sweep, is_sweep, moved_reference_v, summed
from nandlab.given.inputs import input_bytes, input_text
from nandlab.given.refusal import nearest, refusal

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    Column = NDArray[np.float64]


class Kind(NamedTuple):
    """What a column may hold."""

    meaning: str
    least: float
    most: float
    is_whole: bool


_COUNT = 2.0**63

COLUMNS = {
    "pe_cycles": Kind("program/erase cycles of the block before the read", 0, 2**32 - 1, False),
    "retention_hours": Kind("hours between program and read", 0, 1e9, False),
    "reads": Kind("reads of the block since its erase", 0, 2**32 - 1, False),
    "temperature_c": Kind("degrees Celsius at which the data were kept", -100, 300, False),
    "vth_v": Kind("threshold voltage in volts", -100, 100, False),
    "bits_read": Kind("bits that were read", 1, _COUNT, True),
    "bit_errors": Kind("bits of them that were wrong", 0, _COUNT, True),
    "rber": Kind("raw bit error rate, where there are no counts", 0, 0.5, False),
    "cells": Kind("cells in the bin around vth_v", 0, _COUNT, True),
}
"""Every column that a fit reads. Units stand last in the name."""

SWEPT = {
    "shift_v": COLUMNS["vth_v"],
    "level": Kind("of the cells", 0, 15, True),
    "cells_found": Kind("cells in a step, less what went back", -_COUNT, _COUNT, True),
}
"""What is read of a board's sweep."""

Columns = dict[str, list[object]]


class Frame(Protocol):
    """A table as pandas and polars have it."""

    @property
    def columns(self) -> Iterable[str]:
        """Its names."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """A column by its name."""
        ...


Columnwise: TypeAlias = "Mapping[str, ArrayLike] | pa.Table | pa.RecordBatch | Frame"

Data: TypeAlias = "str | PathLike[str] | Measurement | Columnwise"
"""What measurements are read from."""

LABELS = ("chip", "block", "page", "wordline", "page_type", "note")
"""Columns that may be there; a table reads those that tell pages apart, and their types."""


class Measurements(NamedTuple):
    """Columns of one length."""

    name: str
    columns: dict[str, Column]
    labels: dict[str, list[str]]
    """Columns that are no numbers, as text."""
    lines: Sequence[int]
    """What messages call the rows: those of a file by their lines."""
    sweep: Sweep | None = None
    """Where the histogram is a board's, which has its edges."""

    @property
    def rows(self) -> int:
        """Their length."""
        return len(next(iter(self.columns.values())))

    def need(self, *names: str) -> list[Column]:
        """Columns that must be there.

        Raises:
            NandlabError: one is not.
        """
        for name in names:
            if name not in self.columns:
                raise refusal(
                    self.name,
                    f"no column `{name}` ({COLUMNS[name].meaning})",
                    f"{', '.join(names)}; {self._has()}",
                )
        return [self.columns[name] for name in names]

    def varies(self, name: str) -> bool:
        """Whether a column is there with more than one value."""
        column = self.columns.get(name)
        return column is not None and bool((column != column[0]).any())

    def kept_at(self) -> dict[str, float]:
        """The ``reference_c`` of a law whose hours are those of the rows, where these say one.

        Raises:
            NandlabError: they say several, and such a law has none of its own.
        """
        hours = self.columns.get("retention_hours")
        if hours is None or not (hours > 0).any() or "temperature_c" not in self.columns:
            return {}
        if self.varies("temperature_c"):
            raise refusal(
                self.name,
                "column temperature_c holds several temperatures",
                "one, or retention_law, which knows several",
            )
        return {"reference_c": float(self.columns["temperature_c"][0])}

    def _has(self) -> str:
        return f"it has {', '.join(self.columns)}"


def read_measurements(data: Data, reference_v: float | None = None) -> Measurements:
    """Columns of a file (``.csv`` or ``.parquet``), of a mapping or of a table.

    Args:
        data: the file, what a board has found, or one sequence or array of shape (rows,) for each
            column: in a mapping, an Arrow table or a data frame. What is masked is missing.
        reference_v: voltage of the reference that a board's sweep has moved; left out, that of the
            chip that the file names.

    Raises:
        NandlabError: an unknown column, a value that is no number or out of range: says the row
            and the column; or the file cannot be read.
    """
    if not isinstance(data, str | PathLike):
        name = data.procedure if isinstance(data, Measurement) else "data"
        return _of_table(name, data.table() if isinstance(data, Measurement) else data, reference_v)
    path = Path(data)
    kind = path.suffix.lower()
    if kind == ".parquet":
        return _of_table(str(path), _parquet(path), reference_v)
    if kind != ".csv":
        raise refusal(path, "unknown kind of file", ".csv, .parquet")
    columns, lines = _csv(path)
    return _read(str(path), columns, lines, reference_v)


def _of_table(name: str, table: Any, reference_v: float | None) -> Measurements:
    """Measurements of what has columns; a board's Arrow table says beside them what its chip is."""
    facts: Mapping[bytes, bytes] = {}
    if isinstance(table, Mapping):
        columns = {key: _listed(name, values) for key, values in table.items()}
    elif hasattr(table, "to_pydict"):
        _once(name, table.schema.names)
        columns, facts = table.to_pydict(), table.schema.metadata or {}
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        _once(name, list(table.columns))
        columns = {key: _listed(name, table[key]) for key in table.columns}
    else:
        raise refusal(
            name, type(table).__name__, "the path of a .csv or .parquet file, columns, or a table"
        )
    if reference_v is None and is_sweep(columns):
        reference_v = moved_reference_v(facts)
    return _read(name, columns, _rows(columns), reference_v)


def _listed(name: str, values: Any) -> list[object]:
    """A column as a list; arrays say themselves how, masked ones with None where they are so."""
    try:
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
    except TypeError:
        listed = None
    if not isinstance(listed, list):
        raise refusal(name, "a column that is no list", "a list or an array for each column")
    return listed


def _rows(columns: Columns) -> Sequence[int]:
    """Rows as they are called where they have no lines: from 1."""
    return range(1, 1 + max(map(len, columns.values()), default=0))


def _read(
    name: str, columns: Columns, lines: Sequence[int], reference_v: float | None
) -> Measurements:
    """Columns of measurements, or of a board's sweep."""
    import numpy as np

    if not is_sweep(columns):
        return _checked(name, columns, lines)

    def column(of: str) -> Column:
        rows = zip(lines, columns[of], strict=True)
        place = f"{name}: row {{}}, column {of}"
        return np.array([_number(value, SWEPT[of], place.format(line)) for line, value in rows])

    shift_v, level, found = map(column, SWEPT)
    sweep = summed(name, shift_v, level, found, reference_v)
    middles = (sweep.edges_v[1:] + sweep.edges_v[:-1]) / 2
    histogram = {"vth_v": middles, "cells": sweep.cells}
    return Measurements(name, histogram, {}, range(1, 1 + len(middles)), sweep)


def _parquet(path: Path) -> pa.Table:
    """The table, with the facts that a board has written beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = pa.BufferReader(input_bytes(path, "a Parquet file"))
    try:
        # A list of columns, also where two have one name.
        return pq.ParquetFile(content).read()
    except (pa.ArrowInvalid, OSError) as error:
        said = str(error).split("\n")[0].rpartition(": ")[2]
        raise refusal(path, f"no Parquet: {said}", "a Parquet file") from None


def _csv(path: Path) -> tuple[Columns, list[int]]:
    """Columns of text and the lines of the rows; lines that begin with # are comments."""
    lines = input_text(path, "a CSV file").split("\n")
    numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
    numbered = [(i, line) for i, line in numbered if not line.startswith("#")]
    numbers = [i for i, _ in numbered[1:]]
    reader = csv.reader(line for _, line in numbered)
    rows: list[list[str]] = []
    try:
        rows.extend(reader)
    except csv.Error as error:
        # A field goes on over lines until its quote is closed: it began after the last whole row.
        begun = numbered[len(rows)][0]
        raise refusal(path, f"row {begun}: {error}", "short fields, every quote closed") from None
    if not rows or not rows[0]:
        raise refusal(path, "empty file", "a line of column names, then rows")
    names = [name.strip() for name in rows[0]]
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            raise refusal(
                path,
                f"row {numbered[0][0]}: columns separated by {called}",
                "commas, and points in decimals",
            )
    for number, row in zip(numbers, rows[1:], strict=False):
        if len(row) != len(names):
            raise refusal(
                path,
                f"row {number}: {len(row)} fields",
                f"{len(names)}, as the column names; decimals have a point",
            )
    _once(str(path), names)
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(names)}, numbers


def _once(name: str, columns: Sequence[str]) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise refusal(name, f"column `{column}` stands twice", "once")


def _checked(name: str, columns: Mapping[str, list[object]], lines: Sequence[int]) -> Measurements:
    """Numbers within their ranges; `lines` is what the rows are called."""
    import numpy as np

    if is_of_board(columns):
        columns, lines = from_board(columns, lines)
    for column in columns:
        if column not in COLUMNS and column not in LABELS:
            raise refusal(
                name,
                f"unknown column `{column}`",
                f"{', '.join((*COLUMNS, *LABELS))}{nearest(column, COLUMNS, 0.5)}",
            )
    kept = {column: values for column, values in columns.items() if column in COLUMNS}
    if not kept or not all(kept.values()):
        raise refusal(name, f"no rows of {', '.join(COLUMNS)}", "at least one")
    labels = {column: columns[column] for column in LABELS if column in columns}
    if len({len(values) for values in (*kept.values(), *labels.values())}) > 1:
        raise refusal(name, "columns of different lengths", "one length")
    found: dict[str, Column] = {}
    for column, values in kept.items():
        kind = COLUMNS[column]
        numbers = np.empty(len(values))
        for i, value in enumerate(values):
            numbers[i] = _number(value, kind, f"{name}: row {lines[i]}, column {column}")
        found[column] = numbers
    texts = {column: [str(value).strip() for value in of] for column, of in labels.items()}
    result = Measurements(name, found, texts, lines)
    if "bit_errors" in found and "bits_read" in found:
        over = found["bit_errors"] > found["bits_read"]
        if over.any():
            i = int(np.argmax(over))
            errors, bits = found["bit_errors"][i], found["bits_read"][i]
            raise refusal(
                name,
                f"row {lines[i]}, column bit_errors: {errors:.0f} errors of {bits:.0f} bits",
                "at most bits_read",
            )
    return result


def _number(value: object, kind: Kind, place: str) -> float:
    try:
        # Numpy's complex numbers give their real part, with a warning.
        if isinstance(value, Complex) and not isinstance(value, Real):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        is_empty = value is None or (isinstance(value, str) and not value)
        shown = "empty" if is_empty else f"`{value}`"
        point = " with a decimal point" if "," in shown else ""
        raise refusal(place, f"{shown}: no number", f"{_range(kind)}{point}") from None
    is_in = math.isfinite(number) and kind.least <= number <= kind.most
    if not is_in or (kind.is_whole and number != int(number)):
        raise refusal(place, f"{value}: out of range", _range(kind))
    return number


def _range(kind: Kind) -> str:
    what = "a whole number" if kind.is_whole else "a number"
    most = "" if kind.most >= _COUNT else f" to {kind.most:g}"
    return f"{what} from {kind.least:g}{most}"
