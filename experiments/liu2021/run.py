"""Drives that are only read: the growth of their tail, and the writes of read reclaim.

`nandlab papers liu2021` runs the rows of `reference.csv`. A row's name says it: `DRIVE_PASS` and
`DRIVE_tail_PASS` are shares of slow reads; `DRIVE_p50_PASS`, `p99`, `p99_9` and `p99_99` are
percentiles of the latency after so many passes over the data; `DRIVE_passes` and its like are
passes until read reclaim has moved all data once, and `DRIVE_rewrites` is how often it has.
"""

import re
from functools import partial
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import nandlab

HERE = Path(__file__).resolve().parent
OF = SimpleNamespace(**run_path(str(HERE / "drives.py")))

#: Latency above which a read of drive B is slow, as published.
B_SLOW_US = 400.0

#: Passes of the picture, of drives I and B.
PICTURE = {"i": (240, 750, 1014, 1500, 1839, 2260), "b": (0, 500, 900, 1200, 1500, 1800)}


def passes_per_rewrite(limit_passes, passes, seed):
    """Passes until read reclaim has moved all data once, on average over `passes`."""
    limit = {"gc.reclaim_reads": round(limit_passes * OF.PAGES)}
    drive = nandlab.Drive(OF.DRIVE, set=OF.SMALL | limit, seed=seed).precondition("fill")
    drive.age(read_passes=passes)
    return passes * (drive.capacity_bytes / 4096) / drive.reclaimed.units


def share(drive, passes, seed=1):
    """Share of slow reads of a drive, in ppm."""
    reads = OF.read_after(drive, passes, seed, reads=200_000)
    return reads.over(B_SLOW_US) if drive == "b" else reads.retried_ppm


def percentile(drive, percent, passes, seed=1):
    """Percentile of the latency of a drive, in microseconds."""
    return OF.read_after(drive, passes, seed).percentile(percent)


#: Names of rows about shares and percentiles.
SHARE = re.compile(r"(i_first|[a-i])(?:_tail)?_(\d+)")
PERCENTILE = re.compile(r"([a-i])_p(50|99_99|99_9|99)_(\d+)")


def __getattr__(name):
    if found := SHARE.fullmatch(name):
        return partial(share, found[1], int(found[2]))
    if found := PERCENTILE.fullmatch(name):
        return partial(percentile, found[1], float(found[2].replace("_", ".")), int(found[3]))
    raise AttributeError(name)


def a_slow_passes(seed=1):
    """Its limit is the distance of the first four marks in its latencies, 290 to 897."""
    return passes_per_rewrite(202, 2020, seed)


def a_fast_passes(seed=1):
    """Reads are counted, not days: the same limit at the fast pace."""
    return passes_per_rewrite(202, 2020, seed)


def b_slow_passes(seed=1):
    """Its limit is the rewrite at the slow pace."""
    return passes_per_rewrite(38.5, 1925, seed)


def b_fast_passes(seed=1):
    """Reads are counted, not days: the same limit at the fast pace."""
    return passes_per_rewrite(38.5, 1925, seed)


def e_passes(seed=1):
    """The limit is that of the first reclaim, 193 passes after the fill."""
    return passes_per_rewrite(193, 1930, seed)


def c_passes(seed=1):
    """The limit is that of the marks in its latencies; pages of a block cancel out."""
    return passes_per_rewrite(49, 2450, seed)


def h_rewrites(seed=1):
    """The limit of C, of its kind of flash: blocks of both have 1,024 pages (assumed)."""
    return 1150 / passes_per_rewrite(49, 1150, seed)


def i_rewrites(seed=1):
    """The limit of E, of its kind of flash: blocks of both have 768 pages (assumed)."""
    return 2269 / passes_per_rewrite(193, 2269, seed)


def f_passes(seed=1):
    """The limit of E in reads of a block; 72 layers of four strings make 864 pages of a block."""
    return passes_per_rewrite(193, 1930, seed) * OF.PAGES / 864


def picture():
    """Tails of drives I and B over their passes, measured and simulated."""
    import csv

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (HERE / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(10.0, 4.0)
    titles = {"i": "I: worn, no reclaim", "b": "B: worn by its reclaim"}
    for axes, (drive, passes) in zip(figure.subplots(1, 2), PICTURE.items(), strict=True):
        row = "i_{}" if drive == "i" else "b_tail_{}"
        real = [printed[row.format(at)] for at in passes]
        axes.plot(passes, real, "o", color=COLOURS["read"], label="measured")
        ours = [share(drive, at) for at in passes]
        axes.plot(passes, ours, color=COLOURS["read"], label="nandlab")
        if drive == "i":
            first = [share("i_first", at) for at in passes]
            axes.plot(passes, first, "--", color=COLOURS["read"], label="best of the fitted half")
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 3000)
        half = {"i": 1136, "b": 936}[drive]
        axes.axvline(half, color="grey", linestyle=":", label="end of the fitted half")
        axes.set_xlabel("passes over the drive")
        axes.set_ylabel("slow reads (ppm)")
        axes.legend(frameon=False)
        finish(axes, titles[drive])
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
