"""Wang, Xie, Zhou (ICS'14): what reduced threshold voltages win, and which pages share a cell.

One function for each row of `reference.csv`; `nandlab papers wang2014` runs them.
"""

from functools import cache
from math import log
from pathlib import Path
from runpy import run_path
from statistics import correlation
from types import SimpleNamespace

import nandlab
from nandlab import _core
from nandlab.endurance.tvr import coupling_shift_v

HERE = Path(__file__).resolve().parent

# Section 4.1, as printed, in microseconds.
PAGE_11_US, PAGE_01_US = 672.0, 880.0

#: By rising level.
PATTERNS = ("11", "10", "00", "01")


@cache
def reduction():
    """Section 5 with the levels of `nandlab.tvr`."""
    return nandlab.tvr()


# --- Section 5.2: distances ----------------------------------------------------------------------


def delta_0_v():
    return reduction().below_v[0]


def delta_1_v():
    return reduction().above_v[0]


def delta_2_v():
    return reduction().below_v[1]


def delta_3_v():
    return reduction().above_v[1]


def delta_4_v():
    return reduction().below_v[2]


def delta_5_v():
    return reduction().above_v[2]


# --- Section 5.3: steps of a program -------------------------------------------------------------


def msb_steps():
    return reduction().pages[0].steps


def lsb_steps():
    return reduction().pages[1].steps


def mean_steps():
    return reduction().steps


def reduced_msb_way_v():
    return reduction().pages[0].reduced_way_v


def reduced_lsb_way_v():
    return reduction().pages[1].reduced_way_v


def reduced_msb_steps():
    return reduction().pages[0].reduced_steps


def reduced_lsb_steps():
    return reduction().pages[1].reduced_steps


def reduced_mean_steps():
    return reduction().reduced_steps


def program_time_change_percent():
    return 100 * reduction().program_time_change


# --- Section 5.4: life by equation 8 -------------------------------------------------------------


def life_e5_cycles():
    return reduction().pe_cycles / 1e5


def reduced_life_e5_cycles():
    return reduction().reduced_pe_cycles / 1e5


def life_change_percent():
    return 100 * reduction().life_change


def rber_at_end_of_life():
    """By the array model that drives use."""
    [rber] = _core.Array('{"name": "exponential"}').rber([(0, 1_246_900, 0.0, 0)])
    return rber


# --- Section 2.3: coupling -----------------------------------------------------------------------


def worst_coupling_v():
    return coupling_shift_v(0.02, 0.006, 5.4)


def coupling_change_percent():
    before, after = (coupling_shift_v(0.02, 0.006, swing) for swing in (5.4, 5.4 - 2.0))
    return 100 * (after / before - 1)


# --- Table 1: pages that share their cells -------------------------------------------------------


@cache
def sites():
    """Wordline, parity and type of each page of the 128."""
    return _core.page_sites("even_odd", 2, 128)


def partner(page):
    """The slow page in the cells of a fast page."""
    wordline, parity, _ = sites()[page]
    return sites().index((wordline, parity, 1))


def lsb_page_of_page_10():
    return partner(10)


def lsb_page_of_page_26():
    return partner(26)


def lsb_page_of_page_42():
    return partner(42)


def lsb_page_of_page_58():
    return partner(58)


def wordlines_of_table_1():
    """How many of the eight pages lie on the wordline of the table, counted from one."""
    table = {10: 4, 16: 4, 26: 8, 32: 8, 42: 12, 48: 12, 58: 16, 64: 16}
    return sum(sites()[page][0] + 1 == wordline for page, wordline in table.items())


# --- Section 4.1: what the printed times say of each other ---------------------------------------


def state_3_over_state_0_percent():
    return 100 * (PAGE_01_US / PAGE_11_US - 1)


def program_time_drop_over_life_percent():
    """10.3 % until 2e5 cycles, then 4.8 %."""
    return 100 * (1 - (1 - 0.103) * (1 - 0.048))


# --- Section 4: times, by the board ---------------------------------------------------------------

END_OF_LIFE = 1_246_900


#: Blocks that ratios are the mean of: a single cell that is taken for another level makes the page
#: that it is in slower, which is seen in one block of two or three.
BLOCKS = 16


@cache
def times(cycles, count=1):
    """Means over `count` blocks full of each pattern, by pattern, from so many cycles on."""
    found = nandlab.board(
        "data_pattern", "wang2014_mlc", cycles=cycles + count, first_cycles=cycles, points=count + 1
    )
    by_pattern = {}
    for row in found.table().to_pylist()[: -len(PATTERNS) - 1]:
        by_pattern.setdefault(row["pattern"], []).append(row)
    columns = ("program_us", "lower_program_us", "upper_program_us", "erase_us")
    return {
        pattern: {name: sum(row[name] for row in rows) / count for name in columns}
        for pattern, rows in by_pattern.items()
    }


