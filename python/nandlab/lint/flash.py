"""Checks of chips: sizes, times, endurance, errors, and what one chip stands for."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.cell import cell
from nandlab.display import quantity
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.settings import AGED, OLD, RANDOM_WRITES, READS, SMALL
from nandlab.lint.subject import Subject

_SIZES = (
    "drive.channels",
    "drive.dies_per_channel",
    "chip.geometry.planes_per_die",
    "chip.geometry.blocks_per_plane",
    "chip.geometry.pages_per_block",
    "chip.geometry.page_bytes",
)

MOST_ERASE_SHARE = 0.25
"""Erase time of a page over its program time: at most 0.11 on the chips of `CHIPS` in
`experiments/desnoyers2013`."""

OF_THE_CELL = "cell"
"""Value of a time that the cell of the chip gives."""

LEAST_RATINGS = 10
"""Ratings after which blocks may report failures before a check speaks."""


def _powers_of_two(subject: Subject) -> Iterator[Hit]:
    if any(subject.is_varied(path) for path in (*_SIZES, "chip.geometry", "drive")):
        return
    sizes = [subject.value(path) for path in _SIZES]
    if any(size & (size - 1) for size in sizes) or subject.value(
        "chip.geometry.bad_block_fraction"
    ):
        return
    yield Hit(
        subject.at("chip.geometry.pages_per_block"),
        "channels, dies, planes, blocks, pages and bytes of a page are all powers of two, and no"
        " block is bad from the factory",
    )


def _times_us(subject: Subject) -> tuple[float, float] | None:
    """Mean program time of a page and erase time, fresh; None where the cell has none."""
    keys = ("chip.timing.t_program_us", "chip.timing.t_erase_us")
    program, erase = (subject.value(key) for key in keys)
    if OF_THE_CELL in (program, erase):
        of_cell = cell(subject.config["chip"]).times()
        program = of_cell.program_us if program == OF_THE_CELL else program
        erase = of_cell.erase_us if erase == OF_THE_CELL else erase
    times = program if isinstance(program, list) else [program]
    mean = sum(times) / len(times)
    if subject.value("chip.page_order") == "one_shot":
        mean = times[0] / int(subject.value("chip.cell_bits"))
    return (mean, erase) if mean and erase else None


def _expensive_erase(subject: Subject) -> Iterator[Hit]:
    if subject.is_varied("chip.timing", "chip.cell", "chip.geometry"):
        return
    times = _times_us(subject)
    if times is None:
        return
    program_us, erase_us = times
    page_us = erase_us / subject.value("chip.geometry.pages_per_block")
    if page_us > MOST_ERASE_SHARE * program_us:
        yield Hit(
            _first_of_its_own(subject, "chip.timing.t_erase_us", "chip.geometry.pages_per_block"),
            f"an erase of {quantity.latency(erase_us)} costs {page_us:.0f} us for each page of the"
            f" block, {page_us / program_us:.0%} of a program; real chips have 11 % and less",
        )


def _first_of_its_own(subject: Subject, *paths: str) -> str:
    """Where the first of these parameters stands that the input itself gives, and no preset."""
    places = [subject.at(path) for path in paths]
    return next((place for place in places if place.startswith(subject.place)), places[0])


def _one_program_time(subject: Subject) -> Iterator[Hit]:
    given, bits = subject.value("chip.timing.t_program_us"), subject.value("chip.cell_bits")
    if not isinstance(given, int | float) or bits < 2 or subject.is_varied("chip.timing"):
        return
    if subject.value("chip.page_order") != "one_shot":
        yield Hit(
            subject.at("chip.timing.t_program_us"),
            f"chip.timing.t_program_us = {given:g} for all {bits} page types of a {bits}-bit cell",
        )


def _has_retention(subject: Subject) -> bool | None:
    """Whether the errors grow with the time since a program; None where there are no errors."""
    law = subject.value("chip.array.name")
    if law == "ideal":
        return None
    if law == "power_law":
        return bool(subject.value("chip.array.beta"))
    points = subject.value("chip.array.points")
    if points:
        return any(float(point["hours"]) > 0 for point in points)
    return bool(law != "exponential")


def _no_retention(subject: Subject) -> Iterator[Hit]:
    if _has_retention(subject) is False and not subject.is_varied("chip.array"):
        law = subject.value("chip.array.name")
        key = "chip.array.beta" if law == "power_law" else "chip.array.name"
        said = "has no retention term (beta = 0)" if law == "power_law" else "has no retention"
        if law == "table":
            said = "has no point with hours of retention"
        yield Hit(subject.at(key), f"chip.array `{law}` {said}: errors depend on cycles only")


def _failure_is_the_end(subject: Subject) -> Iterator[Hit]:
    ratings = subject.value("chip.fault.median_ratings")
    key = "chip.fault.median_ratings"
    if ratings is None or not subject.is_given(key) or subject.is_varied("chip.fault"):
        return
    if subject.value("chip.array.name") == "ideal":
        yield Hit(
            subject.at(key),
            "chip.array `ideal`: data are never lost, so only a failed program or erase retires a"
            " block",
        )
    elif ratings < LEAST_RATINGS:
        yield Hit(
            subject.at(key),
            f"chip.fault.median_ratings = {ratings:g}: half of the blocks fail at {ratings:g} times"
            " the rated cycles; measured chips report success up to 100 times and more",
        )


def _measured_at_once(subject: Subject) -> Iterator[Hit]:
    cycles = subject.value("age.pe_cycles")
    is_worn = bool(cycles) or subject.is_varied("age.pe_cycles")
    is_kept = bool(subject.value("age.retention_hours")) or subject.is_varied("age.retention")
    if _has_retention(subject) and is_worn and not is_kept:
        said = f"age.pe_cycles = {cycles}" if cycles else "age.pe_cycles is an axis"
        place = subject.at("age.pe_cycles")
        if subject.is_varied("age.pe_cycles"):
            place = subject.of_axis("age.pe_cycles")
        yield Hit(place, f"{said} with age.retention_hours = 0: worn flash, data just written")


def _one_chip(subject: Subject) -> Iterator[Hit]:
    points = subject.value("chip.array.points")
    if points and not subject.value("chip.array.page_spread"):
        yield Hit(
            subject.at("chip.array.points"),
            "measured points with page_spread = 0: every page of all dies has the mean error rate"
            " of one chip",
        )
    spread = "chip.fault.spread"
    if subject.value(spread) == 0 and not subject.is_varied(spread):
        yield Hit(
            subject.at(spread),
            "chip.fault.spread = 0: all blocks of all dies wear out at the same cycle",
        )


_POINTS = [
    {"pe_cycles": cycles, "hours": hours, "reads": 0, "rber": [rber, rber]}
    for cycles, hours, rber in (
        (0, 0, 1e-4),
        (0, 1000, 3e-4),
        (3000, 0, 1e-3),
        (3000, 1000, 2.0e-3),
    )
]


def _unused_parity(subject: Subject) -> Iterator[Hit]:
    if not subject.value("parity.pages") or subject.is_varied("parity", "chip", "ecc", "age"):
        return
    if subject.value("parity.read_around") not in (None, "never"):
        return
    if subject.value("chip.array.name") == "ideal" or subject.value("ecc.model") == "ideal":
        yield Hit(
            subject.at("parity.pages"),
            "no page fails on this drive: parity takes its share of space and writes, and nothing"
            " is ever rebuilt",
        )


def _turns_for_nobody(subject: Subject) -> Iterator[Hit]:
    if subject.value("gc.rotation") in (None, "off") or subject.is_varied("gc.rotation", "parity"):
        return
    if subject.value("parity.read_around") in (None, "never"):
        yield Hit(
            subject.at("gc.rotation"),
            "dies collect in turn, which takes longer, and all reads wait for their dies as before",
        )


_TURNS = {
    **SMALL,
    "parity.pages": 1,
    "gc.rotation": "all",
    "ftl.superblock_dies": 0,
    "ftl.gc_reserve_blocks": 2,
    "gc.start_free_blocks": 4,
    "ftl.overprovisioning": 1.8,
}

CHECKS = (
    Check(
        code="L001",
        title="powers of two everywhere",
        assumed="Channels, dies, planes, blocks, pages and page bytes are all powers of two, and"
        " every block is good.",
        why="Blocks of TLC are multiples of three pages, drives with 10 channels exist, and chips"
        " have spare and bad blocks. An algorithm that needs powers of two works only on this"
        " drive: data aligned to a block of 8 channels are not aligned to a block of 10.",
        sources=("desnoyers2013", "tallis2021"),
        instead="the geometry of a real die: `pages_per_block = 1152`, `blocks_per_plane = 910`, or"
        " `bad_block_fraction = 0.01`",
        looks_at=("drive", "study"),
        find=_powers_of_two,
        pair=Pair(
            Setting("8 channels", {"drive.channels": 8, "ftl.stripe": 16}),
            Setting("10 channels", {"drive.channels": 10, "ftl.stripe": 20}),
            "[aligned]\nrw=randwrite\nbs=4m\niodepth=1\nnumber_ios=150\nnorandommap\n",
            ("write amplification", "bandwidth (MB/s)"),
            {
                "drive.dies_per_channel": 1,
                "chip.geometry.blocks_per_plane": 40,
                "chip.geometry.pages_per_block": 32,
                "ftl.name": "fast",
            },
            "fill",
        ),
    ),
    Check(
        code="L002",
        title="expensive erases",
        assumed="Erases are the main cost in time.",
        why="An erase takes some milliseconds, but all pages of the block share it. Erase times"
        " have hardly changed over generations, while programs took longer and blocks grew: on MLC"
        " the erase time per page is at most 1 to 3 % of its program time. Garbage collection is"
        " expensive because it copies.",
        sources=("desnoyers2013",),
        instead="an erase time of 2000 to 10,000 us and the real number of pages per block; look"
        " at copies (write amplification), not at erases",
        looks_at=("drive", "study"),
        find=_expensive_erase,
        pair=Pair(
            Setting("erase of 60 ms", {"chip.timing.t_erase_us": 60_000.0}),
            Setting("erase of 3.8 ms"),
            RANDOM_WRITES,
            ("IOPS", "write p99.9 (us)"),
            SMALL,
        ),
    ),
    Check(
        code="L003",
        title="one program time for all pages of a cell",
        assumed="All pages of MLC or TLC take the same time to program.",
        why="The first bit of a cell is programmed fast in coarse steps, the last bit in fine"
        " steps: on the MLC chip of Wang 2014 slow pages take 2.4 to 2.9 times as long. With the"
        " mean of both times throughput is about right, but the latency tail is wrong, and an FTL"
        " that chooses fast pages gains nothing.",
        sources=("grupp2009", "desnoyers2013", "wang2014"),
        instead="a time for each page from the lower page up, `t_program_us = [460.0, 1118.0]`, or"
        ' `page_order = "one_shot"` if the chip programs whole wordlines',
        looks_at=("drive", "study"),
        find=_one_program_time,
        pair=Pair(
            Setting("750 us for all", {"chip.timing.t_program_us": 750.0}),
            Setting("375 and 1125 us", {"chip.timing.t_program_us": [375.0, 1125.0]}),
            "[writes]\nrw=randwrite\nbs=16k\nsync=1\nnorandommap\nnumber_ios=3000\n",
            ("write p50 (us)", "write p99 (us)", "IOPS"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L004",
        title="endurance without retention",
        assumed="Wear is a number of cycles, whatever the retention time.",
        why="Cycles do not kill cells; they make cells lose charge faster. A rating of 10,000"
        " cycles holds for a year of retention and a certain code. For ten years vendors guarantee"
        " a tenth of it; error laws of measured chips give six tenths or none. An error law without"
        " retention has no such limit.",
        sources=("desnoyers2013", "kim2019"),
        instead="an error law with retention (`power_law` with `beta`, `retention_law`, `table`)"
        " and `age.retention_hours`; `nandlab endurance` gives the cycles for a retention time",
        looks_at=("drive", "study"),
        find=_no_retention,
        pair=Pair(
            Setting("cycles alone", {"chip.array.beta": 0.0}),
            Setting("with retention"),
            READS,
            ("read p99.9 (us)", "read mean (us)"),
            {**SMALL, **AGED},
            "fill",
        ),
    ),
    Check(
        code="L005",
        title="wear-out by program failure",
        assumed="A block is worn out when its programs or erases fail.",
        why="Wear-out means that data are lost within the retention time. A verify microseconds"
        " after the program cannot see this: devices report success long after they have ceased to"
        " store data reliably. A drive must retire a block long before.",
        sources=("desnoyers2013",),
        instead="an error law (`chip.array`) and a decoder that can fail (`ecc.model`), with"
        " `retry.retire_after`; leave `chip.fault.median_ratings` at its 150",
        looks_at=("drive", "study"),
        find=_failure_is_the_end,
        pair=Pair(
            Setting("failed programs alone", {"chip.fault.median_ratings": 3.0, **OLD}),
            Setting("errors and a decoder", AGED),
            READS,
            ("read p99.9 (us)", "read mean (us)"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L006",
        title="error rates right after programming",
        assumed="The error rate of worn flash is the error rate of data just written.",
        why="Most errors of worn flash come with time. After 10,000 cycles the rate of 3D NAND is"
        " tenfold three hours after a program, and a hundredfold after eleven days.",
        sources=("desnoyers2013", "luo2018"),
        instead="`age.retention_hours` beside `age.pe_cycles`: 8760 is a year, 2190 the three"
        " months of enterprise ratings",
        looks_at=("drive", "study"),
        find=_measured_at_once,
        pair=Pair(
            Setting("data just written", {"age.retention_hours": 0.0}),
            Setting("data a year old"),
            READS,
            ("read p99.9 (us)", "read mean (us)"),
            {**SMALL, **AGED},
            "fill",
        ),
    ),
    Check(
        code="L018",
        title="one chip for all dies",
        assumed="The measurements of one chip hold for each page of all dies.",
        why="Pages, blocks and dies differ, and a code fails on the worst page, not on the mean"
        " page.",
        sources=(),
        instead="`chip.array.page_spread` (`nandlab fit` finds it in measurements) and"
        " `chip.fault.spread` (0.1)",
        looks_at=("drive", "study"),
        find=_one_chip,
        pair=Pair(
            Setting("all pages alike", {"chip.array.page_spread": 0.0}),
            Setting("pages spread by 0.3", {"chip.array.page_spread": 0.3}),
            READS,
            ("read p99.9 (us)", "read p99 (us)"),
            {
                **SMALL,
                "chip.array.name": "table",
                "chip.array.points": _POINTS,
                **{key: AGED[key] for key in AGED if not key.startswith("chip.array")},
                "age.retention_hours": 1000.0,
            },
            "fill",
        ),
    ),
    Check(
        code="L029",
        title="parity that nothing uses",
        assumed="Parity costs a share of the space and of the writes, and no more.",
        why="Parity is there for pages that the code cannot correct and for dies that fail. Each"
        " rebuilt read reads all other dies of its stripe, and the data of a die that has failed"
        " are moved beside the host: that is what the tail of such a drive is made of.",
        sources=(),
        instead="`--fail-die DIE@SECONDS`, or an error law (`chip.array`) with a decoder that can"
        " fail (`ecc.model`)",
        looks_at=("drive", "study"),
        find=_unused_parity,
        pair=Pair(
            Setting("no failure"),
            Setting("a die has failed", run={"fail_die": "1@0"}),
            READS,
            ("read p99.9 (us)", "read mean (us)"),
            {
                **SMALL,
                "parity.pages": 1,
                "ftl.superblock_dies": 0,
                "ftl.gc_reserve_blocks": 2,
                "gc.start_free_blocks": 4,
                "ftl.overprovisioning": 2.0,
            },
            "fill",
        ),
    ),
    Check(
        code="L030",
        title="collection in turn that no read goes around",
        assumed="Reads wait less where one die of a superblock collects at a time.",
        why="Collection in turn has fewer dies at work, and works for longer: a read finds its die"
        " as busy as before. What shortens the tail are reads of the other dies of the stripe,"
        " which are free then.",
        sources=("yan2017",),
        instead='`parity.read_around = "collection"` with `parity.pages = 1`, or'
        ' `gc.rotation = "off"`',
        looks_at=("drive", "study"),
        find=_turns_for_nobody,
        pair=Pair(
            Setting("reads wait"),
            Setting("reads around collection", {"parity.read_around": "collection"}),
            "[mix]\nrw=randrw\nbs=4k\niodepth=64\nnorandommap\nrate_iops=1500,1000\n"
            "rate_process=poisson\ntime_based\nruntime=10\n",
            ("read p99.9 (us)",),
            _TURNS,
        ),
    ),
)
"""In the order of their codes."""
