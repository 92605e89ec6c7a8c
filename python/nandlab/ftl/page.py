"""`page` with its defaults as a class in Python: to begin a new FTL from."""

from __future__ import annotations

from nandlab.ftl.bases import Ftl


class Page(Ftl):
    """A log on each die in turn, and one for what collection moves; ``gc`` picks the victims.

    On dies that program one plane at a time, and without static wear levelling
    (``ftl.static_wear_delta = 0``), every figure is that of the member `page`.
    """

    turn = 0
    """The die after that of the last row."""

    def place(self, stream: int, units: tuple[int, ...], dies: tuple[int, ...]) -> int | None:
        """The open block of the next die that can take a row, or else its least worn free one."""
        for die in sorted(dies, key=lambda die: (die < self.turn, die)):
            block = self.flash.next_block(die, stream)
            if block is not None:
                self.turn = die + 1
                return block
        return None

    def place_moves(self, die: int, units: tuple[int, ...]) -> int:
        """The block of the same die that takes moved data; the reserve has one."""
        block = self.flash.next_block(die)
        assert block is not None
        return block
