"""Base classes of FTLs in Python: a whole FTL, and hooks over `page`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab._core import Flash


class Ftl:
    """A whole FTL: where rows go, which blocks are emptied, and when.

    nandlab keeps the map, the state of blocks, free blocks, wear and counts, and moves the data of
    victims. A class decides by its methods; `place` and `place_moves` are needed, the others have
    defaults, which cost nothing. Each decision is checked; one that breaks a promise ends the run
    with an error that names the method, the call and the rule.

    A *block* is what one program command opens and one erase clears: the physical blocks of all
    planes that the chip joins. A *row* is one program. ``self.flash`` shows the state of the drive
    inside the methods; in ``__init__`` it is not there yet.

    Every drive has a deep copy of the object, and a clone of a drive a deep copy of its drive's.
    A drive can be saved if the class has ``saved(self) -> str`` and ``restore(self, text)``.
    """

    streams: ClassVar[int] = 1
    """Streams of host data, 1 to 16: units of one stream share rows. With 1, nobody is asked."""

    open_blocks: ClassVar[int] = 2
    """Blocks of a die that may be open at a time; that much less is sold to the host."""

    flash: Flash
    """The drive, inside the methods."""

    def begin(self) -> None:
        """The drive is built: ``self.flash`` is there from now on."""

    def stream(self, unit: int, hint: int) -> int:
        """The stream of data that the host writes, when they enter the write buffer."""
        return hint % self.streams

    def place(self, stream: int, units: tuple[int, ...], dies: tuple[int, ...]) -> int | None:
        """The block that takes the next row of host data.

        An open block with room, or a free one, which is opened. It takes the first of `units`, as
        many as fit one program.

        Args:
            stream: of all these units.
            units: that wait, a row at most.
            dies: that can take a program now; for a block of another die the row waits.

        Returns:
            A block; None if there is no room before a block has been erased.
        """
        raise NotImplementedError

    def place_moves(self, die: int, units: tuple[int, ...]) -> int:
        """The block, of any die, that takes the next row of what collection of `die` moves."""
        raise NotImplementedError

    def victim(self, die: int) -> int | None:
        """The next full block of `die` to empty; None if nothing is to be collected.

        Without this method the policy of ``gc`` picks (``gc.name``, `greedy` by default).
        """
        return self.flash.emptiest(die)

    def collect(self, die: int, is_idle: bool) -> bool:
        """Whether to collect `die`, which has more free blocks than its reserve.

        It is asked after each program of the host and each step of collection, not while a drive is
        preconditioned: then a die is collected when the host must wait.
        """
        return self.flash.is_short(die, is_idle)

    def programmed(self, block: int, units: tuple[int, ...], is_moved: bool) -> None:
        """The flash holds the newest data of these units; `is_moved`: collection moved them."""

    def erased(self, block: int) -> None:
        """A block has been erased: it is free."""

    def trimmed(self, unit: int) -> None:
        """The data of a unit have been trimmed."""


class PageHooks:
    """Decisions of `page` made in Python: the stream of a unit, the victims, when to collect.

    `programmed`, `erased` and `trimmed` decide nothing: they tell where data are. With
    ``ftl.superblock_dies`` a block is a superblock, and a plane the dies that have it together.
    After a power cut a new copy begins, and is told `programmed` for all data that were found.

    A method that is left out costs nothing: the hint of the host, the policy of ``gc`` and
    ``gc.start_free_blocks`` decide then. Copies of the object are made as for `Ftl`.
    """

    streams: ClassVar[int] = 1
    """Streams of host data, 1 to 16, each with its own open blocks."""
    move_streams: ClassVar[int] = 1
    """Streams of the data that collection moves, 1 to 16, each with its own open blocks."""

    def begin(self, logical_units: int) -> None:
        """The drive is built."""

    def stream(self, unit: int, hint: int) -> int:
        """The stream of data that the host writes, when they enter the write buffer."""
        raise NotImplementedError

    def stream_moves(self, unit: int) -> int:
        """The stream of moved data, 0 to `move_streams` - 1, of a unit that collection moves.

        It is asked when the unit is found in a victim. The unit then waits until its stream fills a
        row of pages. Where a die runs out of blocks, units of several streams share a row.
        """
        raise NotImplementedError

    def victim(
        self,
        plane: int,
        blocks: NDArray[np.uint32],
        valid: NDArray[np.uint32],
        age: NDArray[np.uint64],
    ) -> int:
        """The next block of a plane to empty, one of `blocks`.

        Args:
            plane: counted over the drive.
            blocks: full blocks of the plane, by their numbers.
            valid: valid units of each.
            age: host units written since each became full.
        """
        raise NotImplementedError

    def collect(self, die: int, free_blocks: int, is_idle: bool) -> bool:
        """Whether to collect a die now, which has something to gain.

        At ``ftl.gc_reserve_blocks`` it is collected in any case.

        Args:
            die: the die.
            free_blocks: of the planes that have the fewest.
            is_idle: the die has nothing else to do.
        """
        raise NotImplementedError

    def programmed(self, block: int, units: tuple[int, ...], is_moved: bool) -> None:
        """The newest data of these units are in `block`; `is_moved`: collection moved them."""

    def erased(self, block: int) -> None:
        """A block has been erased: it is free."""

    def trimmed(self, unit: int) -> None:
        """The data of a unit have been trimmed."""