def page_us(pattern, cycles=0, count=1):
    """Mean of both pages."""
    return times(cycles, count)[pattern]["program_us"]


def longer_percent(pattern):
    """Than '11' pages, after 1000 cycles, where a few more make no difference."""
    return 100 * (page_us(pattern, 1000, BLOCKS) / page_us("11", 1000, BLOCKS) - 1)


def page_11_us():
    return page_us("11")


def page_01_us():
    return page_us("01")


def page_10_percent():
    return longer_percent("10")


def page_00_percent():
    return longer_percent("00")


def msb_11_us():
    return times(0)["11"]["lower_program_us"]


def msb_late_states():
    msb = {pattern: row["lower_program_us"] for pattern, row in times(1000, BLOCKS).items()}
    return (msb["00"] + msb["01"]) / (msb["11"] + msb["10"])


def lsb_11_us():
    return times(0)["11"]["upper_program_us"]


def lsb_10_us():
    return times(0)["10"]["upper_program_us"]


def lsb_over_msb():
    """The means over the four patterns."""
    rows = [times(1000, BLOCKS)[pattern] for pattern in PATTERNS]
    return sum(row["upper_program_us"] for row in rows) / sum(
        row["lower_program_us"] for row in rows
    )


def program_drop_early_percent():
    """Of '11' pages, from the first cycle on; the factor is the same for all."""
    return 100 * (1 - page_us("11", 200_000) / page_us("11"))


def program_drop_late_percent():
    return 100 * (1 - page_us("11", END_OF_LIFE) / page_us("11", 200_000))


def erase_01_ms():
    return times(5_000)["01"]["erase_us"] / 1e3


def erase_11_ms():
    return times(5_000)["11"]["erase_us"] / 1e3


def erase_10_over_01():
    """In the middle of the life."""
    return times(400_000)["10"]["erase_us"] / times(400_000)["01"]["erase_us"]


def erase_end_ms():
    """The mean over the patterns."""
    return sum(times(END_OF_LIFE)[name]["erase_us"] for name in PATTERNS) / 4e3


# --- Section 3.2: errors, by the board -----------------------------------------------------------


@cache
def errors(seed):
    """Rows of cells at the end of life, all of the 100 random cycles read back."""
    found = nandlab.board(
        "wear", "wang2014_mlc", seed=seed, cycles=END_OF_LIFE, points=1, measured_cycles=100
    )
    return {row["pattern"]: row for row in found.table().to_pylist()}


def lsb_errors_over_msb(seed):
    """The least over the three rows of his Fig. 4."""
    rows = [errors(seed)[pattern] for pattern in ("10", "00", "01")]
    return min(row["upper_bit_errors"] / row["lower_bit_errors"] for row in rows)


#: Segments of a life at which errors are counted, and how many make a point of the line.
SEGMENTS, LEAST_ERRORS = 12, 10


@cache
def segments(seed):
    """Rows of the three programmed patterns over the life."""
    found = nandlab.board(
        "wear", "wang2014_mlc", seed=seed, cycles=END_OF_LIFE, points=SEGMENTS, measured_cycles=100
    )
    return [row for row in found.table().to_pylist() if row["pattern"] != "11"]


def errors_straight_in_log(seed):
    """Cells of all three, over all points with enough errors: R2 of the line."""
    counted = {}
    for row in segments(seed):
        counted[row["pe_cycles"]] = counted.get(row["pe_cycles"], 0) + row["cell_errors"]
    seen = [(cycles, log(count)) for cycles, count in counted.items() if count >= LEAST_ERRORS]
    return correlation(*zip(*seen, strict=True)) ** 2


def cell_errors(pattern, other, seed):
    """Of two rows of cells, which have always held these patterns."""
    return errors(seed)[pattern]["cell_errors"] / errors(seed)[other]["cell_errors"]


def errors_01_over_00(seed):
    return cell_errors("01", "00", seed)


def errors_00_over_10(seed):
    return cell_errors("00", "10", seed)


def errors_11_over_01(seed):
    return cell_errors("11", "01", seed)


def lsb_errors_over_msb_of_life(seed):
    """All three rows together, the least over the segments with enough errors."""
    by_page = {}
    for row in segments(seed):
        counts = by_page.setdefault(row["pe_cycles"], [0, 0])
        counts[0] += row["upper_bit_errors"]
        counts[1] += row["lower_bit_errors"]
    return min(lsb / msb for lsb, msb in by_page.values() if msb >= LEAST_ERRORS)


