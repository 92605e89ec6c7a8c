"""Rules of reclaim side by side on drive I: `python experiments/liu2021/reclaim.py`.

Own writes and slow reads of one drive that is only read, with each rule that could move its data.
Patrol is no rule of its own here: passes take no time, and each of them reads all data.
"""

from itertools import pairwise
from pathlib import Path
from runpy import run_path
from statistics import mean, stdev
from types import SimpleNamespace
from typing import NamedTuple

import nandlab

OF = SimpleNamespace(**run_path(str(Path(__file__).parent / "drives.py")))

#: Passes of each third of a run.
THIRD = 750

#: Runs of each rule, and Student's t of their 95 % intervals.
SEEDS, STUDENT = 5, 2.776

#: Rules: none, a count of page reads of a block, the bit error rate of one of its pages.
RULES = {
    "none": {},
    "193 passes, as E": {"gc.reclaim_reads": 193 * OF.PAGES},
    "38.5 passes, as B": {"gc.reclaim_reads": round(38.5 * OF.PAGES)},
    "errors above 0.0080": {"refresh.rber": 0.0080},
    "errors above 0.0075": {"refresh.rber": 0.0075},
}


class Life(NamedTuple):
    """Run of a drive by one rule."""

    rewrites: tuple[float, ...]
    """Rewrites of all data in each third of the passes."""
    slow_ppm: float
    """Share of reads that need a retry at the end."""


def life(rule, seed, third=THIRD, reads=100_000):
    """Run of drive I with a rule, by the law that its first half prefers."""
    sets = OF.DRIVES["i_first"].sets() | RULES[rule]
    drive = nandlab.Drive(OF.DRIVE, set=sets, seed=seed).precondition("fill")
    units = drive.capacity_bytes / 4096
    moved = [0]
    for _ in range(3):
        drive.age(read_passes=third)
        moved.append(drive.reclaimed.units)
    rewrites = [(end - start) / units for start, end in pairwise(moved)]
    report = drive.run(OF.JOB.format(reads=reads), is_last=True).report
    slow = sum(report.ecc.soft_reads) / report.host.requests_completed
    return Life(tuple(rewrites), 1e6 * slow)


def cell(figures):
    """Mean of some runs with its 95 % interval."""
    half = STUDENT * stdev(figures) / len(figures) ** 0.5
    return (
        f"{mean(figures):,.2f} ± {half:.2f}"
        if mean(figures) < 100
        else (f"{mean(figures):,.0f} ± {half:,.0f}")
    )


def main():
    """Prints a table of all rules."""
    print("| rule | first third | second third | last third | slow reads at the end (ppm) |")
    print("| --- | --- | --- | --- | --- |")
    for rule in RULES:
        lives = [life(rule, seed) for seed in range(1, SEEDS + 1)]
        thirds = zip(*(one.rewrites for one in lives), strict=True)
        row = [rule, *map(cell, thirds), cell([one.slow_ppm for one in lives])]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
