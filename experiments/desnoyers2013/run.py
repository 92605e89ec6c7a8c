"""Desnoyers (HotStorage'13): what is wrong about flash in papers, as far as it can be computed.

One function for each row of `reference.csv`; `nandlab papers desnoyers2013` runs them.
"""

from functools import cache
from itertools import pairwise

import nandlab
from nandlab.catalogue import chip
from nandlab.endurance import HOURS_PER_YEAR, PROFILES

# --- Section 2, erase speeds ---------------------------------------------------------------------

#: Chips by generation, whose erase time is measured or of a data sheet: pages of a block grow, and
#: so do programs.
CHIPS = ("grupp2009_a_slc4", "grupp2009_a_slc2", "wang2014_mlc", "femu_l95b")

#: FEMU's TLC (li2018, nand.h): lower, middle and upper page, and the erase.
TLC_PROGRAM_US, TLC_ERASE_US = (820.5, 2225.0, 5734.0), 3000.0


def times_us(name):
    """Programs by page type and the erase of a fresh chip, as it says or as its cell does."""
    timing = chip(name)["timing"]
    program, erase = timing["t_program_us"], timing["t_erase_us"]
    if "cell" in (program, erase):
        times = nandlab.cell(f"chip/{name}").times(0)
        return times.program_us, times.erase_us
    return program if isinstance(program, list) else [program], erase


def shortest_erase_ms():
    return min(times_us(name)[1] for name in CHIPS) / 1e3


def longest_erase_ms():
    return max(times_us(name)[1] for name in CHIPS) / 1e3


def erase_share_percent(name):
    """Erase time for each page, over the mean program time of a page."""
    program, erase = times_us(name)
    pages = chip(name)["geometry"]["pages_per_block"]
    return 100 * erase / pages / (sum(program) / len(program))


def erase_share_today_percent():
    """The MLC chips."""
    return max(erase_share_percent(name) for name in CHIPS[2:])


def erase_share_change():
    """From the first SLC to the last MLC of the list."""
    return erase_share_percent(CHIPS[-1]) / erase_share_percent(CHIPS[0])


def tlc_erase_over_program():
    return TLC_ERASE_US / max(TLC_PROGRAM_US)


# --- Section 2, endurance ------------------------------------------------------------------------

#: Laws of two chips: 3D NAND of Luo 2018 and 72-layer TLC of Kim 2019, with the errors that their
#: codes are taken to correct: what gives a rating of some thousands at one year.
LAWS = {"retention_law": 100, "power_law": 300}


@cache
def cycles(law, years, extra_t=0, uber=1e-15):
    """Endurance at 30 C."""
    [point] = nandlab.endurance(
        {"name": law}, retention_hours=years * HOURS_PER_YEAR, t=LAWS[law] + extra_t, uber=uber
    ).points
    return point.pe_cycles


#: MLC with a cell, and the code that the paper gives: 8 bits for each 512 bytes.
MLC, MLC_CODE = "wang2014_mlc", {"t": 8, "codeword_bits": 4200, "user_bits": 4096}


@cache
def mlc_cycles(hours, celsius=30.0, uber=1e-15, rest_hours=0.0):
    """Endurance of the MLC, whose cells recover only where there is a rest."""
    [point] = nandlab.endurance(
        {"preset": MLC, "cell": {"wear": {"recovery": RECOVERY}}},
        retention_hours=hours,
        temperature_c=celsius,
        uber=uber,
        rest_hours=rest_hours,
        **MLC_CODE,
    ).points
    return point.pe_cycles


def ten_years_share():
    return mlc_cycles(10 * HOURS_PER_YEAR) / mlc_cycles(HOURS_PER_YEAR)


#: Share of the wear of a cycle that recovers each time the rest grows by a factor e. Assumed.
RECOVERY = 0.05


def rest_gain():
    """A day between cycles of a block against none."""
    return mlc_cycles(HOURS_PER_YEAR, rest_hours=24.0) / mlc_cycles(HOURS_PER_YEAR)


def three_months_over_a_year():
    """The least gain of both laws."""
    return min(cycles(law, 0.25) / cycles(law, 1) for law in LAWS)


def stronger_ecc_gain():
    """Twenty more errors corrected."""
    return min(cycles(law, 1, extra_t=20) / cycles(law, 1) for law in LAWS)


def looser_uber_gain():
    """The ends of the range that the paper gives: 1e-13 for 1e-16."""
    return min(cycles(law, 1, uber=1e-13) / cycles(law, 1, uber=1e-16) for law in LAWS)


