"""Contract of a law: a law of error rates on some data, and what a user may set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nandlab.fit.estimate import Estimate, Law

NOTHING = -700.0
"""Logarithm of a negligible number: its exponential counts as 0."""


class Fitted(NamedTuple):
    """A law on some data."""

    law: Law
    array: Callable[[dict[str, float]], dict[str, Any]]
    """The table of an array model from the parameters."""
    notes: list[str]
    estimate: Callable[[float], Estimate] | None = None
    """The estimate at a level, where no descent is needed."""


class Options(NamedTuple):
    """Settings of a fit that a user may give."""

    page_bits: int = 16384
    reference_c: float | None = None
    without: Sequence[str] = ()
    states: int = 4
    """Of a histogram."""
    layers: int | None = None
    """Layers of a block; by default up to the last one in the data."""
    least_squares: bool = False
    """Whether rates are fitted without weights; errors of the exponential laws may be negative."""
