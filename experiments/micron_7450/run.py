"""Micron 7450 MAX and PRO: write amplification and throughput by fill, skew and zones.

`nandlab papers micron_7450` runs the rows of `reference.csv`. A row's name says the workload and
the figure: `wa_USED`, `mib_USED` (GiB in use), `zones_WRITES`, `frozen_SHARE` and `zipf_EXPONENT`
(per cent, `pro_` for the PRO), `zns_SIZE_ACTIVE` (requests of 512 KiB in a zone, zones written at a
time) with `_wa` or `_mib`. `step_USED` are drive writes until the rate falls after a fill in order,
`after_USED_SECONDS` the MiB a second then.
"""

import csv
import random
import re
import tempfile
from bisect import bisect_left
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import nandlab
from nandlab.drive.trust.replicates import reports_of

DRIVE = "micron_7450_max"

#: GiB of data that the flash holds, from the free blocks that the drive reports.
POOL_GIB = 1087.0

#: The drive is a 64th in its blocks, and so are an erase and the space in use. The buffer is not
#: larger than rows in flight need (16 dies of 192 KiB).
SCALE = 64
SMALL = {
    "chip.geometry.pages_per_block": 2112 // SCALE,
    "chip.timing.t_erase_us": 10_000 / SCALE,
    "buffer.bytes": 4 * 2**20,
    "host.submit_us": 0,
}

#: GiB in use, and bytes on flash for each byte of a fill in order, as measured with that.
IN_ORDER = {372: 1.0374, 447: 1.0374, 596: 1.0319, 745: 1.0249, 894: 1.0249}
USED_GIB = {372: 372.606, 447: 447.127, 596: 596.17, 745: 745.212, 894: 894.253}

#: Seconds that each run of the drive lasted after the fill; its rows are of 60 to 99 % of them.
LASTED_S = {
    "zones": {60: (5980,), 70: (6230,), 80: (7970,), 90: (8990,), 95: (7420, 9090)},
    "frozen": {20: (8700,), 40: (8760,), 60: (10860,), 80: (4920,), 90: (2820,)},
    "zipf": {20: (5940,), 40: (6090,), 60: (6350,), 80: (6480,), 100: (6900,)},
    "pro_zipf": {20: (12240,), 40: (12540,), 60: (12960,), 80: (13440,), 100: (12660,)},
}

#: After a fill in order, by GiB in use: seconds of an interval of the series, and intervals.
INTERVALS = {372: (22.597, 60), 745: (32.665, 60), 894: (64.966, 36)}

#: Runs of uniform writes from one state. Skewed and zone-wise writes begin anew with each seed.
REPLICATES = 3

#: Bytes of a request of zone-wise writes at this scale.
REQUEST_BYTES = 128 * 1024

JOB = """[job]
rw={pattern}
bs={size}
iodepth={depth}
norandommap=1
{distribution}
"""


def of_use(used):
    """The drive with so many GiB in use: what is never written is spare space."""
    metadata = IN_ORDER[used] - 1
    spare = POOL_GIB * (1 + metadata) / USED_GIB[used] - 1
    return SMALL | {"ftl.overprovisioning": spare, "ftl.metadata_share": metadata}


def figures(report):
    """Write amplification, and MiB of the host a second."""
    return report.ftl.write_amplification, report.host.bandwidth_mb_s * 1e6 / 2**20


@cache
def in_order():
    """A fill in order."""
    job = JOB.format(pattern="write", size="512k", depth=64, distribution="")
    return figures(nandlab.run(DRIVE, job, set=of_use(745), skip="0.2x", until="0.4x").report)


def random_job(distribution=""):
    """Random writes of 4 KiB, with a line that says their distribution or seed."""
    return JOB.format(pattern="randwrite", size="4k", depth=512, distribution=distribution)


@cache
def at_random(used, dies=1):
    """Runs of uniform random writes in the steady state, with superblocks of so many dies."""
    result = nandlab.run(
        DRIVE,
        random_job(),
        set=of_use(used) | {"ftl.superblock_dies": dies},
        precondition="steady",
        skip="0.2x",
        until="0.3x",
        replicates=REPLICATES,
    )
    return [figures(report) for report in reports_of(result.report)]


