"""Power of a Samsung 980 PRO: reads by size, random writes through the beginning of collection.

`nandlab papers powersensor3` runs the rows of `reference.csv`. `read_KIB_w` and `read_KIB_mib_s`
are reads of so many KiB at depth 1, `write_SECONDS_w` and `write_SECONDS_mib_s` random writes at
that time.
"""

import re
from functools import cache

import nandlab

DRIVE = "samsung_980_pro"

#: A 64th of the drive: a quarter of the blocks, each with a 16th of the pages and of the erase
#: time. Its writes reach each state after a 64th of the time.
SCALE = 64
SMALL = {
    "chip.geometry.pages_per_block": 48,
    "chip.geometry.blocks_per_plane": 683,
    "chip.timing.t_erase_us": 625.0,
}

READS = """[reads]
rw=randread
bs={kib}k
iodepth=1
norandommap=1
number_ios={requests}
"""

WRITES = """[writes]
rw=randwrite
bs=4k
iodepth=1
norandommap=1
time_based=1
runtime={seconds}
"""

#: Seconds of the measurement that a figure of the writes is the mean of.
WINDOW_S = 20.0


@cache
def reads(kib, seed=1):
    """Random reads of a full drive, one at a time."""
    requests = max(300, min(4000, 400_000 // kib))
    job = READS.format(kib=kib, requests=requests)
    return nandlab.run(DRIVE, job, set=SMALL, seed=seed, precondition="fill")


@cache
def writes(seed=1):
    """Random writes to a drive that was filled in order, as columns over time."""
    job = WRITES.format(seconds=1220 / SCALE)
    series = nandlab.run(DRIVE, job, set=SMALL, seed=seed, precondition="fill").series()
    return {name: series[name].to_numpy() for name in series.column_names}


def at(seconds, column, seed):
    """Mean of a column around this time of the measurement."""
    of = writes(seed)
    begin, end = ((seconds + half) / SCALE for half in (-WINDOW_S / 2, WINDOW_S / 2))
    is_there = (of["time_s"] >= begin) & (of["time_s"] < end)
    weight = of["duration_s"][is_there]
    return float((of[column][is_there] * weight).sum() / weight.sum())


def read_w(kib, seed=1):
    return reads(kib, seed).drive_power_w


def read_mib_s(kib, seed=1):
    return reads(kib, seed).bandwidth_mb_s * 1e6 / 2**20


def write_w(seconds, seed=1):
    return at(seconds, "drive_power_w", seed)


def write_mib_s(seconds, seed=1):
    return at(seconds, "write_mb_s", seed) * 1e6 / 2**20


def __getattr__(name):
    """The function of a row."""
    found = re.fullmatch(r"(read|write)_(\d+)_(w|mib_s)", name)
    if found is None:
        raise AttributeError(name)
    return lambda seed=1: globals()[f"{found[1]}_{found[3]}"](int(found[2]), seed)


def picture():
    """Measured and simulated power and bandwidth, of reads by size and of writes over time."""
    import csv
    from pathlib import Path

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(9.0, 6.0)
    panels = figure.subplots(2, 2)
    for column, (what, x_label) in enumerate(
        {"read": "size of reads (KiB)", "write": "time of writes (s)"}.items()
    ):
        for row, (of, label) in enumerate({"w": "power (W)", "mib_s": "MiB/s"}.items()):
            axes, colour = panels[row][column], COLOURS[what]
            rows = (re.fullmatch(rf"{what}_(\d+)_{of}", name) for name in printed)
            places = sorted(int(found[1]) for found in rows if found)
            real = [printed[f"{what}_{place}_{of}"] for place in places]
            ours = [globals()[f"{what}_{of}"](place) for place in places]
            axes.plot(places, real, "o", color=colour, label="measured")
            axes.plot(places, ours, color=colour, label="nandlab")
            if what == "read":
                axes.set_xscale("log", base=2)
            axes.set_xlabel(x_label)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False, fontsize=8)
            finish(axes, f"{what}s")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
