"""Replacement of a file: written beside it and renamed only when it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

_OPEN_FILES = Path("/proc/self/fd")
"""Where Linux shows open files, also those without a name."""


class Unwritten(OSError):
    """Files of a run or a measurement could not be written. It is complete itself: in `result`.

    `failures` has an error for each file; the message is that of the first.
    """

    def __init__(self, result: Any, failures: Sequence[OSError]) -> None:
        first = failures[0]
        super().__init__(first.errno, first.strerror, first.filename)
        self.result = result
        self.failures = list(failures)


class Replacement:
    """A file before its rename: `commit` renames it, `discard` keeps the old file.

    On Linux it has no name until then, so that nothing is left of it even when the process is
    killed. Terminals, pipes and devices are written to as they are.
    """

    def __init__(self, path: Path, *, is_text: bool = False) -> None:
        """Opens a file that will replace `path`, for bytes or for text.

        Raises:
            OSError: there can be none; names `path`.
        """
        self.path = path
        self._real = Path(os.path.realpath(path))
        self._name: Path | None = None
        self._is_stream = is_stream(path)
        with naming(path):
            number = os.open(path, os.O_WRONLY) if self._is_stream else self._new()
            if not self._is_stream and self._real.exists():
                os.fchmod(number, stat.S_IMODE(self._real.stat().st_mode))
        self.file: IO[Any] = (
            os.fdopen(number, "w", encoding="utf-8") if is_text else os.fdopen(number, "wb")
        )

    def _new(self) -> int:
        flags = getattr(os, "O_TMPFILE", 0)
        if flags and _OPEN_FILES.is_dir():
            # Not every file system knows it.
            with suppress(OSError):
                return os.open(self._real.parent, flags | os.O_RDWR, 0o666)
        self._name = self._beside()
        return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)

    def _beside(self) -> Path:
        """A name that no other process has."""
        return self._real.with_name(f".nandlab-{token_hex(8)}.part")

    def commit(self) -> None:
        """Puts it in its place.

        Raises:
            OSError: the rest cannot be written, or the place cannot be taken; names the file.
        """
        try:
            with naming(self.path):
                self.file.flush()
                if not self._is_stream:
                    if self._name is None:
                        self._give_name()
                    self.file.close()
                    if self._name is not None:
                        os.replace(self._name, self._real)
                        self._name = None
                self.file.close()
        except BaseException:
            self.discard()
            raise

    def _give_name(self) -> None:
        name = self._beside()
        # With a folder's number the link that stands in /proc is followed to the file itself.
        folder = os.open(self._real.parent, os.O_RDONLY)
        try:
            os.link(_OPEN_FILES / str(self.file.fileno()), name.name, dst_dir_fd=folder)
        finally:
            os.close(folder)
        self._name = name

    def discard(self) -> None:
        """Removes it."""
        # What it still holds may fail to be written again.
        with suppress(OSError, ValueError):
            self.file.close()
        if self._name is not None:
            with suppress(OSError):
                self._name.unlink()
            self._name = None


def is_stream(path: Path) -> bool:
    """Whether it is a terminal, a pipe or the like, which is never overwritten."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Makes errors of the system name this file, the one that the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def replacing(path: Path, *, is_text: bool = False) -> Iterator[IO[Any]]:
    """A file for what `path` is to hold, put there when the block ends well.

    If the block fails, the old file stays.

    Raises:
        OSError: it cannot be written; names `path`.
    """
    replacement = Replacement(path, is_text=is_text)
    try:
        with naming(path):
            yield replacement.file
    except BaseException:
        replacement.discard()
        raise
    replacement.commit()


def write_text(path: Path, text: str) -> None:
    """Writes a text to a file, completely or not at all.

    Raises:
        OSError: it cannot be written; names `path`.
    """
    with replacing(path, is_text=True) as file:
        file.write(text)
