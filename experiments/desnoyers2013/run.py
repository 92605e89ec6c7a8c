"""Desnoyers (HotStorage'13): what is wrong about flash in papers, as far as it can be computed.

One function for each row of `reference.csv`; `nandlab papers desnoyers2013` runs them.
"""

from functools import cache

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


def ten_years_share_retention_law():
    return cycles("retention_law", 10) / cycles("retention_law", 1)


def ten_years_share_power_law():
    return cycles("power_law", 10) / cycles("power_law", 1)


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
    """JESD218: three months at 40 C and 1e-16, against a year at 30 C and 1e-15."""
    found = []
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


def page_scan_s():
    """128 GB in pages of 4 KB by 8 channels at 50 us."""
    return 128e9 / 4096 / 8 * 50e-6


def block_scan_s():
    """One page of each block of 128."""
    return page_scan_s() / 128


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
    """Erase time for each page against program time, and endurance by retention."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    figure = new_figure(8.0, 7.2)
    above, below = figure.subplots(2, 1)
    names = ["SLC\nA-SLC4", "SLC\nA-SLC2", "MLC\nL41B", "MLC\nL95B"]
    shares = [erase_share_percent(name) for name in CHIPS]
    bars = above.bar(names, shares, color=COLOURS["read"], width=0.6)
    above.bar_label(bars, [f"{share:.1f} %" for share in shares], padding=3)
    above.set_ylim(0, 13)
    above.set_ylabel("erase / program of a page (%)")
    finish(above, "an erase, shared by its pages")
    years = (0.083, 0.25, 0.5, 1, 2, 5, 10)
    for law, colour, label in (
        ("retention_law", "read", "3D NAND, law of Luo 2018"),
        ("power_law", "write", "72-layer TLC, law of Kim 2019"),
    ):
        shown = [(year, cycles(law, year)) for year in years if cycles(law, year) > 0]
        below.plot(*zip(*shown, strict=True), "o-", color=COLOURS[colour], label=label, lw=2.2)
    below.set_xscale("log")
    below.set_yscale("log")
    below.set_xticks([0.083, 0.25, 1, 10], ["1 month", "3 months", "1 year", "10 years"])
    below.xaxis.minorticks_off()
    below.set_xlabel("retention time, at 30 °C")
    below.set_ylabel("endurance (P/E cycles)")
    below.legend(loc="lower left", frameon=False)
    finish(below, "endurance is a function of retention")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
