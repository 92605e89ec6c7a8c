"""Bottleneck of a run: the resource of the drive with the highest utilization."""

from __future__ import annotations

from typing import Any, NamedTuple

LIMIT = 0.9
"""Busy share from which on a resource limits the drive. With less, requests find it free often."""


class Bottleneck(NamedTuple):
    """The busiest resource of a drive."""

    resource: str
    """``dies``, ``channels``, ``decoders`` or ``encoders``."""
    busy: float
    """Busy share of the run, 0 to 1: of all dies together, or of the busiest channel."""

    @property
    def is_limit(self) -> bool:
        """Whether it was busy for at least 90 % of the run."""
        return self.busy >= LIMIT

    def __str__(self) -> str:
        """One sentence for the table."""
        if self.is_limit:
            return f"{self.resource} {self.busy:.0%} busy"
        return f"none; highest utilization: {self.resource}, {self.busy:.0%}"


def bottleneck(report: dict[str, Any]) -> Bottleneck:
    """The busiest resource of a report."""
    shares = {
        "dies": 1.0 - report["dies"]["idle"],
        "channels": max(report["channels"]["busy_fraction"]),
        "decoders": report["ecc"]["decoders_busy_fraction"],
        "encoders": report["ecc"]["encoders_busy_fraction"],
    }
    resource = max(shares, key=lambda name: shares[name])
    return Bottleneck(resource, shares[resource])
