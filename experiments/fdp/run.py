"""Placement handles: write amplification of flash caches on drives with FDP, by handles and fill.

`nandlab papers fdp` runs the rows of `reference.csv`. Names of rows: `mixed` is one handle for all
data, `apart` a handle for each stream; numbers are per cent, of the cache that holds small objects
(`soc_SIZE`) or of the drive in use (`use_SHARE`).
"""

import csv
import re
from functools import cache
from pathlib import Path

import nandlab

DRIVE = "one_plane"

#: A block stands for a reclaim unit: 1.88 TB in units of 6 GB, and the spare space.
BLOCKS = 370

#: Spare space of the drive, fitted to `random_wa`.
SPARE = 0.18

#: Share of the written bytes that the cache of small objects takes (README.md).
SMALL = 0.8

#: Logs of more drive writes than this end in the steady state.
LONG = 12

#: Bytes on which streams begin.
ALIGNED = 64 * 1024

#: All streams together, KiB a second. Any rate that the flash can follow gives the same figures.
RATE = 100_000

GLOBAL = """[global]
iodepth=4
norandommap
time_based
runtime=100000s
"""

STREAM = """[{name}]
rw={pattern}
bs={size}
offset={start}
size={length}
rate={rate}k
"""


def shape(handles, more=()):
    """Parameters of the drive with so many handles."""
    return {
        "chip.geometry.blocks_per_plane": BLOCKS,
        "ftl.overprovisioning": SPARE,
        "ftl.host_streams": handles,
    } | dict(more)


@cache
def capacity(handles, more=()):
    """Bytes that the host sees."""
    one = nandlab.run(DRIVE, "[w]\nrw=write\nnumber_ios=1\n", set=shape(handles, more))
    return one.report.nandlab.capacity_bytes


