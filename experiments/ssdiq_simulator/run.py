"""SSD-iq's simulator: write amplification of greedy collection under uniform and skewed writes.

`nandlab papers ssdiq_simulator` runs the rows of `reference.csv`. A row's name says its workload:
`uniform_FILL`, `zones_WRITES` (that share of the writes to the rest of the addresses) and
`zipf_EXPONENT`, in per cent.
"""

import re
from functools import cache
from pathlib import Path

import nandlab

DRIVE = "one_plane"

#: Share of the flash that holds data, where a row does not say it.
FILL = 0.875

JOB = """[writes]
rw=randwrite
bs=4k
iodepth=32
norandommap=1
{distribution}
"""


@cache
def write_amplification(fill=FILL, distribution="", settling=4, measured=4, more=(), seed=1):
    """Pages programmed for each page of the host.

    Before `settling`, the drive is filled and overwritten uniformly until it is steady.

    Args:
        fill: share of the flash that holds data.
        distribution: line of the job file; nothing: uniform.
        settling: drive writes that are not measured.
        measured: drive writes that are.
        more: further parameters of the drive and their values, as pairs.
        seed: seed of the drive.
    """
    given = {
        "ftl.overprovisioning": 1 / fill - 1,
        # Moved data and new data share the open block.
        "ftl.separate_gc_stream": False,
    } | dict(more)
    job = JOB.format(distribution=distribution)
    result = nandlab.run(
        DRIVE,
        job,
        set=given,
        seed=seed,
        precondition="steady",
        skip=f"{settling}x",
        until=f"{measured}x",
    )
    return result.report.ftl.write_amplification_flash


def uniform(fill, seed=1):
    """Uniform writes on a drive so full, in per cent."""
    return write_amplification(fill / 100, settling=0.5, measured=3, seed=seed)


def zones(writes, seed=1):
    """So many per cent of the writes go to the other per cent of the addresses."""
    rest = 100 - writes
    shares = f"{writes}/{rest}:{rest}/{writes}"
    return write_amplification(distribution=f"random_distribution=zoned:{shares}", seed=seed)


def zipf(exponent, seed=1):
    """Zipf's law with a hundredth of this for its exponent."""
    return write_amplification(distribution=f"random_distribution=zipf:{exponent / 100}", seed=seed)


def __getattr__(name):
    """The function of a row."""
    found = re.fullmatch(r"(uniform|zones|zipf)_(\d+)", name)
    if found is None:
        raise AttributeError(name)
    return lambda seed=1: globals()[found[1]](int(found[2]), seed)


def picture():
    """Both simulators over the fill, and over the skew of two zones."""
    import csv

    from nandlab.display.picture import COLOURS, finish, new_figure

    figure = new_figure(9.0, 4.0)
    by_fill, by_skew = figure.subplots(1, 2)
    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        rows = [(row["row"].split("_"), float(row["paper"])) for row in csv.DictReader(lines)]
    for axes, kind, ours in ((by_fill, "uniform", uniform), (by_skew, "zones", zones)):
        points = [(int(at), printed) for (name, at), printed in rows if name == kind]
        at = [x for x, _ in points]
        axes.plot(at, [printed for _, printed in points], "o", color="0.5", label="SSD-iq")
        axes.plot(at, [ours(x) for x in at], color=COLOURS["write"], label="nandlab")
        axes.set_ylabel("write amplification")
        axes.legend(frameon=False)
    by_fill.set_xlabel("flash that holds data (%)")
    by_skew.set_xlabel("writes to the hot zone (%)")
    finish(by_fill, "uniform writes")
    finish(by_skew, "two zones, 87.5 % full")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
