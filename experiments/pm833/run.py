"""A Samsung PM833 behind SATA 3 Gb/s: random reads and writes of 4 KiB at five depths.

`nandlab papers pm833` runs the rows of `reference.csv`. A row's name says operation, depth
and figure.
"""

import re
from functools import cache

import nandlab
from nandlab.drive.trust.replicates import reports_of

DRIVE = "samsung_pm833"

#: A 340th of the drive, so that a run takes a tenth of a second: neither reads of a full drive nor
#: writes into the buffer of an empty one depend on its size.
SMALL = {
    "chip.geometry.blocks_per_plane": 64,
    "chip.geometry.pages_per_block": 192,
    "ftl.overprovisioning": 0.5,
}

JOB = """[job]
rw={operation}
bs=4k
iodepth={depth}
norandommap=1
number_ios={requests}
"""

DEPTHS = (1, 2, 8, 16, 64)

#: Runs of reads at each depth, with other addresses. Writes into the buffer take the same time
#: wherever they go: one run has all there is to see.
REPLICATES = 3


@cache
def measured(operation, depth):
    """The report of each run: reads of a full drive, writes to an empty one."""
    is_read = operation == "randread"
    replicates, requests = (REPLICATES, 7000) if is_read else (1, 20_000)
    job = JOB.format(operation=operation, depth=depth, requests=requests)
    filled = "fill" if is_read else "none"
    found = nandlab.run(DRIVE, job, set=SMALL, precondition=filled, replicates=replicates)
    return reports_of(found.report)


def iops(operation, depth, seed=1):
    return measured(operation, depth)[seed - 1].host.iops


def mean_us(operation, depth, seed=1):
    return measured(operation, depth)[seed - 1].host.latency_us.mean


def __getattr__(name):
    """The function of a row."""
    found = re.fullmatch(r"(randread|randwrite)_(\d+)_(iops|mean_us)", name)
    if found is None:
        raise AttributeError(name)
    return lambda seed=1: globals()[found[3]](found[1], int(found[2]), seed)


def picture():
    """Measured and simulated IOPS and latency over the depth."""
    import csv
    from pathlib import Path

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(9.0, 4.0)
    for axes, of, figure_of in zip(
        figure.subplots(1, 2), ("iops", "mean_us"), (iops, mean_us), strict=True
    ):
        for operation, what in (("randread", "read"), ("randwrite", "write")):
            colour = COLOURS[what]
            real = [printed[f"{operation}_{depth}_{of}"] for depth in DEPTHS]
            axes.plot(DEPTHS, real, "o", color=colour, label=f"{what}s, measured")
            ours = [figure_of(operation, depth) for depth in DEPTHS]
            axes.plot(DEPTHS, ours, color=colour, label=f"{what}s, nandlab")
        axes.set_xscale("log", base=2)
        axes.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
        axes.set_xlabel("depth")
        axes.set_ylabel("IOPS" if of == "iops" else "mean latency (µs)")
        axes.set_yscale("log")
        axes.legend(frameon=False)
        finish(axes, "requests a second" if of == "iops" else "latency")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
