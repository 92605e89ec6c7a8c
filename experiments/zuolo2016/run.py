"""Zuolo et al. (2016): LDPC soft decoding, by the controller alone or with the help of the NAND.

`sd_...` rows are figures of the standard soft decision, `gain_...` rows what NAND-assisted soft
decision gains on it, both at twice the rated endurance; `nandlab papers zuolo2016` runs them. The
cells of Tables VII to X are not functions of their own: `__getattr__` makes each from its name.
"""

import re
from functools import cache, partial
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import nandlab
from nandlab.catalogue import chip

# --- The setting ---------------------------------------------------------------------------------

MEMORIES = {"a_mlc": "A-MLC", "b_mlc": "B-MLC", "c_mlc": "C-MLC", "d_tlc": "D-TLC"}

#: Table V: preset and queue depth.
HOSTS = {"consumer": 64, "enterprise": 256}

#: Retry policy of each way.
WAYS = {"sd": "soft_decision", "nasd": "nand_assisted"}

#: Blocks of a plane: 16 GiB of flash instead of 1 TiB. Reads do not depend on it; the write
#: amplification of the mixed workloads is what it is with planes of this size.
BLOCKS_PER_PLANE = 32

#: Runs of each workload from one steady state. Their length matters, for collection lags behind
#: writes until it has its pace; reads are as fast from the first thousands on.
REPLICATES = 3

#: Bus of the mixed workloads: 333 MT/s and 4 us of command. A read of a codeword takes 17 us, and a
#: write of 4 KiB, which moves a whole page, 56 us.
BUS = {
    # The standard rate next to the 320 MT/s that MSN with A-MLC on the enterprise host asks for.
    "chip.timing.bus_mt_s": 333.0,
    # A codeword keeps its 16.98 us.
    "chip.timing.t_transfer_us": 4.007,
    "buffer.pads_units": True,
}


class Workload(NamedTuple):
    """A line of Table VI."""

    write_percent: int
    #: What brings its write amplification about.
    overprovisioning: float
    precondition: str
    requests: int


#: Write amplification is an input of the paper. 1 is a drive that was written once and has room;
#: 1.32 comes out where half of the flash is not exported, as in Table IV; 1.94 is set.
WORKLOADS = {
    "msn": Workload(96, 1.0, "fill", 200_000),
    "financial": Workload(81, 1.0, "steady", 600_000),
    "exchange": Workload(46, 0.45, "steady", 1_000_000),
    "read": Workload(0, 1.0, "fill", 200_000),
}

JOB = """[requests]
rw=randrw
rwmixwrite={write_percent}
norandommap=1
bs=4k
iodepth={depth}
number_ios={requests}
"""


@cache
def measure(way, workload, host, memory, endurances=2.0):
    """Figures of the report over the replicates, after so many rated endurances."""
    found = simulate(way, workload, host, memory, endurances, replicates=REPLICATES)
    return found.report.replicates.figures


def of(path, seed, *where):
    """A figure of the report of one replicate."""
    figures = measure(*where)
    return figures[path].each[seed - 1] if path in figures else 0.0


def simulate(way, workload, host, memory, endurances, **options):
    """A run with these options."""
    given = WORKLOADS[workload]
    rated = chip(f"zuolo2016_{memory}")["rated_pe_cycles"]
    job = JOB.format(write_percent=given.write_percent, depth=HOSTS[host], requests=given.requests)
    return nandlab.run(
        f"zuolo2016_{memory}",
        job,
        set={
            "host.preset": f"zuolo2016_{host}",
            "drive.queue_depth": HOSTS[host],
            "chip.geometry.blocks_per_plane": BLOCKS_PER_PLANE,
            "ftl.overprovisioning": given.overprovisioning,
            # The fewest that there can be: planes are small, and what is free amplifies writes.
            "gc.start_free_blocks": 2,
            "retry.name": WAYS[way],
            # Soft reads are scheduled like others (Section II); by default they go ahead.
            "retry.in_turn": True,
            "age.pe_cycles": round(endurances * rated),
            **BUS,
        },
        precondition=given.precondition,
        **options,
    )


# --- Tables II and III ---------------------------------------------------------------------------


def bch_endurance(memory):
    """Cycles until a codeword fails once in 1e9 of them: what the preset was fitted to."""
    found = nandlab.endurance(
        f"zuolo2016_{memory}", retention_hours=0, t=100, codeword_bits=34560, uber=1e-9 / 32768
    )
    return found.points[0].pe_cycles


def bch_endurance_a_mlc():
    return bch_endurance("a_mlc")


