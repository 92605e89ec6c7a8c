"""Why lines of a log were slow: its times joined with the requests of a served drive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.display import quantity
from nandlab.given.arguments import path_of, whole
from nandlab.given.inputs import parquet_table
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.served.requests import SERVED, WAITS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PARTIES = {
    "drive": "the simulated drive had a request under way",
    "program": "the server had a request, and the drive had none of them",
    "host": "no request was under way: client, file system, kernel",
}
"""Where the time of a line may go, with the meaning of each; every moment goes to one of them."""

_FIELDS = 3


@dataclass(frozen=True)
class Line:
    """A line of a log with where its time went."""

    name: str
    """From the log; its number in the file where it has none."""
    start_unix_ns: int
    took_ms: float
    """From start to end."""
    requests: int
    """Requests of the drive that were asked or in the drive in this time, from any client."""
    parts_ms: dict[str, float]
    """Time by party: ``drive``, ``program`` and ``host`` add up to `took_ms`."""
    waits_ms: dict[str, float]
    """What these requests waited for, the longest first; more than `took_ms` where several were
    under way at a time. Empty without waits in the file (``explain``)."""

    @property
    def slowest(self) -> str:
        """The party with the longest part."""
        return max(self.parts_ms, key=lambda party: self.parts_ms[party])


@dataclass(frozen=True)
class Why:
    """Lines of a log, the slowest first, with where their time went."""

    lines: tuple[Line, ...]
    unanswered: int
    """Requests that were never answered, and are left out."""

    def slow(self, count: int = 10) -> tuple[Line, ...]:
        """The slowest lines."""
        return self.lines[: whole("slowest", count, 1, 10**9)]

    def answer(self, count: int = 10) -> str:
        """Where the time of the slowest lines went, in one sentence."""
        slow = self.slow(count)
        took_ms = sum(line.took_ms for line in slow)
        shares = {
            party: sum(line.parts_ms[party] for line in slow) / max(took_ms, 1e-12)
            for party in PARTIES
        }
        order = sorted(PARTIES, key=lambda party: -shares[party])
        told = ", ".join(f"{_WORDS[party]} {shares[party]:.0%}" for party in order)
        waits: dict[str, float] = {}
        for line in slow:
            for cause, wait_ms in line.waits_ms.items():
                waits[cause] = waits.get(cause, 0.0) + wait_ms
        total = sum(waits.values())
        most = sorted(waits, key=lambda cause: -waits[cause])[:2]
        causes = " and ".join(f"{cause} {waits[cause] / total:.0%}" for cause in most)
        what = f"; the drive's time was {causes}" if most else ""
        mean = quantity.latency(took_ms / len(slow) * 1e3)
        lines = f"slowest {len(slow):,} of {len(self.lines):,} lines"
        return f"{lines}: {mean} in the mean, {told}{what}"

    def to_dict(self) -> dict[str, Any]:
        """All lines, the slowest first."""
        return {"lines": [asdict(line) for line in self.lines], "unanswered": self.unanswered}


_WORDS = {"drive": "drive", "program": "this program", "host": "host"}


@names_checked
def why(log: str | PathLike[str], requests: str | PathLike[str] | pa.Table) -> Why:
    """Tells where the time of each line of a log went, of a log of what used a served drive.

    ::

        with nandlab.serve("tiny", requests="r.parquet", explain=True) as server:
            ...
        print(nandlab.why("queries.csv", "r.parquet").answer())

    Args:
        log: Lines ``start,end`` or ``start,end,name``: seconds since 1970 or ISO 8601, on the clock
            of the machine of the server. Empty lines, those with ``#``, and a head are skipped.
        requests: The file of `requests`, or the table of `Result.requests`, of a drive served with
            the clock ``real`` or ``scaled``.

    Raises:
        NandlabError: a file that cannot be read; a line without two times in order; requests that
            are not those of a served drive, or were served with the clock ``fast``.
    """
    spans = _read(path_of("log", log))
    times = _Requests.of(requests)
    lines = [times.line(*span) for span in spans]
    lines.sort(key=lambda line: -line.took_ms)
    return Why(tuple(lines), times.unanswered)


def _read(path: Path) -> list[tuple[int, int, str]]:
    """Start and end in ns since 1970, and name, of each line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        problem = getattr(error, "strerror", None) or "not text in UTF-8"
        raise refusal(str(path), problem, "a text file of lines start,end,name") from None
    spans: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = [field.strip() for field in line.split(",", _FIELDS - 1)]
        if not line.strip() or line.startswith("#") or (not spans and fields[:2] == _HEAD):
            continue
        place = f"{path}:{number}"
        if len(fields) < len(_HEAD):
            raise refusal(place, f"`{line}`", "start,end or start,end,name")
        start, end = (_ns(place, field) for field in fields[:2])
        if end < start:
            raise refusal(place, f"`{line}`", "an end that is not before its start")
        spans.append((start, end, fields[2] if len(fields) == _FIELDS else str(number)))
    if not spans:
        raise refusal(str(path), "no lines", "lines start,end or start,end,name")
    return spans


_HEAD = ["start", "end"]


