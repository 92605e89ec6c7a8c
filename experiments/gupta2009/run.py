"""Gupta et al. (ASPLOS'09): DFTL against FAST and a page map in RAM.

One function for each row of `reference.csv`; `nandlab papers gupta2009` runs them.
`sensitivity.py` beside it shows how the answers move with what the source leaves open.
"""

import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nandlab
from nandlab.catalogue import chip

DRIVE = "gupta2009"
FTLS = ("page", "dftl", "fast")
MIB = 2**20
PAGE_BYTES, PAGES_PER_BLOCK, SECTORS_PER_PAGE = 2048, 64, 4

#: Of the authors' parameter file: 65,536 sectors more than 2,097,152.
SPARE = 0.03125

# --- Workloads -----------------------------------------------------------------------------------

#: By the statistics that the group published of its traces: size, reads, requests a second.
#: Financial: 7.09 KB, 18.92 %, 47.19. TPC-H: 31.62 KB, 91.83 %, 172.73. Sizes are whole pages; the
#: split of Financial has the mean, and the sizes that a piece of the trace shows most.
WORKLOADS = {
    "financial": ("2k/26:4k/28:8k/32:16k/6:24k/8", 9, 38),
    "tpch": ("32k", 159, 14),
}
REQUESTS = 60_000


class Assumed(NamedTuple):
    """What the statistics leave open."""

    #: Share of the drive that the workload goes to. It is written in order before, the rest never.
    share: float = 0.75
    #: Distribution of addresses.
    skew: str = "zipf:1.0"
    #: Requests that do not go on where the last one ended.
    random_percent: int = 100
    #: Spare space, and with FAST the log blocks: 0 are as many as the spare has room for.
    spare: float = SPARE
    log_blocks: int = 0
    #: Factor of the requests a second.
    rate: float = 1.0
    #: Write buffer.
    buffer_bytes: int = 0


BASE = Assumed()


class Measured(NamedTuple):
    """Figures of the pass that counts."""

    mean_ms: float
    #: Victims of garbage collection, or merges of all kinds: as the authors' code counts them.
    collections: int
    reclaimed_blocks: int


def second_pass(drive, warm_up, counted):
    """The authors' rule: all requests of a workload as writes, then the workload, which counts."""
    drive.run(**warm_up)
    run = drive.run(**counted)
    ftl = run.report.ftl
    merges = sum(ftl.merges.values())
    return Measured(run.latency.mean / 1e3, merges or ftl.gc_runs, ftl.gc_runs)


def new_drive(ftl, given, seed=1):
    """A drive that was never written."""
    of_ftl = {} if ftl == "dftl" else {"ftl.name": ftl}
    return nandlab.Drive(DRIVE, set={**of_ftl, **given}, seed=seed)


@cache
def generated(workload, ftl, assumed=BASE, seed=1):
    """Random requests to the first part of a drive."""
    given = {"ftl.overprovisioning": assumed.spare, "buffer.bytes": assumed.buffer_bytes}
    if ftl == "fast":
        given["ftl.log_blocks"] = assumed.log_blocks
    drive = new_drive(ftl, given, seed)
    size = int(assumed.share * drive.capacity_bytes) // MIB * MIB
    drive.run(f"[fill]\nrw=write\nbs=128k\niodepth=1\nsize={size}\n")
    sizes, reads, writes = WORKLOADS[workload]
    reads, writes = (max(1, round(assumed.rate * rate)) for rate in (reads, writes))
    job = f"""[requests]
rw=randrw
rwmixread={round(100 * reads / (reads + writes))}
bssplit={sizes if "/" in sizes else sizes + "/100"}
random_distribution={assumed.skew}
percentage_random={assumed.random_percent}
rate_iops={reads},{writes}
rate_process=poisson
iodepth=256
norandommap=1
number_ios={REQUESTS}
size={size}
"""
    writes_only = job.replace("rw=randrw", "rw=randwrite")
    return second_pass(drive, {"workload": writes_only}, {"workload": job})


