"""Requests of a run as Arrow columns, in memory or streamed to a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.given.inputs import parquet_table
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Replacement, naming

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_GROUP = 1 << 17
"""Rows of a Parquet row group: what is held in memory before it is written."""

COLUMNS = {
    "arrival_ns": ("uint64", "arrival in the host's queue"),
    "start_ns": ("uint64", "start in the drive"),
    "completion_ns": ("uint64", "completion"),
    "latency_ns": ("uint64", "completion - arrival"),
    "op": ("dictionary", "read, write, trim or flush"),
    "job": ("uint16", "index of its job in the report"),
    "offset_bytes": ("uint64", "first byte"),
    "length_bytes": ("uint64", "bytes"),
    "queue_ns": ("uint64", "waiting for dies, buses and decoders"),
    "flash_ns": ("uint64", "in the array"),
    "bus_ns": ("uint64", "on a channel's bus"),
    "ecc_ns": ("uint64", "in a decoder"),
    "failed": ("bool", "data were lost"),
    "measured": ("bool", "counted in the report: completed after the ramp_time of its job"),
}
"""Columns with their type and meaning; the unit is the end of the name."""


def schema(metadata: dict[str, str], columns: Mapping[str, tuple[str, str]] = COLUMNS) -> pa.Schema:
    """The Arrow schema of columns, with facts of the run as its metadata.

    A type with ``?`` may be null.
    """
    import pyarrow as pa

    kinds = {
        "uint64": pa.uint64(),
        "uint64?": pa.uint64(),
        "uint32": pa.uint32(),
        "uint16": pa.uint16(),
        "bool": pa.bool_(),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
    }
    fields = [
        pa.field(name, kinds[kind], nullable="?" in kind, metadata={"meaning": meaning})
        for name, (kind, meaning) in columns.items()
    ]
    return pa.schema(fields, metadata=metadata)


@dataclass(frozen=True)
class RequestFile:
    """The file of a run's requests, with size and time that show whether it was replaced."""

    path: Path
    """Absolute."""
    rows: int
    metadata: dict[bytes, bytes]
    """Facts of the run."""
    size_bytes: int
    mtime_ns: int

    def read(self) -> pa.Table:
        """All rows.

        Raises:
            NandlabError: the file is gone, or it has been written again since.
        """
        hint = "keep the file as the run wrote it, or keep requests in memory with requests=True"
        try:
            now = self.path.stat()
            is_same = (now.st_size, now.st_mtime_ns) == (self.size_bytes, self.mtime_ns)
            table = parquet_table(self.path) if is_same else None
        except OSError as error:
            raise refusal(
                "requests", f"cannot read {self.path}: {error.strerror or error}", hint=hint
            ) from error
        # Times of files are coarse: two short runs may share one.
        if table is None or (table.num_rows, table.schema.metadata) != (self.rows, self.metadata):
            raise refusal("requests", f"{self.path} has changed since this run wrote it", hint=hint)
        return table


class RequestLog:
    """Collects requests as they complete; with a file, memory does not grow.

    If writing fails, the old file stays as it was: the run continues
    without the new one, and `failure` has the reason.
    """

    def __init__(
        self,
        path: Path | None,
        metadata: dict[str, str],
        columns: Mapping[str, tuple[str, str]] = COLUMNS,
    ) -> None:
        """Opens `path` for rows of `columns`, or keeps them in memory without one.

        Raises:
            OSError: the file cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.failure: OSError | None = None
        self._schema, self._columns = schema(metadata, columns), columns
        self._names = pa.array(_core.OPERATIONS)
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._written = 0
        # Whoever reads it may have gone to another folder by then.
        self._path = path.absolute() if path is not None else None
        self._file = self._writer = None
        if path is not None:
            self._file = Replacement(path)
            deltas = [name for name, (kind, _) in columns.items() if kind.startswith("uint64")]
            self._writer = pq.ParquetWriter(
                self._file.file,
                self._schema,
                compression="zstd",
                use_dictionary=["op", "job"],
                column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
            )

    def add(self, columns: dict[str, Any]) -> None:
        """Adds what `Simulation.take_requests` gave."""
        import pyarrow as pa

        if len(columns["op"]) == 0 or self.failure is not None:
            return
        columns["latency_ns"] = columns["completion_ns"] - columns["arrival_ns"]
        columns["offset_bytes"] = columns.pop("offset")
        columns["length_bytes"] = columns.pop("bytes")
        op = pa.DictionaryArray.from_arrays(columns["op"].astype("int8"), self._names)
        columns["op"] = op
        given = [columns[name] for name in self._columns]
        arrays = [one if isinstance(one, pa.Array) else pa.array(one) for one in given]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows += len(op)
        if self._file is not None and self._rows >= ROWS_PER_GROUP:
            with self._leaving(self._file):
                self._write()

    def close(self) -> pa.Table | RequestFile | None:
        """Everything: the rows in memory, or the file that they are in, with the rest written.

        None where the file could not be written.
        """
        if self._writer is None or self._file is None or self._path is None:
            return self._take()
        if self.failure is not None:
            return None
        with self._leaving(self._file):
            self._write()
            self._writer.close()
            self._file.commit()
            now = self._path.stat()
            facts = self._schema.metadata
            return RequestFile(self._path, self._written, facts, now.st_size, now.st_mtime_ns)
        return None

    def discard(self) -> None:
        """Leaves the file as it was before."""
        if self._writer is not None:
            # Else it would write its end when it is forgotten.
            self._writer.is_open = False
        if self._file is not None:
            self._file.discard()

    def _write(self) -> None:
        self._written += self._rows
        table = self._take()
        if self._writer is not None:
            self._writer.write_table(table)

    @contextmanager
    def _leaving(self, file: Replacement) -> Iterator[None]:
        """Leaves the file at the first error of the system."""
        try:
            with naming(file.path):
                yield
        except OSError as error:
            self.failure = error
            self.discard()

    def _take(self) -> pa.Table:
        """The rows in memory; they are removed from it."""
        import pyarrow as pa

        table = pa.Table.from_batches(self._batches, schema=self._schema).combine_chunks()
        self._batches.clear()
        self._rows = 0
        return table
