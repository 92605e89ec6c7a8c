"""Requests of a run as Arrow columns, in memory or streamed to a Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_GROUP = 1 << 17
"""Rows of a Parquet row group: what is held in memory before it is written."""

COLUMNS = {
    "arrival_ns": ("uint64", "when it arrived in the host's queue"),
    "start_ns": ("uint64", "when the drive took it"),
    "completion_ns": ("uint64", "when it was complete"),
    "latency_ns": ("uint64", "completion - arrival"),
    "op": ("dictionary", "read, write, trim or flush"),
    "job": ("uint16", "place of its job among the report's jobs"),
    "offset_bytes": ("uint64", "first byte"),
    "length_bytes": ("uint64", "bytes"),
    "queue_ns": ("uint64", "waiting for dies, buses and decoders"),
    "flash_ns": ("uint64", "in the array"),
    "bus_ns": ("uint64", "on a channel's bus"),
    "ecc_ns": ("uint64", "in a decoder"),
    "failed": ("bool", "data were lost"),
    "measured": ("bool", "in the report's figures: complete after its job's ramp_time"),
}
"""Columns with their type and meaning; the unit is the end of the name."""


def schema(metadata: dict[str, str]) -> pa.Schema:
    """The Arrow schema, with facts of the run as its metadata."""
    import pyarrow as pa

    kinds = {
        "uint64": pa.uint64(),
        "uint16": pa.uint16(),
        "bool": pa.bool_(),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
    }
    fields = [
        pa.field(name, kinds[kind], nullable=False, metadata={"meaning": meaning})
        for name, (kind, meaning) in COLUMNS.items()
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
        import pyarrow.parquet as pq

        allowed = "the file as its run has left it; requests=True keeps them in memory"
        try:
            now = self.path.stat()
            is_same = (now.st_size, now.st_mtime_ns) == (self.size_bytes, self.mtime_ns)
            table = pq.read_table(self.path) if is_same else None
        except OSError as error:
            raise refusal(
                "requests", f"cannot read {self.path}: {error.strerror or error}", allowed
            ) from error
        # Times of files are coarse: two short runs may share one.
        if table is None or (table.num_rows, table.schema.metadata) != (self.rows, self.metadata):
            raise refusal("requests", f"{self.path} has changed since this run wrote it", allowed)
        return table


class RequestLog:
    """Takes requests as they complete; memory does not grow where there is a file."""

    def __init__(self, path: Path | None, metadata: dict[str, str]) -> None:
        """Opens `path`, or keeps rows in memory without one.

        Raises:
            OSError: the file cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = schema(metadata)
        self._names = pa.array(_core.OPERATIONS)
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._written = 0
        # Whoever reads it may have gone to another folder by then.
        self._path = path.absolute() if path is not None else None
        self._writer = None
        if self._path is not None:
            deltas = [name for name, (kind, _) in COLUMNS.items() if kind == "uint64"]
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression="zstd",
                use_dictionary=["op", "job"],
                column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
            )

    def add(self, columns: dict[str, Any]) -> None:
        """Adds what `Simulation.take_requests` gave."""
        import pyarrow as pa

        if len(columns["op"]) == 0:
            return
        columns["latency_ns"] = columns["completion_ns"] - columns["arrival_ns"]
        columns["offset_bytes"] = columns.pop("offset")
        columns["length_bytes"] = columns.pop("bytes")
        op = pa.DictionaryArray.from_arrays(columns["op"].astype("int8"), self._names)
        arrays = [op if name == "op" else pa.array(columns[name]) for name in COLUMNS]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows += len(op)
        if self._writer is not None and self._rows >= ROWS_PER_GROUP:
            self._write(self._writer)

    def close(self) -> pa.Table | RequestFile:
        """Everything: the rows in memory, or the file that they are in, with the rest written."""
        if self._writer is None or self._path is None:
            return self._take()
        with self._writer:
            self._write(self._writer)
        now = self._path.stat()
        facts = self._schema.metadata
        return RequestFile(self._path, self._written, facts, now.st_size, now.st_mtime_ns)

    def _write(self, writer: pq.ParquetWriter) -> None:
        self._written += self._rows
        writer.write_table(self._take())

    def _take(self) -> pa.Table:
        """The rows in memory; they are removed from it."""
        import pyarrow as pa

        table = pa.Table.from_batches(self._batches, schema=self._schema).combine_chunks()
        self._batches.clear()
        self._rows = 0
        return table
