"""Onlooker of a run: an object that looks at it between its steps."""

from typing import Protocol

from nandlab import _core


class Onlooker(Protocol):
    """Somebody who looks on at a run."""

    @property
    def requests(self) -> int:
        """Most requests until the next look."""

    def look(self, simulation: _core.Simulation) -> None:
        """Looks, between two steps."""
