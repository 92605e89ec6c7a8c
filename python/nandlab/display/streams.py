"""Standard streams: closed streams, narrow encodings, and output without a reader."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from typing import TextIO

_PLAIN = {
    "µ": "u",
    "·": "-",
    "\u00d7": "x",
    "°": " ",
    "…": "...",
    "\u2013": "-",
    "\u2212": "-",
    "→": "->",
    "━": "-",
}
"""What is written where an encoding lacks a letter; a question mark for others."""


def prepare_streams() -> None:
    """Makes standard output and standard error fit for any text, whatever the terminal takes."""
    codecs.register_error("nandlab", _plain)
    if sys.stdout is None:
        # Its number is taken, so that no file gets it, and what is printed fails.
        sys.stdout = _opened(os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _opened(os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="nandlab")


def _opened(flags: int) -> TextIO:
    return open(os.open(os.devnull, flags), "w", encoding="utf-8")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in letters), error.end


def is_reader_gone(error: BaseException) -> bool:
    """Whether standard output broke because its reader has enough, as `head` does."""
    return isinstance(error, BrokenPipeError) and error.filename is None


def is_of_standard_output(error: OSError) -> bool:
    """Whether standard output could not be written: errors of files name their file."""
    kinds = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT)
    return error.filename is None and error.errno in kinds


def drop_standard_output() -> None:
    """Forgets what was printed and could not be written: nothing of it is tried at the exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
