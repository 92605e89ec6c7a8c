"""Keys of the report, as ``docs/formats/report.md`` describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

_DEEPEST = 20
"""Keys of a path: reports have fewer."""


class ReportKey(NamedTuple):
    """What is known of a key of the report."""

    path: str
    """Of the key that was asked for, or of the one above it that the meaning is of."""
    meaning: str
    together: tuple[str, ...]
    """Keys that the meaning is of, in this order."""


def report_key(path: str) -> ReportKey | None:
    """A key of the report by its path; None where no report has it.

    ``jobs[0].read.iops`` is ``jobs.read.iops``. A key that only the meaning of the one above it
    names, as ``ftl.map.hits``, has that meaning.
    """
    parts = re.sub(r"\[[^\]]*\]", "", path).split(".")
    if len(parts) > _DEEPEST or parts[0] == "*":
        return None
    found = _exact(parts)
    if found is not None or len(parts) == 1:
        return found
    above = report_key(".".join(parts[:-1]))
    if above is None or parts[-1] not in _names(above.meaning):
        return None
    # A table that is described elsewhere has no other keys than are described there.
    return None if parts[-2] in _shapes() or _is_table(parts[:-1]) else above


def report_paths() -> list[str]:
    """Paths of all keys that have a line of their own."""
    paths = dict.fromkeys(path for path in _rows() if not path.startswith("*."))
    for path in list(paths):
        for name in [path.rpartition(".")[2], *_names(_rows()[path].meaning)]:
            if name in _shapes():
                under = path if path.endswith(f".{name}") else f"{path}.{name}"
                paths |= dict.fromkeys(f"{under}.{key}" for key in _shapes()[name])
    return list(paths)


def keys_below(path: str) -> list[str]:
    """Keys of a table of the report: those with lines of their own, or that its own line names."""
    under = f"{path}."
    own = [one.removeprefix(under) for one in report_paths() if one.startswith(under)]
    if own:
        return list(dict.fromkeys(one.partition(".")[0] for one in own))
    found = report_key(path)
    return [] if found is None else [one for one in _names(found.meaning) if one.isidentifier()]


def _exact(parts: Sequence[str]) -> ReportKey | None:
    path = ".".join(parts)
    for at in range(-1, len(parts)):
        # A name that a drive file gives.
        row = ".".join([*parts[:at], "NAME", *parts[at + 1 :]]) if at > 0 else path
        if row in _rows():
            return _rows()[row]._replace(path=path)
    if len(parts) < 2 or parts[-1] not in _shapes().get(parts[-2], ()):
        return None
    above = report_key(".".join(parts[:-1]))
    if above is None:
        return None
    return _rows()[f"*.{parts[-2]}.{parts[-1]}"]._replace(path=path)


def _is_table(parts: Sequence[str]) -> bool:
    """Whether keys below have lines of their own."""
    under = ".".join(parts) + "."
    return any(path.startswith(under) for path in _rows())


@cache
def _rows() -> dict[str, ReportKey]:
    text = Path(__file__).with_name("report_keys.json").read_text(encoding="utf-8")
    return {
        path: ReportKey(path, row["meaning"], tuple(row["keys"]))
        for row in json.loads(text)
        for path in row["keys"]
    }


@cache
def _shapes() -> dict[str, list[str]]:
    """Keys of tables that stand in several places, as ``latency_us``."""
    found: dict[str, list[str]] = {}
    for path in _rows():
        star, _, rest = path.partition(".")
        if star == "*":
            table, _, key = rest.partition(".")
            found.setdefault(table, []).append(key)
    return found


def _names(meaning: str) -> list[str]:
    """Names that a meaning says."""
    return re.findall(r"`([^`]+)`", meaning)
