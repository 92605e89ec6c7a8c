"""Hachiya et al. (SSDM'13), section 4: a chip is exchanged while the storage is in use.

`python experiments/hachiya2013/exchange.py` prints the rows; with `--picture FILE` it draws the
latencies of the host during both ways. `run.py` may take `ROWS`, `rows` and `picture` from here.

The drive is smaller than 8 GB a die, and its copy takes as much shorter: `SCALE` dies make one of
the paper. The time without service does not depend on that. `--full` runs the whole 8 GB.
"""

import argparse
from functools import cache

import nandlab

GIB = 2**30
PAGE = 16384

#: Valid data of the die in the paper, and how much smaller ours are.
PAPER_BYTES = 8 * GIB
SCALE = 32

CHIP = "hachiya2013_mlc"
OVERPROVISIONING = 0.28
DIES = 8

#: As much as the drive takes, half of it reads.
JOB = """[mixed]
rw=randrw
bs=16k
iodepth=64
norandommap
time_based
runtime={}
"""


def drive(scale=SCALE, paced=True, spare=OVERPROVISIONING, victims="greedy"):
    """The drive, each die with a part of the 8 GB of valid data."""
    blocks = PAPER_BYTES // scale * (1 + spare) // (128 * PAGE)
    return {
        "drive": {"channels": 4, "dies_per_channel": DIES // 4, "queue_depth": 64},
        "chip": {"preset": CHIP, "geometry": {"blocks_per_plane": int(blocks)}},
        "ftl": {"name": "page", "unit_bytes": PAGE, "overprovisioning": spare},
        "gc": {"name": victims, "paced": paced},
        "scheduler": {"name": "out_of_order"},
        "retry": {"name": "none"},
        "ecc": {"model": "ideal"},
        "buffer": {"bytes": 2**20, "latency_us": 1.0},
    }


@cache
def result(way, scale=SCALE, state="steady", paced=True, seed=1):
    """A run in which a die is exchanged after 2 s, with a quarter of that left afterwards."""
    copy_s = 960 / scale
    # In service the copy takes three times as long, because the host is served.
    runtime = 2 + copy_s * (1.5 if way == "suspended" else 4)
    return nandlab.run(
        drive(scale, paced),
        JOB.format(int(runtime)),
        precondition=state,
        exchange=nandlab.Exchange(die=3, at_s=2.0, way=way),
        requests=True,
        seed=seed,
    )


def exchanged(way, scale=SCALE, state="steady", paced=True, seed=1):
    """What the report says of it."""
    exchange = result(way, scale, state, paced, seed).report.exchange
    if exchange.replaced_s is None:
        raise RuntimeError(f"{way}: the die is not empty yet")
    return exchange


def copy_of_a_page_ms(scale, state, seed=1):
    """Suspended copy: time for each page."""
    exchange = exchanged("suspended", scale, state, seed=seed)
    return 1e3 * exchange.dead_time_s / exchange.moved_units


def exchange_suspended_dead_time_s(scale=SCALE, seed=1):
    """Suspended copy of 8 GB to dies that have room."""
    return copy_of_a_page_ms(scale, "fill", seed) * PAPER_BYTES / PAGE / 1e3


def exchange_collected_dead_time_s(scale=SCALE):
    """The same to dies that must collect meanwhile; not in the paper."""
    return copy_of_a_page_ms(scale, "steady") * PAPER_BYTES / PAGE / 1e3


def exchange_longest_without_service_ms(scale=SCALE, seed=1):
    """In service: the longest time in which requests waited and none was completed."""
    return exchanged("in_service", scale, seed=seed).longest_without_service_ms


@cache
def whole_collections(spare=OVERPROVISIONING, scale=SCALE, seed=1):
    """An exchange in service as the paper has it, for as long as it takes.

    Collection takes blocks in turn (Fig. 6) and each whole, and the host of `run.py` writes one
    page at a time.
    """
    job = JOB.format(2 + round(1.5 * 960 / scale))
    return nandlab.run(
        drive(scale, paced=False, spare=spare, victims="fifo"),
        job.replace("randrw", "randwrite").replace("iodepth=64", "iodepth=1"),
        precondition="steady",
        exchange=nandlab.Exchange(die=3, at_s=2.0, way="in_service"),
        seed=seed,
    ).report


def exchange_collection_ms(spare=OVERPROVISIONING, scale=SCALE, seed=1):
    """In service: the time of one collection, of the valid pages of a block and its erase."""
    report = whole_collections(spare, scale, seed)
    pages = report.ftl.gc_copies / report.nand.erases
    erase_ms = report.nandlab.config["chip"]["timing"]["t_erase_us"] / 1e3
    return pages * copy_of_a_page_ms(scale, "fill") + erase_ms


ROWS = {
    "exchange_suspended_dead_time_s": exchange_suspended_dead_time_s,
    "exchange_longest_without_service_ms": exchange_longest_without_service_ms,
}


def rows(scale=SCALE):
    """Our figure of each row, by its name."""
    return {name: row(scale) for name, row in ROWS.items()}


def picture(scale=SCALE):
    """Latencies over time, both ways."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for place, way in zip(axes, ("suspended", "in_service"), strict=True):
        run = result(way, scale)
        exchange = exchanged(way, scale)
        seconds, worst = worst_by_step(run.requests())
        place.semilogy(seconds, worst, ".", markersize=3, color="tab:blue")
        place.axvspan(exchange.asked_s, exchange.replaced_s, color="tab:orange", alpha=0.25, lw=0)
        took = exchange.replaced_s - exchange.asked_s
        place.set_title(f"{way.replace('_', ' ')}: replaced after {took:.3g} s", fontsize=10)
        place.set_xlabel("time (s)")
    axes[0].set_ylabel("longest latency of 0.1 s (ms)")
    return figure


def worst_by_step(table, step_s=0.1):
    """The longest latency of the requests that end in each step of time, in ms."""
    import numpy as np

    end_ns = table["completion_ns"].to_numpy()
    latency_ms = (end_ns - table["arrival_ns"].to_numpy()) / 1e6
    steps = (end_ns / (1e9 * step_s)).astype(int)
    first = np.flatnonzero(np.diff(steps, prepend=-1))
    return steps[first] * step_s, np.maximum.reduceat(latency_ms, first)


def main():
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="8 GB a die, as in the paper")
    parser.add_argument("--picture", metavar="FILE", help="draw the latencies")
    given = parser.parse_args()
    scale = 1 if given.full else SCALE
    for name, figure in rows(scale).items():
        print(f"{name}: {figure:.4g}")
    print(f"exchange_collected_dead_time_s: {exchange_collected_dead_time_s(scale):.4g}")
    for paced in (True, False):
        told = exchanged("in_service", scale, paced=paced)
        took = told.replaced_s - told.asked_s
        print(
            f"in service, gc.paced = {paced}: {took:.4g} s, {told.moved_units} pages moved,"
            f" {told.longest_without_service_ms:.4g} ms without service,"
            f" latencies up to {told.longest_latency_ms:.4g} ms"
        )
    told = whole_collections(scale=scale)
    print(
        f"in service, whole blocks in turn, one write at a time: a collection of"
        f" {exchange_collection_ms(scale=scale):.4g} ms,"
        f" {told.exchange.longest_without_service_ms:.4g} ms without service"
    )
    if given.picture:
        picture(scale).savefig(given.picture, dpi=120)


if __name__ == "__main__":
    main()