def enterprise_gain():
    """JESD218: three months at 40 C and 1e-16, against a year at 30 C and 1e-15; the least gain."""
    client, enterprise = (
        mlc_cycles(profile.retention_hours, profile.temperature_c, profile.uber)
        for profile in (PROFILES["client"], PROFILES["enterprise"])
    )
    found = [enterprise / client]
    for law, t in LAWS.items():
        by_profile = [
            nandlab.endurance(
                {"name": law},
                retention_hours=profile.retention_hours,
                temperature_c=profile.temperature_c,
                uber=profile.uber,
                t=t,
            )
            .points[0]
            .pe_cycles
            for profile in (PROFILES["client"], PROFILES["enterprise"])
        ]
        found.append(by_profile[1] / by_profile[0])
    return min(found)


# --- Section 3: what controllers have room for ---------------------------------------------------

GIB = 2**30
CONTROLLER_BYTES = 5 * 1024


def block_map_bytes():
    """8 GB in blocks of 512 KB, two bytes an entry."""
    return 8 * GIB // (512 * 1024) * 2


def virtual_block_map_bytes():
    """The same in blocks of 4 MB."""
    return 8 * GIB // (4 * 1024 * 1024) * 2


def virtual_block_map_entries():
    return 8 * GIB // (4 * 1024 * 1024)


#: The drive of "Scanning on startup": 128 GB of data, 8 channels of one die, pages of 4 KiB, 128 of
#: them a block, 50 us a read, and nothing else that takes time.
SCANNED = {
    "drive.channels": 8,
    "drive.dies_per_channel": 1,
    "chip.geometry.planes_per_die": 1,
    "chip.geometry.pages_per_block": 128,
    "chip.geometry.page_bytes": 4096,
    "chip.timing.t_read_us": 50.0,
    "chip.timing.t_command_us": 0.0,
    "chip.timing.t_transfer_us": 0.0,
    "chip.timing.bus_mt_s": 1e5,
    "ecc.t_decode_us": 0.0,
    "ftl.overprovisioning": 0.07,
    "recovery.backup": False,
}

#: A start-up is simulated on an eighth of the 128 GB and takes an eighth of the time.
SCANNED_PART = 8


@cache
def start_up_s(recovery, gigabytes):
    """The start-up of a drive full of so much data whose power was cut."""
    flash_bytes = (1 + SCANNED["ftl.overprovisioning"]) * gigabytes * 1e9
    blocks = round(flash_bytes / 4096 / 128 / 8)
    sets = {**SCANNED, "chip.geometry.blocks_per_plane": blocks, "recovery.name": recovery}
    drive = nandlab.Drive("tiny", set=sets)
    drive.precondition("fill")
    drive.cut()
    return drive.recover().time_s


def page_scan_s():
    return SCANNED_PART * start_up_s("scan_pages", 128 / SCANNED_PART)


def block_scan_s():
    """One page of each block of 128."""
    return SCANNED_PART * start_up_s("scan_blocks", 128 / SCANNED_PART)


def block_scan_over_closed_form():
    """Against blocks / channels x 50 us."""
    return block_scan_s() / (128e9 / 4096 / 128 / 8 * 50e-6)


@cache
def recovery_cost_percent(recovery):
    """Pages that a drive writes for its start-up, of those that the host writes."""
    sets = {"recovery.name": recovery, "recovery.backup": False, "ftl.overprovisioning": 0.3}
    if recovery == "checkpoint":
        sets["recovery.checkpoint_units"] = 16384
    job = "[global]\nrw=randwrite\nbs=4k\niodepth=32\nnumber_ios=200k\nnorandommap=1\n[job]\n"
    report = nandlab.run("tiny", job, set=sets, precondition="steady").report
    power, ftl = report.power, report.ftl
    return 100 * (power.write_amplification / ftl.write_amplification - 1)


