"""Input files: their bytes, text or table, or an error if they cannot be read."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import pyarrow as pa

MOST_OF_STREAM = 256 << 20
"""Bytes that are read of a pipe or a device, which may be endless."""


def input_bytes(path: str | PathLike[str], expected: str) -> bytes:
    """The bytes of a file.

    Args:
        path: of the file.
        expected: the expected input, for messages.

    Raises:
        NandlabError: it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            if Path(path).is_file():
                return file.read()
            read = file.read(MOST_OF_STREAM + 1)
    except (OSError, ValueError) as error:
        # A name with a zero byte is a ValueError.
        problem = f"cannot read `{fspath(path)}`: {getattr(error, 'strerror', error)}"
        raise refusal("", problem, expected) from error
    if len(read) > MOST_OF_STREAM:
        problem = f"`{fspath(path)}` is longer than {MOST_OF_STREAM >> 20} MiB"
        raise refusal("", problem, expected)
    return read


def input_text(path: str | PathLike[str], expected: str) -> str:
    """The text of a file, UTF-8 with or without a byte order mark; its lines end as Unix's do.

    Raises:
        NandlabError: it cannot be read, or it is no text.
    """
    try:
        text = input_bytes(path, expected).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"cannot read `{fspath(path)}`: it is binary, not UTF-8 text"
        raise refusal("", problem, expected) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parquet_table(source: Path | pa.NativeFile) -> pa.Table:
    """The table in a Parquet file, with its metadata; two columns may have one name.

    Read without Arrow's threads: one that is still starting when the process ends aborts it.

    Raises:
        pyarrow.ArrowException, OSError, ValueError: it is no Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False)
