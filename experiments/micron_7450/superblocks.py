"""What is collected together: `page` with its blocks of each plane, or one plane of superblocks.

`python experiments/micron_7450/superblocks.py` prints the table of README.md, in about a minute.
"""

from run import IN_ORDER, POOL_GIB, USED_GIB, by_zones, replayed, zone_trace

#: MiB of a unit of the drive of one plane: small against a zone.
UNIT_MIB = 4

ROWS = ((2048, 1), (2172, 1), (4096, 1), (16384, 4), (16384, 32))


def one_plane(superblock_mib, requests, active, *, discards):
    """Write amplification where blocks have so many MiB; times do not matter."""
    units = int(USED_GIB[745] * 1024 / UNIT_MIB)
    blocks = round(POOL_GIB * IN_ORDER[745] * 1024 / superblock_mib)
    pages = superblock_mib // UNIT_MIB
    reserve = round(0.01 * blocks)
    given = {
        "chip.geometry.blocks_per_plane": blocks,
        "chip.geometry.pages_per_block": pages,
        "ftl.overprovisioning": blocks * pages / units - 1,
        "ftl.separate_gc_stream": False,
        "ftl.metadata_share": IN_ORDER[745] - 1,
        "ftl.gc_reserve_blocks": reserve,
        "gc.start_free_blocks": reserve + 1,
    }
    zone = requests * 0.5 / UNIT_MIB
    lines, written = zone_trace(units, zone, active, 4096, discards=discards)
    return replayed("one_plane", given, lines, written)[0]


def line(requests, active):
    """A row of the table."""
    figures = [
        by_zones(requests, active)[0],
        one_plane(2112, requests, active, discards=True),
        one_plane(2112, requests, active, discards=False),
        one_plane(1056, requests, active, discards=True),
    ]
    shown = " | ".join(f"{figure:.3f}" for figure in figures)
    return f"| {requests // 2:,} MiB, {active} at a time | {shown} |"


if __name__ == "__main__":
    for row in ROWS:
        print(line(*row))
