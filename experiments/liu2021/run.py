"""Drives that are only read: the growth of their tail, and the writes of read reclaim.

`nandlab papers liu2021` runs the rows of `reference.csv`. The law of the worn drive I is fitted to
its first 1,136 passes, the first half of those that are published; a limit of reads is fitted to
one figure each of B and E.
"""

from functools import cache

import nandlab

#: A drive with the code and the chips of the class; latencies are not compared.
DRIVE = "modern_tlc"

#: Pages of a block of 64 layers, four strings and three bits (assumed): a pass reads each once.
PAGES = 768

#: Two small dies: reads of a block in a pass do not depend on the number of blocks.
SMALL = {
    "drive.channels": 2,
    "drive.dies_per_channel": 1,
    "chip.geometry.pages_per_block": PAGES,
    "chip.geometry.blocks_per_plane": 32,
    "ftl.overprovisioning": 0.4,
}

#: Law of drive I: error rate of a mean page, its growth in a thousand passes, the power of the
#: reads, and the standard deviation of the logarithm over pages.
RATE, GROWTH, POWER, SPREAD = 0.00282, 0.189, 1.2, 0.3

#: Passes at which the law is given; between them the rate is interpolated.
GIVEN = (0, *range(25, 500, 25), *range(500, 3600, 100))

JOB = """[reads]
rw=randread
bs=16k
iodepth=1
number_ios=200000
"""


def rate(passes):
    """Raw bit error rate of a mean page of drive I."""
    return RATE * (1 + GROWTH * (passes / 1000) ** POWER)


def law():
    """Its table: all page types are alike, as the tail alone does not tell them apart."""
    points = [
        {"pe_cycles": 0, "hours": 0, "reads": passes * PAGES, "rber": [rate(passes)] * 3}
        for passes in GIVEN
    ]
    return {"chip.array.points": points, "chip.array.page_spread": SPREAD}


@cache
def shares(passes, seed):
    """Share of reads beyond a hard decision, in ppm, after each number of passes."""
    drive = nandlab.Drive(DRIVE, set=SMALL | law(), seed=seed).precondition("fill")
    found, so_far = [], 0
    for at in passes:
        drive.age(read_passes=at - so_far)
        so_far = at
        report = drive.clone().run(JOB).report
        found.append(1e6 * sum(report.ecc.soft_reads) / report.host.requests_completed)
    return found


#: Passes of the rows of drive I: the first three lie in the half that it was fitted to.
PASSES = (240, 750, 1014, 1500, 1839, 2260)


def passes_per_rewrite(limit_passes, passes, seed):
    """Passes until read reclaim has moved all data once, on average over `passes`."""
    # Half of each plane is data, in whole blocks: none of it waits in an open block.
    whole = {"chip.geometry.blocks_per_plane": 16, "ftl.overprovisioning": 1.0}
    limit = {"gc.reclaim_reads": round(limit_passes * PAGES)}
    drive = nandlab.Drive(DRIVE, set=SMALL | whole | limit, seed=seed).precondition("fill")
    drive.age(read_passes=passes)
    return passes * (drive.capacity_bytes / 4096) / drive.reclaimed.units


def i_240(seed=1):
    return shares(PASSES, seed)[0]


def i_750(seed=1):
    return shares(PASSES, seed)[1]


def i_1014(seed=1):
    return shares(PASSES, seed)[2]


def i_1500(seed=1):
    return shares(PASSES, seed)[3]


def i_1839(seed=1):
    return shares(PASSES, seed)[4]


def i_2260(seed=1):
    return shares(PASSES, seed)[5]


def b_slow_passes(seed=1):
    """Its limit is the rewrite at the slow pace."""
    return passes_per_rewrite(38.5, 1925, seed)


def b_fast_passes(seed=1):
    """Reads are counted, not days: the same limit at the fast pace."""
    return passes_per_rewrite(38.5, 1925, seed)


def e_passes(seed=1):
    """The limit is that of the first reclaim, 193 passes after the fill."""
    return passes_per_rewrite(193, 1930, seed)


def f_passes(seed=1):
    """The limit of E in reads of a block; 72 layers of four strings make 864 pages of a block."""
    return passes_per_rewrite(193, 1930, seed) * PAGES / 864


def picture():
    """Tail of drive I over its passes, measured and simulated."""
    import csv
    from pathlib import Path

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    real = [printed[f"i_{at}"] for at in PASSES]
    axes.plot(PASSES, real, "o", color=COLOURS["read"], label="measured")
    axes.plot(PASSES, shares(PASSES, 1), color=COLOURS["read"], label="nandlab")
    axes.axvline(1136, color="grey", linestyle=":", label="end of the fitted half")
    axes.set_yscale("log")
    axes.set_xlabel("passes over the drive")
    axes.set_ylabel("reads that need a retry (ppm)")
    axes.legend(frameon=False)
    finish(axes, "a worn drive without reclaim")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
