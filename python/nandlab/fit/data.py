"""Measurements of a real chip: CSV, Parquet or tables in, checked columns with units out."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Complex, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from nandlab._core import MOST_LAYERS
from nandlab.board.measurement import Measurement
from nandlab.board.rows import column_names, values_of
from nandlab.cell.pages import PAGE_TYPES
from nandlab.fit.board import from_board, is_of_board
from nandlab.fit.sweep import Sweep, is_sweep, moved_reference_v, summed
from nandlab.given.inputs import input_bytes, input_text, parquet_table
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
    "temperature_c": Kind("storage temperature in degrees Celsius", -100, 300, False),
    "vth_v": Kind("threshold voltage in volts", -100, 100, False),
    "bits_read": Kind("bits that were read", 1, _COUNT, True),
    "bit_errors": Kind("wrong bits among them", 0, _COUNT, True),
    "rber": Kind("raw bit error rate, without counts", 0, 0.5, False),
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

Data: TypeAlias = "str | PathLike[str] | Measurement | Measurements | Columnwise"
"""What measurements are read from."""

LABELS = ("chip", "block", "page", "wordline", "layer", "page_type", "note")
"""Columns that may be there; a table reads those that tell pages apart, and their types."""

_LAYER = Kind("layer of the block, from the one that is programmed first", 0, MOST_LAYERS - 1, True)


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
        kept = self.columns["temperature_c"][hours > 0]
        if (kept != kept[0]).any():
            raise refusal(
                self.name,
                "the column temperature_c has several temperatures",
                hint="use one temperature, or the law power_law or retention_law",
            )
        return {"reference_c": float(kept[0])}

    def page_types(self) -> tuple[tuple[str, ...], list[int]]:
        """The page types in the order of their numbers, and the number of each row.

        Raises:
            NandlabError: the column ``page_type`` is missing, or does not hold those of a cell.
        """
        labels = self.labels.get("page_type", [])
        found = set(labels)
        for names in PAGE_TYPES.values():
            for said in (names, tuple(map(str, range(len(names))))):
                if found == set(said):
                    return names, [said.index(label) for label in labels]
        expected = "; ".join(", ".join(names) for names in PAGE_TYPES.values())
        shown = ", ".join(f"`{label}`" for label in sorted(found)[:6]) or "nothing"
        raise refusal(
            self.name, f"column page_type holds {shown}", f"all of {expected}, or numbers from 0"
        )

    def layers(self) -> list[int]:
        """The layer of each row.

        Raises:
            NandlabError: the column ``layer`` holds something else.
        """
        labels = zip(self.lines, self.labels["layer"], strict=True)
        return [
            int(_number(label, _LAYER, f"{self.name}: row {line}, column layer"))
            for line, label in labels
        ]

    def _has(self) -> str:
        return f"it has {', '.join(self.columns)}"

    def only(self, rows: NDArray[np.bool_]) -> Measurements:
        """Some of the rows."""
        kept = [i for i, is_in in enumerate(rows) if is_in]
        labels = {name: [values[i] for i in kept] for name, values in self.labels.items()}
        columns = {name: column[rows] for name, column in self.columns.items()}
        lines = [self.lines[i] for i in kept]
        return self._replace(columns=columns, labels=labels, lines=lines)


def read_measurements(
    data: Data,
    reference_v: float | None = None,
    rename: Mapping[str, str] | None = None,
    *,
    is_part: bool = False,
) -> Measurements:
    """Columns of a file (``.csv`` or ``.parquet``), of a mapping or of a table.

    Args:
        data: the file, what a board has found, or one sequence or array of shape (rows,) for each
            column: in a mapping, an Arrow table or a data frame. What is masked is missing.
        reference_v: voltage of the reference that a board's sweep has moved; left out, that of the
            chip that the file names.
        rename: names of columns in the data, and their names here.
        is_part: the data are one of several tables, and have some of the renamed columns.

    Raises:
        NandlabError: an unknown column, a value that is not a number or out of range: says the row
            and the column; or the file cannot be read.
    """
    if isinstance(data, Measurements):
        return data
    if not isinstance(data, str | PathLike):
        name = data.procedure if isinstance(data, Measurement) else "data"
        table = data.table() if isinstance(data, Measurement) else data
        return _of_table(name, table, reference_v, rename, is_part=is_part)
    path = Path(data)
    kind = path.suffix.lower()
    if kind == ".parquet":
        return _of_table(str(path), _parquet(path), reference_v, rename, is_part=is_part)
    if kind != ".csv":
        raise refusal(path, "unknown kind of file", ".csv, .parquet")
    columns, lines = _csv(path)
    columns = _renamed(str(path), columns, rename, is_part=is_part)
    return _read(str(path), columns, lines, reference_v)


def _renamed(
    name: str, columns: Columns, names: Mapping[str, str] | None, *, is_part: bool
) -> Columns:
    """The columns under their names here."""
    for old, new in (names or {}).items():
        if old not in columns:
            if is_part:
                continue
            raise refusal(name, f"rename: no column `{old}`", columns, given=old)
        if new in columns and new not in (names or {}):
            raise refusal(name, f"rename: `{old}` to `{new}`, which exists", "a new name")
    renamed = [(names or {}).get(column, column) for column in columns]
    _once(name, renamed)
    return dict(zip(renamed, columns.values(), strict=True))


def _of_table(
    name: str,
    table: Any,
    reference_v: float | None,
    rename: Mapping[str, str] | None,
    *,
    is_part: bool,
) -> Measurements:
    """Measurements of what has columns; a board's Arrow table says beside them what its chip is."""
    facts: Mapping[bytes, bytes] = {}
    if isinstance(table, Mapping):
        columns = {key: _listed(name, values) for key, values in table.items()}
    elif hasattr(table, "to_pydict"):
        names = column_names(name, table)
        _once(name, names)
        columns = {key: values_of(table[key]) for key in names}
        facts = table.schema.metadata or {}
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        _once(name, list(table.columns))
        columns = {key: _listed(name, table[key]) for key in table.columns}
    else:
        raise refusal(
            name,
            type(table).__name__,
            "the path of a .csv or .parquet file, a mapping of columns, or a table",
        )
    columns = _renamed(name, columns, rename, is_part=is_part)
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
        raise refusal(name, "a column that is not a list", "a list or an array for each column")
    return listed


