"""Limits of a study: which points keep to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.drive.trust.figures import is_number
from nandlab.study.given import Given, Limit


def excess(limit: Limit, row: Mapping[str, Any]) -> float | None:
    """By how much a point exceeds a limit; None where a column is missing."""
    value = limit.excess.value(lambda path: row.get(str(path[0])))
    return float(value) if is_number(value) else None


def is_within(given: Given, row: Mapping[str, Any]) -> bool:
    """Whether a point keeps to every limit of its study, and has all columns of them."""
    return all((over := excess(one, row)) is not None and over <= 0 for one in given.limits)
