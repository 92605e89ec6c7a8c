"""Micron 7450 MAX and PRO: write amplification and throughput by fill, skew and zones.

`nandlab papers micron_7450` runs the rows of `reference.csv`. A row's name says the workload and
the figure: `wa_USED`, `mib_USED` (GiB in use), `zones_WRITES` and `zipf_EXPONENT` (per cent),
`zns_SIZE_ACTIVE` (requests of 512 KiB in a zone, zones written at a time) with `_wa` or `_mib`.
"""

import random
import re
import tempfile
from functools import cache
from pathlib import Path

import nandlab

DRIVE = "micron_7450_max"

#: GiB of data that the flash holds, from the free blocks that the drive reports.
POOL_GIB = 1087.0

#: The drive is a 64th in its blocks, and so are an erase and the space in use.
SCALE = 64
SMALL = {
    "chip.geometry.pages_per_block": 2112 // SCALE,
    "chip.timing.t_erase_us": 10_000 / SCALE,
    "host.submit_us": 0,
}

#: GiB in use, and bytes on flash for each byte of a fill in order, as measured with that.
IN_ORDER = {372: 1.0374, 447: 1.0374, 596: 1.0319, 745: 1.0249, 894: 1.0249}
USED_GIB = {372: 372.606, 447: 447.127, 596: 596.17, 745: 745.212, 894: 894.253}

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


def figures(result):
    """Write amplification, and MiB of the host a second."""
    amplification = result.to_dict()["ftl"]["write_amplification_flash"]
    return amplification, result.bandwidth_mb_s * 1e6 / 2**20


@cache
def in_order():
    """A fill in order."""
    job = JOB.format(pattern="write", size="512k", depth=64, distribution="")
    return figures(nandlab.run(DRIVE, job, set=of_use(745), skip="0.2x", until="0.4x"))


@cache
def at_random(used, distribution="", dies=1):
    """Random writes of 4 KiB in the steady state, with superblocks of so many dies."""
    job = JOB.format(pattern="randwrite", size="4k", depth=512, distribution=distribution)
    settling = "3x" if distribution else "0.3x"
    result = nandlab.run(
        DRIVE,
        job,
        set=of_use(used) | {"ftl.superblock_dies": dies},
        precondition="steady",
        skip=settling,
        until="0.5x",
    )
    return figures(result)


def zone_trace(units, zone, active, unit_bytes, *, discards=True):
    """Lines of a trace that fills the space four times by zones, and the number of its writes.

    Args:
        units: requests that the space takes.
        zone: requests of a zone, which may be a fraction.
        active: zones at a time, drawn at random; a write goes to any of them.
        unit_bytes: bytes of a request.
        discards: whether a zone is discarded when it is begun.
    """
    draw = random.Random(1)
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


def replayed(drive, given, lines, written):
    """A run of such a trace on a drive that was filled in order, from 60 % on as the authors do."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "zones.iolog"
        trace.write_text("\n".join(lines) + "\n", encoding="utf-8")
        skip = str(int(0.6 * written))
        return figures(
            nandlab.run(drive, trace=trace, iodepth=8, set=given, precondition="fill", skip=skip)
        )


@cache
def by_zones(requests, active, *, dies=1, discards=True):
    """Zones of so many requests of 512 KiB, so many at a time, with superblocks of so many dies."""
    units = int(USED_GIB[745] / SCALE * 2**30 / REQUEST_BYTES)
    zone = requests * 512 * 1024 / SCALE / REQUEST_BYTES
    lines, written = zone_trace(units, zone, active, REQUEST_BYTES, discards=discards)
    return replayed(DRIVE, of_use(745) | {"ftl.superblock_dies": dies}, lines, written)


def fill_wa():
    return in_order()[0]


def fill_mib():
    return in_order()[1]


def wa(used):
    return at_random(used)[0]


def mib(used):
    return at_random(used)[1]


def zones_mib(writes):
    """So many per cent of the writes go to the other per cent of the addresses."""
    shares = f"{writes}/{100 - writes}:{100 - writes}/{writes}"
    return at_random(745, f"random_distribution=zoned:{shares}")[1]


def zipf_mib(exponent):
    """Zipf's law with a hundredth of this for its exponent."""
    return at_random(745, f"random_distribution=zipf:{exponent / 100}")[1]


def zns_wa(requests, active):
    return by_zones(requests, active)[0]


def zns_mib(requests, active):
    return by_zones(requests, active)[1]


def __getattr__(name):
    """The function of a row."""
    if found := re.fullmatch(r"(wa|mib)_(\d+)", name):
        return lambda: globals()[found[1]](int(found[2]))
    if found := re.fullmatch(r"(zones|zipf)_(\d+)_mib", name):
        return lambda: globals()[f"{found[1]}_mib"](int(found[2]))
    if found := re.fullmatch(r"zns_(\d+)_(\d+)_(wa|mib)", name):
        return lambda: globals()[f"zns_{found[3]}"](int(found[1]), int(found[2]))
    raise AttributeError(name)


def picture():
    """Measured and simulated figures over the fill, and over the size and number of zones."""
    import csv

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    colour = COLOURS["write"]
    figure = new_figure(12.0, 4.0)
    panels = {
        "GiB in use": (
            "random writes",
            [(used, f"wa_{used}") for used in (372, 447, 596, 745)],
        ),
        "MiB of a zone": (
            "one zone at a time",
            [(int(name.split("_")[1]) // 2, name) for name in sorted_zones(printed, one=True)],
        ),
        "zones of 8 GiB written at a time": (
            "several zones at a time",
            [(int(name.split("_")[2]), name) for name in sorted_zones(printed, one=False)],
        ),
    }
    for axes, (label, (title, rows)) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        at = [x for x, _ in rows]
        axes.plot(at, [printed[name] for _, name in rows], "o", color="0.5", label="measured")
        axes.plot(at, [__getattr__(name)() for _, name in rows], color=colour, label="nandlab")
        if label != "GiB in use":
            axes.set_xscale("log", base=2)
            ticks = [x for x in at if x & (x - 1) == 0]
            axes.set_xticks(ticks, [str(x) for x in ticks])
            axes.minorticks_off()
        axes.set_xlabel(label)
        axes.set_ylabel("write amplification")
        axes.legend(frameon=False)
        finish(axes, title)
    return figure


def sorted_zones(printed, *, one):
    """Rows of write amplification by zones: of one at a time by size, or of several by number."""
    names = [name for name in printed if name.startswith("zns_") and name.endswith("_wa")]
    chosen = [name for name in names if (name.split("_")[2] == "1") == one]
    return sorted(chosen, key=lambda name: [int(part) for part in name.split("_")[1:3]])


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
