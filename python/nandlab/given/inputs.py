"""Input files: their bytes or text, or a refusal that says why they cannot be read."""

from os import PathLike, fspath
from pathlib import Path

from nandlab.given.refusal import refusal


def input_bytes(path: str | PathLike[str], allowed: str) -> bytes:
    """The bytes of a file.

    Args:
        path: of the file.
        allowed: what may stand in its place, for the message; a hint may follow it.

    Raises:
        NandlabError: it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        problem = f"cannot read `{fspath(path)}`: {error.strerror}"
        raise refusal("", problem, allowed) from error


def input_text(path: str | PathLike[str], allowed: str) -> str:
    """The text of a file, UTF-8 with or without a byte order mark; its lines end as Unix's do.

    Raises:
        NandlabError: it cannot be read, or it is no text.
    """
    try:
        text = input_bytes(path, allowed).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"cannot read `{fspath(path)}`: it is binary, no UTF-8 text"
        raise refusal("", problem, allowed) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
