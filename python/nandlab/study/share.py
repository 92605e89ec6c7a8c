"""Shares of a study: which points each of several processes does, and who may work in a folder.

Every process of an array is started with its number and how many there are; nothing is exchanged
between them but files in the study's folder. Points are dealt by their place in the design, so that
every process finds its share by itself.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from nandlab.given.refusal import refusal
from nandlab.study.points import Design, Point

SHARES = "shares.json"
"""File in the folder of a study: of which study and of how many the shares at work are."""

_LOCK, _TURN = "lock", "lock.turn"
_MOST = 100_000


class Share(NamedTuple):
    """One of several shares of a study."""

    number: int
    """From 1 on."""
    of: int

    @classmethod
    def parse(cls, place: str, text: object) -> Share:
        """The share that ``I/N`` names.

        Raises:
            NandlabError: it names none.
        """
        expected = f"I/N: share I, 1 to N, of N, at most {_MOST:,}, such as 2/8"
        shape = r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*"
        found = re.fullmatch(shape, text) if isinstance(text, str) else None
        if found is None:
            raise refusal(place, f"`{text}`", expected)
        share = cls(int(found[1]), int(found[2]))
        if not 1 <= share.of <= _MOST:
            raise refusal(place, f"`{text}`: {share.of} shares", expected)
        if not 1 <= share.number <= share.of:
            hint = "count an array's tasks from 1" if share.number == 0 else ""
            problem = f"`{text}`: no share {share.number} of {share.of}"
            raise refusal(place, problem, expected, hint=hint)
        return share

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def work_folder(self, folder: Path) -> Path:
        """Folder of the share's own preconditioned drives, in that of the study."""
        return folder / "shares" / str(self.number)

    def groups(self, design: Design) -> Iterator[Iterator[Point]]:
        """The share's points, in groups of points that have one drive.

        Groups are dealt one by one; where there are fewer groups than shares, each share has one
        group, and the shares of a group deal its points. So a share prepares few drives.
        """
        total = sum(1 for _ in design.filled())
        for number, group in enumerate(design.filled()):
            if total >= self.of:
                if number % self.of == self.number - 1:
                    yield group
            elif (self.number - 1) % total == number:
                dealers = len(range(number, self.of, total))
                yield islice(group, (self.number - 1) // total, None, dealers)


def fingerprint(design: Design, about: object) -> str:
    """Hash of all points of a design, and of what else the study says."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for group in design.groups():
        for point in group:
            found.update(json.dumps(point, sort_keys=True, default=str).encode())
    return found.hexdigest()[:32]


class Lock:
    """The right to add rows to a study's folder: of one process, or of one for each share."""

    def __init__(self, folder: Path, share: Share | None = None, study: str = "") -> None:
        """Of the folder of a `study`, by its fingerprint where it is for a share."""
        self._folder, self._share, self._study = folder, share, study
        self._held: list[IO[bytes]] = []

    def take(self) -> IO[bytes]:
        """Takes it, and returns the file that names the process.

        Raises:
            NandlabError: another process has it.
            OSError: the folder cannot be written.
        """
        try:
            if self._share is None:
                file = self._open(_LOCK)
                if not _lock(file):
                    problem = f"another process works on the study in {self._folder}"
                    raise refusal("out", problem, hint="wait for it, or choose another folder")
                return file
            with turn(self._folder):
                return self._take_share(self._share)
        except BaseException:
            self.give_back()
            raise

    def _take_share(self, share: Share) -> IO[bytes]:
        both = self._open(_LOCK)
        told = {"study": self._study, "shares": share.of}
        file = self._folder / SHARES
        if _lock(both):
            # Nobody else is at work: what stood there is of an earlier start.
            file.write_text(json.dumps(told), encoding="utf-8")
            _lock(both, is_shared=True)
        elif not _lock(both, is_shared=True):
            problem = f"a sweep without --share works on the study in {self._folder}"
            raise refusal("share", problem, hint="wait for it, or choose another folder")
        else:
            self._compare(told, json.loads(file.read_text(encoding="utf-8")))
        own = self._open(f"{_LOCK}.{share.number}")
        if not _lock(own):
            problem = f"another process does share {share} of the study in {self._folder}"
            raise refusal("share", problem, hint="wait for it, or start another share")
        return own

    def _compare(self, told: dict[str, object], found: dict[str, object]) -> None:
        hint = "choose another folder, or wait for them"
        if told["study"] != found["study"]:
            problem = f"shares of another study are at work in {self._folder}"
            raise refusal("share", problem, hint=hint)
        if told["shares"] != found["shares"]:
            problem = f"{self._share}, and shares of {found['shares']} are at work"
            raise refusal("share", problem, f"a share of {found['shares']}", hint=hint)

    def _open(self, name: str) -> IO[bytes]:
        file = os.fdopen(os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        self._held.append(file)
        return file

    def give_back(self) -> None:
        """Gives it back."""
        for file in reversed(self._held):
            with suppress(OSError):
                file.close()
        self._held.clear()


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """A block that the shares of a study run one after another.

    Raises:
        OSError: the folder cannot be written.
    """
    with os.fdopen(os.open(folder / _TURN, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
        _lock(file, waits=True)
        yield


def _lock(file: IO[bytes], *, is_shared: bool = False, waits: bool = False) -> bool:
    """Whether a file could be locked. Where there are no locks, as on some file systems, it is."""
    try:
        import fcntl
    except ImportError:
        return True
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file.fileno(), kind if waits else kind | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True
