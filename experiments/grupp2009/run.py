"""Grupp et al. (MICRO'09): eleven chips, fast and slow pages, write-once codes, cost and power.

One function for each row of `reference.csv`; `nandlab papers grupp2009` runs them, those that take
`seed` with several.
"""

import math
from functools import cache

import nandlab
from nandlab import _core
from nandlab.catalogue import chip
from nandlab.ecc import write_once

# --- Slide "The Test Subjects": capacities -------------------------------------------------------

#: Chip, and dies in its package as the slide has them. A preset is one die.
CHIPS = {
    "a_slc2": 1,
    "a_slc4": 1,
    "a_slc8": 1,
    "b_slc2": 1,
    "b_slc4": 1,
    "e_slc8": 2,
    "b_mlc8": 1,
    "b_mlc32": 2,
    "c_mlc64": 2,
    "d_mlc32": 2,
    "e_mlc8": 2,
}


def capacity_gbit(name):
    """From the preset's geometry."""
    geometry = chip(f"grupp2009_{name}")["geometry"]
    die_bytes = (
        geometry["planes_per_die"]
        * geometry["blocks_per_plane"]
        * geometry["pages_per_block"]
        * geometry["page_bytes"]
    )
    return CHIPS[name] * die_bytes * 8 / 2**30


def a_slc2_gbit():
    return capacity_gbit("a_slc2")


def a_slc4_gbit():
    return capacity_gbit("a_slc4")


def a_slc8_gbit():
    return capacity_gbit("a_slc8")


def b_slc2_gbit():
    return capacity_gbit("b_slc2")


def b_slc4_gbit():
    return capacity_gbit("b_slc4")


def e_slc8_gbit():
    return capacity_gbit("e_slc8")


def b_mlc8_gbit():
    return capacity_gbit("b_mlc8")


def b_mlc32_gbit():
    return capacity_gbit("b_mlc32")


def c_mlc64_gbit():
    return capacity_gbit("c_mlc64")


def d_mlc32_gbit():
    return capacity_gbit("d_mlc32")


def e_mlc8_gbit():
    return capacity_gbit("e_mlc8")


# --- Slides "High & Low Order Bits", "MLC as SLC" ------------------------------------------------


@cache
def is_fast():
    """Of every page of a block of 128."""
    return [page_type == 0 for _, _, page_type in _core.page_sites("even_odd", 2, 128)]


def fast_pages_in_place():
    """Against the closed form: pages 0 and 1, then 4k - 2 and 4k - 1."""
    published = {0, 1} | {4 * k - 2 + e for k in range(1, 32) for e in (0, 1)}
    return sum(fast == (page in published) for page, fast in enumerate(is_fast()))


def fast_share_percent():
    return 100 * sum(is_fast()) / 128


def mlc_over_slc_price_percent():
    """31 and 94 cents a gigabit."""
    return 100 * 31 / 94


def fast_pages_only_price_cents():
    """MLC of which only the fast pages are used."""
    return 31 / (fast_share_percent() / 100)


# --- Slides "Write-Once Memory (WOM) Codes", "Effective Lifetime" --------------------------------


def pages_of(words):
    """First and second bits of these two-bit words, a page of each."""
    return [bytes([sum(int(word[i]) << at for at, word in enumerate(words))]) for i in (0, 1)]


def patterns(cells, count):
    """The three cells of each word, as the slide writes them."""
    return ["".join(str(page[0] >> at & 1) for page in cells) for at in range(count)]


def rewrite(old, new):
    """Cells of words after their first and their second write."""
    held = write_once.encode(pages_of(old))
    cells = write_once.encode(pages_of(new), held)
    assert write_once.decode(cells) == pages_of(new)
    return patterns(held, len(old)), patterns(cells, len(old))


def wom_rewrites_without_erase():
    """Pairs of old and new data where no bit turns from 0 to 1, of 16."""
    words = ("00", "01", "10", "11")
    pairs = [rewrite([old], [new]) for old in words for new in words]
    return sum(all(b <= a for a, b in zip(old[0], new[0], strict=True)) for old, new in pairs)


def wom_example_bits():
    """Bits of the slide's example that come out: 01 11 01 10, then 10 00 01 11."""
    first, second = rewrite(["01", "11", "01", "10"], ["10", "00", "01", "11"])
    ours, printed = "".join(first + second), "110011110101" + "010000110100"
    return sum(a == b for a, b in zip(ours, printed, strict=True))


#: Drives that are written at random all the time, one page a request: chip, and what is smaller.
STEADY = {
    True: ("grupp2009_a_slc2", {"chip.geometry.blocks_per_plane": 128}),
    False: ("grupp2009_b_mlc32", {"chip.geometry.blocks_per_plane": 128}),
}


