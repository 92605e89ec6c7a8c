"""Features of drives: every two that go together, by the table of conflicts of the engine."""

from __future__ import annotations

from functools import cache
from itertools import combinations

from fuzz.inputs.dice import Dice
from nandlab import Drive, NandlabError
from nandlab.catalogue import conflicts, roster

#: What every drive of two features has beside them: few blocks, and spare for any FTL.
BASE = (
    "chip.geometry.blocks_per_plane=40",
    "ftl.overprovisioning=2.5",
    "gc.start_free_blocks=3",
)

#: A code that decodes real words.
WORDS = ("ecc.model=exact", "ecc.code=bch_512_t40", "chip.geometry.spare_bytes=2048")
_ONE_SHOT = ("chip.page_order=one_shot", "chip.timing.t_program_us=1100")

_REDUCED = ("ftl.reduced_streams=[0]", "chip.reduced={t_program_us=300, rber_factor=2}")

#: Assignments that give `tiny` a feature, by the name that the engine has for it.
SETS: dict[str, tuple[str, ...]] = {
    "several kinds of chips": (
        "ftl.name=frozen",
        "chips.other.chip.preset=mqsim_mlc",
        "chips.other.dies_per_channel=1",
        "chips.other.chip.geometry.blocks_per_plane=30",
        "chips.other.chip.geometry.pages_per_block=64",
        "chips.other.chip.geometry.spare_bytes=2048",
    ),
    "a drive in single-level mode": ("drive.single_level=true",),
    "no write buffer": ("buffer.bytes=0",),
    "flushes that lie": ("buffer.lies_about_flush=true",),
    "stale data that take room": ("buffer.coalesces=false",),
    "refresh by age": ("refresh.after_hours=1",),
    "refresh of reduced levels by age": ("refresh.reduced_after_hours=1", *_REDUCED),
    "refresh by errors": ("refresh.rber=0.01",),
    "patrol reads": ("refresh.patrol_hours=1",),
    "parity over dies": (
        "parity.pages=1",
        "parity.xor_mb_s=1000",
        "ftl.superblock_dies=0",
        "ftl.gc_reserve_blocks=2",
        "gc.start_free_blocks=4",
    ),
    "reads around busy dies": (
        "parity.pages=1",
        "parity.read_around=busy",
        "ftl.superblock_dies=0",
        "ftl.gc_reserve_blocks=2",
        "gc.start_free_blocks=4",
    ),
    "partial stripes that are written early": (
        "parity.pages=1",
        "parity.partial=written",
        "ftl.superblock_dies=0",
        "ftl.gc_reserve_blocks=2",
        "gc.start_free_blocks=4",
    ),
    "collection of one die at a time": ("gc.rotation=all", "ftl.superblock_dies=0"),
    "a temperature of the drive": ("age.temperature_c=55",),
    "heat of the drive": (
        "power.controller_mw=2000",
        "power.command_uj=2",
        "power.flash_pj_per_byte=100",
        "power.dram_pj_per_byte=40",
        "power.link_pj_per_byte=80",
        "power.states.light={power_mw=300, idle_ms=0.5, entry_us=100, exit_us=200}",
        "power.states.deep={power_mw=5, idle_ms=2, entry_us=500, exit_us=3000}",
        "power.thermal={capacity_j_per_k=0.001, resistance_k_per_w=10, ambient_c=25}",
        "power.thermal.limits.hot={from_c=35, until_c=30, speed=0.5}",
    ),
    "windows of predictable latency": (
        "windows={deterministic_ms=2, non_deterministic_ms=1}",
        "gc.background_free_blocks=6",
    ),
    "recovery after a power cut": ("recovery.name=scan_blocks",),
    "retries at shifted references": ("retry.name=read_retry", "retry.max_levels=0"),
    "copyback": ("chip.features.copyback=true", "gc.copyback=unchecked"),
    "copyback with a check": ("chip.features.copyback=true", "gc.copyback=checked"),
    "cells of one bit": (
        "chip.cell_bits=1",
        "chip.cell.preset=slc",
        "chip.timing.t_read_us=40",
        "chip.timing.t_program_us=300",
    ),
    "all pages of a cell in one program": _ONE_SHOT,
    "errors without references": (
        "chip.array.name=power_law",
        "chip.array.layer_factors=[2.0, 0.5]",
    ),
    "real cells under a decoder": (
        *WORDS,
        "chip.array.name=cells",
        "chip.cell.preset=wang2014_mlc",
        "chip.cell.wear.recovery=0.05",
    ),
    "codes by age": (
        "ecc.model=threshold",
        "ecc.t=100",
        "ecc.t_soft=[]",
        "ecc.parity_bytes=200",
        "ecc.stages=[{from_cycles=5, t=150, parity_bytes=700}]",
        "chip.geometry.spare_bytes=1024",
        "ftl.gc_reserve_blocks=2",
        "gc.start_free_blocks=4",
    ),
    "several streams of the host": ("ftl.host_streams=4",),
    "persistently isolated streams": (
        "ftl.host_streams=2",
        "ftl.isolation=persistent",
        "ftl.handle_quota=[0.6, 0.3]",
    ),
    "several reclaim groups": (
        "ftl.reclaim_groups=2",
        "ftl.superblock_dies=1",
        "drive.channels=2",
        "ftl.host_streams=2",
    ),
    "streams at reduced levels": _REDUCED,
    "fast pages for urgent data": ("ftl.fast_pages=true",),
    "slow pages left empty": ("ftl.fast_pages=true", "ftl.skip_slow_pages=true"),
    "superblocks of several dies": ("ftl.superblock_dies=2",),
    "moved data in the blocks of the host": ("ftl.separate_gc_stream=false",),
    "a map cache that writes in batches": (
        "ftl.name=dftl",
        "ftl.map_cache_bytes=4096",
        "ftl.map_cache_policy=tpftl",
    ),
    "a map written entry by entry": (
        "ftl.name=dftl",
        "ftl.map_cache_bytes=4096",
        "ftl.map_batch=false",
    ),
    "a write-once code on safe pages": ("ftl.name=wom", "chip.page_order=even_odd"),
    "a write-once code on levels": (
        "ftl.name=wom",
        "ftl.code=wom_v",
        "ftl.bits_per_cell=1",
        *_ONE_SHOT,
    ),
    "a cache of blocks in single-level mode": ("ftl.name=slc_cache",),
    "zones": ("ftl.name=zoned",),
}


