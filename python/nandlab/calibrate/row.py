"""Measured rows: a workload each, with what was measured under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from nandlab.calibrate.metric import METRICS, USUAL, path_of, plain
from nandlab.given.refusal import refusal
from nandlab.study.expression import Expression

RANDOM = ("randread", "randwrite", "randrw")
SEQUENTIAL = ("read", "write", "rw")
OPERATIONS = (*RANDOM, *SEQUENTIAL)
"""Operations of a row, by fio's names."""

_DIRECTIONS = {"randread": "read", "read": "read", "randwrite": "write", "write": "write"}

STATES = ("none", "fill", "steady", "rested")
"""States that a drive is brought into before a row."""


@dataclass(frozen=True)
class Row:
    """A workload, and what was measured under it."""

    place: str
    """What messages call it: file and row."""
    name: str
    job: str
    """Text of its fio jobs."""
    direction: str
    """``read`` or ``write``; empty of a mix."""
    measured: Mapping[str, float]
    """By metric."""
    columns: Mapping[str, Any]
    """What an expression over rows can name, and what a picture can lie over."""
    state: str | None = None
    """Of the drive before; None where the row does not say."""
    requests: int | None = None
    """That are measured; None where the row does not say."""
    ends_itself: bool = False
    """Whether its jobs say when they end."""
    weight: float = 1.0
    is_held_out: bool = False
    is_of_fio: bool = False
    """Whether fio measured it: then it has every metric there is."""

    @property
    def series(self) -> str:
        """Rows of one series lie on one curve."""
        return str(self.columns.get("series") or self.name)

    def path(self, metric: str) -> tuple[str, ...]:
        """Where the report of its run has a metric."""
        return path_of(metric, self.direction)


@dataclass
class Measured:
    """All rows of the given files."""

    names: list[str]
    """Of the files."""
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def only(self, text: str | None) -> None:
        """Keeps the rows that an expression is true of.

        Raises:
            NandlabError: it names no column, or no row is left.
        """
        if text is None:
            return
        chosen = self._of("rows", text)
        self.rows = [row for row, is_in in zip(self.rows, chosen, strict=True) if is_in]
        if not self.rows:
            raise refusal("rows", f"`{text}` matches no row", "at least one row")

    def select(self, metrics: Iterable[str] | None) -> None:
        """Keeps the named metrics; of fio's results the usual ones where none are named.

        Raises:
            NandlabError: no such metric, or no row has it.
        """
        names = None if metrics is None else list(metrics)
        for name in names or ():
            if name not in METRICS:
                raise refusal("metrics", f"unknown metric `{name}`", METRICS, given=name)
            if not any(name in row.measured for row in self.rows):
                had = sorted({one for row in self.rows for one in row.measured})
                raise refusal("metrics", f"no row has `{name}`", had, given=name)
        kept = []
        for row in self.rows:
            wanted = names or (
                [one for one in row.measured if plain(one) in USUAL]
                if row.is_of_fio
                else list(row.measured)
            )
            measured = {one: row.measured[one] for one in row.measured if one in wanted}
            if measured:
                kept.append(replace(row, measured=measured))
        self.rows = kept

    def hold_out(self, share: float | None, text: str | None, seed: int) -> None:
        """Sets rows apart that are not fitted: by an expression, and a share that is drawn.

        Raises:
            NandlabError: a share out of range, no such column, or no row is left to fit.
        """
        rows = self.rows
        if text is not None:
            chosen = self._of("holdout_rows", text)
            if not any(chosen):
                raise refusal("holdout_rows", f"`{text}` matches no row", "at least one row")
            rows = [
                replace(row, is_held_out=row.is_held_out or is_in)
                for row, is_in in zip(rows, chosen, strict=True)
            ]
        if share is not None:
            if not 0 < share < 1:
                raise refusal("holdout", f"{share:g} is out of range", "above 0, below 1")
            free = [i for i, row in enumerate(rows) if not row.is_held_out]
            count = min(max(round(share * len(free)), 1), len(free) - 1)
            if count < 1:
                raise refusal("holdout", f"{len(free)} row to draw from", "two rows or more")
            drawn = set(Random(f"holdout {seed}").sample(free, count))
            rows = [replace(r, is_held_out=True) if i in drawn else r for i, r in enumerate(rows)]
        if all(row.is_held_out for row in rows):
            raise refusal("holdout", "every row is held out", "at least one row to fit")
        self.rows = rows

    def _of(self, place: str, text: str) -> list[bool]:
        """The truth of an expression for each row."""
        expression = Expression(place, text)
        names = sorted({name for row in self.rows for name in row.columns})
        for path in expression.paths:
            if len(path) > 1 or path[0] not in names:
                name = ".".join(map(str, path))
                raise refusal(place, f"no column `{name}`", names, given=name)

        def is_true(row: Row) -> bool:
            return bool(expression.value(lambda path: row.columns.get(str(path[0]))))

        return [is_true(row) for row in self.rows]


