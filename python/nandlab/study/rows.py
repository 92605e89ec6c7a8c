"""Rows of a study on disk: lines of JSON that are only added, an index of them, a lock.

Every start writes a file of its own in the folder ``rows``. Files of other machines can be put
beside it, or behind a file that is there.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from nandlab.given.refusal import refusal
from nandlab.study.share import Lock, Share
from nandlab.study.work import Row, Values, unpacked, values

ROWS = "rows"
"""Folder of the files."""

_ENDING = ".jsonl"


class Place(NamedTuple):
    """Where a row stands, and what it is worth."""

    file: int
    start: int
    worth: int
    """2 with a result, 1 where it was refused, 0 where the machine failed."""
    has_report: bool


class Rows:
    """The rows in the folder of a study."""

    def __init__(self, folder: Path) -> None:
        """Reads which there are."""
        self.folder = folder
        self.files: list[Path] = []
        self.damaged: list[str] = []
        """Lines that are no rows, by file and line."""
        self._places: dict[bytes, Place] = {}
        self.read()

    def read(self) -> None:
        """Reads the files again.

        Raises:
            NandlabError: a file cannot be read.
        """
        self._places.clear()
        self.damaged.clear()
        self.files = sorted((self.folder / ROWS).glob(f"*{_ENDING}"))
        for index, path in enumerate(self.files):
            for number, start, text in _lines(path):
                self._add(path, number, Place(index, start, 0, False), text)

    def _add(self, path: Path, number: int, place: Place, text: bytes) -> None:
        try:
            row = json.loads(text)
            key = bytes.fromhex(row["id"])
            is_known = isinstance(row["axes"], dict) and isinstance(row["version"], str)
        except (ValueError, KeyError, TypeError):
            is_known = False
        if not is_known:
            self.damaged.append(f"{path.name}:{number}")
            return
        worth = 2 if "values" in row else int(bool(row.get("is_final")))
        place = place._replace(worth=worth, has_report="report" in row)
        old = self._places.get(key)
        # Of equal worth the later one, but never one without a report for one that has it.
        if old is None or (worth, place.has_report) >= (old.worth, old.has_report):
            self._places[key] = place

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, identity: str) -> bool:
        return bytes.fromhex(identity) in self._places

    def worth(self, identity: str) -> int:
        """What the row of a point is worth; -1 without one."""
        place = self._places.get(bytes.fromhex(identity))
        return -1 if place is None else place.worth

    def has_report(self, identity: str) -> bool:
        """Whether the row of a point has its report."""
        return self._places[bytes.fromhex(identity)].has_report

    def ids(self) -> Iterator[str]:
        """Of all rows, in the order of their points' first rows."""
        return (key.hex() for key in self._places)

    def get(self, identities: Iterable[str]) -> Iterator[dict[str, Any] | None]:
        """Rows of points; None where there is none."""
        opened: dict[int, Any] = {}
        try:
            for identity in identities:
                place = self._places.get(bytes.fromhex(identity))
                if place is None:
                    yield None
                    continue
                if place.file not in opened:
                    opened[place.file] = self.files[place.file].open("rb")
                file = opened[place.file]
                file.seek(place.start)
                yield json.loads(file.readline())
        finally:
            for file in opened.values():
                file.close()


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and text of each line that is not empty.

    Raises:
        NandlabError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            start = 0
            for number, text in enumerate(file, 1):
                if not text.isspace():
                    yield number, start, text
                start += len(text)
    except OSError as error:
        raise refusal("", f"cannot read `{path}`: {error.strerror}", "rows of a study") from error


def row_values(row: Mapping[str, Any], wants: tuple[str, ...]) -> Values | None:
    """What a row has for expressions, from its report where needed; None where it cannot tell."""
    known = row.get("values")
    if known is None:
        return None
    few = set(row.get("few_beyond", ())).intersection(wants)
    missing = tuple(text for text in wants if text not in known)
    if not missing:
        return Values({text: known[text] for text in wants}, sorted(few))
    with suppress(KeyError, ValueError, TypeError):
        found = values(unpacked(row["report"]), missing)
        every = {text: found.of[text] if text in found.of else known[text] for text in wants}
        return Values(every, sorted(few.union(found.few_beyond)))
    return None


class Writer:
    """While it is entered, the process that adds rows to a study's folder, or those of a share."""

    def __init__(self, folder: Path, share: Share | None = None, study: str = "") -> None:
        """For one share of a `study`, by its fingerprint, or for all of it."""
        self._folder = folder
        self._is_alone = share is None
        self._lock = Lock(folder, share, study)
        self._file: int | None = None

    def __enter__(self) -> Writer:
        """Takes the lock.

        Raises:
            NandlabError: another process has it.
            OSError: the folder cannot be written.
        """
        (self._folder / ROWS).mkdir(parents=True, exist_ok=True)
        lock = self._lock.take().fileno()
        with suppress(OSError):
            os.ftruncate(lock, 0)
            os.write(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        return self

    def add(self, row: Row) -> None:
        """Adds a row: it is there when this returns.

        Raises:
            OSError: it cannot be written.
        """
        if self._file is None:
            name = f"{time.time_ns():020d}-{socket.gethostname()}-{os.getpid()}{_ENDING}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self._folder / ROWS / name, flags, 0o666)
            # An empty line: behind a file whose last line was cut short, no row is lost.
            os.write(self._file, b"\n")
        text = memoryview(row.line)
        while text:
            text = text[os.write(self._file, text) :]

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.fsync(self._file)
            os.close(self._file)
        elif self._is_alone:
            # Nothing is left of a study that was refused.
            with suppress(OSError):
                (self._folder / ROWS).rmdir()
                (self._folder / "lock").unlink()
                self._folder.rmdir()
        self._lock.give_back()