def _rows(columns: Columns) -> Sequence[int]:
    """Numbers of rows without lines: from 1."""
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
    """The table, with the metadata of a board."""
    import pyarrow as pa

    content = pa.BufferReader(input_bytes(path, "a Parquet file"))
    try:
        return parquet_table(content)
    except (pa.ArrowException, OSError, ValueError) as error:
        said = str(error).split("\n")[0].rpartition(": ")[2]
        raise refusal(path, f"not a Parquet file: {said}", "a Parquet file") from None


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
        raise refusal(
            path, f"row {begun}: {error}", "short fields, and every quote closed"
        ) from None
    if not rows or not rows[0]:
        raise refusal(path, "empty file", "a line of column names, then rows")
    names = [name.strip() for name in rows[0]]
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            raise refusal(
                path,
                f"row {numbered[0][0]}: columns separated by {called}",
                "commas between columns, and decimal points",
            )
    for number, row in zip(numbers, rows[1:], strict=False):
        if len(row) != len(names):
            raise refusal(
                path,
                f"row {number}: {len(row)} fields",
                f"{len(names)}, one for each column name",
                hint="write decimals with a point",
            )
    _once(str(path), names)
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(names)}, numbers


def _once(name: str, columns: Sequence[str]) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise refusal(name, f"the column `{column}` occurs twice", hint="keep one of them")


def _checked(name: str, columns: Mapping[str, list[object]], lines: Sequence[int]) -> Measurements:
    """Numbers within their ranges; `lines` are the names of the rows."""
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
        raise refusal(name, f"no rows of {', '.join(COLUMNS)}", "at least one row")
    labels = {column: columns[column] for column in LABELS if column in columns}
    if len({len(values) for values in (*kept.values(), *labels.values())}) > 1:
        raise refusal(name, "columns of different lengths", "columns of one length")
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
    except OverflowError:
        raise refusal(place, f"{value}: out of range", _range(kind)) from None
    except (TypeError, ValueError):
        is_empty = value is None or (isinstance(value, str) and not value)
        shown = "empty" if is_empty else f"`{value}`"
        point = " with a decimal point" if "," in shown else ""
        raise refusal(place, f"{shown}: not a number", f"{_range(kind)}{point}") from None
    is_in = math.isfinite(number) and kind.least <= number <= kind.most
    if not is_in or (kind.is_whole and number != int(number)):
        raise refusal(place, f"{value}: out of range", _range(kind))
    return number


def _range(kind: Kind) -> str:
    what = "a whole number" if kind.is_whole else "a number"
    most = "" if kind.most >= _COUNT else f" to {kind.most:g}"
    return f"{what} from {kind.least:g}{most}"
