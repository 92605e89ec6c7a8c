"""Times of trims: what users have measured, and the model whose constant comes from one of them.

`nandlab papers trims` runs the rows of `reference.csv`.
"""

from functools import cache

import nandlab

DRIVE = "modern_tlc"

#: A 64th of the drive: the time of a trim does not depend on the drive's size.
SCALE = "1/64"

JOB = """[trims]
rw=trim
bs={size}
size=1g
io_size={amount}
"""


@cache
def measured(size, amount):
    """The report of trims of a size, one at a time as Linux sends them, and their amount."""
    return nandlab.run(DRIVE, JOB.format(size=size, amount=amount), scale=SCALE).report


def trim_74_gib_s(seed=1):
    return measured("512k", "74g").sim.simulated_s


def trim_1_gib_ms(seed=1):
    return measured("1g", "1g").host.latency_us.mean / 1e3


def trim_1_gib_most_ms(seed=1):
    return trim_1_gib_ms(seed)


def trim_4_kib_us(seed=1):
    return measured("4k", "64m").host.latency_us.mean


#: Sizes of the picture, in KiB.
SIZES = (4, 16, 64, 256, 512, 2048, 8192, 32_768, 131_072, 1_048_576)


def picture():
    """Latency of a trim over its size, with what was measured."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    ours = [measured(f"{kib}k", "1g").host.latency_us.mean for kib in SIZES]
    axes.plot(SIZES, ours, color=COLOURS["trim"], label="nandlab, modern_tlc")
    of_one_us = 27e6 / (74 * 2048)
    axes.plot([512], [of_one_us], "o", color="black", label="74 GiB in 27 s (fitted)")
    axes.plot([4], [71.63], "x", color="black", label="4 KiB, another drive")
    size = 1_048_576
    axes.plot([size, size], [1e5, 1e6], "_-", color="black", label="hundreds of ms, a chosen size")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("size of a trim (KiB)")
    axes.set_ylabel("latency (µs)")
    axes.legend(frameon=False)
    finish(axes, "one trim at a time")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
