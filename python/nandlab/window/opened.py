"""What a window opens with: the call that builds its first drive, from files if it names them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.given.assignments import of_a_drive
from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal
from nandlab.process.memory import memory_limit_bytes

MOST_OWN = 4
"""Drives that pages of one server have beside the common one."""


def session_of(
    drive: str | PathLike[str],
    workload: str | PathLike[str] | None = None,
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int | None = None,
    scale: str | float | None = None,
    precondition: str | None = None,
) -> _core.Window:
    """A session with a drive, and with a job if one is given.

    Args:
        drive: preset, or path of a drive file.
        workload: path or text of a fio job file.
        set: assignments, or values by their paths.
        seed: seed of every random stream.
        scale: share of the drive that is simulated.
        precondition: state that the drive is brought into, before its job begins.

    Raises:
        NandlabError: an input is refused.
    """
    call: dict[str, Any] = {
        "method": "build",
        "config": {"drive": fspath(drive)},
        "set": dict(_assigned(one) for one in of_a_drive(set, scale, seed)),
        "job": None if workload is None else _job(fspath(workload)),
        "precondition": precondition or "none",
    }
    session = empty_session()
    if error := json.loads(session.call(json.dumps(call))).get("error"):
        raise NandlabError(error["text"])
    return session


def empty_session(share: float = 1.0) -> _core.Window:
    """A session without a drive: pages build one.

    Args:
        share: share of the memory that a drive may take.
    """
    return _core.Window(int(share * memory_limit_bytes()))


def own_session() -> _core.Window:
    """A session of one page, beside the common one: all such sessions share half of the memory."""
    return empty_session(1 / (2 * MOST_OWN))


def _job(workload: str) -> str:
    """Text of a job file."""
    if "\n" in workload or workload.lstrip().startswith("["):
        return workload
    return input_text(Path(workload), "a fio job file")


def _assigned(text: str) -> tuple[str, object]:
    """Path and value of an assignment; a value that is no TOML is text, as on the command line."""
    path, equals, value = text.partition("=")
    if not equals:
        raise refusal("set", f"`{text}`", "PATH=VALUE")
    try:
        return path.strip(), json.loads(_core.toml_to_json(f"value = {value}", "set"))["value"]
    except NandlabError:
        return path.strip(), value.strip()