def job_of(columns: Mapping[str, Any], place: str) -> str:
    """The fio job of a row that is described by columns."""
    operation = columns["operation"]
    jobs, depth = columns.get("jobs", 1), columns.get("depth", 1)
    lines = ["[row]", f"rw={operation}", f"bs={columns['block_bytes']}"]
    lines += [f"iodepth={depth}", f"numjobs={jobs}"]
    if operation in RANDOM:
        lines.append("norandommap=1")
        if "distribution" in columns:
            lines.append(f"random_distribution={columns['distribution']}")
    elif jobs > 1:
        # Each in its own part, as a zone or a file of its own.
        if jobs > 100:
            raise refusal(place, f"{jobs} sequential jobs", "at most 100, or a column `job`")
        lines += [f"size={100 // jobs}%", f"offset_increment={100 // jobs}%"]
    share = columns.get("read_percent")
    if share is not None:
        lines.append(f"rwmixread={share}")
    if "rate_iops" in columns:
        rate = columns["rate_iops"] / jobs
        shares = (1.0, 1.0) if operation not in ("randrw", "rw") else _shares(share)
        rates = [max(round(rate * part), 1) for part in shares]
        lines += [f"rate_iops={rates[0]},{rates[1]}", "rate_process=poisson"]
    return "\n".join(lines) + "\n"


def _shares(read_percent: int | None) -> tuple[float, float]:
    reads = 0.5 if read_percent is None else read_percent / 100
    return reads, 1 - reads


def direction_of(operation: str, read_percent: int | None = None) -> str:
    """``read`` or ``write``; empty of a mix."""
    if operation in ("randrw", "rw"):
        return {0: "write", 100: "read"}.get(-1 if read_percent is None else read_percent, "")
    return _DIRECTIONS[operation]


def name_of(columns: Mapping[str, Any]) -> str:
    """What tables call a row."""
    parts = [str(columns["operation"]), said_bytes(columns["block_bytes"])]
    parts.append(f"depth {columns.get('depth', 1)}")
    for key, words in (("jobs", "jobs"), ("read_percent", "% reads"), ("rate_iops", "IOPS asked")):
        if columns.get(key) not in (None, 1):
            parts.append(f"{columns[key]:g} {words}")
    return " ".join(parts)


def series_of(columns: Mapping[str, Any]) -> str:
    """The curve that a row lies on: what it has beside its load."""
    parts = [str(columns["operation"]), said_bytes(columns["block_bytes"])]
    if columns.get("read_percent") is not None:
        parts.append(f"{columns['read_percent']} % reads")
    return " ".join(parts)


def said_bytes(count: int) -> str:
    """Bytes with the largest prefix that divides them."""
    for step, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if count % step == 0:
            return f"{count // step} {unit}"
    return f"{count} B"


def load_of(columns: Mapping[str, Any]) -> float:
    """What a picture lies over: requests in flight."""
    found = float(columns.get("depth", 1)) * float(columns.get("jobs", 1))
    return found if math.isfinite(found) else 1.0
