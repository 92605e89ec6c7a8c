"""SSD-iq's latency runs: reads beside random writes at an offered rate, on five drives.

`nandlab papers ssdiq` runs the rows of `reference.csv`. A row's name says drive, thousands of
requests offered a second, and figure: `p5520_30_p99` is the 99th percentile of reads of the probe.
`DRIVE_knee` is the most writes a second, `DRIVE_fill_mib` a fill in order, `DRIVE_mib` and
`DRIVE_wa` are random writes alone.
"""

import csv
import re
from functools import cache, partial
from pathlib import Path

import nandlab
from nandlab.drive.trust.replicates import reports_of

#: Drives are a 64th in their blocks, and so is an erase.
SCALE = 64

#: GiB of data that the flash of the 7450 holds, from the free blocks that it reports.
POOL_GIB = 1087.0
METADATA = 0.0249

OFFERED = {
    "cm7": (10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 500),
    "wd": (10, 20, 30, 40, 60),
    "p5520": (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 200),
    "max": (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 200),
    "pro": (10, 20, 30, 40, 50, 60, 70, 200),
}
NAMES = {
    "cm7": "Kioxia CM7-R",
    "wd": "WD, 960 GB",
    "p5520": "Solidigm P5520",
    "max": "Micron 7450 MAX",
    "pro": "Micron 7450 PRO",
}

#: Thousands a second at which numbers were fitted: filled marks of the picture.
FITTED = {
    "cm7": (10, 60, 200, 300, 500),
    "wd": (10, 40, 60),
    "p5520": (10, 30, 50, 80, 110, 200),
    "max": (10, 30, 80, 110, 200),
    "pro": (),
}

#: Requests a second of the probe, half of them reads.
PROBE = 10_000

#: Thousands a second offered to the WD from which on its probe falls behind. SSD-iq counts latency
#: from the moment a request is sent; fio does so where arrivals are not drawn.
WD_FALLS_BEHIND = 50

#: Runs from one steady state.
REPLICATES = 3

#: Drives that measure three seconds after one second; the others measure ten after four.
SHORT = ("wd", "pro")

#: The sum of all writers is what is offered, less the reads of the probe: so the counts say.
JOB = """[global]
rw=randrw
bs=4k
norandommap=1
rate_process={pace}
iodepth=64
time_based=1
ramp_time={ramp_s}s
runtime={run_s}s
[probe]
rate_iops={probe},{probe}
[writers]
numjobs=6
rwmixread=1
rate_iops={reads},{writes}
"""

ALONE = "[job]\nrw={pattern}\nbs={size}\niodepth={depth}\nnorandommap=1\n"


def of_micron(used_gib, scale):
    """The 7450 with so many GiB in use: what is never written is spare space.

    Its buffer is not larger than rows in flight need.
    """
    return {
        "chip.geometry.pages_per_block": 2112 // scale,
        "buffer.bytes": 4 * 2**20,
        "ftl.overprovisioning": POOL_GIB * (1 + METADATA) / used_gib - 1,
    }