@cache
def steady(is_slc, ftl, seed):
    """Report of a run of ten drive writes on a drive in a steady state."""
    drive, changes = STEADY[is_slc]
    changes = {**changes, "ftl.name": ftl, "ftl.overprovisioning": 0.28}
    page = chip(drive)["geometry"]["page_bytes"]
    job = f"[w]\nrw=randwrite\nbs={page}\niodepth=32\nnorandommap=1\nloops=10\n"
    return nandlab.run(drive, job, precondition="steady", set=changes, seed=seed).report


def programmed_for_each_erased(is_slc, ftl, seed):
    """Bits of data, copies of collection among them, for each bit that is erased."""
    report = steady(is_slc, ftl, seed)
    geometry = report.nandlab.config["chip"]["geometry"]
    counts = report.ftl
    data = (counts.host_units + counts.gc_copies) * counts.unit_bytes
    block = geometry["pages_per_block"] * geometry["page_bytes"]
    return data / (report.nand.erases * block)


def wom_gain_percent(is_slc, seed):
    """Against the same chip without codes."""
    coded = programmed_for_each_erased(is_slc, "wom", seed)
    return 100 * (coded / programmed_for_each_erased(is_slc, "page", seed) - 1)


def wom_slc_gain_percent(seed):
    return wom_gain_percent(True, seed)


def wom_mlc_gain_percent(seed):
    return wom_gain_percent(False, seed)


def wom_mlc_fast_first_gain_percent():
    """Three fast pages hold the data of two, twice; then the others hold one page each."""
    fast = sum(is_fast())
    coded, plain = fast // 3 * 2, 128 - fast // 3 * 3
    return 100 * ((2 * coded + plain) / 128 - 1)


def for_each_written(is_slc, measure, seed):
    """What codes change of a measure for each byte that the host writes, as a factor."""
    coded, plain = (
        measure(report) / report.host.write.bytes
        for report in (steady(is_slc, "wom", seed), steady(is_slc, "page", seed))
    )
    return coded / plain


def erases(report):
    return report.nand.erases


def wom_slc_erases_change_percent(seed):
    return 100 * (for_each_written(True, erases, seed) - 1)


def wom_mlc_erases_change_percent(seed):
    return 100 * (for_each_written(False, erases, seed) - 1)


# --- Slide "Power & Energy" ----------------------------------------------------------------------


def power_mw(current):
    """The most that any of the eleven takes by its preset."""
    energies = [chip(f"grupp2009_{name}")["energy"] for name in CHIPS]
    return max(energy["vcc_v"] * energy[current] for energy in energies)


def read_power_mw():
    return power_mw("icc_read_ma")


def program_power_mw():
    return power_mw("icc_program_ma")


def erase_power_mw():
    return power_mw("icc_erase_ma")


def busy_die_power_mw():
    """Mean of a drive of B-MLC32 that is written at random, for each die, standby included."""
    job = "[fill]\nrw=randwrite\nbs=4k\niodepth=32\nnumber_ios=4000\n"
    report = nandlab.run("grupp2009_b_mlc32", job, seed=1).report
    drive = report.nandlab.config["drive"]
    dies = drive["channels"] * drive["dies_per_channel"]
    return report.nand.energy_uj / report.sim.simulated_s / 1e3 / dies


def other_chip_power_mw():
    """A program of the chip of Wang 2014, whose currents are of other sources."""
    energy = chip("wang2014_mlc")["energy"]
    return energy["vcc_v"] * energy["icc_program_ma"]


# --- The board: slides "Program Latency Anomaly", "Program Disturb", "WOM Codes" ------------------

#: Chips with the cells of their presets, which are assumed: that of Wang's MLC, and an SLC.
MLC, SLC = "grupp2009_b_mlc8", "grupp2009_a_slc2"


@cache
def on_board(procedure, is_slc, **params):
    return nandlab.board(procedure, SLC if is_slc else MLC, **params).table().to_pylist()


def slow_over_fast_program():
    """Means of the pages of a block."""
    rows = on_board("latency_map", is_slc=False)
    found = {}
    for row in rows:
        found.setdefault(row["page_type"], []).append(row["program_us"])
    return sum(found["upper"]) / len(found["upper"]) * len(found["lower"]) / sum(found["lower"])


#: Of Wang's MLC, whose cell it is: his end of life, 1.2469 million cycles.
END_OF_LIFE = 1_246_900


@cache
def single_level(column, cycles):
    """Of a block that holds one bit a cell, over the same of one that holds both."""
    first = cycles - 2
    by_mode = {
        row["mode"]: row[column]
        for row in on_board("single_level", False, first_cycles=first, cycles=cycles, points=1)
    }
    return by_mode["one bit a cell"] / by_mode["all bits"]


