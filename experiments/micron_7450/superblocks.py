"""What is collected together: the blocks of each die, or superblocks across dies.

`python experiments/micron_7450/superblocks.py` prints the tables of README.md, in some minutes.
"""

from run import at_random, by_zones

#: Requests of 512 KiB in a zone, and zones at a time.
ZONES = ((2048, 1), (2172, 1), (4096, 1), (16384, 4), (16384, 32))

#: Names of skews, and what fio calls them.
SKEWS = {
    "uniform": "",
    "80 % to 20 %": "random_distribution=zoned:80/20:20/80",
    "90 % to 10 %": "random_distribution=zoned:90/10:10/90",
    "95 % to 5 %": "random_distribution=zoned:95/5:5/95",
    "Zipf, 0.8": "random_distribution=zipf:0.8",
    "Zipf, 1.0": "random_distribution=zipf:1.0",
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


def skewed(name):
    """Write amplification and MiB of the host a second: dies apart, all together."""
    (apart, apart_mib), (together, together_mib) = (
        at_random(745, SKEWS[name], dies) for dies in (1, 0)
    )
    return f"| {name} | {apart:.3f} | {together:.3f} | {apart_mib:.0f} | {together_mib:.0f} |"


if __name__ == "__main__":
    for row in ZONES:
        print(zones(*row), flush=True)
    for skew in SKEWS:
        print(skewed(skew), flush=True)