def drive(name, scale=SCALE):
    """A preset and what is laid over it."""
    if name == "p5520":
        preset, given = "solidigm_p5520", {"chip.geometry.pages_per_block": 1728 // scale}
    elif name == "cm7":
        preset, given = "kioxia_cm7_r", {"chip.geometry.pages_per_block": 1344 // scale}
        given["buffer.bytes"] = 16 * 2**20
    elif name == "wd":
        preset, given = "wd_dc_960", {"chip.geometry.pages_per_block": 1728 // scale}
        given["buffer.bytes"] = 4 * 2**20
    else:
        preset, given = "micron_7450_max", of_micron(745.212 if name == "max" else 894.253, scale)
    return preset, given | {"chip.timing.t_erase_us": 10_000 / scale, "host.submit_us": 0}


@cache
def steady(name, scale=SCALE):
    """A drive that has been overwritten at random until nothing changes."""
    preset, given = drive(name, scale)
    return nandlab.Drive(preset, set=given).precondition("steady")


@cache
def beside_writes(name, offered, scale=SCALE):
    """The reports of runs with so many thousand requests offered a second."""
    each = (offered * 1000 - PROBE / 2) / 6
    falls_behind = name == "wd" and offered >= WD_FALLS_BEHIND
    # A probe that falls behind is later the longer it runs.
    is_long = falls_behind or name not in SHORT
    job = JOB.format(
        pace="linear" if falls_behind else "poisson",
        ramp_s=4 if is_long else 1,
        run_s=10 if is_long else 3,
        probe=PROBE // 2,
        reads=round(0.01 * each),
        writes=round(0.99 * each),
    )
    found = steady(name, scale).clone().run(job, is_last=True, replicates=REPLICATES)
    return reports_of(found.report)


def percentile(name, offered, percent, scale=SCALE, seed=1):
    """Microseconds of the probe's reads."""
    probe = beside_writes(name, offered, scale)[seed - 1].jobs[0]
    return probe.read.lat_ns.percentile[f"{percent}.000000"] / 1e3


def knee(name, scale=SCALE, seed=1):
    """Writes a second where more are offered than the drive takes."""
    jobs = beside_writes(name, OFFERED[name][-1], scale)[seed - 1].jobs
    return sum(job.write.iops for job in jobs)


def mib_s(report):
    """MiB of the host a second."""
    return report.host.bandwidth_mb_s * 1e6 / 2**20


def fill_mib(name):
    """A fill in order."""
    preset, given = drive(name)
    job = ALONE.format(pattern="write", size="512k", depth=64)
    return mib_s(nandlab.run(preset, job, set=given, skip="0.2x", until="0.4x").report)


@cache
def alone(name):
    """The reports of runs of random writes in the steady state."""
    job = ALONE.format(pattern="randwrite", size="4k", depth=512)
    window = {"skip": "0.3x", "until": "0.5x"}
    found = steady(name).clone().run(job, is_last=True, replicates=REPLICATES, **window)
    return reports_of(found.report)


def __getattr__(name):
    """The function of a row."""
    drive_name, _, figure = name.partition("_")
    if drive_name in NAMES:
        if found := re.fullmatch(r"(\d+)_p(50|99)", figure):
            return partial(percentile, drive_name, int(found[1]), int(found[2]))
        if figure == "wa":
            return lambda seed=1: alone(drive_name)[seed - 1].ftl.write_amplification_flash
        if figure == "mib":
            return lambda seed=1: mib_s(alone(drive_name)[seed - 1])
        if figure in ("knee", "fill_mib"):
            return partial(globals()[figure], drive_name)
    raise AttributeError(name)


def picture():
    """Measured and simulated percentiles of reads over the offered rate."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(12.0, 8.0)
    shown = {}
    *panels, rest = figure.subplots(2, 3).flat
    rest.set_axis_off()
    for axes, (name, offered) in zip(panels, OFFERED.items(), strict=True):
        for percent, colour in ((50, COLOURS["read"]), (99, COLOURS["write"])):
            for is_fitted, what in ((True, "fitted"), (False, "not fitted")):
                at = [rate for rate in offered if (rate in FITTED[name]) == is_fitted]
                real = [printed[f"{name}_{rate}_p{percent}"] for rate in at]
                face = colour if is_fitted else "none"
                label = f"p{percent}, measured, {what}"
                (marks,) = axes.plot(at, real, "o", color=colour, markerfacecolor=face, label=label)
                shown.setdefault(label, marks)
            ours = [percentile(name, rate, percent) for rate in offered]
            (line,) = axes.plot(offered, ours, color=colour, label=f"p{percent}, nandlab")
            shown.setdefault(f"p{percent}, nandlab", line)
        axes.axvline(printed[f"{name}_knee"] / 1000, color="0.7", linestyle=":")
        axes.set_xlabel("offered, thousands a second")
        axes.set_ylabel("latency of reads (µs)")
        axes.set_yscale("log")
        finish(axes, NAMES[name])
    rest.legend(handles=shown.values(), loc="center", frameon=False, fontsize=10)
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