def fast_pages_only_program():
    return single_level("program_us", 1000)


def fast_pages_only_errors():
    return single_level("rber", END_OF_LIFE)


@cache
def worn_and_fresh(is_slc):
    """Times of random data of a block at ten times the rated cycles, over those of a fresh one."""
    rated = chip(SLC if is_slc else MLC)["rated_pe_cycles"]
    rows = on_board("data_pattern", is_slc, cycles=10 * rated, points=2)
    fresh, worn = (row for row in rows if row["pattern"] == "random")
    return {name: worn[name] / fresh[name] for name in ("program_us", "erase_us")}


def worn_programs_slc():
    return worn_and_fresh(True)["program_us"]


def worn_programs_mlc():
    return worn_and_fresh(False)["program_us"]


def worn_programs_slc_over_mlc():
    return (1 - worn_programs_slc()) / (1 - worn_programs_mlc())


def worn_erases():
    return min(worn_and_fresh(is_slc)["erase_us"] for is_slc in (True, False))


def slc_reprogram_errors():
    """In all pages of a block."""
    return sum(row["bit_errors"] for row in on_board("program_disturb", is_slc=True))


def mlc_wom_safe_share_percent():
    rows = on_board("program_disturb", is_slc=False)
    return 100 * sum(row["survives"] for row in rows) / len(rows)


def mlc_wom_fast_first_share_percent():
    """Fast pages are programmed again before any slow page; of all pages."""
    rows = on_board("program_disturb", is_slc=False, again="after_type")
    return 100 * sum(row["survives"] for row in rows) / len(rows)


#: Largest bit error rate at the end of a life: that with which a page of the board survives.
LIMIT = 1 / 4096


def life(mode, seed, **params):
    """Cycles until a page has errors at the limit; the last that were measured if it never has."""
    rows = nandlab.board("single_level", MLC, seed=seed, **params).table().to_pylist()
    before = None
    for row in (row for row in rows if row["mode"] == mode):
        if before and row["rber"] >= LIMIT:
            # No error in a block is some 1e-7.
            low = max(before["rber"], 1e-7)
            way = math.log(LIMIT / low) / math.log(row["rber"] / low)
            return before["pe_cycles"] + way * (row["pe_cycles"] - before["pe_cycles"])
        before = row
    return before["pe_cycles"]