def stream(name, pattern, start, end, rate, handle, spread=None):
    """A job that writes from `start` to `end`, at random or as a ring, under a handle.

    `spread` is a distribution of fio (`random_distribution`) instead of even addresses.
    """
    start, end = (int(at) // ALIGNED * ALIGNED for at in (start, end))
    size = "4k" if pattern == "randwrite" else "64k"
    text = STREAM.format(
        name=name, pattern=pattern, size=size, start=start, length=end - start, rate=int(rate)
    )
    if spread is not None:
        text += f"random_distribution={spread}\n"
    return text if handle is None else f"{text}dataplacement=fdp\nplids={handle}\n"


def caches(drive_bytes, tenants, use, soc, handles, *, by_kind, share, spread, arrivals):
    """Job file of caches side by side, each with small objects at random and large ones in a ring.

    Stream k of n has handle k * handles / n. Streams are counted tenant by tenant, or all of small
    objects before those of large ones: two handles are then one for each kind.
    """
    text = GLOBAL + arrivals
    part = drive_bytes * use / tenants
    for tenant in range(tenants):
        start = tenant * part
        numbers = (tenant, tenants + tenant) if by_kind else (2 * tenant, 2 * tenant + 1)
        small, large = (
            None if handles == 1 else number * handles // (2 * tenants) for number in numbers
        )
        split = start + part * soc
        rate = RATE * share / tenants
        text += stream(f"small{tenant}", "randwrite", start, split, rate, small, spread)
        rate = RATE * (1 - share) / tenants
        text += stream(f"large{tenant}", "write", split, start + part, rate, large)
    return text


@cache
def of_caches(
    handles,
    soc=0.04,
    use=1.0,
    tenants=1,
    by_kind=False,
    skip="16x",
    until="2x",
    seed=1,
    small=None,
    spread=None,
    more=(),
    arrivals="",
):
    """Report of caches that fill an empty drive, after `skip` drive writes.

    Args:
        handles: handles of the drive.
        soc: share of a cache that holds small objects.
        use: share of the drive that the caches have; the rest is never written.
        tenants: caches side by side.
        by_kind: as in `caches`.
        skip: drive writes that are not measured; none with an empty text.
        until: drive writes that are.
        seed: seed of the drive and of the addresses.
        small: share of the written bytes that small objects take; left out: SMALL.
        spread: distribution of the small objects, as for `stream`.
        more: parameters of the drive.
        arrivals: times of the requests, as for `three`.
    """
    drive_bytes = capacity(handles, more)
    writes = {"share": SMALL if small is None else small, "spread": spread, "arrivals": arrivals}
    job = caches(drive_bytes, tenants, use, soc, handles, by_kind=by_kind, **writes)
    given = shape(handles, more)
    return nandlab.run(DRIVE, job, set=given, seed=seed, skip=skip or None, until=until).report


def amplification(report):
    return report.endurance_group.write_amplification


def handles_of(placed):
    return {"mixed": 1, "apart": 2}[placed]


def soc(placed, size, seed=1, **given):
    """One cache on the whole drive, so many per cent of it for small objects."""
    return amplification(of_caches(handles_of(placed), size / 100, seed=seed, **given))


@cache
def ends_after():
    """Drive writes after which the logs of WARP end, by the names of their rows."""
    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        claims = {row["row"]: row["claim"] for row in csv.DictReader(lines)}
    found = {name: re.search(r"after ([\d.]+) drive writes", text) for name, text in claims.items()}
    return {name: float(end[1]) for name, end in found.items() if end}


def log(row, placed, size, seed=1, **given):
    """As `soc`, but at the end of a log that is short: the last half of a drive write."""
    end = ends_after()[row]
    if end <= LONG:
        given |= {"skip": f"{end - 0.5:g}x", "until": "0.5x"}
    return soc(placed, size, seed, **given)


def use(placed, share, seed=1):
    """One cache on so many per cent of the drive."""
    return amplification(of_caches(handles_of(placed), use=share / 100, seed=seed))


def full(placed, seed=1):
    """The drive 89 % full, and small objects on two fifths of that."""
    return amplification(of_caches(handles_of(placed), 0.4, 0.89, seed=seed))


def random_wa(seed=1):
    """Random writes over the whole drive, each block once a pass."""
    job = "[w]\nrw=randwrite\nbs=4k\niodepth=4\nloops=9\n"
    ran = nandlab.run(DRIVE, job, set=shape(1), seed=seed, skip="4x", until="3x")
    return amplification(ran.report)


def least_mixed(seed=1):
    return min(soc("mixed", size, seed) for size in (4, 20, 40, 64, 90, 96))


def gain_90(seed=1):
    """Write amplification with one handle over that with two."""
    return soc("mixed", 90, seed) / soc("apart", 90, seed)


def gain_96(seed=1):
    return soc("mixed", 96, seed) / soc("apart", 96, seed)


def gc_events(seed=1):
    """Blocks collected with one handle over those with two."""
    mixed, apart = (of_caches(handles, seed=seed).ftl.gc_runs for handles in (1, 2))
    return mixed / apart


def tenants_mixed(seed=1):
    return amplification(of_caches(1, tenants=2, seed=seed))


def tenants_apart(seed=1):
    return amplification(of_caches(4, tenants=2, seed=seed))


# --- Sixteen streams ------------------------------------------------------------------------------

STREAMS = 16
HANDLES = (1, 2, 4, 8, 16)


@cache
def sixteen(pattern, handles, more=(), seed=1):
    """Write amplification of streams side by side, the k-th with k parts of the writes."""
    drive_bytes = capacity(handles, more)
    parts = STREAMS * (STREAMS + 1) / 2
    text = GLOBAL
    for number in range(STREAMS):
        start, end = (drive_bytes * at / STREAMS for at in (number, number + 1))
        rate = RATE * (number + 1) / parts
        handle = None if handles == 1 else number * handles // STREAMS
        text += stream(f"stream{number}", pattern, start, end, rate, handle)
    given = shape(handles, more)
    ran = nandlab.run(DRIVE, text, set=given, seed=seed, skip="6x", until="2x")
    return amplification(ran.report)


def eight_caches(handles, *, by_kind):
    """Write amplification of eight caches: sixteen streams."""
    return amplification(of_caches(handles, tenants=8, by_kind=by_kind))


def change(after, before):
    """Per cent."""
    return 100 * (after / before - 1)


def rings_by_16(seed=1):
    """Change of write amplification from one handle to sixteen."""
    return change(sixteen("write", 16, seed=seed), sixteen("write", 1, seed=seed))


def random_by_16(seed=1):
    after, before = (sixteen("randwrite", handles, seed=seed) for handles in (16, 1))
    return change(after, before)


def unit(blocks, pages, seed=1, more=()):
    """Change of write amplification by other reclaim units, with sixteen handles."""
    other = (
        ("chip.geometry.blocks_per_plane", blocks),
        ("chip.geometry.pages_per_block", pages),
    )
    after, before = (
        sixteen("randwrite", 16, given, seed) for given in ((*more, *other), tuple(more))
    )
    return change(after, before)


def unit_half(seed=1):
    return unit(2 * BLOCKS, 128, seed)


def unit_double(seed=1):
    return unit(BLOCKS // 2, 512, seed)


# --- Three streams, one of which overwrites another -----------------------------------------------

#: Shares of the written bytes in WARP's logs: a ring over nine tenths of the drive, random writes
#: over the rest, and small overwrites of the ring.
RING, REST, OVER = 0.85, 0.075, 0.075

#: WARP's emulator, from its source (`run-fdp-RU256.sh`): 985 reclaim units for the 896 that the
#: host sees. In each of its logs 967 units are written and not erased ((MBMW - MBE) / 256 MiB), as
#: here with these free ones. A unit has 96 pages here.
EMULATED = {
    "chip.geometry.blocks_per_plane": 985,
    "chip.geometry.pages_per_block": 96,
    "ftl.overprovisioning": 985 / 896 - 1,
    "ftl.gc_reserve_blocks": 15,
    "gc.start_free_blocks": 16,
}

#: Requests of the three come at random times. At steady rates a lap of the ring can be a whole
#: number of blocks: the figure then hangs on the capacity (README.md).
AT_RANDOM = "rate_process=poisson\n"

#: Distributions of the overwrites, as fio's `random_distribution`.
SPREADS = {"zoned": "zoned:80/20:10/20:10/60", "zipf12": "zipf:1.2", "zipf22": "zipf:2.2"}

#: Drive writes of each log of WARP. A figure is that of the last fifth.
LOGGED = {
    "zoned": {"mixed": 11.4, "shared": 11.0, "apart": 10.9},
    "zipf12": {"mixed": 10.8, "shared": 11.3, "apart": 5.4},
    "zipf22": {"mixed": 10.4, "shared": 11.5, "apart": 16.9},
}

#: Handle of ring, rest and overwrites, which share that of the ring or have their own.
PLACED = {"mixed": (None, None, None), "shared": (0, 1, 0), "apart": (0, 1, 2)}


def streams(drive_bytes, spread, placed, parts=(RING, REST, OVER), arrivals=AT_RANDOM):
    """Job file of the three, with their handles in `placed`; the rest as for `three`."""
    edge = 0.9 * drive_bytes
    ring, rest, over = ((RATE * part, handle) for part, handle in zip(parts, placed, strict=True))
    text = GLOBAL + arrivals + stream("ring", "write", 0, edge, *ring)
    text += stream("rest", "randwrite", edge, drive_bytes, *rest)
    return text + stream("over", "randwrite", 0, edge, *over, SPREADS[spread])


@cache
def three(
    spread,
    placed,
    isolation="persistent",
    seed=1,
    more=(),
    arrivals=AT_RANDOM,
    parts=(RING, REST, OVER),
):
    """Report of a ring, random writes beside it, and overwrites of the ring: the end of a log.

    Args:
        spread: distribution of the overwrites.
        placed: handles of the streams.
        isolation: that of the handles; WARP's logs are of persistently isolated ones.
        seed: seed of the drive and of the addresses.
        more: other parameters of the drive.
        arrivals: times of the requests, a line of the job file; empty: steady rates.
        parts: shares of the writes: ring, rest, overwrites.
    """
    handles = {"mixed": 1, "shared": 2, "apart": 3}[placed]
    isolated = {"ftl.isolation": isolation} if handles > 1 else {}
    given = tuple((EMULATED | isolated | dict(more)).items())
    text = streams(capacity(handles, given), spread, PLACED[placed], parts, arrivals)
    end = LOGGED[spread][placed]
    part = {"skip": f"{0.8 * end:g}x", "until": f"{0.2 * end:g}x"}
    return nandlab.run(DRIVE, text, set=shape(handles, given), seed=seed, **part).report


def ring_zoned(seed=1):
    """Write amplification of the ring's own handle."""
    handles = three("zoned", "apart", seed=seed).endurance_group.by_handle
    return handles[0].write_amplification


def ring_moves(seed=1):
    """Share of the ring in what collection moves, per cent."""
    handles = three("zoned", "apart", seed=seed).endurance_group.by_handle
    return 100 * handles[0].moved_units / sum(handle.moved_units for handle in handles)


def __getattr__(name):
    """The function of a row."""
    if found := re.fullmatch(r"soc_(\d+)_(mixed|apart)", name):
        return lambda seed=1: soc(found[2], int(found[1]), seed)
    if found := re.fullmatch(r"soc_(\d+)_(mixed|apart)_kv\d+", name):
        return lambda seed=1: log(name, found[2], int(found[1]), seed)
    if found := re.fullmatch(r"use_(\d+)_(mixed|apart)", name):
        return lambda seed=1: use(found[2], int(found[1]), seed)
    if found := re.fullmatch(r"three_(\w+)_(mixed|shared|apart)", name):
        return lambda seed=1: amplification(three(found[1], found[2], seed=seed))
    if found := re.fullmatch(r"full_(mixed|apart)", name):
        return lambda seed=1: full(found[1], seed)
    raise AttributeError(name)


# --- Picture --------------------------------------------------------------------------------------

#: Write amplification of each drive write of a new cache, 20 % for small objects, one handle:
#: counters of kv202206 and kv202210. The last of each are the end of the log.
LOGS = {
    "kv202206": ((1, 1.00), (2, 1.347), (3, 1.457), (4, 2.375), (4.25, 3.222)),
    "kv202210": ((1, 1.00), (2, 1.319), (3, 1.462), (4, 2.765), (4.8, 3.570)),
}


def picture():
    """By the size of small objects, by drive writes, by the drive in use, by handles."""
    from nandlab.display.picture import new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(11.0, 8.0)
    by_soc, by_time, by_use, by_handles = figure.subplots(2, 2).flat
    draw_sizes(by_soc, printed)
    draw_time(by_time)
    draw_use(by_use, printed)
    draw_handles(by_handles)
    return figure


def colours():
    from nandlab.display.picture import COLOURS

    return {"mixed": COLOURS["write"], "apart": COLOURS["read"]}


def label(placed):
    return {"mixed": "one handle", "apart": "two handles"}[placed]


def draw_sizes(axes, printed):
    """Write amplification by the space of small objects."""
    from nandlab.display.picture import finish

    sizes = (4, 10, 20, 30, 40, 64, 90, 96)
    for placed, colour in colours().items():
        ours = [soc(placed, size) for size in sizes]
        axes.plot(sizes, ours, color=colour, label=f"{label(placed)}, nandlab")
        points = [
            (int(found[1]), value)
            for name, value in printed.items()
            if (found := re.fullmatch(rf"soc_(\d+)_{placed}(_\w+)?", name))
        ]
        axes.plot(*zip(*points, strict=True), "o", color=colour, label=f"{label(placed)}, PM9D3")
    axes.set_xlabel("space for small objects (%)")
    axes.set_ylabel("write amplification")
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    finish(axes, "a cache on the whole drive")


def draw_time(axes):
    """Write amplification of each drive write from the first."""
    from nandlab.display.picture import finish

    for (name, points), marker in zip(LOGS.items(), ("o", "s"), strict=True):
        axes.plot(*zip(*points, strict=True), marker, color="0.5", label=f"{name}, PM9D3a")
    writes = range(1, 9)
    for placed, colour in colours().items():
        ours = [
            amplification(
                of_caches(
                    handles_of(placed), 0.2, skip=f"{last - 1}x" if last > 1 else "", until="1x"
                )
            )
            for last in writes
        ]
        axes.plot(writes, ours, color=colour, label=f"{label(placed)}, nandlab")
    axes.set_xlabel("drive writes")
    axes.set_ylabel("write amplification of the last")
    axes.legend(frameon=False, fontsize="small", loc=(0.47, 0.2))
    finish(axes, "a new cache, 20 % for small objects")


def draw_use(axes, printed):
    """Write amplification by the drive in use."""
    from nandlab.display.picture import finish

    shares = (50, 60, 70, 80, 85, 89, 95, 100)
    for placed, colour in colours().items():
        ours = [use(placed, share) for share in shares]
        axes.plot(shares, ours, color=colour, label=f"{label(placed)}, nandlab")
        points = ((50, printed[f"use_50_{placed}"]), (100, printed[f"soc_4_{placed}"]))
        axes.plot(*zip(*points, strict=True), "o", color=colour, label=f"{label(placed)}, PM9D3")
        report = printed[f"full_{placed}"]
        axes.plot(89, report, "x", color=colour, label=f"{label(placed)}, a report")
    axes.set_xlabel("drive in use (%)")
    axes.set_ylabel("write amplification")
    axes.legend(frameon=False, fontsize="small")
    finish(axes, "4 % for small objects")


def draw_handles(axes):
    """Write amplification over the number of handles for sixteen streams."""
    from nandlab.display.picture import finish

    kinds = {
        "rings": lambda handles: sixteen("write", handles),
        "random writes": lambda handles: sixteen("randwrite", handles),
        "caches, by tenant": lambda handles: eight_caches(handles, by_kind=False),
        "caches, by kind": lambda handles: eight_caches(handles, by_kind=True),
    }
    for name, of in kinds.items():
        axes.plot(HANDLES, [of(handles) for handles in HANDLES], marker=".", label=name)
    axes.plot((1, 16), (3.12, 3.12 * (1 - 0.263)), ":", color="0.5", label="FDPVirt: -26 %")
    axes.set_xscale("log", base=2)
    axes.set_xticks(HANDLES, [str(handles) for handles in HANDLES])
    axes.minorticks_off()
    axes.set_ylim(0.9, 4.9)
    axes.set_xlabel("handles")
    axes.set_ylabel("write amplification")
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center")
    finish(axes, "sixteen streams")


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
