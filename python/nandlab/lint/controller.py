"""Checks of controllers: memory, spare area, start-up, spare flash, error correction."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from nandlab import _core
from nandlab.cell.source import is_of_the_cell
from nandlab.display import quantity
from nandlab.drive.notices import beyond_belief, without_effect
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.settings import AGED, LAW, OLD, RANDOM_WRITES, READS, SMALL
from nandlab.lint.subject import PAGE_MAPPED, Subject
from nandlab.report import Report

LONGEST_SCAN_S = 1.0
"""Start-up that is feasible: desnoyers2013 has "slightly over a second" for a scan of blocks."""

CARD_LINK_MB_S = 110.0
"""Fastest link of cards and sticks whose controllers have no memory but their own."""

MOST_CARD_BYTES = 1 << 20
"""Of their memory: desnoyers2013 has kilobytes, some tens at most."""

LEAST_SSD_BYTES = 32 << 20
"""Smallest memory of the drives that desnoyers2013 has seen."""

MOST_OWN_BYTES = 64
"""Spare bytes of a page that are enough for any FTL."""

LEAST_SPARE = 0.05
"""Spare flash below this is what bad blocks take, and no more. With parity as much is written at
more spare flash already, as each row of data has its parity."""


_FLOOR = {
    "chip.array.name": "power_law",
    "ecc.model": "threshold",
    "ecc.payload_bytes": 4096,
}
"""A law with its default floor, 1.48e-3, and a code for 4 KiB."""


def _scan_of_pages(subject: Subject) -> Iterator[Hit]:
    if subject.value("recovery.name") != "scan_pages" or subject.is_varied("recovery"):
        return
    read = subject.value("chip.timing.t_read_us")
    if isinstance(read, str):
        return
    times = read if isinstance(read, list) else [read]
    of_plane = subject.value("chip.geometry.blocks_per_plane") * subject.value(
        "chip.geometry.pages_per_block"
    )
    least_s = of_plane * sum(times) / len(times) / 1e6
    if least_s > LONGEST_SCAN_S:
        yield Hit(
            subject.at("recovery.name"),
            f"recovery.name = scan_pages: reading {of_plane:,} pages of every plane takes at"
            f" least {quantity.seconds(least_s)}, with all planes in parallel",
        )


def _memory(subject: Subject) -> Iterator[Hit]:
    if subject.is_varied("ftl", "drive", "chip.geometry"):
        return
    link, depth = subject.value("host.link_mb_s"), subject.value("drive.queue_depth")
    limit, cache = subject.value("ftl.ram_bytes"), subject.value("ftl.map_cache_bytes")
    is_card = depth == 1 and 0 < link <= CARD_LINK_MB_S
    memory = subject.needs[1] if is_card and not limit else 0
    if memory > MOST_CARD_BYTES:
        yield Hit(
            subject.at("ftl.name"),
            f"ftl `{subject.value('ftl.name')}` keeps {quantity.size(memory)} in memory, on a card"
            f" or stick (one command at a time, {link:g} MB/s) whose controller has kilobytes",
        )
    capacity = subject.capacity_bytes
    is_ssd = depth >= 32 and capacity >= 32e9
    borrows = bool(subject.value("ftl.host_memory_bytes"))
    for key, bytes_ in (("ftl.ram_bytes", limit), ("ftl.map_cache_bytes", cache)):
        if is_ssd and not borrows and bytes_ and bytes_ < LEAST_SSD_BYTES:
            yield Hit(
                subject.at(key),
                f"{key} = {quantity.size(bytes_)} on an SSD of {quantity.size(capacity)}: such"
                " drives have a DRAM of 32 MiB and more",
            )


def _unused_host_memory(subject: Subject) -> Iterator[Hit]:
    given, cache = subject.value("ftl.host_memory_bytes"), subject.value("ftl.map_cache_bytes")
    if not given or not cache or subject.is_varied("ftl", "drive", "chip.geometry"):
        return
    unit = subject.value("ftl.unit_bytes") or 4096
    whole = 4 * subject.capacity_bytes / unit
    if cache >= whole:
        yield Hit(
            subject.at("ftl.host_memory_bytes"),
            f"ftl.map_cache_bytes = {quantity.size(cache)} holds the whole map"
            f" ({quantity.size(int(whole))}): nothing of it goes to the memory of the host",
        )


def _codes(subject: Subject) -> Iterator[tuple[str, str]]:
    """Each section with a code, and that of the chips that have it."""
    yield "ecc", "chip"
    for name, kind in (subject.value("chips") or {}).items():
        if kind.get("ecc"):
            yield f"chips.{name}.ecc", f"chips.{name}.chip"


def _spare_area(subject: Subject) -> Iterator[Hit]:
    for ecc, chip in _codes(subject):
        varied = subject.is_varied(ecc, f"{chip}.geometry", "ftl.name", "drive")
        if not varied and not subject.value(f"{ecc}.code"):
            yield from _spare_area_of(subject, ecc, chip)


def _spare_area_of(subject: Subject, ecc: str, chip: str) -> Iterator[Hit]:
    spare = subject.value(f"{chip}.geometry.spare_bytes")
    data = subject.value(f"{ecc}.payload_bytes")
    page = subject.value(f"{chip}.geometry.page_bytes")
    if subject.value(f"{ecc}.model") == "threshold":
        t = subject.value(f"{ecc}.t")
        parity = bch_parity_bytes(t, data)
        words = max(page // data, 1)
        if spare - words * parity >= MOST_OWN_BYTES:
            return
        own = subject.needs[2]
        if words * parity + own > spare:
            yield Hit(
                subject.at(f"{ecc}.t"),
                f"{ecc}.t = {t} in {data} bytes takes {parity} bytes of parity, {words} times per"
                f" page; with {own} bytes of the FTL this needs {words * parity + own} of {spare}"
                " spare bytes",
            )
    elif subject.value("ftl.name") == "superblock" and not subject.value(f"{ecc}.parity_bytes"):
        own = subject.needs[2]
        yield Hit(
            subject.at("ftl.name"),
            f"ftl `superblock` keeps its map in the spare area ({own} of {spare} bytes), and the"
            f" parity of the code takes none of it ({ecc}.parity_bytes = 0)",
        )


def bch_parity_bytes(t: int, data_bytes: int) -> int:
    """Parity of a BCH code: t times the least m with room for data and parity in 2^m - 1 bits."""
    m = next(m for m in range(5, 64) if 2**m - 1 >= 8 * data_bytes + m * t)
    return -(-m * t // 8)


def _bad_blocks_only(subject: Subject) -> Iterator[Hit]:
    given, key = subject.value("ftl.overprovisioning"), "ftl.overprovisioning"
    layout = ("ftl.superblock_dies", "ftl.reclaim_groups", "drive", "parity.pages")
    varied = (key, "ftl.name", *layout)
    if subject.is_varied(*varied) or subject.value("ftl.name") not in PAGE_MAPPED:
        return
    pages = _pages_of_stripe(subject)
    parity = min(subject.value("parity.pages") or 0, pages - 1)
    of_data = (pages - parity) / pages
    spare = (1 + given) * of_data - 1
    taken = f", of which parity ({parity} of {pages} pages) leaves {max(spare, 0):.2g}"
    said = f"{key} = {given:g}{taken if parity else ''}: "
    if spare <= 0:
        yield Hit(subject.at(key), f"{said}collection gains nothing")
    elif (found := amplification(1 + spare) / of_data) > amplification(1 + LEAST_SPARE):
        yield Hit(
            subject.at(key),
            f"{said}uniform random writes are amplified about {found:.0f} times or more",
        )


def _pages_of_stripe(subject: Subject) -> int:
    """Pages of a stripe of parity: one on each die of a superblock."""
    drive = subject.value("drive")
    of_drive: int = drive["channels"] * drive["dies_per_channel"]
    of_group = of_drive // (subject.value("ftl.reclaim_groups") or 1)
    return subject.value("ftl.superblock_dies") or of_group


def amplification(alpha: float) -> float:
    """Write amplification of uniform random writes with FIFO collection (desnoyers2012).

    The root of A = 1 / (1 - exp(-alpha / A)).
    """
    low, high = 1.0, 2 * alpha / (alpha - 1)
    for _ in range(100):
        middle = (low + high) / 2
        if middle < -1 / math.expm1(-alpha / middle):
            low = middle
        else:
            high = middle
    return low


def _constant_code(subject: Subject) -> Iterator[Hit]:
    for ecc, chip in _codes(subject):
        if not subject.is_varied(ecc, "retry", f"{chip}.array"):
            yield from _constant_code_of(subject, ecc, chip)


def _constant_code_of(subject: Subject, ecc: str, chip: str) -> Iterator[Hit]:
    model, law = subject.value(f"{ecc}.model"), subject.value(f"{chip}.array.name")
    if model == "ideal" and law != "ideal":
        yield Hit(
            subject.at(f"{ecc}.model"),
            f"{ecc}.model = ideal over {chip}.array `{law}`: every page decodes, however many bits"
            " are wrong",
        )
    is_aged = any(subject.value(f"age.{key}") for key in ("pe_cycles", "retention_hours"))
    if model == "shares" and (is_aged or subject.is_varied("age")):
        yield Hit(
            subject.at(f"{ecc}.model"),
            f"{ecc}.model = shares with an age: the same share of codewords fails at any wear",
        )


def _weak_code(subject: Subject) -> Iterator[Hit]:
    for ecc, chip in _codes(subject):
        if subject.is_varied(ecc, f"{chip}.array") or subject.value(f"{ecc}.model") != "threshold":
            continue
        array = subject.value(f"{chip}.array")
        if array["name"] == "ideal" or is_of_the_cell(array):
            continue
        rber = max(_core.Array(json.dumps(array)).rber([(page, 0, 0.0, 0) for page in range(4)]))
        t, parts = subject.value(f"{ecc}.t"), ("payload_bytes", "parity_bytes")
        mean = 8 * sum(subject.value(f"{ecc}.{part}") for part in parts) * rber
        if mean > t:
            yield Hit(
                subject.at(f"{ecc}.t"),
                f"{ecc}.t = {t}: a codeword of a fresh page has {mean:.3g} wrong bits on average,"
                f" at the rate of {rber:.3g} by {chip}.array `{array['name']}`",
            )


def _no_effect(subject: Subject) -> Iterator[Hit]:
    for said in without_effect(subject.config) if not subject.is_varied("chip.array") else []:
        keys = ("age.pe_cycles", "age.retention_hours", "age.read_passes", "retry.name")
        key = next(
            (key for key in keys if key in said and subject.is_given(key)), "chip.array.name"
        )
        yield Hit(subject.at(key), said)


def _percent(subject: Subject) -> Iterator[Hit]:
    if subject.is_varied("ftl.overprovisioning") or subject.is_given("drive.scale"):
        return
    about = {"config": subject.config, "capacity_bytes": subject.capacity_bytes}
    for said in beyond_belief(Report.of({"nandlab": about})):
        yield Hit(subject.at("ftl.overprovisioning"), said)


def _ahead(subject: Subject) -> tuple[float, float] | None:
    """Bytes that a drive takes when collection has run ahead, and that its dies program a second.

    None where the times are those of a cell.
    """
    program_us = subject.value("chip.timing.t_program_us")
    if isinstance(program_us, str) or program_us is None:
        return None
    times = program_us if isinstance(program_us, list) else [program_us]
    pages = 1
    if subject.value("chip.page_order") == "one_shot":
        times, pages = times[:1], int(subject.value("chip.cell_bits"))
    dies = subject.value("drive.channels") * subject.value("drive.dies_per_channel")
    planes = dies * subject.value("chip.geometry.planes_per_die")
    joined = planes if subject.value("chip.features.multi_plane_program") else dies
    page = subject.value("chip.geometry.page_bytes")
    free = max(subject.value("gc.background_free_blocks"), subject.value("gc.start_free_blocks"))
    blocks = (free - subject.value("ftl.gc_reserve_blocks")) * planes
    speed = joined * pages * page / (sum(times) / len(times) / 1e6)
    return blocks * subject.value("chip.geometry.pages_per_block") * page, speed


def _window_too_long(subject: Subject) -> Iterator[Hit]:
    if subject.report is not None:
        windows = subject.report.windows
        if windows and windows.broken > windows.kept:
            yield Hit(
                subject.place,
                f"{windows.broken:,} deterministic windows broke and {windows.kept:,} were kept:"
                " the free blocks do not last for a window",
            )
        return
    window_ms = subject.value("windows.deterministic_ms")
    varied = subject.is_varied("windows", "gc", "ftl", "drive", "chip", "job.rate", "job.think")
    if not window_ms or varied:
        return
    writers = [job for job in subject.jobs if job.writes and job.is_closed]
    if not writers or (ahead := _ahead(subject)) is None:
        return
    room, speed = ahead
    if room / speed < window_ms / 1e3:
        yield Hit(
            subject.of_job(writers[0], "rw"),
            f"job `{writers[0].name}` writes as fast as it can, and a deterministic window of"
            f" {window_ms:g} ms can take {quantity.size(room)}: at the"
            f" {quantity.size(speed)} a second that the dies program, the free blocks last"
            f" {1e3 * room / speed:.3g} ms",
        )


LEAST_GIVEN = 0.99
"""Sum of the quotas of handles below which a check speaks: the rest is rounding."""


def _spare_of_nobody(subject: Subject) -> Iterator[Hit]:
    shares = subject.value("ftl.handle_quota")
    if not shares or subject.is_varied("ftl.handle_quota") or sum(shares) >= LEAST_GIVEN:
        return
    yield Hit(
        subject.at("ftl.handle_quota"),
        f"ftl.handle_quota = {shares}: {1 - sum(shares):.0%} of the spare is no handle's",
    )


CHECKS = (
    Check(
        code="L007",
        title="a scan of all pages at start-up",
        assumed="After a power cut the drive reads the spare area of every page.",
        why="Reading a spare area takes a whole page read: 128 GB of 4 KiB pages on 8 channels"
        " take 195 seconds. A scan of block summaries takes a second, a checkpoint less.",
        sources=("desnoyers2013", "birrell2007"),
        instead='`recovery.name = "scan_blocks"` or `"checkpoint"`',
        looks_at=("drive", "study"),
        find=_scan_of_pages,
        pair=Pair(
            Setting("scan_pages", {"recovery.name": "scan_pages"}),
            Setting("scan_blocks", {"recovery.name": "scan_blocks"}),
            RANDOM_WRITES,
            ("start-up (s)",),
            SMALL,
            "fill",
            {"cut_at": 0.5},
        ),
    ),
    Check(
        code="L008",
        title="memory untypical of the class",
        assumed="A map must be tiny on an SSD, or is free on a card.",
        why="Almost all consumer SSDs have a DRAM (32 to 128 MB in 2013), and enterprise drives"
        " have as much as they need: a tiny map cache solves a problem that they do not have. Cards"
        " and sticks have kilobytes, too few for the map of a page-level FTL.",
        sources=("desnoyers2013",),
        instead='for an SSD `ftl.name = "page"` or a cache of 32 MiB and more; for a card'
        " `ftl.ram_bytes` with an FTL that fits it (`nandlab ftl` lists memory by FTL)",
        looks_at=("drive", "study"),
        find=_memory,
        pair=Pair(
            Setting("map cache of 16 KiB", {"ftl.name": "dftl", "ftl.map_cache_bytes": 16384}),
            Setting("map in DRAM", {"ftl.name": "page"}),
            READS,
            ("read mean (us)", "read p99 (us)"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L009",
        title="a spare area that the code has used up",
        assumed="The spare area of a page has room for the FTL's metadata.",
        why="As error rates grow, the parity takes nearly all of the spare area, and some"
        " controllers give the FTL no access to it.",
        sources=("desnoyers2013", "kang2006"),
        instead="a named code (`ecc.code`), whose parity is counted, or the parity of your code"
        " (`ecc.parity_bytes`) and the spare bytes of the chip (`chip.geometry.spare_bytes`)",
        looks_at=("drive", "study"),
        find=_spare_area,
        pair=Pair(
            Setting("parity of no bytes", {"ecc.parity_bytes": 0}),
            Setting("parity of 48 bytes", {"ecc.parity_bytes": 48}),
            "[reads]\nrw=randread\nbs=8k\niodepth=32\nnorandommap\nnumber_ios=20000\n",
            ("read mean (us)", "bandwidth (MB/s)"),
            {
                **SMALL,
                "drive.channels": 1,
                "drive.dies_per_channel": 4,
                "ecc.payload_bytes": 1024,
            },
            "fill",
        ),
    ),
    Check(
        code="L010",
        title="spare flash for bad blocks only",
        assumed="Over-provisioning replaces blocks that wear out.",
        why="Spare flash is primarily for performance: with little spare flash, garbage collection"
        " copies nearly full blocks. If bad blocks take a large part of it, the drive becomes slow"
        " long before it fails. Parity over dies takes its pages from spare flash too: of 42 % a"
        " stripe of four dies leaves 6.5 %.",
        sources=("desnoyers2013", "desnoyers2012"),
        instead="`ftl.overprovisioning` of 0.07 (client) to 0.28 (enterprise), and bad blocks as"
        " `chip.geometry.bad_block_fraction`, which does not count in it; with m pages of parity in"
        " stripes of n, (1 + spare) n / (n - m) - 1 for that much spare",
        looks_at=("drive", "study"),
        find=_bad_blocks_only,
        pair=Pair(
            Setting("4 % spare", {"ftl.overprovisioning": 0.04}),
            Setting("28 % spare", {"ftl.overprovisioning": 0.28}),
            RANDOM_WRITES,
            ("write amplification", "write p99 (us)"),
            {"chip.geometry.blocks_per_plane": 256, "chip.geometry.pages_per_block": 32},
        ),
    ),
    Check(
        code="L017",
        title="error correction as a constant",
        assumed="A code corrects all errors, or the same share of codewords, at any age.",
        why="Decoding has steps (hard decision, retries, soft reads), and each step costs reads"
        " and time: with wear and retention more codewords need soft reads, and reads become slower"
        " long before data are lost.",
        sources=("desnoyers2013", "zuolo2016"),
        instead='a code and its decoder, `ecc.code = "ldpc_4k_r90"`, with `retry.name ='
        ' "soft_decision"`',
        looks_at=("drive", "study"),
        find=_constant_code,
        pair=Pair(
            Setting("an ideal code", {**LAW, **OLD}),
            Setting("100 errors in 4320 bytes", AGED),
            READS,
            ("read mean (us)", "read p99.9 (us)"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L019",
        title="an age without an error law",
        assumed="Cycles, retention or a retry policy change a drive whose flash has no errors.",
        why="`chip.array` `ideal` reads every page without errors at any age.",
        sources=(),
        instead='an error law: `chip.array.name = "power_law"`, or a chip preset that has one'
        " (`tlc_3d`)",
        looks_at=("drive", "study"),
        find=_no_effect,
        pair=Pair(
            Setting("ideal", OLD),
            Setting("power_law", AGED),
            READS,
            ("read mean (us)", "read p99.9 (us)"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L020",
        title="over-provisioning in percent",
        assumed="`ftl.overprovisioning = 7` is 7 % of spare flash.",
        why="`ftl.overprovisioning` is physical over logical capacity less 1: 7 is 700 %. Write"
        " amplification is then 1 with any policy.",
        sources=(),
        instead="a fraction: 7 % is written 0.07",
        looks_at=("drive", "study"),
        find=_percent,
        pair=Pair(
            Setting("7", {"ftl.overprovisioning": 7}),
            Setting("0.07", {"ftl.overprovisioning": 0.07}),
            RANDOM_WRITES,
            ("write amplification", "capacity (bytes)"),
            {},
        ),
    ),
    Check(
        code="L022",
        title="a code weaker than its chip",
        assumed="Fresh pages decode.",
        why="A code that corrects fewer errors than a fresh page has on average fails at most first"
        " reads, at any age: the run measures retries and lost data, and nothing else.",
        sources=(),
        instead="a larger `ecc.t`, or a named code (`ecc.code`), or another error law of the chip",
        looks_at=("drive", "study"),
        find=_weak_code,
        pair=Pair(
            Setting("t = 40", {"ecc.t": 40}),
            Setting("t = 60", {"ecc.t": 60}),
            READS,
            ("uncorrectable codewords",),
            {**SMALL, **_FLOOR},
            "fill",
        ),
    ),
    Check(
        code="L025",
        title="windows longer than the free blocks last",
        assumed="Reads in a deterministic window never wait for collection.",
        why="Collection rests in a window as long as host writes find free blocks. At the speed of"
        " the dies they run out sooner, the window breaks, and reads meet collection before the"
        " host expects it. Windows that are kept have a price: between them collection runs ahead,"
        " which moves more data, and reads there wait for it.",
        sources=(),
        instead="a shorter `windows.deterministic_ms` with more `gc.background_free_blocks`, and a"
        " job with a `rate`; compare reads inside of windows (`windows.inside`)",
        looks_at=("drive", "job", "study", "report"),
        find=_window_too_long,
        pair=Pair(
            Setting("windows of 100 ms", {"windows.deterministic_ms": 100.0}),
            Setting(
                "of 20 ms, blocks ahead",
                {"windows.deterministic_ms": 20.0, "gc.background_free_blocks": 6},
            ),
            "[mix]\nrw=randrw\nbs=4k\nnorandommap\nnumber_ios=20000\niodepth=512\n"
            "rate_iops=3000,2000\nrate_process=poisson\n",
            ("windows kept", "write amplification", "read p99 (us)"),
            {**SMALL, "windows.non_deterministic_ms": 20.0},
        ),
    ),
    Check(
        code="L026",
        title="spare flash that no handle may use",
        assumed="Quotas of handles part the spare flash.",
        why="What the quotas leave over stays free: collection begins as if the drive had less"
        " over-provisioning, and writes more.",
        sources=(),
        instead="shares that add up to 1",
        looks_at=("drive", "study"),
        find=_spare_of_nobody,
        pair=Pair(
            Setting("0.3 and 0.2", {"ftl.handle_quota": [0.3, 0.2]}),
            Setting("0.6 and 0.4", {"ftl.handle_quota": [0.6, 0.4]}),
            RANDOM_WRITES,
            ("write amplification",),
            {
                **SMALL,
                "ftl.overprovisioning": 0.5,
                "ftl.host_streams": 2,
                "ftl.isolation": "persistent",
            },
        ),
    ),
    Check(
        code="L031",
        title="memory of the host that nothing uses",
        assumed="The drive keeps a part of its map in the memory of the host.",
        why="A map that fits the cache of the controller stays there as a whole, and the drive"
        " works as `page`: neither flash nor host is asked for an entry.",
        sources=(),
        instead="a smaller `ftl.map_cache_bytes`, or no `ftl.host_memory_bytes`",
        looks_at=("drive", "study"),
        find=_unused_host_memory,
        pair=Pair(
            Setting("all of it in the controller", {"ftl.map_cache_bytes": 1 << 20}),
            Setting("4 KiB of it", {"ftl.map_cache_bytes": 4096}),
            READS,
            ("read mean (us)", "read p99 (us)"),
            {**SMALL, "ftl.name": "dftl", "ftl.host_memory_bytes": 16384},
            "fill",
        ),
    ),
)
"""In the order of their codes."""
