"""Recordings of served drives: what of them is whole, and what was done besides requests.

A recording is one of fio's I/O logs, which the engine writes. When its server ends, the commands
that the server was given stand below the requests, each as the name of a file that is never opened:
``12500000 nandlab.age=17520 add`` says that 12.5 s after the start 17,520 hours passed at once. A
server that was killed leaves a recording that ends anywhere, without them.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from nandlab.given.refusal import refusal

HEAD = b"fio version 3 iolog\n0 nandlab add\n0 nandlab open\n"
"""How the engine begins one."""

COMMANDS = {
    "age": "ageing of {} hours",
    "cut": "a power cut",
    "restore": "the return of power",
    "exchange": "the exchange of die {}",
    "fail_die": "the failure of die {}",
}
"""Commands in a recording, in words."""

_COMMAND = re.compile(rb"(\d+) nandlab\.(\w+)(?:=(\S+))? add")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 16
_TAIL = 1 << 20
"""Bytes at the end among which the commands are."""


class Command(NamedTuple):
    """Something that was done to a served drive, and no request."""

    now_ns: int
    """Simulated time."""
    name: str
    """One of `COMMANDS`."""
    value: str = ""

    @property
    def line(self) -> str:
        """As it stands in a recording."""
        value = f"={self.value}" if self.value else ""
        # Not before the end of a request that was answered at this moment.
        return f"{-(-self.now_ns // 1000)} nandlab.{self.name}{value} add\n"

    def __str__(self) -> str:
        """For people."""
        what = COMMANDS[self.name].format(self.value)
        return f"{what} at {self.now_ns / 1e9:,.6g} s"


def append(path: Path, commands: Iterable[Command]) -> None:
    """Adds commands to a recording that its server has ended.

    Raises:
        NandlabError: the file cannot be written.
    """
    lines = "".join(command.line for command in commands).encode()
    if not lines:
        return
    try:
        with path.open("rb+") as file:
            packed = _packed(lines, file.read(4))
            file.seek(0, os.SEEK_END)
            file.write(packed)
    except OSError as error:
        raise refusal(f"--record {path}", error) from error


def readable(path: str) -> str:
    """The path that the engine is to read in place of `path`: another one where it ends early."""
    return str(_looked_at(path, *_state(path)).readable)


def notes(path: str, unrepeated: Mapping[Command, str] = MappingProxyType({})) -> list[str]:
    """What a user must know of this trace; empty unless it is such a recording.

    Args:
        path: of the trace.
        unrepeated: commands that its replay has not repeated, each with the reason.
    """
    found, told = _looked_at(path, *_state(path)), []
    if repeated := [command for command in found.commands if command not in unrepeated]:
        done = "; ".join(map(str, repeated))
        told.append(f"{path}: the recording has commands, which a replay repeats: {done}")
    for command, reason in unrepeated.items():
        told.append(f"{path}: this replay has not repeated {command}: {reason}")
    if found.is_cut_off:
        told.append(
            f"{path}: the recording ends early (its server was killed, or still runs): it is read "
            f"up to its last whole line. Commands that the server was given are not in it"
        )
    return told


def commands_in(path: str | PathLike[str]) -> list[Command]:
    """The commands that a recording has, in their order; none of other traces."""
    name = os.fspath(path)
    return list(_looked_at(name, *_state(name)).commands)


class _Found(NamedTuple):
    readable: Path
    is_cut_off: bool = False
    commands: tuple[Command, ...] = ()


def _state(path: str) -> tuple[int, int]:
    """A file that is written on is another one."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size


@cache
def _looked_at(path: str, _mtime_ns: int, _size: int) -> _Found:
    """A trace as it is; errors of its file are for the engine to tell."""
    try:
        if not Path(path).is_file():
            return _Found(Path(path))
        pieces = _pieces(path)
        head = b""
        while len(head) < len(HEAD) and (piece := next(pieces, b"")):
            head += piece
        if not head.startswith(HEAD):
            return _Found(Path(path))
        tail, is_broken = _tail(path, head, pieces)
    except (OSError, ValueError):
        return _Found(Path(path))
    lines = tail.splitlines()
    commands = tuple(_commands(lines))
    ends = [line for line in lines if not _COMMAND.fullmatch(line)]
    if not is_broken and tail.endswith(b"\n") and ends[-1].endswith(b" nandlab close"):
        return _Found(Path(path), commands=commands)
    return _Found(_whole_lines(path), is_cut_off=True)


def _commands(lines: Iterable[bytes]) -> Iterator[Command]:
    for line in lines:
        if (found := _COMMAND.fullmatch(line)) and found[2].decode() in COMMANDS:
            value = (found[3] or b"").decode(errors="replace")
            yield Command(int(found[1]) * 1000, found[2].decode(), value)


def _tail(path: str, head: bytes, pieces: Iterator[bytes]) -> tuple[bytes, bool]:
    """The last bytes, and whether what compresses them breaks off."""
    if not _is_packed(path):
        with Path(path).open("rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL))
            return file.read(), False
    tail, read = head, 0
    try:
        for piece in pieces:
            tail = tail[-_TAIL:] + piece
            read += len(piece)
    except _CutOffError:
        return tail, True
    return tail, False


class _CutOffError(OSError):
    """Compressed data that end early."""


def _is_packed(path: str) -> bool:
    with Path(path).open("rb") as file:
        first = file.read(4)
    return first == _ZSTD or first.startswith(_GZIP)


def _pieces(path: str) -> Iterator[bytes]:
    """The text of a trace, up to the last byte that can be had of it.

    Raises:
        _CutOffError: after that, where compressed data end early.
    """
    read, size = 0, _PIECE
    with _opened(path) as file:
        while True:
            try:
                piece = file.read(size)
            except (OSError, EOFError):
                break
            if not piece:
                return
            read += len(piece)
            yield piece
    # What broke off took the last piece with it: here it comes byte by byte.
    with _opened(path) as file:
        while read and (passed := file.read(min(read, _PIECE))):
            read -= len(passed)
        while True:
            try:
                piece = file.read(1)
            except (OSError, EOFError):
                raise _CutOffError(path) from None
            yield piece


def _opened(path: str) -> IO[bytes] | Any:
    import pyarrow as pa

    with Path(path).open("rb") as file:
        first = file.read(4)
    if first == _ZSTD or first.startswith(_GZIP):
        kind = "zstd" if first == _ZSTD else "gzip"
        return pa.CompressedInputStream(pa.OSFile(path), kind)
    return Path(path).open("rb")


def _packed(lines: bytes, first: bytes) -> bytes:
    """Lines as they go behind a file with these first bytes."""
    if first == _ZSTD:
        import pyarrow as pa

        packed: bytes = pa.Codec("zstd").compress(lines, asbytes=True)
        return packed
    return gzip.compress(lines) if first.startswith(_GZIP) else lines


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """For whole parts of recordings; it goes with the process."""
    return tempfile.TemporaryDirectory(prefix="nandlab-")


def _whole_lines(path: str) -> Path:
    """A new file with the lines of a trace that are whole."""
    number, new = tempfile.mkstemp(suffix=".iolog", dir=_folder().name)
    rest = b""
    with os.fdopen(number, "wb") as file:
        try:
            for piece in _pieces(path):
                whole, end, rest = (rest + piece).rpartition(b"\n")
                file.write(whole + end)
        except _CutOffError:
            pass
    return Path(new)
