"""A WD Ultrastar DC ZN540: reads by size and depth, writes, appends and commands on zones.

`nandlab papers wd_zn540` runs the rows of `reference.csv`. A row's name says it: `read_BYTES_DEPTH`
with `_iops`, `_mean_us` or `_p99_us`; `reset_BLOCKS`, `reset_finished_BLOCKS` and `finish_BLOCKS`
say how many blocks of 4 KiB were written to the zone; `close_written` closes one that holds one;
`beside_MIB_DEPTH` are reads of 4 KiB beside so many MiB of writes a second.
"""

import re
from functools import cache, partial

import nandlab
from nandlab.drive.trust.replicates import reports_of

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

#: Fills four zones and reads them, beside writes to others.
BESIDE = """[fill]
zonemode=zbd
rw=write
bs=1m
iodepth=4
size=4z

[reads]
stonewall
zonemode=zbd
rw=randread
bs=4k
iodepth={depth}
norandommap=1
size=4z
runtime=2
time_based=1

[writes]
zonemode=zbd
rw=write
bs=128k
offset=4z
size=8z
rate={limit}m
runtime=2
time_based=1
"""

#: Fills zones and sends commands to them beside reads or writes of 8 KiB.
FILL = """[fill]
zonemode=zbd
rw=write
bs=1m
iodepth=4
size=16z
offset=8z
"""

READ_FULL = """
[reads]
stonewall
zonemode=zbd
rw=randread
bs=8k
iodepth={depth}
norandommap=1
offset=8z
size={zones}z
runtime={seconds}
time_based=1
"""

WRITE_THREE = """
[writes]
stonewall
zonemode=zbd
rw=write
bs=8k
numjobs=3
size=1z
offset_increment=1z
runtime=0.5
time_based=1
"""

RESETS = """
[commands]
zonemode=zbd
rw=trim
bs=2048m
offset=9z
size=15z
rate_iops=30
"""

#: A block in a zone; then, beside the reads, the zone is finished.
ONE_BLOCK = """
[block]
stonewall
zonemode=zbd
rw=write
bs=4k
number_ios=1
size=1z
"""

FINISH = """
[commands]
zonemode=zbd
rw=trim
bs=2048m
size=1z
nandlab_finish=1
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

#: A reset of each of these zones.
AFTER = """
[resets]
stonewall
zonemode=zbd
rw=trim
bs=2048m
size=8z
"""

#: Opens each of eight zones that hold nothing.
OPENS = """[opens]
zonemode=zbd
rw=trim
bs=2048m
size=8z
nandlab_open=1
"""

#: Closes each of these zones.
CLOSES = AFTER.replace("[resets]", "[closes]") + "nandlab_close=1\n"

DEPTHS = (1, 2, 8, 16, 64, 256)

#: Requests of a run by depth: at more, the tail needs longer.
REQUESTS = {64: 200_000, 256: 500_000}


#: Runs of each random workload from one state. Reads are random; writes, appends and commands of
#: zones go on in order and take the same time in each run.
REPLICATES = 3


@cache
def repeated(job, precondition="none"):
    """Reports of the replicates of a workload."""
    found = nandlab.run(DRIVE, job, set=SMALL, precondition=precondition, replicates=REPLICATES)
    return reports_of(found.report)


def reads(size, depth, seed=1):
    """Random reads of a full drive."""
    requests = REQUESTS.get(depth, 25_000)
    job = READS.format(size=size, depth=depth, requests=requests)
    return repeated(job, "fill")[seed - 1].host


def iops(size, depth, seed=1):
    return reads(size, depth, seed).iops


def mean_us(size, depth, seed=1):
    return reads(size, depth, seed).latency_us.mean


def p99_us(size, depth, seed=1):
    return reads(size, depth, seed).latency_us.p99


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


def writes_131072_8_p99_us():
    return writes(131072, 8, amount="512m").latency.p99


def writes_131072_2_mb_s():
    return writes(131072, 2, amount="1024m").bandwidth_mb_s


def append_4096_us():
    return writes(4096, append=True).of_zones["append"].mean


def append_8192_us():
    return writes(8192, append=True).of_zones["append"].mean


def appends_8192_1_16_mb_s():
    result = writes(8192, 1, 16, amount="1024m", append=True)
    return result.report.zones.append.bandwidth_mb_s


def appends_4096_1_64_iops():
    return appends_iops(1, 64)


def appends_4096_2_16_iops():
    return appends_iops(2, 16)


def appends_iops(zones, depth):
    """Appends of 4 KiB a second."""
    result = writes(4096, zones, depth, append=True)
    return result.report.zones.append.iops


@cache
def command(operation, blocks):
    """A command to each of eight zones that hold so many blocks of 4 KiB."""
    job = COMMANDS.format(amount=4096 * blocks, finish=int(operation != "reset"))
    if operation == "reset_finished":
        job += AFTER
    result = nandlab.run(DRIVE, job, set=SMALL)
    return result.of_zones[operation.removesuffix("_finished")].mean / 1e3


@cache
def opened():
    """Zones that are opened by a command, and closed."""
    return nandlab.run(DRIVE, OPENS + CLOSES, set=SMALL)


def open_us():
    return opened().of_zones["open"].mean


def close_us():
    return opened().of_zones["close"].mean


def close_written_us():
    """Zones that are opened by a write, and closed."""
    written = COMMANDS.format(amount=4096, finish=0).partition("[commands]")[0]
    return nandlab.run(DRIVE, written + CLOSES, set=SMALL).of_zones["close"].mean


def reads_beside(limit, depth, seed):
    """Latency of reads of 4 KiB beside writes of so many MiB a second, in us."""
    report = repeated(BESIDE.format(limit=limit, depth=depth))[seed - 1]
    return report.host.read.latency_us


def slower(job, commands, seed):
    """Mean of reads beside commands, to that without."""
    alone, beside = (
        repeated(job + more)[seed - 1].host.read.latency_us.mean for more in ("", commands)
    )
    return beside / alone


def reads_resets_1(seed):
    """Mean of reads at depth 1 beside 30 resets of full zones a second, to that without."""
    return slower(FILL + READ_FULL.format(depth=1, zones=1, seconds=0.5), RESETS, seed)


def reads_finishes(depth, seed):
    """Mean of reads beside 0.547 finishes of all but empty zones a second, to that without."""
    job = FILL + ONE_BLOCK + READ_FULL.format(depth=depth, zones=8, seconds=1.829)
    return slower(job, FINISH, seed)


def reads_finishes_1(seed):
    return reads_finishes(1, seed)


def reads_finishes_16(seed):
    return reads_finishes(16, seed)


def writes_resets_3():
    """Writes a second to three zones beside 30 resets of full zones a second, to those without."""

    def rate(more):
        report = nandlab.run(DRIVE, FILL + WRITE_THREE + more, set=SMALL).report
        return sum(job.write.iops for job in report.jobs if job.jobname == "writes")

    return rate(RESETS) / rate("")


def __getattr__(name):
    """The function of a row."""
    if found := re.fullmatch(r"read_(\d+)_(\d+)_(iops|mean_us|p99_us)", name):
        return partial(globals()[found[3]], int(found[1]), int(found[2]))
    if found := re.fullmatch(r"(reset|reset_finished|finish)_(\d+)_ms", name):
        return lambda: command(found[1], int(found[2]))
    if found := re.fullmatch(r"beside_(\d+)_(\d+)_(mean|p99)_us", name):
        return lambda seed: getattr(reads_beside(int(found[1]), int(found[2]), seed), found[3])
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
