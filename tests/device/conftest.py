"""A Linux guest for all tests of served drives: it starts in ten seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.device.guest.machine import Guest
from tests.device.guest.packages import made


@pytest.fixture(scope="session")
def guest() -> Iterator[Guest]:
    """A Linux guest. A test leaves it without connections and mounts."""
    kernel, image = made()
    with Guest(kernel, image) as guest:
        yield guest
