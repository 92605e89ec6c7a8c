"""Rows of measurements: collected, written to a file, read back, continued.

A file is .parquet (with the facts of the run as metadata) or .csv.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.given.inputs import parquet_table
from nandlab.given.outputs import check_kind
from nandlab.given.refusal import refusal
from nandlab.given.replacement import replacing

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = (".parquet", ".csv")
"""What rows are written as."""


SAVE_S = 10.0
"""Rows go to their file this often, so that nothing can take more of them away."""


SAVE_SHARE = 0.05
"""Of the time, that saving may take at most."""


class Rows:
    """Rows of a measurement: first those of the file that it continues, then its own."""

    def __init__(self, facts: dict[str, str], run_hash: str) -> None:
        self._facts = {**facts, "run_hash": run_hash}
        self._hash = run_hash
        self._rows: list[dict[str, int | float | str]] = []
        self._before: pa.Table | None = None
        self._begin = 0
        self.steps_done = 0
        """Whole steps that the rows are of."""

    def take_up(self, path: Path, session: _core.Board) -> None:
        """Continues after the rows of a file: repeats its last step and compares the rows."""
        known = read(path)
        if known.num_rows == 0:
            return
        for name in ("step", "run_hash"):
            if (count := known.column_names.count(name)) != 1:
                raise refusal(
                    path,
                    f"{count or 'no'} columns {name}",
                    "one such column, as `nandlab board` writes it",
                )
        steps = [_step(path, row, step) for row, step in enumerate(values_of(known["step"]), 1)]
        last = max(steps)
        if any(run_hash != self._hash for run_hash in values_of(known["run_hash"])):
            self._refuse(path, "they are rows of another run")
        if last >= session.steps() or steps != sorted(steps):
            self._refuse(path, f"step {last} of {session.steps()}")
        rows_of = Counter(steps)
        # Only the last step may be short of rows; it is compared row by row.
        whole = max(rows_of.values())
        for step in range(last):
            if rows_of[step] != whole:
                self._refuse(path, f"step {step} has {rows_of[step]} of {whole} rows")
        session.begin_at(last)
        again: list[dict[str, Any]] = []
        while (done := session.advance()) is not None:
            step, found = done
            if step == last:
                again = found
                break
        fresh = self._typed(again)
        if known.column_names != fresh.column_names:
            self._refuse(path, "other columns")
        try:
            known = known.cast(fresh.schema)
        except ValueError:
            self._refuse(path, "columns of other types")
        first = steps.index(last)
        if known.slice(first).to_pylist() != fresh.to_pylist():
            self._refuse(path, f"step {last} gives different rows")
        self._before = known
        self.steps_done = last + 1
        self._begin = last + 1

    def _refuse(self, path: Path, what: str) -> None:
        raise refusal(
            path,
            f"cannot be resumed: {what}",
            "rows of the same procedure, chip, parameters, seed and version",
        )

    def add(self, step: int, found: list[dict[str, int | float | str]]) -> None:
        """Keeps the rows of a step, unless they are there already."""
        if step >= self._begin:
            self._rows += found
            self.steps_done = step + 1

    def _typed(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        import pyarrow as pa

        names = list(rows[0]) if rows else ["step"]
        columns = {name: [row[name] for row in rows] for name in names}
        kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
        fields = [(name, kinds[type(rows[0][name])] if rows else pa.int64()) for name in names]
        columns["run_hash"] = [self._hash] * len(rows)
        fields.append(("run_hash", pa.string()))
        return pa.table(columns, schema=pa.schema(fields))

    def table(self) -> pa.Table:
        """All rows with the facts of the run."""
        import pyarrow as pa

        parts = [] if self._before is None else [self._before]
        if self._rows or not parts:
            parts.append(self._typed(self._rows))
        return pa.concat_tables(parts).replace_schema_metadata(self._facts)


def _step(path: Path, row: int, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise refusal(
            path,
            f"row {row}, column step: `{('' if value is None else value)}`: not a whole number",
            "rows of `nandlab board`",
        ) from None


class Saver:
    """Writes rows at intervals, so seldom that writing takes little of the time."""

    def __init__(self, path: Path, rows: Rows) -> None:
        self._path = path
        self._rows = rows
        self._due = monotonic() + SAVE_S

    def tell(self) -> None:
        """Writes the rows after a step, when the next write is due."""
        begin = monotonic()
        if begin < self._due:
            return
        # What fails now may not fail at the end, which tells of it.
        with suppress(OSError):
            write(self._rows.table(), self._path)
        end = monotonic()
        self._due = end + max(SAVE_S, (end - begin) / SAVE_SHARE)


def write(table: pa.Table, path: Path) -> None:
    """Writes rows to a file. An existing file is replaced when the new one is complete."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    check_kind("out", path, KINDS)
    with replacing(path) as file:
        if path.suffix.lower() == ".csv":
            csv.write_csv(table, file)
        else:
            pq.write_table(table, file, compression="zstd")


def column_names(place: object, table: pa.Table) -> list[str]:
    """The names of a table's columns.

    Raises:
        NandlabError: one is no text, as in a damaged file.
    """
    try:
        return list(table.column_names)
    except UnicodeDecodeError as error:
        raise refusal(place, "a column name that is not text", "names in UTF-8") from error


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """A column as Python's values; of a kind that Python has none for, the name of the kind.

    That name is refused as any other text where a number belongs, and does no harm elsewhere.
    """
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError):
        return [str(column.type)] * len(column)


def read(path: Path) -> pa.Table:
    """Reads rows back; of a CSV all as text, because 00 and 11 are no numbers.

    Raises:
        NandlabError: the file is neither.
        OSError: it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        if path.suffix.lower() != ".csv":
            table = parquet_table(path)
            column_names(path, table)
            return table
        with path.open(encoding="utf-8") as file:
            names = [name.strip().strip('"') for name in file.readline().split(",")]
        kinds = csv.ConvertOptions(column_types={name: pa.string() for name in names})
        options = csv.ReadOptions(use_threads=False)
        return csv.read_csv(path, options, convert_options=kinds)
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        # A broken page is an OSError without a number; those of the system have one.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise refusal(path, f"not a table: {str(error).splitlines()[0]}") from error
