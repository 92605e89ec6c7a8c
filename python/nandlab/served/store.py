"""The file of a served drive's bytes: of one server at a time."""

from __future__ import annotations

import os
from pathlib import Path

from nandlab.given.refusal import refusal


class Claim:
    """A hold on the file of a drive's bytes, which the system takes back from a dead process.

    Servers that only read may share a file with each other.
    """

    def __init__(self, path: Path, *, is_shared: bool) -> None:
        self._path, self._is_shared = path, is_shared
        self._file: int | None = None

    def take(self) -> None:
        """Takes hold of the file; nothing if it is held already, or is not there.

        Raises:
            NandlabError: another server has it.
        """
        if self._file is not None or not self._path.is_file():
            return
        try:
            import fcntl
        except ImportError:
            # Windows, where the user must see to it.
            return
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if self._is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise refusal(
                f"--store {self._path}",
                "another server keeps the bytes of its drive in this file",
                hint="name another file, or stop that server",
            ) from None
        except OSError:
            # A file system without locks.
            os.close(file)
            return
        self._file = file

    def release(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