def bch_endurance_b_mlc():
    return bch_endurance("b_mlc")


def bch_endurance_c_mlc():
    return bch_endurance("c_mlc")


def bch_endurance_d_tlc():
    return bch_endurance("d_tlc")


@cache
def one_read(way, levels):
    """What a single read costs beyond its hard decision: (page reads, transfers)."""

    def totals(t, t_soft):
        sets = {
            "chip.geometry.blocks_per_plane": 16,
            "retry.name": WAYS[way],
            "ecc.t": t,
            "ecc.t_soft": t_soft,
            "age.pe_cycles": 9000,
        }
        job = "[one]\nrw=randread\nbs=4k\nnumber_ios=1\n"
        report = nandlab.run("zuolo2016_a_mlc", job, set=sets, precondition="fill").report
        busy_s = sum(report.channels.busy_fraction) * report.sim.simulated_s
        return report.nand.reads, busy_s

    codeword_bits = 34560
    reads, busy_s = totals(0, [0] * (levels - 1) + [codeword_bits])
    hard_reads, hard_busy_s = totals(codeword_bits, [codeword_bits])
    return reads - hard_reads, round(busy_s / hard_busy_s, 6) - 1


def sd_reads_level_1():
    return one_read("sd", 1)[0]


def sd_transfers_level_1():
    return one_read("sd", 1)[1]


def nasd_reads_level_1():
    return one_read("nasd", 1)[0]


def nasd_transfers_level_1():
    return one_read("nasd", 1)[1]


def sd_reads_level_2():
    return one_read("sd", 2)[0]


def sd_transfers_level_2():
    return one_read("sd", 2)[1]


def nasd_reads_level_2():
    return one_read("nasd", 2)[0]


def nasd_transfers_level_2():
    return one_read("nasd", 2)[1]


# --- Shapes of Figures 9 and 11 to 14 ------------------------------------------------------------

#: Rated endurances at which the figures are followed.
STEPS = (0.5, 1.0, 1.5, 1.75, 2.0)


def failing_percent(memory, endurances=2.0, *, seed):
    """Share of codewords that hard decision leaves."""
    failures = of("ecc.hard_failures", seed, "sd", "read", "enterprise", memory, endurances)
    return 100 * failures / WORKLOADS["read"].requests


def rises(curve, seed):
    """Memories along whose wear a figure rises: nowhere falls by more than a tenth of a point."""
    count = 0
    for memory in MEMORIES:
        course = [curve(memory, step, seed=seed) for step in STEPS]
        falls = any(after < before - 0.1 for before, after in pairwise(course))
        count += not falls and course[-1] > course[0]
    return count


def failing_share_rises(seed):
    return rises(failing_percent, seed)


def failing_share_a_mlc(seed):
    return failing_percent("a_mlc", seed=seed)


def failing_share_b_mlc(seed):
    return failing_percent("b_mlc", seed=seed)


def failing_share_c_mlc(seed):
    return failing_percent("c_mlc", seed=seed)


def failing_share_d_tlc(seed):
    return failing_percent("d_tlc", seed=seed)


def uncorrectable_codewords(seed):
    return sum(
        of("ecc.uncorrectable", seed, way, "read", "enterprise", memory)
        for way in WAYS
        for memory in MEMORIES
    )


def read_gain(metric, memory, endurances, *, seed):
    """Of the 100 % read workload on the enterprise host."""
    return gain(metric, "read", "enterprise", memory, endurances, seed=seed)


def bandwidth_gain_rises(seed):
    return rises(partial(read_gain, "bandwidth"), seed)


def latency_gain_rises(seed):
    return rises(partial(read_gain, "latency"), seed)


def latency_distribution_nasd_first(seed):
    sd, nasd = (
        [
            of(f"host.latency_us.{percentile}", seed, way, "read", "enterprise", "d_tlc")
            for percentile in ("p50", "p90", "p99", "p99_9", "p99_99")
        ]
        for way in WAYS
    )
    return sum(one < other for one, other in zip(nasd, sd, strict=True))


def drive_sustains_kiops(seed):
    """Of A-MLC, as good as new."""
    return figure("sd", "bandwidth", "read", "enterprise", "a_mlc", 0.0, seed=seed)


def right_signs(workloads, seed):
    """Cells of all metrics that are no loss but for noise, a fifth of a point."""
    return sum(
        gain(metric, workload, host, memory, seed=seed) > -0.2
        for metric in METRICS
        for workload in workloads
        for host in HOSTS
        for memory in MEMORIES
    )


