"""A WD Ultrastar DC ZN540: reads by size and depth, writes, appends and commands on zones.

`nandlab papers wd_zn540` runs the rows of `reference.csv`. A row's name says it: `read_BYTES_DEPTH`
with `_iops`, `_mean_us` or `_p99_us`; `reset_BLOCKS` and `finish_BLOCKS` say how many blocks of
4 KiB were written to the zone.
"""

import re
from functools import cache

import nandlab

DRIVE = "wd_zn540"

#: Fewer zones, so that a run takes little memory: what is measured does not depend on them.
SMALL = {"ftl.zones": 24, "chip.geometry.blocks_per_plane": 30}

READS = """[reads]
zonemode=zbd
rw=randread
bs={size}
iodepth={depth}
norandommap=1
number_ios={requests}
"""

WRITES = """[writes]
zonemode=zbd
rw=write
bs={size}
iodepth={depth}
numjobs={zones}
size=1z
offset_increment=1z
io_size={amount}
nandlab_append={append}
"""

#: Writes this much to each of eight zones, then sends a command to each, one at a time.
COMMANDS = """[writes]
zonemode=zbd
rw=write
bs=4k
numjobs=8
size=1z
offset_increment=1z
io_size={amount}

[commands]
stonewall
zonemode=zbd
rw=trim
bs=2048m
size=8z
nandlab_finish={finish}
"""

DEPTHS = (1, 2, 8, 16, 64, 256)

#: Requests of a run by depth: at more, the tail needs longer.
REQUESTS = {64: 60_000, 256: 120_000}


@cache
def reads(size, depth):
    """Random reads of a full drive."""
    requests = REQUESTS.get(depth, 25_000)
    job = READS.format(size=size, depth=depth, requests=requests)
    return nandlab.run(DRIVE, job, set=SMALL, precondition="fill")


def iops(size, depth):
    return reads(size, depth).iops


def mean_us(size, depth):
    return reads(size, depth).latency.mean


def p99_us(size, depth):
    return reads(size, depth).latency.p99


@cache
def writes(size, zones=1, depth=1, *, amount="64m", append=False):
    """Sequential writes or appends to so many zones of an empty drive."""
    job = WRITES.format(size=size, depth=depth, zones=zones, amount=amount, append=int(append))
    return nandlab.run(DRIVE, job, set=SMALL)


def write_4096_us():
    return writes(4096).latency.mean


def write_8192_us():
    return writes(8192).latency.mean


def writes_4096_8_iops():
    return writes(4096, 8).iops


def writes_8192_8_mb_s():
    return writes(8192, 8, amount="512m").bandwidth_mb_s


def writes_32768_1_mb_s():
    return writes(32768, amount="1024m").bandwidth_mb_s


def writes_131072_8_mb_s():
    return writes(131072, 8, amount="512m").bandwidth_mb_s


def append_4096_us():
    return writes(4096, append=True).of_zones["append"].mean


def appends_4096_1_64_iops():
    return appends_iops(1, 64)


def appends_4096_2_16_iops():
    return appends_iops(2, 16)


def appends_iops(zones, depth):
    """Appends of 4 KiB a second."""
    result = writes(4096, zones, depth, append=True)
    return result.to_dict()["zones"]["append"]["iops"]


@cache
def command(operation, blocks):
    """A command to each of eight zones that hold so many blocks of 4 KiB."""
    job = COMMANDS.format(amount=4096 * blocks, finish=int(operation == "finish"))
    result = nandlab.run(DRIVE, job, set=SMALL)
    return result.of_zones[operation].mean / 1e3


def __getattr__(name):
    """The function of a row."""
    if found := re.fullmatch(r"read_(\d+)_(\d+)_(iops|mean_us|p99_us)", name):
        return lambda: globals()[found[3]](int(found[1]), int(found[2]))
    if found := re.fullmatch(r"(reset|finish)_(\d+)_ms", name):
        return lambda: command(found[1], int(found[2]))
    raise AttributeError(name)


def picture():
    """Measured and simulated requests a second, mean and 99th percentile over the depth."""
    import csv
    from pathlib import Path

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(12.0, 4.0)
    panels = {
        "iops": (iops, "IOPS"),
        "mean_us": (mean_us, "mean (µs)"),
        "p99_us": (p99_us, "p99 (µs)"),
    }
    for axes, (of, (ours, label)) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        for size, what in ((4096, "read"), (8192, "write")):
            real = [printed[f"read_{size}_{depth}_{of}"] for depth in DEPTHS]
            colour, name = COLOURS[what], f"{size // 1024} KiB"
            axes.plot(DEPTHS, real, "o", color=colour, label=f"{name}, measured")
            at = [ours(size, depth) for depth in DEPTHS]
            axes.plot(DEPTHS, at, color=colour, label=f"{name}, nandlab")
        axes.set_xscale("log", base=2)
        axes.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
        axes.set_yscale("log")
        axes.set_xlabel("depth")
        axes.set_ylabel(label)
        axes.legend(frameon=False, fontsize=7)
        finish(axes, "random reads")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