#: Bits of a page of 2 KiB, in which equation 8 counts.
PAGE_BITS = 16384


def page_errors(pattern, seed):
    """Wrong bits of a page at the end of life, the mean of both pages."""
    row = errors(seed)[pattern]
    wrong = row["lower_bit_errors"] + row["upper_bit_errors"]
    return PAGE_BITS * wrong / (row["lower_bits"] + row["upper_bits"])


def page_errors_10(seed):
    return page_errors("10", seed)


def page_errors_00(seed):
    return page_errors("00", seed)


def page_errors_01(seed):
    return page_errors("01", seed)


def cell_errors_00(seed):
    """Of as many cells as a page has bits."""
    return PAGE_BITS * errors(seed)["00"]["cell_error_rate"]


# --- Section 3.3: equations 6 to 9, by least squares of cell errors over the life ----------------


@cache
def equation_9(seed):
    """By parameter."""
    means = dict(zip(PATTERNS, reduction().mu_v, strict=True))
    rows = segments(seed)
    found = nandlab.fit(
        {
            "pe_cycles": [row["pe_cycles"] for row in rows],
            "vth_v": [means[row["pattern"]] for row in rows],
            "bits_read": [row["cells"] for row in rows],
            "bit_errors": [row["cell_errors"] for row in rows],
        },
        "exponential_vth",
        least_squares=True,
    )
    return {parameter.name: parameter.value for parameter in found.parameters}


def alpha_1(seed):
    return equation_9(seed)["alpha_1"]


def beta_1(seed):
    return equation_9(seed)["beta_1"]


def alpha_2(seed):
    return equation_9(seed)["alpha_2"]


def beta_2(seed):
    return equation_9(seed)["beta_2"]


# --- Section 5.3 and 5.4 by the chip's own cell --------------------------------------------------


@cache
def reduced_chip():
    """The smallest margins that the cell survives, read at once."""
    return nandlab.tvr_chip("wang2014_mlc", retention_hours=0.0)


def program_time_by_cell_percent():
    before, after = (sum(of.program_us) for of in (reduced_chip().original, reduced_chip().reduced))
    return 100 * (after / before - 1)


def life_by_cell_percent():
    before, after = (of.pe_cycles for of in (reduced_chip().original, reduced_chip().reduced))
    return 100 * (after / before - 1)


# --- Section 5.5: the drive -----------------------------------------------------------------------


@cache
def drive():
    return SimpleNamespace(**run_path(str(HERE / "drive.py")))


def gains_percent(seed):
    return [drive().gain_percent(name, seed=seed) for name in drive().PRINTED]


def response_least_percent(seed):
    return min(gains_percent(seed))


def response_most_percent(seed):
    return max(gains_percent(seed))


def response_financial1_percent(path):
    return drive().gain_percent("financial1", path=path)


def response_iozone_percent(path):
    return drive().gain_percent("iozone", path=path)


@cache
def short_lived():
    return SimpleNamespace(**run_path(str(HERE / "short_lived.py")))


def short_lived_percent(seed):
    return short_lived().change_percent("extension", "short-lived", seed)


def short_lived_against_all_percent(seed):
    alone, everywhere = (
        short_lived().change_percent("extension", where, seed) for where in ("short-lived", "all")
    )
    return 100 * ((100 + alone) / (100 + everywhere) - 1)


def packages_least_percent(seed=1):
    """More packages: the reduction never makes a drive slower."""
    made = drive()
    return min(
        made.gain_percent(name, packages=packages, seed=seed)
        for name in made.BY_PACKAGES
        for packages in made.PACKAGES
    )


# --- System implications, in a drive --------------------------------------------------------------


@cache
def implications():
    return SimpleNamespace(**run_path(str(HERE / "implications.py")))


def placing_percent(seed=1):
    return implications().placing_percent(0.5, 0, seed)


def content_percent(seed=1):
    made = implications()
    return min(-made.gain_percent(name, "inverted", seed) for name in made.COMMON)


def content_life_percent(seed=1):
    made = implications()
    return max(made.life_percent(name, "inverted", seed) for name in made.COMMON)


def content_code_wordline_percent(seed=1):
    made = implications()
    return max(made.wordline_percent(name, seed) for name in made.ORDINARY)


def content_code_byte_percent(seed=1):
    made = implications()
    return min(made.byte_percent(name, seed) for name in made.ORDINARY)


def erase_choice_percent(seed):
    return SimpleNamespace(**run_path(str(HERE / "erase_speed.py"))).change_percent(seed)


def picture():
    """The levels before and after, and what they do to a drive."""
    return drive().picture(reduction())


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