def read_gains_of_right_sign(seed):
    return right_signs(["read"], seed)


def mixed_gains_of_right_sign(seed):
    return right_signs(["msn", "financial", "exchange"], seed)


def write_amplification(workload, seed):
    """The mean over memories and hosts."""
    return fmean(
        of("ftl.write_amplification", seed, "sd", workload, host, memory)
        for host in HOSTS
        for memory in MEMORIES
    )


def write_amplification_msn(seed):
    return write_amplification("msn", seed)


def write_amplification_financial(seed):
    return write_amplification("financial", seed)


def write_amplification_exchange(seed):
    return write_amplification("exchange", seed)


# --- Tables VII to X -----------------------------------------------------------------------------


def latency_us(seed, way, workload, host, *more):
    """Mean latency.

    That of the 100 % reads is counted from when a place in the host's queue was free, for the
    printed latencies times bandwidths are 64 and 256 there, where the host is the bottleneck too:
    in a closed loop it is depth over throughput. That of the mixed workloads is measured, from
    the submission.
    """
    where = (way, workload, host, *more)
    if workload == "read":
        return HOSTS[host] / of("host.iops", seed, *where) * 1e6
    return of("host.latency_us.mean", seed, *where)


METRICS = {
    "bandwidth": lambda *where: of("host.iops", *where) / 1e3,
    "latency": latency_us,
    "qos": lambda *where: of("host.latency_us.p99_99", *where) / 1e3,
    "bus_use": lambda *where: 100 * of("channels.busy_fraction_mean", *where),
}

CELL = re.compile(
    rf"(sd|gain)_({'|'.join(METRICS)})_({'|'.join(WORKLOADS)})_({'|'.join(HOSTS)})"
    rf"_({'|'.join(MEMORIES)})"
)


def figure(way, metric, *where, seed):
    """One cell: of the standard way, or of the assisted one."""
    return METRICS[metric](seed, way, *where)


def gain(metric, *where, seed):
    """What the assisted way gains: more bandwidth, less of everything else, in percent.

    Bus use in points of the bus: A-MLC on the consumer host reads 204 kIOPS over eight buses, 17 us
    a transfer; 1.15 transfers a read are 49.8 %, and 56.53 - 6.73 is 49.8.
    """
    sd, nasd = (figure(way, metric, *where, seed=seed) for way in WAYS)
    if metric == "bus_use":
        return sd - nasd
    return 100 * (nasd / sd - 1 if metric == "bandwidth" else 1 - nasd / sd)


def __getattr__(name):
    """The function of a cell of Tables VII to X."""
    cell = CELL.fullmatch(name)
    if cell is None:
        raise AttributeError(name)
    kind, *where = cell.groups()
    return partial(gain, *where) if kind == "gain" else partial(figure, "sd", *where)


# --- The picture ---------------------------------------------------------------------------------

COLOURS = dict(zip(MEMORIES, ("#0072B2", "#009E73", "#E69F00", "#D55E00"), strict=True))


def picture():
    """Figures 9 and 11 to 14 and Table VII, of our figures; the paper's where they are printed."""
    from nandlab.display.picture import new_figure

    figure = new_figure(9.6, 11.2)
    (failing, bandwidths), (bandwidth, latency), (distribution, qos) = figure.subplots(3, 2)
    draw_failing(failing)
    draw_bandwidths(bandwidths)
    draw_gains(bandwidth, "bandwidth", "Table VII")
    draw_gains(latency, "latency", "Table VIII")
    draw_distribution(distribution)
    draw_qos(qos)
    return figure


def mean(function, *where):
    """A figure's mean over replicates."""
    return fmean(function(*where, seed=seed) for seed in range(1, REPLICATES + 1))


@cache
def cells():
    """What the paper prints, by the names of its rows."""
    from nandlab.papers import paper

    return {row.name: row.paper for row in paper("zuolo2016").rows}


def printed(metric, memory, kind):
    """A cell of the 100 % read workload on the enterprise host."""
    return cells()[f"{kind}_{metric}_read_enterprise_{memory}"]


def draw_failing(axes):
    """Figure 9: the share that hard decision leaves; its last points are set."""
    from nandlab.display.picture import finish

    for memory, name in MEMORIES.items():
        shares = [mean(failing_percent, memory, step) for step in STEPS]
        axes.plot(STEPS, shares, "o-", ms=4, color=COLOURS[memory], label=name)
        axes.plot(STEPS[-1], shares[-1], "o", ms=10, mfc="none", color=COLOURS[memory])
    axes.plot([], [], "o", ms=10, mfc="none", color="grey", label="calibrated")
    axes.set_ylim(-5, 105)
    axes.set_xlabel("cycles over the rated endurance")
    axes.set_ylabel("codewords (%)")
    axes.legend(frameon=False, fontsize=8)
    finish(axes, "left by hard decision")