def parity_bytes(t, data_bytes):
    """Of a BCH code: t times the least m with enough room for data and parity."""
    m = next(m for m in range(5, 24) if 2**m - 1 >= 8 * data_bytes + m * t)
    return -(-m * t // 8)


def spare_left_bytes(t):
    """Of the 64 spare bytes of a page of 2048, with `t` errors for each 512 bytes."""
    return 64 - 4 * parity_bytes(t, 512)


def spare_left_percent():
    """With the 8 bits for each 512 bytes of section 2."""
    return 100 * spare_left_bytes(8) / 64


# --- Section 3: what a controller with 5 KB can hold ---------------------------------------------


def stick_bytes(stripe):
    """Memory of the FTL of a USB stick with blocks joined by so many."""
    given = {"ftl.stripe": stripe, "ftl.ram_bytes": 0}
    (row,) = (row for row in nandlab.ftls("usb_stick_2005", set=given) if row.name == "block")
    return row.total_bytes


def stick_of_erase_blocks_bytes():
    return stick_bytes(1)


def stick_of_virtual_blocks_bytes():
    """Eight blocks of 512 KB joined."""
    return stick_bytes(8)


# --- Section 4: drives ---------------------------------------------------------------------------

MIB = 2**20
FRACTIONS = (1, 2, 4, 8, 16, 32)

#: Drives of a sixteenth of the blocks, in a sixteenth of the paper's ten minutes.
SCALE = 16
MINUTES = 10

DRIVES = {"page": "ssd_2010_page", "fast": "ssd_2010_fast"}


@cache
def prepared(drive, *given, seed=1):
    """A drive with all of its space written in order."""
    small = {"chip.geometry.blocks_per_plane": 2048 // SCALE, "buffer.bytes": 32 * MIB // SCALE}
    return nandlab.Drive(drive, set={**small, **dict(given)}, seed=seed).precondition("fill")


def job(direction, block, area, amount):
    """One thread of direct I/O to the first `area` bytes."""
    return f"[job]\nrw={direction}\nbs={block}\niodepth=1\nnorandommap=1\nsize={area}\n{amount}\n"


@cache
def throughput(ftl, fraction, seed=1):
    """Random writes of 32 KiB to a fraction of the drive: seconds of the whole drive, and MB/s."""
    drive = prepared(DRIVES[ftl], seed=seed)
    area = drive.capacity_bytes // fraction // 32768 * 32768
    run = drive.clone().run(
        job("randwrite", "32k", area, f"time_based=1\nruntime={60 * MINUTES // SCALE}")
    )
    series = run.series()
    times = series["time_s"].to_numpy() * SCALE
    rate = series["write_mb_s"].to_numpy()
    # Twenty points a minute, each the mean of what it covers.
    points = 20 * MINUTES
    of_point = (times * points / (60 * MINUTES)).astype(int)
    return [
        (60 * MINUTES * point / points, float(rate[of_point == point].mean()))
        for point in range(points)
        if (of_point == point).any()
    ]


def levels(ftl, fraction, seed=1):
    """MB/s in the first half minute, and in the last half of the run."""
    found = throughput(ftl, fraction, seed)
    first = [rate for time, rate in found if time < 30]
    last = [rate for time, rate in found if time >= 60 * MINUTES / 2]
    return sum(first) / len(first), sum(last) / len(last)


def drop_s(ftl, fraction, seed=1):
    """When throughput falls below the middle of both; None where it hardly falls."""
    before, after = levels(ftl, fraction, seed)
    if after > 0.8 * before:
        return None
    rates = throughput(ftl, fraction, seed)
    return next(time for time, rate in rates if rate < (before + after) / 2)


def drop_spread(ftl, seed=1):
    """The latest drop over the earliest."""
    drops = (drop_s(ftl, fraction, seed) for fraction in FRACTIONS)
    found = [drop for drop in drops if drop is not None]
    return max(found) / min(found)


def drop_spread_page(seed=1):
    return drop_spread("page", seed)


def drop_spread_fast(seed=1):
    return drop_spread("fast", seed)


def random_write_small_region(seed=1):
    """In the end; the less of both drives."""
    return min(levels(ftl, 32, seed)[1] / levels(ftl, 1, seed)[1] for ftl in DRIVES)


def levels_that_rise(seed=1):
    """Steps to the next smaller fraction that raise the level, of both drives."""
    return sum(
        levels(ftl, half, seed)[1] > levels(ftl, whole, seed)[1]
        for ftl in DRIVES
        for whole, half in pairwise(FRACTIONS)
    )


LOG_BLOCKS = 16


@cache
def bast_mb_s(direction, areas, seed=1):
    """Writes of 32 KiB to an area of so many times the log blocks of BAST, in the long run."""
    drive = prepared(
        "ssd_2010_page",
        ("ftl.name", "bast"),
        ("ftl.stripe", 16),
        ("ftl.log_blocks", LOG_BLOCKS),
        seed=seed,
    )
    area = int(areas * LOG_BLOCKS) * 16 * 512 * 1024
    run = drive.clone().run(
        job(direction, "32k", area, f"io_size={6 * area}"), skip=str(3 * area // 32768)
    )
    return run.bandwidth_mb_s


def bast_slowdown(seed):
    """Random against sequential writes, in the same area."""
    return bast_mb_s("write", 1, seed) / bast_mb_s("randwrite", 1, seed)


def bast_slowdown_beyond(seed=1):
    """The same for an area twice as large."""
    return bast_mb_s("write", 2, seed) / bast_mb_s("randwrite", 2, seed)


@cache
def aligned_amplification(channels, block_mib, seed=1):
    """Write amplification of random writes of this size, aligned to it, on the FAST-like drive."""
    given = (("drive.channels", channels), ("ftl.stripe", 2 * channels))
    drive = prepared("ssd_2010_fast", *given, seed=seed)
    size = int(block_mib * MIB)
    blocks = drive.capacity_bytes // size
    amount = f"number_ios={2 * blocks}"
    run = drive.clone().run(job("randwrite", size, blocks * size, amount), skip=str(blocks))
    return run.write_amplification


def effective_block_8_channels(seed=1):
    """Eight channels, two planes in each, blocks of 512 KiB."""
    return aligned_amplification(8, 8, seed)


def erase_block_8_channels(seed=1):
    """What a chip erases."""
    return aligned_amplification(8, 0.5, seed)


def effective_block_10_channels(seed=1):
    return aligned_amplification(10, 10, seed)


def power_of_two_10_channels(seed=1):
    return aligned_amplification(10, 8, seed)


@cache
def emmc(direction, block):
    """Requests in order, one at a time, to the eMMC."""
    drive = prepared_emmc()
    return drive.clone().run(job(direction, block, "256m", "io_size=64m"))


@cache
def prepared_emmc():
    return nandlab.Drive("emmc_2011").precondition("fill")


def emmc_read_ms():
    return emmc("read", "4k").latency.mean / 1e3


def emmc_small_reads():
    return emmc("read", "4k").bandwidth_mb_s / emmc("read", "1m").bandwidth_mb_s


def emmc_small_writes():
    return emmc("write", "4k").bandwidth_mb_s / emmc("write", "1m").bandwidth_mb_s


# --- Section 2, fast pages: the tables of a file system -------------------------------------------

#: Writes of a camera to a card: half of them go to the tables in the first MiB.
TABLES = (
    "[global]\nrw=randwrite\nbs=4k\nnorandommap\nrate_iops=60\nnumber_ios=2000\n"
    "[tables]\nsize=1m\n[files]\noffset=64m\nsize=64m\n"
)


@cache
def table_writes_us(is_placed, seed=1):
    """Mean latency of writes to the tables, with their region on fast pages or on any."""
    given = {
        "chip.timing.t_program_us": [460.0, 1118.0],
        "buffer.bytes": 0,
        "ftl.fast_pages": is_placed,
    }
    if is_placed:
        given["ftl.fast_region"] = [0, MIB]
    run = nandlab.run("tiny", TABLES, set=given, seed=seed)
    return run.report.jobs[0].write.lat_ns.mean / 1e3


def table_writes_on_fast_pages(seed=1):
    return table_writes_us(True, seed) / table_writes_us(False, seed)


# --- Section 2, read and write speeds: by the board -----------------------------------------------


@cache
def worn_and_fresh(chip_name, cell):
    """Times of random data of a block at ten times the rated cycles, over those of a fresh one."""
    rated = chip(chip_name)["rated_pe_cycles"]
    found = nandlab.board(
        "data_pattern", chip_name, set={"chip.cell.preset": cell}, cycles=10 * rated, points=2
    )
    fresh, worn = (r for r in found.table().to_pylist() if r["pattern"] == "random")
    return {name: worn[name] / fresh[name] for name in ("program_us", "erase_us")}


def slc_program_speeds_up():
    return worn_and_fresh("grupp2009_a_slc2", "slc")["program_us"]


def erase_slows_down():
    """The MLC chip of Wang 2014."""
    return worn_and_fresh("wang2014_mlc", "wang2014_mlc")["erase_us"]


def fast_page_steps():
    """Pulses of a fast page, over those of a slow page of the same cells."""
    rows = nandlab.board("latency_map", "wang2014_mlc").table().to_pylist()
    pulses = {row["page_type"]: row["program_pulses"] for row in rows}
    return pulses["lower"] / pulses["upper"]


def picture():
    """Erases by page, endurance by retention, start-ups, random writes over time (Figure 2)."""
    from nandlab.display.picture import new_figure

    figure = new_figure(11.0, 11.0)
    (erase, endurance), (starts, costs), below = figure.subplots(3, 2)
    draw_erase(erase)
    draw_endurance(endurance)
    draw_start_ups(starts)
    draw_costs(costs)
    for ftl, title, axes in zip(DRIVES, ("page-mapped", "FAST-like"), below, strict=True):
        draw_throughput(axes, ftl, title)
    return figure


def draw_erase(axes):
    from nandlab.display.picture import COLOURS, finish

    names = ["SLC\nA-SLC4", "SLC\nA-SLC2", "MLC\nL41B", "MLC\nL95B"]
    shares = [erase_share_percent(name) for name in CHIPS]
    bars = axes.bar(names, shares, color=COLOURS["read"], width=0.6)
    axes.bar_label(bars, [f"{share:.1f} %" for share in shares], padding=3)
    axes.set_ylim(0, 13)
    axes.set_ylabel("erase / program of a page (%)")
    finish(axes, "an erase, shared by its pages")


def draw_endurance(axes):
    from nandlab.display.picture import COLOURS, finish

    years = (0.083, 0.25, 0.5, 1, 2, 5, 10)
    for law, colour, label in (
        ("retention_law", "read", "3D NAND, law of Luo 2018"),
        ("power_law", "write", "72-layer TLC, law of Kim 2019"),
    ):
        shown = [(year, cycles(law, year)) for year in years if cycles(law, year) > 0]
        axes.plot(*zip(*shown, strict=True), "o-", color=COLOURS[colour], label=label, lw=2.2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.083, 0.25, 1, 10], ["1 month", "3 months", "1 year", "10 years"])
    axes.xaxis.minorticks_off()
    axes.set_xlabel("retention time, at 30 °C")
    axes.set_ylabel("endurance (P/E cycles)")
    axes.legend(loc="lower left", frameon=False)
    finish(axes, "endurance is a function of retention")


#: Kinds of recovery, and their colours.
RECOVERIES = {"scan_pages": "flush", "scan_blocks": "read", "checkpoint": "write"}


def draw_start_ups(axes):
    """Time to ready over the capacity."""
    from nandlab.display.picture import COLOURS, finish

    sizes = (1, 2, 4, 8)
    for recovery, colour in RECOVERIES.items():
        times = [start_up_s(recovery, size) for size in sizes]
        axes.plot(sizes, times, "o-", color=COLOURS[colour], label=recovery, lw=2.2)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size} GB" for size in sizes])
    axes.set_xlabel("capacity, 8 channels")
    axes.set_ylabel("time to ready (s)")
    axes.legend(loc="center left", frameon=False)
    finish(axes, "start-up of a full drive after a power cut")


def draw_costs(axes):
    """Pages written for the start-up."""
    from nandlab.display.picture import COLOURS, finish

    costs = [recovery_cost_percent(recovery) for recovery in RECOVERIES]
    colours = [COLOURS[colour] for colour in RECOVERIES.values()]
    bars = axes.bar(list(RECOVERIES), costs, color=colours, width=0.6)
    axes.bar_label(bars, [f"{cost:.2f} %" for cost in costs], padding=3)
    axes.set_ylim(0, 1.25 * max(costs))
    axes.set_ylabel("pages more than the FTL's (%)")
    finish(axes, "its cost under steady random writes")


def draw_throughput(axes, ftl, title):
    """One line for each fraction of the drive."""
    from matplotlib import colormaps

    from nandlab.display.picture import finish

    for i, fraction in enumerate(FRACTIONS):
        times, rates = zip(*throughput(ftl, fraction), strict=True)
        colour = colormaps["viridis"](i / len(FRACTIONS))
        # The mean of each twelve seconds.
        minutes = [time / 60 for time in times[::4]]
        parts = [rates[first : first + 4] for first in range(0, len(rates), 4)]
        means = [sum(part) / len(part) for part in parts]
        axes.plot(minutes, means, color=colour, label=f"1/{fraction}")
    axes.set_ylim(0, 1.35 * throughput(ftl, 1)[0][1])
    axes.set_xlim(0, MINUTES)
    axes.set_xlabel("time (minutes)")
    axes.set_ylabel("random writes of 32 KiB (MB/s)")
    axes.legend(loc="upper right", frameon=False, title="of the drive", ncols=3)
    finish(axes, f"{title} SSD, filled in order first")


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