def _ns(place: str, text: str) -> int:
    """A moment in ns since 1970."""
    try:
        seconds = Decimal(text)
        if not seconds.is_finite():
            raise InvalidOperation
        return int(seconds * 10**9)
    except InvalidOperation:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        expected = "seconds since 1970 (1767225600.25) or ISO 8601 (2026-01-01T00:00:00.25)"
        raise refusal(place, f"`{text}`", expected) from None
    return int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000


@dataclass(frozen=True)
class _Requests:
    """Requests in the order in which they were asked, with times in ns since 1970."""

    asked: NDArray[np.int64]
    answered: NDArray[np.int64]
    """Moments of the answers."""
    drive: NDArray[np.int64]
    """Start and end in the drive; shape (requests, 2)."""
    latest: NDArray[np.int64]
    """Latest answer to this request and all earlier ones."""
    waits: NDArray[np.float64]
    """Time by cause in ns; shape (requests, causes)."""
    causes: Sequence[str]
    unanswered: int

    @classmethod
    def of(cls, requests: str | PathLike[str] | pa.Table) -> _Requests:
        """Takes the requests of a server.

        Raises:
            NandlabError: they are not.
        """
        import numpy as np

        table = _table(requests)
        factor = _factor(table)
        unanswered = table["answered_unix_ns"].null_count
        table = table.filter(table["answered_unix_ns"].is_valid()).sort_by("asked_unix_ns")

        def column(name: str) -> NDArray[np.int64]:
            values: NDArray[np.int64] = table[name].to_numpy().astype(np.int64)
            return values

        asked, answered, due = (column(f"{name}_unix_ns") for name in ("asked", "answered", "due"))
        # A part of a client's request may end before the whole, whose answer is due then.
        begin = np.clip(due - column("latency_ns") * factor, asked, answered).astype(np.int64)
        drive = np.stack([begin, np.clip(due, begin, answered)], axis=1)
        names = [name for name in WAITS if name in table.column_names]
        waits = [column(name) * factor for name in names]
        shape = np.zeros((len(asked), 0)) if not waits else np.stack(waits, axis=1)
        latest = np.maximum.accumulate(answered) if len(answered) else answered
        causes = [WAITS[name] for name in names]
        return cls(asked, answered, drive, latest, shape, causes, unanswered)

    def line(self, start: int, end: int, name: str) -> Line:
        """Where the time of a line went."""
        import numpy as np

        first = int(np.searchsorted(self.latest, start, side="right"))
        last = int(np.searchsorted(self.asked, end, side="left"))
        rows = np.arange(first, max(first, last))
        rows = rows[self.answered[rows] > start]
        in_drive = _covered(self.drive[rows], start, end)
        there = np.stack([self.asked[rows], self.answered[rows]], axis=1)
        in_server = _covered(there, start, end)
        took = end - start
        parts = {
            "drive": in_drive,
            "program": in_server - in_drive,
            "host": took - in_server,
        }
        # An answer is written when its client may have begun with its next line.
        rows = rows[self.drive[rows, 1] > start]
        sums = self.waits[rows].sum(axis=0)
        order = np.argsort(-sums, kind="stable")
        waits = {self.causes[cause]: sums[cause] / 1e6 for cause in order if sums[cause] > 0}
        return Line(
            name=name,
            start_unix_ns=start,
            took_ms=took / 1e6,
            requests=len(rows),
            parts_ms={party: ns / 1e6 for party, ns in parts.items()},
            waits_ms={cause: float(wait_ms) for cause, wait_ms in waits.items()},
        )


def _covered(intervals: NDArray[np.int64], start: int, end: int) -> int:
    """Length of the part of a span that any interval covers."""
    covered, reached = 0, start
    for begin, until in _in_order(intervals):
        begin, until = max(begin, reached), min(until, end)
        if until > begin:
            covered += until - begin
            reached = until
    return covered


def _in_order(intervals: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    order = intervals[:, 0].argsort(kind="stable")
    yield from ((int(begin), int(end)) for begin, end in intervals[order])


def _table(requests: str | PathLike[str] | pa.Table) -> pa.Table:
    """Requests as a table with all columns of a server."""
    import pyarrow as pa

    place, table = "requests", requests
    if not isinstance(table, pa.Table):
        path = path_of("requests", requests)
        place = str(path)
        try:
            table = parquet_table(path)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise refusal(place, error, "a file of `nandlab nbd --requests`") from None
    missing = [name for name in SERVED if name not in table.column_names]
    if missing:
        hint = "serve the drive with --requests (requests=...) and use that file"
        raise refusal(place, f"no column `{missing[0]}`: not of a served drive", hint=hint)
    return table


def _factor(table: pa.Table) -> float:
    """Wall-clock seconds for a simulated second."""
    clock = (table.schema.metadata or {}).get(b"clock", b"fast").decode()
    if clock == "fast":
        problem = "served with the clock fast, where the drive takes no time on the wall clock"
        raise refusal("requests", problem, hint="serve with --clock real or scaled=K")
    return float(clock.removeprefix("scaled=")) if clock != "real" else 1.0