@cache
def shuffled(more=(), used=745, seed=1):
    """A drive whose GiB in use were filled in random order: hot data lie anywhere in it."""
    drive = nandlab.Drive(DRIVE, set=of_use(used) | dict(more), seed=seed)
    drive.run("[fill]\nrw=randwrite\nbs=4k\niodepth=512\n")
    return drive


@cache
def skewed(distribution, lasted_s, more=(), used=745, seed=1):
    """Skewed writes after the fill, for as long as the drive had them.

    Args:
        distribution: of the writes, as fio says it.
        lasted_s: seconds of the drive; a 64th of it takes a 64th of them.
        more: parameters of the drive, as pairs.
        used: GiB in use.
        seed: seed of the drive and of its fill.
    """
    seconds = lasted_s / SCALE
    job = random_job(f"random_distribution={distribution}")
    window = {"skip": f"{0.6 * seconds:.4f}s", "until": f"{0.39 * seconds:.4f}s"}
    return figures(shuffled(more, used, seed).clone().run(job, is_last=True, **window).report)


@cache
def filled(used):
    """A drive whose GiB in use were filled in order."""
    return nandlab.Drive(DRIVE, set=of_use(used)).precondition("fill")


@cache
def after_fill(used, seed=1):
    """MiB a second in each interval of uniform random writes after a fill in order."""
    seconds, count = INTERVALS[used]
    edges_s = [number * seconds / SCALE for number in range(count + 1)]
    result = (
        filled(used)
        .clone()
        .run_replicate(seed - 1, workload=random_job(), until=f"{edges_s[-1]:.5f}s")
    )
    series = result.series()
    ends_s, written = [0.0], [0.0]
    for start_s, lasted_s, mb_s in zip(
        *(series[name].to_pylist() for name in ("time_s", "duration_s", "write_mb_s")), strict=True
    ):
        ends_s.append(start_s + lasted_s)
        written.append(written[-1] + mb_s * lasted_s * 1e6 / 2**20)
    at_edges = [interpolated(ends_s, written, edge_s) for edge_s in edges_s]
    return [(end - start) * SCALE / seconds for start, end in pairwise(at_edges)]


def interpolated(xs, ys, x):
    """Linear between points, flat beyond the last."""
    at = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    part = min((x - xs[at - 1]) / (xs[at] - xs[at - 1]), 1.0)
    return ys[at - 1] + part * (ys[at] - ys[at - 1])


def step_at(used, rates):
    """Drive writes until the rate is halfway down from the first to the least of these rates."""
    seconds, _ = INTERVALS[used]
    half = (rates[0] + min(rates)) / 2
    below = next(at for at, rate in enumerate(rates) if rate < half)
    before, after = rates[below - 1], rates[below]
    part = (before - half) / (before - after)
    # Rates are those of the middles of intervals.
    written = sum(rates[: below - 1]) + before / 2 + part * (before + half) / 2
    return written * seconds / (USED_GIB[used] * 1024)


def zone_trace(units, zone, active, unit_bytes, *, discards=True, seed=1):
    """Lines of a trace that fills the space four times by zones, and the number of its writes.

    Args:
        units: requests that the space takes.
        zone: requests of a zone, which may be a fraction.
        active: zones at a time, drawn at random; a write goes to any of them.
        unit_bytes: bytes of a request.
        discards: whether a zone is discarded when it is begun.
        seed: seed of the zones that are drawn.
    """
    draw = random.Random(seed)
    count = int(units / zone)
    starts = [int(number * zone) for number in range(count + 1)]
    lines = ["fio version 2 iolog", "/dev/drive add", "/dev/drive open"]
    next_of = {}

    def begin():
        number = draw.choice([number for number in range(count) if number not in next_of])
        next_of[number] = starts[number]
        length = starts[number + 1] - starts[number]
        if discards:
            lines.append(f"/dev/drive trim {starts[number] * unit_bytes} {length * unit_bytes}")
        return number

    zones = [begin() for _ in range(active)]
    written = 4 * units
    for _ in range(written):
        at = draw.randrange(active)
        number = zones[at]
        lines.append(f"/dev/drive write {next_of[number] * unit_bytes} {unit_bytes}")
        next_of[number] += 1
        if next_of[number] == starts[number + 1]:
            del next_of[number]
            zones[at] = begin()
    return [*lines, "/dev/drive close"], written


