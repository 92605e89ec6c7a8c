"""Blame: what requests of a run waited for, and what the slowest of them waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab._core import CAUSES, OPERATIONS, Simulation
from nandlab.display.notebook import InNotebook
from nandlab.given.arguments import number, path_or_none
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.figure import Figure

BANDS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99)
"""Percentiles from which the report tells what requests waited for."""


@dataclass(frozen=True)
class Explanation(InNotebook):
    """What the slowest requests waited for, in the mean."""

    percent: float
    """They are at least as slow as this percentile."""
    op: str
    """``read``, ``write``, ``trim``, ``flush`` or ``all``."""
    requests: float
    """How many; a fraction where the percentile lies within a bucket of latencies (1.1 % wide)."""
    mean_us: float
    """Their mean latency; the causes add up to it."""
    causes_us: dict[str, float]
    """Mean time by cause, the longest first; causes that took no time are left out."""
    all_us: dict[str, float]
    """The same of all requests."""

    def __str__(self) -> str:
        """A table of the causes, in microseconds."""
        lines = [
            f"{self.op}, slowest {100 - self.percent:.6g} %: {self.mean_us:.1f} us in the mean"
        ]
        for cause, time_us in self.causes_us.items():
            share = time_us / self.mean_us
            lines.append(f"{cause:>24} {time_us:12.1f} {share:6.1%}  all: {self.all_us[cause]:.1f}")
        return "\n".join(lines)


class Blame:
    """What the requests of a run waited for. The parts of each latency add up to it exactly."""

    def __init__(
        self,
        buckets: Mapping[str, tuple[Any, Any]],
        slowest: pa.Table,
        error_ns: int,
    ) -> None:
        """Takes requests and times by cause (in ns) of buckets of latencies, by operation."""
        self._buckets = buckets
        self._slowest = slowest
        self.error_ns = error_ns
        """Largest difference of a latency and the sum of its parts: 0."""

    @classmethod
    def of(cls, simulation: Simulation) -> Blame:
        """Takes what a simulation has kept."""
        import numpy as np
        import pyarrow as pa

        buckets = {}
        for op in OPERATIONS:
            requests, causes = simulation.blame(op)
            buckets[op] = (requests, causes.reshape(-1, len(CAUSES)))
        longest = max(len(requests) for requests, _ in buckets.values())
        every = np.zeros(longest, np.uint64), np.zeros((longest, len(CAUSES)), np.uint64)
        for requests, causes in buckets.values():
            every[0][: len(requests)] += requests
            every[1][: len(requests)] += causes
        columns, error_ns = simulation.slowest()
        causes = columns.pop("causes").reshape(-1, len(CAUSES))
        table = {name: pa.array(column) for name, column in columns.items()}
        names = pa.array(OPERATIONS)
        table["op"] = names.take(table["op"])
        # Requests that came from the buffer have no die.
        die = columns["die"]
        table["die"] = pa.array(die, mask=die < 0)
        for index, cause in enumerate(CAUSES):
            table[f"{column_of(cause)}_ns"] = pa.array(causes[:, index])
        return cls({**buckets, "all": every}, pa.table(table), error_ns)

    def __repr__(self) -> str:
        requests = int(self._buckets["all"][0].sum())
        return f"<blame of {requests:,} requests: {', '.join(self.operations()) or 'none'}>"

    def explain(self, percent: float = 99.9, op: str = "all") -> Explanation:
        """What requests waited for that are at least as slow as a percentile.

        Args:
            percent: from 0 (all of them) to below 100.
            op: ``read``, ``write``, ``trim``, ``flush`` or ``all``.

        Raises:
            NandlabError: no such percentile or operation, or no request of it.
        """
        if op not in self._buckets:
            raise refusal("explain", f"unknown operation `{op}`", list(self._buckets), given=op)
        percent = check_percent("explain", percent)
        requests, causes = self._buckets[op]
        total = int(requests.sum())
        if total == 0:
            raise refusal("explain", f"no requests of `{op}`", self.operations())
        count, sums = _slowest(requests, causes, max(total * (1 - percent / 100), 1.0))
        mean = {cause: float(ns) / count / 1e3 for cause, ns in zip(CAUSES, sums, strict=True)}
        every = causes.sum(axis=0, dtype=float) / total / 1e3
        order = sorted((cause for cause in CAUSES if mean[cause] > 0), key=lambda c: -mean[c])
        return Explanation(
            percent=percent,
            op=op,
            requests=count,
            mean_us=sum(mean.values()),
            causes_us={cause: mean[cause] for cause in order},
            all_us={cause: float(every[CAUSES.index(cause)]) for cause in order},
        )

    def operations(self) -> list[str]:
        """The operations that there were requests of."""
        return [op for op in OPERATIONS if self._buckets[op][0].sum() > 0]

    def slowest(self) -> pa.Table:
        """The slowest requests, at most 1,000, from the slowest on.

        Columns: ``latency_ns``, ``arrival_ns``, ``op``, ``offset``, ``bytes``, ``die`` (null where
        no flash command was waited for), and a column of ns for each cause.
        """
        return self._slowest

    def facts(self) -> dict[str, Any]:
        """What a report says: by operation and percentile."""
        told: dict[str, Any] = {}
        for op in self.operations():
            rows = [self.explain(percent, op) for percent in BANDS]
            told[op] = [
                {
                    "percent": row.percent,
                    "requests": row.requests,
                    "mean_us": row.mean_us,
                    "causes_us": row.causes_us,
                }
                for row in rows
            ]
        return told

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """What requests waited for, stacked, by operation and percentile; also written to `path`.

        Raises:
            NandlabError: nothing was run, or `path` is of a kind that cannot be drawn.
            OSError: the file cannot be written.
        """
        from nandlab.drive.pictures.blame import plot_blame

        return plot_blame(self, path_or_none("plot", path))


def check_percent(place: str, given: object) -> float:
    """The percentile from which requests are explained.

    Raises:
        NandlabError: it is none, or nothing lies above it.
    """
    percent = number(place, given)
    if not 0 <= percent < 100:
        raise refusal(place, f"{percent:g}", "a percentile from 0 to below 100, as 99.9")
    return percent


def plural(op: str) -> str:
    """Requests of an operation, as a title names them."""
    return "flushes" if op == "flush" else f"{op}s"


def column_of(cause: str) -> str:
    """The name of a column of a cause."""
    return cause.translate({ord(":"): None, ord(","): None}).replace(" ", "_")


def _slowest(
    requests: np.ndarray, causes: np.ndarray, count: float
) -> tuple[float, Sequence[float]]:
    """The last `count` requests and their times by cause; of a bucket in part, in proportion."""
    import numpy as np

    above = np.cumsum(requests[::-1], dtype=float)[::-1] - requests
    share = np.clip((count - above) / np.maximum(requests, 1), 0, 1)
    return float((share * requests).sum()), list(share @ causes.astype(float))
