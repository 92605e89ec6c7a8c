"""Output files: checked before a run, so that they can be written after it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nandlab.given.refusal import refusal


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str]) -> None:
    """Makes sure that every output can be written, and that none of them is another file's.

    Args:
        outputs: what is asked for, by its name in messages; None where it is not.
        inputs: files that are read, presets among them where they look like one.

    Raises:
        NandlabError: a folder that does not exist, a file that cannot be written, a file that is
            an input, one file for two outputs, ``-`` (what may go to standard output is None here).
    """
    taken = {os.path.realpath(name): f"the input {name}" for name in inputs}
    for name, path in outputs.items():
        if path is None:
            continue
        if path == Path("-"):
            raise refusal(name, "- is standard output", "a file")
        real = os.path.realpath(path)
        if real in taken and not _is_stream(path):
            raise refusal(name, f"{path} is {taken[real]}", "a file of its own")
        taken[real] = f"also {name}"
        _try(name, path)


def check_kind(name: str, path: Path, kinds: Sequence[str]) -> None:
    """Refuses a table of an unknown kind.

    Args:
        name: what is asked for, as messages call it.
        path: of the output.
        kinds: endings that are known, with their dot.

    Raises:
        NandlabError: its name ends otherwise.
    """
    if path.suffix.lower() not in kinds:
        raise refusal(name, f"{path}: unknown kind of file", kinds)


def check_new(name: str, path: Path, hint: str = "") -> None:
    """Refuses a file that is there already: one that no command would write again.

    Args:
        name: what is asked for, as messages call it.
        path: of the output; terminals and pipes are never there already.
        hint: what else is allowed, as ``, or `resume`, which goes on with it``.

    Raises:
        NandlabError: it exists.
    """
    if path.is_file():
        raise refusal(name, f"{path} exists already", f"a new file{hint}")


def _is_stream(path: Path) -> bool:
    """Whether it is a terminal, a pipe or the like, which is never overwritten."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _try(name: str, path: Path) -> None:
    if not path.parent.is_dir():
        raise refusal(name, f"no folder {path.parent}", "an existing folder")
    if path.is_dir():
        raise refusal(name, f"{path} is a folder", "a file")
    if _is_stream(path):
        return
    is_new = not path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise refusal(name, f"cannot write {path}: {error.strerror}") from error
    if is_new:
        path.unlink()
