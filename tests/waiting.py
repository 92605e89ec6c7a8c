"""Waiting for what another process does, in place of a time in which it should have done it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


def until(condition: Callable[[], bool], seconds: float = 20.0, what: str = "") -> None:
    """Waits until a condition holds; the test fails where it does not within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"after {seconds:g} s there is still no {what or condition}")
        time.sleep(0.02)
