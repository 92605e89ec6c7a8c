"""What is collected together: the blocks of each die, or superblocks across dies.

`python experiments/micron_7450/superblocks.py` prints the tables of README.md, in some minutes.
"""

from run import LASTED_S, at_random, by_zones, distribution_of, skewed

#: Requests of 512 KiB in a zone, and zones at a time.
ZONES = ((2048, 1), (2172, 1), (4096, 1), (16384, 4), (16384, 32))

#: Names of skews, and the rows of them.
SKEWS = {
    "80 % to 20 %": ("zones", 80),
    "90 % to 10 %": ("zones", 90),
    "95 % to 5 %": ("zones", 95),
    "Zipf, 0.8": ("zipf", 80),
    "Zipf, 1.0": ("zipf", 100),
}


def zones(requests, active):
    """Write amplification of zones: dies apart, all together, not discarded, eight together."""
    of = [
        by_zones(requests, active),
        by_zones(requests, active, dies=0),
        by_zones(requests, active, dies=0, discards=False),
        by_zones(requests, active, dies=8),
    ]
    shown = " | ".join(f"{amplification:.3f}" for amplification, _ in of)
    return f"| {requests // 2:,} MiB, {active} at a time | {shown} |"


def of_skew(name, dies):
    """Write amplification and MiB of the host a second with superblocks of so many dies."""
    if name not in SKEWS:
        return at_random(745, dies)[0]
    kind, number = SKEWS[name]
    more = (("ftl.superblock_dies", dies),)
    return skewed(distribution_of(kind, number), LASTED_S[kind][number][0], more)


def by_skew(name):
    """A line of the second table: dies apart, all together."""
    (apart, apart_mib), (together, together_mib) = (of_skew(name, dies) for dies in (1, 0))
    return f"| {name} | {apart:.3f} | {together:.3f} | {apart_mib:.0f} | {together_mib:.0f} |"


if __name__ == "__main__":
    for row in ZONES:
        print(zones(*row), flush=True)
    for skew in ("uniform", *SKEWS):
        print(by_skew(skew), flush=True)