def draw_bandwidths(axes):
    """Table VII: bandwidth by SD of all workloads, ours against the paper's."""
    from nandlab.display.picture import finish

    marks = dict(zip(WORKLOADS, "^sDo", strict=True))
    names = {"msn": "MSN", "financial": "Financial", "exchange": "Exchange", "read": "100 % read"}
    axes.plot([80, 460], [80, 460], color="grey", lw=0.8)
    for workload, mark in marks.items():
        for host in HOSTS:
            for memory in MEMORIES:
                where = (workload, host, memory)
                theirs = cells()[f"sd_bandwidth_{'_'.join(where)}"]
                ours = mean(figure, "sd", "bandwidth", *where)
                axes.plot(theirs, ours, mark, ms=5, mfc="none", color=COLOURS[memory])
        axes.plot([], [], mark, ms=5, mfc="none", color="grey", label=names[workload])
    axes.set_xlabel("paper, Table VII (kIOPS)")
    axes.set_ylabel("ours (kIOPS)")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    finish(axes, "bandwidth by SD, both hosts")


def draw_gains(axes, metric, table):
    """Figures 11 and 12: the gain along the life."""
    from nandlab.display.picture import finish

    for memory, name in MEMORIES.items():
        gains = [mean(read_gain, metric, memory, step) for step in STEPS]
        axes.plot(STEPS, gains, "o-", ms=4, color=COLOURS[memory], label=name)
        axes.plot(2.04, printed(metric, memory, "gain"), "<", color=COLOURS[memory], mfc="none")
    axes.plot([], [], "<", color="grey", mfc="none", label=f"paper, {table}")
    axes.set_xlabel("cycles over the rated endurance")
    axes.set_ylabel("gain (%)")
    axes.legend(frameon=False, fontsize=8)
    finish(axes, f"NASD over SD: {metric}")


def draw_distribution(axes):
    """Figure 13: latencies of D-TLC on normal probability paper."""
    from statistics import NormalDist

    import numpy as np

    from nandlab.display.picture import finish

    probabilities = np.array([1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999])
    fine = np.concatenate([np.geomspace(1e-4, 0.5, 200), 1 - np.geomspace(0.5, 1e-4, 200)])
    score = np.vectorize(NormalDist().inv_cdf)
    for way, style in (("sd", "--"), ("nasd", "-")):
        rows = simulate(way, "read", "enterprise", "d_tlc", 2.0, requests=True).requests()
        latency_ms = np.quantile(rows["latency_ns"].to_numpy(), fine) / 1e6
        axes.plot(latency_ms, score(fine), style, color=COLOURS["d_tlc"], label=way.upper())
    axes.axhline(score(0.9999), color="grey", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_xlabel("latency (ms)")
    axes.set_yticks(score(probabilities), [f"{100 * p:g}" for p in probabilities])
    axes.set_ylabel("of reads, at most (%)")
    axes.legend(frameon=False)
    finish(axes, "D-TLC at twice its endurance")


def draw_qos(axes):
    """Figure 14: the 99.99 % latency, with what Table IX prints."""
    from nandlab.display.picture import finish

    for i, memory in enumerate(MEMORIES):
        sd = printed("qos", memory, "sd")
        theirs = (sd, sd * (1 - printed("qos", memory, "gain") / 100))
        for k, way in enumerate(WAYS):
            ours = mean(figure, way, "qos", "read", "enterprise", memory)
            colour = COLOURS[memory]
            style = (
                {"color": colour} if k else {"color": "none", "edgecolor": colour, "hatch": "//"}
            )
            axes.bar(i + 0.4 * k - 0.2, ours, 0.36, **style)
            axes.plot(i + 0.4 * k - 0.2, theirs[k], "k_", ms=14)
    axes.set_xticks(range(len(MEMORIES)), MEMORIES.values())
    axes.set_ylabel("99.99 % of reads within (ms)")
    axes.plot([], [], "k_", ms=14, label="paper, Table IX")
    axes.bar(0, 0, color="none", edgecolor="grey", hatch="//", label="SD")
    axes.bar(0, 0, color="grey", label="NASD")
    axes.set_ylim(0, 26)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center")
    finish(axes, "quality of service")


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
