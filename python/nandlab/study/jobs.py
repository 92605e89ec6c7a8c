"""Job files of a study: options changed for a point, and contents that identify a workload."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from nandlab.drive.workload import is_job_text
from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal

_BLOCK = 1 << 20
"""Bytes of a file that are read at once."""


def job_text(workload: str) -> str:
    """The text of a job file; relative paths in it (`read_iolog`) are made absolute.

    Raises:
        NandlabError: the file cannot be read.
    """
    if is_job_text(workload):
        return _absolute(workload, Path.cwd())
    path = Path(workload)
    return _absolute(input_text(path, "a fio job file"), path.resolve().parent)


def changed(text: str, options: Mapping[str, Any], place: str) -> str:
    """A job file with options changed: `OPTION` in every job, `JOB.OPTION` in one.

    Raises:
        NandlabError: no such job, or a value that a line cannot hold.
    """
    if not options:
        return text
    lines = text.splitlines()
    names = dict.fromkeys(name for _, name in _sections(lines) if name != "global")
    added: dict[str, list[str]] = {name: [] for name in names}
    for path, value in options.items():
        job, dot, option = path.rpartition(".")
        if dot and job not in names:
            raise refusal(f"{place}: job.{path}", f"no job `{job}`", names, given=job)
        line = f"{option}={_value(f'{place}: job.{path}', value)}"
        for name in [job] if dot else names:
            added[name].append(line)
    # The last line of an option holds: those of the axes come at the end of each job.
    result: list[str] = []
    starts = [*_sections(lines), (len(lines), "")]
    result += lines[: starts[0][0]]
    for (begin, name), (end, _) in pairwise(starts):
        result += [*lines[begin:end], *added.get(name, [])]
    return "\n".join(result) + "\n"


def _value(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        raise refusal(place, f"{value!r}", "text as fio has it, such as 4k,8k")
    text = str(value)
    if any(sign in text for sign in ";#\n\r"):
        raise refusal(place, f"{text!r}", "text without ; # and ends of lines")
    return text


def _sections(lines: list[str]) -> list[tuple[int, str]]:
    """Where sections begin, and their names."""
    found = []
    for index, line in enumerate(lines):
        bare = line.lstrip("\ufeff").strip()
        if bare.startswith("["):
            found.append((index, bare.partition("]")[0].lstrip("[").strip()))
    return found


def _logs(line: str) -> list[str] | None:
    """The traces of a line `read_iolog=`; None of other lines."""
    name, equals, value = line.partition("=")
    if name.strip() != "read_iolog" or not equals:
        return None
    return [each for each in _bare(value).split(":") if each]


def _bare(line: str) -> str:
    """A line without its comment."""
    return line.lstrip("\ufeff").partition(";")[0].partition("#")[0].strip()


def _absolute(text: str, folder: Path) -> str:
    lines = []
    for line in text.splitlines():
        logs = _logs(line)
        if logs:
            line = "read_iolog=" + ":".join(str(folder / log) for log in logs)
        lines.append(line)
    return "\n".join(lines) + "\n"


def contents(kind: str, source: str) -> Iterator[str]:
    """What identifies a workload: the lines of its jobs and the contents of its traces.

    Paths, comments and empty lines are not among it.

    Raises:
        NandlabError: a trace cannot be read.
    """
    if kind == "trace":
        yield file_hash(source)
        return
    for line in source.splitlines():
        logs = _logs(line)
        if logs is not None:
            yield "read_iolog=" + ":".join(file_hash(log) for log in logs)
        elif bare := _bare(line):
            yield bare


def file_hash(path: str) -> str:
    """Hash of the contents of a file.

    Raises:
        NandlabError: it cannot be read.
    """
    try:
        found = os.stat(path)
        return _hash(os.path.realpath(path), found.st_mtime_ns, found.st_size, found.st_ino)
    except (OSError, ValueError) as error:
        problem = f"cannot read `{path}`: {getattr(error, 'strerror', error)}"
        raise refusal("", problem, "an existing file") from error


@lru_cache(maxsize=1024)
def _hash(path: str, _mtime_ns: int, _size: int, _inode: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
