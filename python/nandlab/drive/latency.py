"""Latency distribution: exact moments, and percentiles from an HDR histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.report.tables import LatencyUs


_PARTS = 10**10
"""Parts of a percent: a power of ten that a float times 100 still holds exactly."""


def requests_beyond(count: int, percent: float) -> float:
    """How many of `count` requests lie beyond a percentile."""
    # 100 - 99.9 is a little less than 0.1.
    return count * (100.0 - percent) / 100.0 * (1 + 1e-9)


def is_exceeded(count: int, percent: float) -> bool:
    """Whether any of `count` requests exceeds the percentile; if none, it is the maximum."""
    return requests_beyond(count, percent) >= 1


class Latency:
    """Latencies of one kind of request, from arrival to completion, in microseconds.

    Count, mean, minimum and maximum are exact; percentiles are within 0.1 %.
    """

    def __init__(
        self,
        moments: LatencyUs,
        edges_ns: NDArray[np.uint64],
        counts: NDArray[np.uint64],
    ) -> None:
        """From the report's ``latency_us`` and the buckets that hold anything.

        Args:
            moments: ``count``, ``mean``, ``min`` and ``max`` in microseconds.
            edges_ns: highest latency of each bucket, rising; shape (buckets,).
            counts: requests in each bucket; shape (buckets,).
        """
        self.count: int = moments.count
        self.mean_us: float = moments.mean
        self.min_us: float = moments.min
        self.max_us: float = moments.max
        self.edges_ns = edges_ns
        self.counts = counts

    @overload
    def percentile(self, percent: float) -> float: ...

    @overload
    def percentile(self, percent: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]: ...

    def percentile(
        self, percent: float | Sequence[float] | NDArray[Any]
    ) -> float | NDArray[np.float64]:
        """Latency in microseconds that `percent` of the requests do not exceed.

        Several give an array of their shape.

        Raises:
            NandlabError: `percent` is not within 0 to 100, or there are no requests.
        """
        import numpy as np

        try:
            asked = np.asarray(percent, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise refusal(
                "percentile", f"{percent!r}: not a number or a list of numbers", "0 to 100"
            ) from None
        if not ((asked >= 0.0) & (asked <= 100.0)).all():
            raise refusal("percentile", f"{percent} is out of range", "0 to 100")
        if self.count == 0:
            raise refusal("percentile", f"{percent} of no requests")
        # In whole numbers: in floats 99.9 % of 1000 is more than 999.
        parts = [round(each * _PARTS) for each in asked.ravel().tolist()]
        ranks = [max(1, -(-self.count * part // (100 * _PARTS))) for part in parts]
        rank = np.reshape(np.array(ranks, dtype=np.uint64), asked.shape)
        edges_us = self.edges_ns[np.searchsorted(np.cumsum(self.counts), rank)] / 1e3
        found: NDArray[np.float64] = np.clip(edges_us, self.min_us, self.max_us)
        return found if asked.ndim else float(found)

    @property
    def mean(self) -> float:
        """Mean latency in microseconds; also `mean_us`."""
        return self.mean_us

    @property
    def p50(self) -> float:
        """Median latency in microseconds.

        Raises:
            NandlabError: there are no requests; the same for every percentile.
        """
        return self.percentile(50.0)

    @property
    def p90(self) -> float:
        """90th percentile in microseconds."""
        return self.percentile(90.0)

    @property
    def p99(self) -> float:
        """99th percentile in microseconds."""
        return self.percentile(99.0)

    @property
    def p99_9(self) -> float:
        """99.9th percentile in microseconds."""
        return self.percentile(99.9)

    @property
    def p99_99(self) -> float:
        """99.99th percentile in microseconds."""
        return self.percentile(99.99)

    def exceedance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The complementary distribution: the share of requests above each latency.

        Returns:
            Latencies in microseconds, rising, and the share of requests that take longer or as
            long; both of shape (buckets,).
        """
        import numpy as np

        latency_us = np.clip(self.edges_ns / 1e3, self.min_us, self.max_us)
        share = np.cumsum(self.counts[::-1])[::-1] / max(self.count, 1)
        return latency_us, share

    def said(self) -> str:
        """Number of requests, mean and percentiles in one line."""
        if self.count == 0:
            return "no requests"
        tail = ", ".join(f"p{p:g} {self.percentile(p):.1f}" for p in (50, 99, 99.99))
        return f"{self.count:,} requests, mean {self.mean_us:.1f}, {tail} us"

    def __repr__(self) -> str:
        return f"<latency of {self.said()}>"