def drive(dice: Dice) -> list[str]:
    """Assignments for `tiny` with two features that go together, or with one alone."""
    return assignments(*dice.one(pairs()))


def assignments(*features: str) -> list[str]:
    """Assignments for `tiny` with these features."""
    return [*BASE, *dict.fromkeys(text for feature in features for text in SETS[feature])]


@cache
def pairs() -> list[tuple[str, str]]:
    """Every two features that go together.

    Left out are the rows of the table of conflicts, what follows from them, and features of two
    FTLs.
    """
    rows = {frozenset((row.feature, row.other)) for row in conflicts()}

    def go_together(one: str, other: str) -> bool:
        brought = ((a, b) for a in brought_by(one) for b in brought_by(other))
        return not are_apart(one, other) and not any(frozenset(pair) in rows for pair in brought)

    return [pair for pair in combinations(SETS, 2) if go_together(*pair)]


@cache
def brought_by(*features: str) -> frozenset[str]:
    """Features of a drive that is given these, beyond those that it has anyway.

    What its FTL has not is among them.
    """
    has = frozenset(Drive("tiny", set=assignments(*features))._native.features())
    return has - brought_by() if features else has


def are_excluded(name: str, sets: list[str]) -> bool:
    """Whether a drive is refused by a row of the table of conflicts."""
    try:
        Drive(name, set=sets)
    except NandlabError as error:
        return any(row.why in str(error) for row in conflicts())
    return False


def are_apart(one: str, other: str) -> bool:
    """Whether two features want values of one key, or parameters that no FTL has together."""
    values: dict[str, str] = {}
    for text in (*SETS[one], *SETS[other]):
        key, _, value = text.partition("=")
        if values.setdefault(key, value) != value:
            return True
    own = {member.name: set(member.schema["properties"]) for member in roster("ftl")}
    given = {key.removeprefix("ftl.") for key in values if key.startswith("ftl.")}
    # Others are keys of every FTL.
    return not given & set().union(*own.values()) <= own[values.get("ftl.name", "page")]
