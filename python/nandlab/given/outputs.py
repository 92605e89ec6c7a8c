"""Output files: checked before a run, so that writing them after it succeeds."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nandlab.given.refusal import refusal
from nandlab.given.replacement import Replacement, is_stream


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Checks that every output can be written, and that no other input or output is its file.

    Args:
        outputs: paths by their names in messages; None for outputs not asked for.
        inputs: files that are read, presets among them where they look like one.

    Raises:
        NandlabError: a folder that does not exist, a file that cannot be written, a file that is
            an input, one file for two outputs, ``-`` (what may go to standard output is None here).
    """
    taken = {key: f"the input {name}" for name in inputs for key in _identities(name)}
    for name, path in outputs.items():
        if path is None:
            continue
        if path == Path("-"):
            raise refusal(name, "- is standard output", "a file")
        keys = _identities(path)
        if not is_stream(path):
            for key in keys:
                if key in taken:
                    raise refusal(name, f"{path} is {taken[key]}", "a different file")
        taken |= dict.fromkeys(keys, f"also {name}")
        _try(name, path)


def check_kind(name: str, path: Path, kinds: Sequence[str]) -> None:
    """Refuses a table of an unknown kind.

    Args:
        name: name of the output in messages.
        path: of the output.
        kinds: endings that are known, with their dot.

    Raises:
        NandlabError: its name ends otherwise.
    """
    if path.suffix.lower() not in kinds:
        raise refusal(name, f"{path}: unknown kind of file", kinds)


def check_new(name: str, path: Path, other: str = "") -> None:
    """Refuses a file that is there already: one that no command would write again.

    Args:
        name: name of the output in messages.
        path: of the output; terminals and pipes are never there already.
        other: further choice in the message, such as ``, or `resume```.

    Raises:
        NandlabError: it exists.
    """
    if path.is_file():
        raise refusal(name, f"{path} exists already", f"a new file{other}")


def _identities(name: str | os.PathLike[str]) -> list[object]:
    """What tells a file from others: its real path, and its number where it exists (hard links)."""
    try:
        real = os.path.realpath(name)
        found = os.stat(real)
    except (OSError, ValueError):
        return [os.fspath(name)] if "\0" in os.fspath(name) else [os.path.realpath(name)]
    return [real, (found.st_dev, found.st_ino)]


def _try(name: str, path: Path) -> None:
    try:
        if not path.parent.is_dir():
            raise refusal(name, f"no folder {path.parent}", "an existing folder")
        if path.is_dir():
            raise refusal(name, f"{path} is a folder", "a file")
        if is_stream(path):
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise refusal(name, f"cannot write {path}: it is write-protected")
        Replacement(path).discard()
    except OSError as error:
        raise refusal(name, f"cannot write {path}: {error.strerror}") from error
