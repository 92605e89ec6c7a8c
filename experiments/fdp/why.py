"""Reasons for rows that are not met: what was tried, and what it changes.

`python experiments/fdp/why.py` prints the table of README.md, in about half an hour; names of rows
(`use_80_mixed`) print theirs alone. Each figure is the mean of three seeds, with least and most.
"""

import sys
from pathlib import Path

import nandlab
from nandlab.papers import paper

HERE = Path(__file__).resolve().parent
run = paper(HERE.name, HERE.parent).load()

SEEDS = (1, 2, 3)

#: Drive writes at the end of a run that are measured, as for the short logs of `run.py`.
LAST = 0.5

# --- Large objects that end -----------------------------------------------------------------------

#: Unlike in `run.GLOBAL` jobs end after their requests.
COUNTED = """[global]
iodepth=4
norandommap
"""


def ended(soc, share, laps, until, seed, more=()):
    """Write amplification where nobody writes large objects any more after some laps.

    Args:
        soc: share of the drive for small objects.
        share: share of the written bytes that they have before.
        laps: laps of the large objects.
        until: drive writes at the end.
        seed: seed of the drive and of the addresses.
        more: parameters of the drive.
    """
    drive_bytes = run.capacity(1, more)
    split = drive_bytes * soc
    large = int((drive_bytes - split) * laps // run.ALIGNED)
    small = int(large * (run.ALIGNED // 4096) * share / (1 - share))
    at_random = ("randwrite", 0, split, run.RATE * share, None)
    text = COUNTED + run.stream("small", *at_random) + f"number_ios={small}\n"
    text += run.stream("large", "write", split, drive_bytes, run.RATE * (1 - share), None)
    text += f"number_ios={large}\n" + run.stream("later", *at_random) + "stonewall\n"
    ran = nandlab.run(
        run.DRIVE,
        text,
        set=run.shape(1, more),
        seed=seed,
        skip=f"{until - LAST:g}x",
        until=f"{LAST}x",
    )
    return run.amplification(ran.report)


# --- The emulator of WARP -------------------------------------------------------------------------

#: Units that the host of the emulator sees.
LOGICAL = 896

#: Free units up to which it collects at once, and those up to which it takes units of which no
#: more than this share is valid: `gc_thres_pcent_high`, `gc_thres_pcent` and `lazy_gc_pcent`.
AT_ONCE, EARLY, NEARLY_DEAD = 9, 98, 0.05


def collector(handles):
    """An FTL that collects as the emulator's source says, with persistently isolated handles."""

    class Emulated(nandlab.ftl.Ftl):
        streams = handles
        open_blocks = 2 * handles

        def begin(self):
            self.handle_of, self.moving_to, self.handle = {}, {}, 0

        def place(self, stream, units, dies):
            block = self.flash.next_block(0, stream)
            if block is not None:
                self.handle_of[block] = stream
            return block

        def collect(self, die, is_idle):
            free = self.flash.free_blocks(die)
            block = self.flash.emptiest(die) if free <= EARLY else None
            if block is None or free <= AT_ONCE:
                return block is not None
            return self.flash.valid(block) <= NEARLY_DEAD * self.flash.block_units

        def victim(self, die):
            block = self.flash.emptiest(die)
            if block is not None:
                self.handle = self.handle_of[block]
            return block

        def place_moves(self, die, units):
            block = self.moving_to.get(self.handle)
            if block is None or not self.flash.room(block):
                block = self.flash.free_block(die)
                self.handle_of[block], self.moving_to[self.handle] = self.handle, block
            return block

    return Emulated


def emulated(spread, placed, seed):
    """Write amplification of three streams, collected as in the emulator."""
    ftl = collector({"mixed": 1, "shared": 2, "apart": 3}[placed])
    # A smaller reserve than AT_ONCE, so that the class decides.
    given = run.EMULATED | {"ftl.gc_reserve_blocks": AT_ONCE // 2}
    pages = given["chip.geometry.pages_per_block"]
    text = run.streams(LOGICAL * pages * 4096, spread, run.PLACED[placed])
    ran = nandlab.run(run.DRIVE, text, set=given, seed=seed, skip="8x", until="2x", ftl=ftl)
    return run.amplification(ran.report)


def three(spread, placed, seed, **given):
    """Write amplification of three streams, with what `run.three` takes."""
    return run.amplification(run.three(spread, placed, seed=seed, **given))


# --- What was tried -------------------------------------------------------------------------------


def cache(placed, seed, **given):
    """Write amplification of one cache after 8 drive writes, with what `run.of_caches` takes."""
    report = run.of_caches(run.handles_of(placed), skip="8x", until="2x", seed=seed, **given)
    return run.amplification(report)


COST_BENEFIT = (("gc.name", "cost_benefit"),)

#: Free units from which the emulator collects at once by its source; 15 fit its logs.
FREE_9 = (("ftl.gc_reserve_blocks", 9), ("gc.start_free_blocks", 10))

#: Other shares of the writes: ring, rest, overwrites.
LESS_RING = (0.7, 0.15, 0.15)


def spare(share):
    return (("ftl.overprovisioning", share),)


def at_40(placed, **given):
    """The row of kv202206 with 40 % for small objects."""
    row = f"soc_40_{placed}_kv202206"
    return lambda seed: run.log(row, placed, 40, seed, **given)


def of_emulator(spread, placed):
    """Runs that were tried for a row of three streams."""
    return {
        "steady rates": lambda seed: three(spread, placed, seed, arrivals=""),
        "9 units stay free instead of 15": lambda seed: three(spread, placed, seed, more=FREE_9),
        "cost-benefit": lambda seed: three(spread, placed, seed, more=COST_BENEFIT),
        "70 % of the writes the ring's": (
            lambda seed: three(spread, placed, seed, parts=LESS_RING)
        ),
    }


TRIED = {
    "soc_4_mixed_kv202210": {
        "large objects end after a lap, 75 % of writes small before": (
            lambda seed: ended(0.04, 0.75, 1, 9.2, seed)
        ),
    },
    "soc_4_mixed_kv2024": {
        "large objects end after 1.4 laps, 88 % of writes small before": (
            lambda seed: ended(0.04, 0.88, 1.4, 13, seed)
        ),
        "the same, cost-benefit": lambda seed: ended(0.04, 0.88, 1.4, 13, seed, COST_BENEFIT),
    },
    "soc_20_mixed_kv2024": {
        "large objects end after a lap": lambda seed: ended(0.2, 0.8, 1, 27, seed),
        "large objects go on, cost-benefit": (
            lambda seed: cache("mixed", seed, soc=0.2, more=COST_BENEFIT)
        ),
        "large objects end after a lap, cost-benefit": (
            lambda seed: ended(0.2, 0.8, 1, 27, seed, COST_BENEFIT)
        ),
    },
    "soc_40_mixed_kv202206": {
        "small objects by Zipf 0.6": at_40("mixed", spread="zipf:0.6"),
        "small objects by Zipf 0.9": at_40("mixed", spread="zipf:0.9"),
        "requests at random times": at_40("mixed", arrivals=run.AT_RANDOM),
        "cost-benefit": at_40("mixed", more=COST_BENEFIT),
    },
    "soc_40_apart_kv202206": {
        "small objects by Zipf 0.6": at_40("apart", spread="zipf:0.6"),
        "small objects by Zipf 0.9": at_40("apart", spread="zipf:0.9"),
        "requests at random times": at_40("apart", arrivals=run.AT_RANDOM),
        "cost-benefit": at_40("apart", more=COST_BENEFIT),
    },
    "use_80_mixed": {
        "requests at random times": (
            lambda seed: cache("mixed", seed, use=0.8, arrivals=run.AT_RANDOM)
        ),
        "spare space 22 %": lambda seed: cache("mixed", seed, use=0.8, more=spare(0.22)),
        "small objects by Zipf 0.9": lambda seed: cache("mixed", seed, use=0.8, spread="zipf:0.9"),
        "small objects 70 % of the writes": lambda seed: cache("mixed", seed, use=0.8, small=0.7),
        "cost-benefit": lambda seed: cache("mixed", seed, use=0.8, more=COST_BENEFIT),
    },
    "full_mixed": {
        "small objects 60 % of the writes": (
            lambda seed: cache("mixed", seed, soc=0.4, use=0.89, small=0.6)
        ),
        "small objects 90 % of the writes": (
            lambda seed: cache("mixed", seed, soc=0.4, use=0.89, small=0.9)
        ),
        "spare space 14 %": lambda seed: cache("mixed", seed, soc=0.4, use=0.89, more=spare(0.14)),
    },
    "unit_double": {
        "spare space 14 %": lambda seed: run.unit(run.BLOCKS // 2, 512, seed, spare(0.14)),
    },
    "three_zoned_apart": of_emulator("zoned", "apart")
    | {
        "83 % of the writes the ring's, as in drive writes 4 to 11 of the log": (
            lambda seed: three("zoned", "apart", seed, parts=(0.833, 0.0835, 0.0835))
        ),
        "early collection of units with 5 % valid": (lambda seed: emulated("zoned", "apart", seed)),
    },
    "three_zipf12_mixed": of_emulator("zipf12", "mixed"),
    "three_zipf12_shared": of_emulator("zipf12", "shared"),
    "three_zipf22_mixed": of_emulator("zipf22", "mixed"),
    "three_zipf22_apart": {
        "early collection of units with 5 % valid": (
            lambda seed: emulated("zipf22", "apart", seed)
        ),
    },
}


def main():
    rows = sys.argv[1:] or TRIED
    if unknown := [row for row in rows if row not in TRIED]:
        sys.exit(f"no reasons were looked for: {', '.join(unknown)}; rows: {', '.join(TRIED)}")
    print("| row | tried | nandlab, 3 seeds |")
    print("|---|---|---|")
    for row in rows:
        for what, tried in TRIED[row].items():
            found = [tried(seed=seed) for seed in SEEDS]
            mean = sum(found) / len(found)
            print(f"| `{row}` | {what} | {mean:.3g} ({min(found):.3g} to {max(found):.3g}) |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