def records(path):
    """Time in ms, first page, pages, whether it reads: whole pages, as the authors' code has it."""
    import pyarrow

    packed = path.suffix == ".zst"
    stream = pyarrow.input_stream(str(path), compression="zstd" if packed else None)
    for line in stream.read().decode().splitlines():
        time_ms, _, sector, pages_of_4k, flags = line.split()
        first, end = int(sector), int(sector) + 8 * int(pages_of_4k)
        page = first // SECTORS_PER_PAGE
        yield float(time_ms), page, -(-end // SECTORS_PER_PAGE) - page, int(flags)


@cache
def touched_pages(path):
    """Pages that a trace reads or writes."""
    touched = {page + i for _, page, pages, _ in records(path) for i in range(pages)}
    return len(touched)


@cache
def replayed(path, ftl, log_blocks=0, is_sized=False, is_full=False):
    """A piece of Financial1, on the drive of 1 GiB or on one as large as what it touches."""
    given, options = {"ftl.log_blocks": log_blocks} if ftl == "fast" else {}, None
    if is_sized:
        # A little more: addresses are packed by 4 KiB, and a drive keeps free blocks.
        blocks = round(1.01 * (1 + SPARE) * touched_pages(path) / PAGES_PER_BLOCK)
        given |= {"chip.geometry.blocks_per_plane": blocks, "ftl.overprovisioning": SPARE}
        options = {"address": "compact"}
    drive = new_drive(ftl, given)
    if is_full:
        drive.precondition("fill")
    with tempfile.TemporaryDirectory() as folder:
        passes = []
        for name, mask in (("writes.txt", 0), ("requests.txt", 1)):
            file = Path(folder) / name
            with file.open("w", encoding="utf-8") as lines:
                for time_ms, page, pages, reads in records(path):
                    first, count = page * SECTORS_PER_PAGE, pages * SECTORS_PER_PAGE
                    lines.write(f"{round(1e6 * time_ms)} 0 {first} {count} {reads & mask}\n")
            passes.append({"trace": file, "format": "ssdsim", "trace_options": options})
        return second_pass(drive, *passes)


def change_percent(ours, against):
    """Of the mean response."""
    return 100 * (ours.mean_ms / against.mean_ms - 1)


# --- Times and memory ----------------------------------------------------------------------------


@cache
def one_at_a_time_us(direction):
    """Whole pages of a drive without collection."""
    drive = nandlab.Drive(DRIVE)
    drive.run("[fill]\nrw=write\nbs=2k\niodepth=1\nsize=16m\n")
    return drive.run(f"[one]\nrw={direction}\nbs=2k\niodepth=1\nsize=16m\n").latency.mean


def page_read_us():
    return one_at_a_time_us("read")


def page_write_us():
    return one_at_a_time_us("write")


def block_erase_us():
    timing = chip("gupta2009_slc")["timing"]
    return timing["t_erase_us"] + timing["t_command_us"]


@cache
def page_map_bytes():
    """In RAM, for 1 GiB."""
    (row,) = (row for row in nandlab.ftls(DRIVE) if row.name == "page")
    return row.ram_bytes["map"]


def page_map_mb():
    return page_map_bytes() / MIB


def page_map_percent():
    return 100 * page_map_bytes() / nandlab.Drive(DRIVE).capacity_bytes


# --- Results -------------------------------------------------------------------------------------


def dftl_and_fast(workload, seed):
    return [generated(workload, ftl, seed=seed) for ftl in ("dftl", "fast")]


def financial_response(seed):
    return change_percent(*dftl_and_fast("financial", seed))


def financial_collections(seed):
    dftl, fast = dftl_and_fast("financial", seed)
    return dftl.collections / fast.collections


def tpch_response(seed):
    return change_percent(*dftl_and_fast("tpch", seed))


def financial_write_cache(seed):
    """The memory that a page map would take is a write buffer."""
    cached = Assumed(buffer_bytes=page_map_bytes() - 65536)
    of_dftl = generated("financial", "dftl", cached, seed)
    return change_percent(of_dftl, generated("financial", "page", seed=seed))


def piece_response(path):
    return change_percent(replayed(path, "dftl"), replayed(path, "fast"))


def piece_collections(path):
    return replayed(path, "dftl").collections / replayed(path, "fast").collections


def few_logs(path):
    """FAST with log blocks of 3 % of what the piece touches, as the drive has them of its size."""
    return replayed(path, "fast", log_blocks=round(SPARE * touched_pages(path) / PAGES_PER_BLOCK))


def few_logs_response(path):
    return change_percent(replayed(path, "dftl"), few_logs(path))


def few_logs_collections(path):
    return replayed(path, "dftl").collections / few_logs(path).collections


# --- Picture -------------------------------------------------------------------------------------

SHARES = (0.25, 0.5, 0.75, 0.9, 0.95)
SPARES = (0.03125, 0.0625, 0.125, 0.25)
SKEWS = {"random": "uniform", "zipf:1.0": "Zipf 1.0", "zipf:1.2": "Zipf 1.2"}
PRINTED = {"financial": -78, "tpch": -56}
NAMES = {"financial": "Financial", "tpch": "TPC-H"}


def picture():
    """Mean response of three FTLs, and how DFTL's gain hangs on what the source leaves open."""
    from nandlab.display.picture import new_figure

    figure = new_figure(11.0, 8.2)
    (response, shares), (spares, collections) = figure.subplots(2, 2)
    draw_response(response)
    draw_changes(shares, PRINTED, [(100 * share, Assumed(share=share)) for share in SHARES])
    shares.set_ylim(-103, 20)
    shares.set_xlabel("share of the drive that is written (%)")
    # TPC-H writes too little to fill so many log blocks.
    points = [(100 * spare, Assumed(spare=spare)) for spare in SPARES]
    draw_changes(spares, ["financial"], points)
    spares.set_ylim(-103, -60)
    spares.set_xlabel("spare space, all of it log blocks of FAST (%)")
    draw_collections(collections)
    return figure


def draw_response(axes):
    from nandlab.display.picture import COLOURS, finish

    colours = dict(zip(FTLS, (COLOURS["read"], COLOURS["write"], "0.6"), strict=True))
    names = {"page": "page map in RAM", "dftl": "DFTL", "fast": "FAST"}
    for i, ftl in enumerate(FTLS):
        means = [generated(workload, ftl).mean_ms for workload in WORKLOADS]
        at = [j + 0.28 * (i - 1) for j in range(len(means))]
        bars = axes.bar(at, means, 0.26, color=colours[ftl], label=names[ftl])
        axes.bar_label(bars, [f"{mean:.3g}" for mean in means], padding=2)
    axes.set_yscale("log")
    axes.set_ylim(1, 1000)
    axes.set_xticks(range(len(WORKLOADS)), list(NAMES.values()))
    axes.set_ylabel("mean response (ms)")
    axes.legend(loc="upper right", frameon=False)
    finish(axes, "generated workloads")


def draw_changes(axes, workloads, points):
    """One line for each workload and skew; thin lines are the paper's."""
    from nandlab.display.picture import finish

    styles = {"financial": "o-", "tpch": "s--"}
    for workload in workloads:
        for shade, (skew, name) in zip(shades(), SKEWS.items(), strict=True):
            changes = []
            for _, assumed in points:
                given = assumed._replace(skew=skew)
                pair = (generated(workload, ftl, given) for ftl in ("dftl", "fast"))
                changes.append(change_percent(*pair))
            label = f"{NAMES[workload]}, {name}"
            axes.plot([at for at, _ in points], changes, styles[workload], color=shade, label=label)
        percent = PRINTED[workload]
        axes.axhline(percent, color="0.5", lw=1)
        place = {"xy": (0.3, percent), "xycoords": ("axes fraction", "data")}
        note = {"xytext": (0, -3), "textcoords": "offset points", "va": "top"}
        axes.annotate(f"paper, {NAMES[workload]}", **place, **note, color="0.4", fontsize=9)
    axes.set_ylabel("mean response (%)")
    axes.legend(loc="upper right", frameon=False, ncols=2, fontsize=8)
    finish(axes, "DFTL against FAST")


def draw_collections(axes):
    from nandlab.display.picture import finish

    for shade, (skew, name) in zip(shades(), SKEWS.items(), strict=True):
        ratios = []
        for share in SHARES:
            assumed = Assumed(share=share, skew=skew)
            ours, fast = (generated("financial", ftl, assumed) for ftl in ("dftl", "fast"))
            ratios.append(ours.collections / fast.collections)
        axes.plot([100 * share for share in SHARES], ratios, "o-", color=shade, label=name)
    axes.axhline(1 / 3, color="0.5", lw=1)
    axes.text(25, 1 / 3 + 0.02, "paper, Financial", color="0.4", fontsize=9)
    axes.set_ylim(0, 1.5)
    axes.set_xlabel("share of the drive that is written (%)")
    axes.set_ylabel("collections of DFTL / merges of FAST")
    axes.legend(loc="upper left", frameon=False)
    finish(axes, "collections, Financial")


def shades():
    from matplotlib import colormaps

    return [colormaps["viridis"](i / len(SKEWS)) for i in range(len(SKEWS))]


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
