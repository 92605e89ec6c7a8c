"""Requests of a served drive: columns with clients, times on the wall clock, and waits."""

from __future__ import annotations

from typing import Any

from nandlab._core import CAUSES
from nandlab.drive.blame import column_of
from nandlab.drive.requests import COLUMNS

SERVED = {
    "client": ("uint32", "number of the client, from 1"),
    "asked_unix_ns": ("uint64", "the server had read the request from the socket"),
    "due_unix_ns": ("uint64?", "completion_ns on the wall clock; null with the clock fast"),
    "answered_unix_ns": ("uint64?", "the answer had been written to the socket; null: never"),
    "late_ns": ("uint64?", "answered_unix_ns - due_unix_ns"),
}
"""Columns that a run without clients has not."""

WAITS = {f"wait_{column_of(cause)}_ns": cause for cause in CAUSES}
"""Columns of a drive served with ``explain``, and the cause of each: they add up to the latency."""


def columns(*, explain: bool) -> dict[str, tuple[str, str]]:
    """All columns, with type and meaning."""
    waits = {name: ("uint64", cause) for name, cause in WAITS.items()} if explain else {}
    return {**COLUMNS, **SERVED, **waits}


def rows(taken: dict[str, Any]) -> dict[str, Any]:
    """What the engine has taken, as columns."""
    import numpy as np
    import pyarrow as pa

    due, answered = taken["due_unix_ns"], taken["answered_unix_ns"]
    # A clock of whole nanoseconds may show a moment before the due one.
    late = np.maximum(answered.astype(np.int64) - due.astype(np.int64), 0).astype(np.uint64)
    is_due, is_answered = due > 0, answered > 0
    taken["due_unix_ns"] = pa.array(due, mask=~is_due)
    taken["answered_unix_ns"] = pa.array(answered, mask=~is_answered)
    taken["late_ns"] = pa.array(late, mask=~(is_due & is_answered))
    causes = taken.pop("causes").reshape(-1, len(CAUSES))
    if len(causes):
        taken.update({name: causes[:, index].copy() for index, name in enumerate(WAITS)})
    return taken
