"""Speed of FTLs in Python beside its goals: `python tools/ftl_speed.py`.

Random writes of 4 KiB on the preset `tiny` in steady state; each figure is the best of three runs.
"""

from __future__ import annotations

import nandlab
from nandlab.ftl import Page, PageHooks

JOB = "[write]\nrw=randwrite\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=200000\n"


class Whole(Page):
    """Two streams by the time since the last write, the emptiest block, collection in time."""

    streams = 2
    open_blocks = 3

    def begin(self) -> None:
        """Nothing has been written."""
        self.window = self.flash.logical_units // 4
        self.written_at = [0] * self.flash.logical_units
        self.clock = 0

    def stream(self, unit: int, hint: int) -> int:
        """1 where the last write is not long ago."""
        self.clock += 1
        before, self.written_at[unit] = self.written_at[unit], self.clock
        return int(before > 0 and self.clock - before < self.window)

    def victim(self, die: int) -> int | None:
        """The emptiest block."""
        blocks, valid, _ = self.flash.candidates(die)
        return int(blocks[valid.argmin()]) if len(blocks) else None

    def collect(self, die: int, is_idle: bool) -> bool:
        """As `gc.start_free_blocks` says."""
        return self.flash.free_blocks(die) < self.flash.start_free_blocks


class Hooks(PageHooks):
    """The same decisions over `page`."""

    streams = 2

    def begin(self, logical_units: int) -> None:
        """Nothing has been written."""
        self.window = logical_units // 4
        self.written_at = [0] * logical_units
        self.clock = 0

    def stream(self, unit: int, hint: int) -> int:
        """1 where the last write is not long ago."""
        self.clock += 1
        before, self.written_at[unit] = self.written_at[unit], self.clock
        return int(before > 0 and self.clock - before < self.window)

    def victim(self, plane: int, blocks: object, valid: object, age: object) -> int:
        """The emptiest block."""
        return int(blocks[valid.argmin()])  # type: ignore[index, attr-defined]

    def collect(self, die: int, free_blocks: int, is_idle: bool) -> bool:
        """A little before `page` must."""
        return free_blocks < 3


def main() -> None:
    """Prints a line for each kind of FTL."""
    for name, ftl, goal in (
        ("page", None, None),
        ("hooks over page, all three", Hooks, 300e3),
        ("whole FTL, all decisions", Whole, 100e3),
    ):
        rates = []
        for _ in range(3):
            result = nandlab.run("tiny", JOB, precondition="steady", ftl=ftl)
            rates.append(result.report.sim.requests_per_wall_s)
        said = "" if goal is None else f"   goal {goal / 1e3:.0f} (floor {goal / 3e3:.0f})"
        print(f"{name:<30} {max(rates) / 1e3:>8.0f} k requests/s{said}")


if __name__ == "__main__":
    main()