def wom_fast_pages_life(seed):
    """Bytes of the host until the limit: fast pages alone, written twice, over all pages once.

    Looked at up to ten times the cycles. Three fast pages hold the data of two.
    """
    plain = life("all bits", seed, first_cycles=1_100_000, cycles=1_300_000, points=5)
    first, most = round(plain), round(10 * plain)
    coded = life("one bit a cell", seed, first_cycles=first, cycles=most, points=4, reprograms=1)
    return coded / plain * 2 * (sum(is_fast()) // 3 * 2) / 128


def wom_lifetime_gain_most(seed):
    """Bytes that the host writes in a life of as many cycles, of SLC, with codes over without."""
    return 1 / for_each_written(True, erases, seed)


def wom_energy_change_percent(seed):
    """Energy of flash for each byte written: the mean of SLC and MLC."""
    changes = [
        for_each_written(is_slc, lambda report: report.nand.energy_uj, seed)
        for is_slc in (True, False)
    ]
    return 100 * (sum(changes) / len(changes) - 1)


# --- Slides "Variation-Aware Interface", "Improving Paging Latency" ------------------------------

#: Chips with page times that somebody has measured. The figures of the eleven cannot be read: their
#: presets all have the times of Wang's chip, so runs of others would only repeat it.
MEASURED = {
    # The chip of Wang 2014, on a board of the same laboratory: times of its cell.
    "wang": {"preset": "wang2014_mlc", "geometry": {"blocks_per_plane": 512}},
    # Profiled by the authors of FEMU. In the geometry of B-MLC32: its own pages of 16 KiB would be
    # programmed for each page of 4 KiB.
    "l95b": {
        "preset": "grupp2009_b_mlc32",
        "timing": {
            "t_read_us": [48.0, 64.0],
            "t_program_us": [850.0, 2300.0],
            "t_erase_us": 3000.0,
        },
    },
}


#: Parameters of `ftl` by placement.
PLACEMENTS = {
    "any": {"ftl.fast_pages": False},
    "fast": {"ftl.fast_pages": True},
    "skip": {"ftl.fast_pages": True, "ftl.skip_slow_pages": True},
}


@cache
def paging(chip_name, placement, seed):
    """Report of the workload `paging` on two dies of B-MLC32 or of a measured chip.

    Writes wait for their programs: there is no write-back.
    """
    drive = {"drive_preset": "grupp2009_b_mlc32"}
    if chip_name in MEASURED:
        drive["chip"] = MEASURED[chip_name]
    changes = {**PLACEMENTS[placement], "buffer.bytes": 0, "ftl.overprovisioning": 0.28}
    changes["gc.background_free_blocks"] = 8
    return nandlab.run(drive, "paging", precondition="steady", set=changes, seed=seed).report


def change_percent(chip_name, seed, measure, placement="fast"):
    """What fast pages for urgent writes change."""
    fast, all_pages = (measure(paging(chip_name, of, seed)) for of in (placement, "any"))
    return 100 * (fast / all_pages - 1)


def latency(report):
    """Mean latency of pages that are swapped out."""
    return report.jobs[0].write.lat_ns.mean


def erases_of_pages(report):
    """Erases for each page written."""
    return report.nand.erases / report.host.write.requests


def energy(report):
    """Energy of flash for each page written."""
    return report.nand.energy_uj / report.host.write.requests


def latency_change_percent(chip_name, seed):
    return change_percent(chip_name, seed, latency)


def wear_change_percent(chip_name, seed):
    """Programmed pages for each page written: what becomes erases in time."""
    return change_percent(chip_name, seed, lambda report: report.ftl.write_amplification)


def energy_change_percent(chip_name, seed):
    return change_percent(chip_name, seed, energy)


def swap_latency_change_percent(seed):
    return latency_change_percent("b_mlc32", seed)


def swap_latency_abstract_percent(seed):
    return latency_change_percent("b_mlc32", seed)


def swap_wear_change_percent(seed):
    return wear_change_percent("b_mlc32", seed)


def variation_energy_change_percent(seed):
    return energy_change_percent("b_mlc32", seed)


def skip_latency_change_percent(seed):
    return change_percent("b_mlc32", seed, latency, "skip")


def skip_wear_change_percent(seed):
    """Erases: pages that are left empty are not programmed."""
    return change_percent("b_mlc32", seed, erases_of_pages, "skip")


def skip_energy_change_percent(seed):
    return change_percent("b_mlc32", seed, energy, "skip")


def swap_latency_wang_percent(seed):
    return latency_change_percent("wang", seed)


def swap_wear_wang_percent(seed):
    return wear_change_percent("wang", seed)


def swap_energy_wang_percent(seed):
    return energy_change_percent("wang", seed)


def swap_latency_l95b_percent(seed):
    return latency_change_percent("l95b", seed)


def swap_wear_l95b_percent(seed):
    return wear_change_percent("l95b", seed)


def swap_energy_l95b_percent(seed):
    return energy_change_percent("l95b", seed)


# --- Slide "MLC as SLC": a drive -----------------------------------------------------------------


@cache
def single_level_drive(is_single_level):
    """Report of the drive of B-MLC32 with the fast pages alone, or with all."""
    job = "[writes]\nrw=randwrite\nbs=4k\niodepth=1\nrate_iops=50\nnumber_ios=3000\n"
    changes = {"drive.single_level": is_single_level, "buffer.bytes": 0}
    changes["ftl.overprovisioning"] = 0.28
    return nandlab.run("grupp2009_b_mlc32", job, set=changes, seed=1).report


def price_cents(is_single_level):
    """Of 2^30 bits of pages that hold data, those that are spare included."""
    report = single_level_drive(is_single_level)
    of_host = report.cost.usd_per_gb
    physical = 1 + report.nandlab.config["ftl"]["overprovisioning"]
    return 100 * of_host / physical * (2**30 / 8) / 1e9


def all_pages_drive_price_cents():
    return price_cents(False)


def fast_pages_drive_price_cents():
    return price_cents(True)


def fast_pages_drive_latency():
    """Mean latency of a write, against the drive of all pages."""
    means = [single_level_drive(only).host.write.latency_us.mean for only in (True, False)]
    return means[0] / means[1]


def picture():
    """The pages of the first blocks' wordlines: fast ones high, slow ones low."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    timing = nandlab.cell("chip/wang2014_mlc").times(0).program_us
    figure = new_figure(8.0, 4.6)
    axes = figure.subplots()
    for fast, label, colour in ((True, "fast", "read"), (False, "slow", "write")):
        pages = [page for page in range(48) if is_fast()[page] == fast]
        times = [timing[0 if fast else 1]] * len(pages)
        axes.bar(pages, times, color=COLOURS[colour], label=f"{label} pages", width=0.8)
    axes.set_xlabel("page of the block, in program order")
    axes.set_ylabel("program time (µs)")
    axes.set_ylim(0, 1500)
    axes.legend(loc="upper left", ncols=2, frameon=False)
    finish(axes, "fast and slow pages of an MLC block")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
