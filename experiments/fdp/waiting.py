"""A ring beside uniform random writes: when handles gain, and what greedy collection takes.

`python experiments/fdp/waiting.py` prints the figures of README.md and docs/ftl.md, in 20 seconds.
Ring and random writes have half of the drive and half of the writes each.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np

import nandlab

sys.path.insert(0, str(Path(__file__).parent))

import run

SPARES = (0.10, 0.14, 0.18, 0.25, 0.28, 0.35)

#: Drive writes before those that are measured, and these: a fifth of all.
SETTLING, MEASURED = "8x", "2x"


def shape(spare, handles, more=()):
    return run.shape(handles) | {"ftl.overprovisioning": spare} | dict(more)


@cache
def capacity(spare, handles):
    one = nandlab.run(run.DRIVE, "[w]\nrw=write\nnumber_ios=1\n", set=shape(spare, handles))
    return one.report.nandlab.capacity_bytes


def edge(spare, handles):
    """Byte on which the ring ends and the random half begins."""
    return capacity(spare, handles) // 2 // run.ALIGNED * run.ALIGNED


def job(spare, handles, *, named):
    """Both streams; `named`: under handles of their own."""
    end, split = capacity(spare, handles), edge(spare, handles)
    first, second = (0, 1) if named else (None, None)
    ring = run.stream("ring", "write", 0, split, run.RATE / 2, first)
    return run.GLOBAL + ring + run.stream("rest", "randwrite", split, end, run.RATE / 2, second)


def amplification(spare, handles, more=()):
    """With one handle or two, and any policy."""
    text = job(spare, handles, named=handles == 2)
    given = shape(spare, handles, more)
    ran = nandlab.run(run.DRIVE, text, set=given, skip=SETTLING, until=MEASURED)
    return run.amplification(ran.report)


@cache
def hot_and_cold(space, handles):
    """Random writes: all but this share of them go to this share of the drive."""
    drive_bytes = run.capacity(handles)
    first, second = (0, 1) if handles == 2 else (None, None)
    split, hot = drive_bytes * space, run.RATE * (1 - space)
    text = run.GLOBAL + run.stream("hot", "randwrite", 0, split, hot, first)
    text += run.stream("cold", "randwrite", split, drive_bytes, run.RATE - hot, second)
    ran = nandlab.run(run.DRIVE, text, set=run.shape(handles), skip="12x", until="3x")
    return run.amplification(ran.report)


def noting(victims, split, handles):
    """An FTL with greedy collection that notes its victims.

    Args:
        victims: a list; gets the units of each victim, those of the ring among them, and its age
            in drive writes.
        split: unit with which the random half begins.
        handles: 2 keeps the halves in blocks of their own.
    """

    class Noting(nandlab.ftl.Ftl):
        open_blocks = handles + 1

        def place(self, stream, units, dies):
            return self.flash.next_block(0, stream)

        def place_moves(self, die, units):
            return self.flash.next_block(die)

        def victim(self, die):
            block = self.flash.emptiest(die)
            if block is not None:
                units = np.asarray(self.flash.units_of(block))
                age = self.flash.age(block) / self.flash.logical_units
                victims.append((len(units), int((units < split).sum()), age))
            return block

    class Apart(Noting):
        streams = 2

        def stream(self, unit, hint):
            return int(unit >= split)

    return Apart if handles == 2 else Noting


def watched(spare, handles):
    """Write amplification, share of the ring in moved units, median age, unfinished ring blocks."""
    victims = []
    ftl = noting(victims, edge(spare, handles) // 4096, handles)
    given = shape(spare, 1)
    del given["ftl.host_streams"]
    text = job(spare, handles, named=False)
    ran = nandlab.run(run.DRIVE, text, set=given, skip=SETTLING, until=MEASURED, ftl=ftl)
    valid, of_ring, age = np.array(victims[-len(victims) // 5 :]).T
    unfinished = (of_ring == valid) & (valid > 0)
    moved = of_ring.sum() / valid.sum()
    return run.amplification(ran.report), moved, np.median(age), unfinished.mean()


def main():
    print("| spare | handles | write amplification | of the ring among moved | median age | ring |")
    for spare in SPARES:
        for handles in (1, 2):
            written, moved, age, unfinished = watched(spare, handles)
            print(
                f"| {100 * spare:.0f} % | {handles} | {written:.2f} | {100 * moved:.0f} % "
                f"| {age:.2f} | {100 * unfinished:.0f} % |"
            )
    for policy in ("greedy", "cost_benefit", "fifo"):
        figures = [amplification(0.18, handles, (("gc.name", policy),)) for handles in (1, 2)]
        print(f"{policy}, 18 % spare: {figures[0]:.2f} with one handle, {figures[1]:.2f} with two")
    for space in (0.2, 0.1):
        figures = [hot_and_cold(space, handles) for handles in (1, 2)]
        print(
            f"random, {100 - 100 * space:.0f} % to {100 * space:.0f} % of the drive: "
            f"{figures[0]:.2f} with one handle, {figures[1]:.2f} with two"
        )
    for by_kind, name in ((False, "eight, a handle a tenant"), (True, "two, a handle a kind")):
        figure = run.eight_caches(2 if by_kind else 8, by_kind=by_kind)
        print(f"eight caches, handles: {name}: {figure:.2f}")


if __name__ == "__main__":
    main()