def replayed(drive, given, lines, written, seed=1):
    """A run of such a trace on a drive that was filled in order, from 60 % on as the authors do."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "zones.iolog"
        trace.write_text("\n".join(lines) + "\n", encoding="utf-8")
        skip = str(int(0.6 * written))
        return figures(
            nandlab.run(
                drive,
                trace=trace,
                iodepth=8,
                set=given,
                seed=seed,
                precondition="fill",
                skip=skip,
            ).report
        )


@cache
def by_zones(requests, active, *, dies=1, discards=True, seed=1):
    """Zones of so many requests of 512 KiB, so many at a time, with superblocks of so many dies."""
    units = int(USED_GIB[745] / SCALE * 2**30 / REQUEST_BYTES)
    zone = requests * 512 * 1024 / SCALE / REQUEST_BYTES
    how = {"discards": discards, "seed": seed}
    lines, written = zone_trace(units, zone, active, REQUEST_BYTES, **how)
    return replayed(DRIVE, of_use(745) | {"ftl.superblock_dies": dies}, lines, written, seed)


def fill_wa():
    return in_order()[0]


def fill_mib():
    return in_order()[1]


def wa(used, seed=1):
    return at_random(used)[seed - 1][0]


def mib(used, seed=1):
    return at_random(used)[seed - 1][1]


def distribution_of(kind, number):
    """Name in fio of the distribution of a row."""
    return {
        # So many per cent of the writes go to the other per cent of the addresses.
        "zones": f"zoned:{number}/{100 - number}:{100 - number}/{number}",
        # So many per cent of the addresses are not written again.
        "frozen": f"zoned:100/{100 - number}",
        # Zipf's law with a hundredth of this for its exponent.
        "zipf": f"zipf:{number / 100}",
    }[kind]


def skewed_mib(kind, number, more=(), seed=1):
    """The mean over runs."""
    distribution = distribution_of(kind.removeprefix("pro_"), number)
    used = 894 if kind.startswith("pro_") else 745
    runs = (skewed(distribution, run_s, more, used, seed) for run_s in LASTED_S[kind][number])
    return fmean(run[1] for run in runs)


def step(used, seed=1):
    return step_at(used, after_fill(used, seed))


def after(used, seconds, seed=1):
    return after_fill(used, seed)[int(seconds / INTERVALS[used][0])]


def zns_wa(requests, active, seed=1):
    return by_zones(requests, active, seed=seed)[0]


def zns_mib(requests, active, seed=1):
    return by_zones(requests, active, seed=seed)[1]


def __getattr__(name):
    """The function of a row."""
    if found := re.fullmatch(r"(wa|mib)_(\d+)", name):
        return partial(globals()[found[1]], int(found[2]))
    if found := re.fullmatch(r"(zones|frozen|zipf|pro_zipf)_(\d+)_mib", name):
        return lambda seed=1: skewed_mib(found[1], int(found[2]), seed=seed)
    if found := re.fullmatch(r"step_(\d+)", name):
        return partial(step, int(found[1]))
    if found := re.fullmatch(r"after_(\d+)_(\d+)", name):
        return partial(after, int(found[1]), int(found[2]))
    if found := re.fullmatch(r"zns_(\d+)_(\d+)_(wa|mib)", name):
        return partial(globals()[f"zns_{found[3]}"], int(found[1]), int(found[2]))
    raise AttributeError(name)


def picture():
    """Write amplification by fill and by zones; throughput by skew and after a fill in order."""
    from nandlab.display.picture import new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(15.0, 8.0)
    *axes, rest = figure.subplots(2, 4).flat
    rest.set_axis_off()
    fill = [(used, f"wa_{used}") for used in (372, 447, 596, 745)]
    draw(axes[0], printed, fill, "random writes", "GiB in use")
    for at, one in ((axes[1], True), (axes[2], False)):
        rows = [(of_zone(name, one=one), name) for name in sorted_zones(printed, one=one)]
        title, label = (
            ("one zone at a time", "MiB of a zone")
            if one
            else ("several zones at a time", "zones of 8 GiB written at a time")
        )
        draw(at, printed, rows, title, label)
        at.set_xscale("log", base=2)
        ticks = [x for x, _ in rows if x & (x - 1) == 0]
        at.set_xticks(ticks, [str(x) for x in ticks])
        at.minorticks_off()
    shares = [(x, f"zones_{x}_mib") for x in LASTED_S["zones"]]
    draw(axes[3], printed, shares, "two zones", "% of the writes")
    shares = [(x, f"frozen_{x}_mib") for x in LASTED_S["frozen"]]
    draw(axes[4], printed, shares, "data never written again", "% of 745 GiB")
    draw_zipf(axes[5], printed)
    draw_after_fill(axes[6], printed)
    return figure


def draw(axes, printed, rows, title, label):
    """Measured figures of rows and ours, over a number."""
    from nandlab.display.picture import COLOURS, finish

    at = [x for x, _ in rows]
    ours = [__getattr__(name)() for _, name in rows]
    axes.plot(at, [printed[name] for _, name in rows], "o", color="0.5", label="measured")
    axes.plot(at, ours, color=COLOURS["write"], label="nandlab")
    axes.set_xlabel(label)
    axes.set_ylabel("MiB a second" if rows[0][1].endswith("_mib") else "write amplification")
    if rows[0][1].endswith("_mib"):
        axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    finish(axes, title)


def draw_zipf(axes, printed):
    """MiB a second over the exponent, for MAX and PRO."""
    from nandlab.display.picture import COLOURS, finish

    for kind, name, colour in (
        ("zipf", "MAX, 745 GiB", COLOURS["write"]),
        ("pro_zipf", "PRO, 894 GiB", "0.2"),
    ):
        at = [number / 100 for number in LASTED_S[kind]]
        rows = [f"{kind}_{number}_mib" for number in LASTED_S[kind]]
        axes.plot(at, [__getattr__(row)() for row in rows], color=colour, label=name)
        axes.plot(at, [printed[row] for row in rows], "o", color=colour)
    axes.set_xlabel("exponent (marks: measured)")
    axes.set_ylabel("MiB a second")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    finish(axes, "Zipf's law")


def draw_after_fill(axes, printed):
    """MiB a second over the time since a fill in order, for three spaces in use."""
    from nandlab.display.picture import COLOURS, finish

    colours = dict(zip(INTERVALS, (COLOURS["read"], COLOURS["write"], "0.2"), strict=True))
    for used, (seconds, count) in INTERVALS.items():
        at = [(number + 0.5) * seconds for number in range(count)]
        axes.plot(at, after_fill(used), color=colours[used], label=f"{used} GiB")
        points = [
            (int(found[1]), value)
            for name, value in printed.items()
            if (found := re.fullmatch(rf"after_{used}_(\d+)", name))
        ]
        axes.plot(*zip(*points, strict=True), "o", color=colours[used])
    axes.set_xlabel("seconds (marks: measured)")
    axes.set_ylabel("MiB a second")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small")
    finish(axes, "after a fill in order")


def of_zone(name, *, one):
    """MiB of the zones of a row, or how many are written at a time."""
    _, size, active, _ = name.split("_")
    return int(size) // 2 if one else int(active)


def sorted_zones(printed, *, one):
    """Rows of write amplification by zones: of one at a time by size, or of several by number."""
    names = [name for name in printed if name.startswith("zns_") and name.endswith("_wa")]
    chosen = [name for name in names if (name.split("_")[2] == "1") == one]
    return sorted(chosen, key=lambda name: [int(part) for part in name.split("_")[1:3]])


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
