"""Hachiya et al. (SSDM'13): frozen data of an MLC array move to TLC chips.

One function for each row of `reference.csv`; `nandlab papers hachiya2013` runs them.
`sensitivity.py` beside it shows how the answers move with what the source leaves open.
"""

import importlib.util
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tomllib

import nandlab
from nandlab.catalogue import chip

DRIVE = "hachiya2013"
CHIPS = 8
PAGE_BYTES = 16384


class Writes(NamedTuple):
    """Where a workload writes."""

    #: Share of the addresses that it writes to; the others are filled once.
    share: float
    #: Of these, shares of the writes and of the addresses that they go to, in percent.
    zones: tuple[tuple[float, float], ...]


WORKLOADS = {
    "tpcc": Writes(0.3, ((60, 20), (40, 80))),
    "proxy": Writes(0.125, ((90, 40), (10, 60))),
}


class Assumed(NamedTuple):
    """What the paper leaves open, or what was in Table I."""

    #: Spare space of the array of MLC alone, fitted to the printed energy. The logical size of this
    #: array is that of all.
    spare: float = 0.24
    #: Requests that the host keeps under way.
    depth: int = 1
    #: Time of a TLC program, and of erases of both.
    tlc_program_us: float = 12960.0
    erase_us: float = 8500.0
    #: What happens to data on TLC that are overwritten.
    overwrite: str = "modify"


BASE = Assumed()


class Measured(NamedTuple):
    """An array under a workload that has gone on for long."""

    mb_s: float
    #: The same if one chip works at a time.
    serial_mb_s: float
    #: Energy of programs and erases for each byte of the host.
    write_nj_per_byte: float
    #: Erases of all chips of a kind for each TB of the host, and cycles of one of its blocks.
    mlc_erases: float
    tlc_erases: float
    mlc_cycles: float
    tlc_cycles: float


def settings(tlc_chips, policy, rounds, assumed):
    """The drive's keys."""
    physical = CHIPS + 0.5 * tlc_chips
    spare = physical / (CHIPS / (1 + assumed.spare)) - 1
    keys = {
        "ftl.policy": policy,
        "ftl.rounds": rounds,
        "ftl.overwrite": assumed.overwrite,
        "ftl.overprovisioning": round(spare, 6),
        "chip.timing.t_erase_us": assumed.erase_us,
    }
    if tlc_chips:
        keys |= {
            "chips.tlc.channels": tlc_chips,
            "chips.tlc.chip.timing.t_program_us": assumed.tlc_program_us,
            "chips.tlc.chip.timing.t_erase_us": assumed.erase_us,
        }
    return keys


def new_drive(tlc_chips, policy, rounds, assumed, seed):
    """An array with so many chips of TLC; the others are MLC."""
    tables = tomllib.loads(nandlab.show(DRIVE))
    if not tlc_chips:
        del tables["chips"]
    keys = settings(tlc_chips, policy, rounds, assumed)
    return nandlab.Drive(tables, set=keys, seed=seed)


@cache
def measured(workload, tlc_chips, policy="frozen", rounds=1, assumed=BASE, seed=1):
    """Fills the array, overwrites it three times, and measures as much again."""
    drive = new_drive(tlc_chips, policy, rounds, assumed, seed)
    drive.precondition("fill")
    writes = WORKLOADS[workload]
    zones = ":".join(f"{share}/{addresses}" for share, addresses in writes.zones)
    size = int(writes.share * drive.capacity_bytes) // PAGE_BYTES * PAGE_BYTES
    job = f"""[writes]
rw=randwrite
bs={PAGE_BYTES}
iodepth={assumed.depth}
size={size}
norandommap=1
random_distribution=zoned:{zones}
number_ios={{count}}
"""
    count = drive.capacity_bytes // PAGE_BYTES
    drive.run(job.format(count=3 * count))
    run = drive.run(job.format(count=2 * count))
    report = run.report
    host_bytes = 2 * count * PAGE_BYTES
    nand = report.nand
    kinds = nand.kinds or {"chip": nand}
    times = report.dies
    busy_share = times.read + times.program + times.erase + times.wait
    busy_s = busy_share * CHIPS * report.sim.simulated_s
    written_uj = sum(kind.energy.program_uj + kind.energy.erase_uj for kind in kinds.values())
    tlc_erases = kinds["tlc"].erases if "tlc" in kinds else 0
    per_tb = 1e12 / host_bytes
    blocks = 128
    return Measured(
        mb_s=report.host.bandwidth_mb_s,
        serial_mb_s=host_bytes / busy_s / 1e6,
        write_nj_per_byte=1e3 * written_uj / host_bytes,
        mlc_erases=kinds["chip"].erases * per_tb,
        tlc_erases=tlc_erases * per_tb,
        mlc_cycles=kinds["chip"].erases * per_tb / (blocks * (CHIPS - tlc_chips)),
        tlc_cycles=tlc_erases * per_tb / (blocks * max(1, tlc_chips)),
    )


def change(workload, tlc_chips, of, policy="frozen", rounds=1, assumed=BASE, seed=1):
    """Change of a figure against the array of MLC alone, in percent."""
    ours = measured(workload, tlc_chips, policy, rounds, assumed, seed)
    alone = measured(workload, 0, assumed=assumed, seed=seed)
    return 100 * (of(ours) / of(alone) - 1)


def mb_s(found):
    return found.mb_s


def serial_mb_s(found):
    return found.serial_mb_s


def write_energy_of(found):
    return found.write_nj_per_byte


def mlc_erases_of(found):
    return found.mlc_erases


def mlc_cycles_of(found):
    return found.mlc_cycles


# --- Rows ----------------------------------------------------------------------------------------


def throughput(seed):
    return change("tpcc", 4, mb_s, seed=seed)


def serial_throughput(seed):
    return change("tpcc", 4, serial_mb_s, seed=seed)


def write_energy(seed):
    return change("tpcc", 4, write_energy_of, seed=seed)


def mlc_erases(seed):
    return change("tpcc", 4, mlc_erases_of, seed=seed)


def mlc_cycles(seed):
    return change("tpcc", 4, mlc_cycles_of, seed=seed)


def cold_throughput(seed):
    return change("tpcc", 4, serial_mb_s, policy="cold", seed=seed)


def cold_write_energy(seed):
    return change("tpcc", 4, write_energy_of, policy="cold", seed=seed)


#: Points of the two sweeps that rows compare: rounds, and chips of TLC by trace.
COMPARED_ROUNDS = (0, 1, 2, 4)
COMPARED_CHIPS = {"tpcc": (0, 2, 4, 6, 7), "proxy": (0, 4, 6, 7)}


def share(workload, seed):
    """The share of TLC chips with the highest throughput, in percent."""
    curve = {
        chips: measured(workload, chips, seed=seed).serial_mb_s
        for chips in COMPARED_CHIPS[workload]
    }
    return 100 * max(curve, key=curve.get) / CHIPS


def tpcc_share(seed):
    return share("tpcc", seed)


def proxy_share(seed):
    return share("proxy", seed)


def more_than(workload, chips, other, seed):
    """Throughput with so many chips of TLC over that with another number, less one, in percent."""
    ours, theirs = (measured(workload, of, seed=seed).serial_mb_s for of in (chips, other))
    return 100 * (ours / theirs - 1)


def tpcc_50_over_25(seed):
    return more_than("tpcc", 4, 2, seed)


def tpcc_50_over_75(seed):
    return more_than("tpcc", 4, 6, seed)


def proxy_87_over_75(seed):
    return more_than("proxy", 7, 6, seed)


def by_rounds(rounds, seed):
    return measured("tpcc", 4, rounds=rounds, seed=seed).serial_mb_s


def best_rounds(seed):
    return max(COMPARED_ROUNDS, key=lambda rounds: by_rounds(rounds, seed))


def rounds_1_over_0(seed):
    return 100 * (by_rounds(1, seed) / by_rounds(0, seed) - 1)


def rounds_1_over_2(seed):
    return 100 * (by_rounds(1, seed) / by_rounds(2, seed) - 1)


def wear_ratio(workload, seed):
    """Cycles of a TLC block against those of an MLC block."""
    found = measured(workload, 4, seed=seed)
    return found.tlc_cycles / found.mlc_cycles


def tpcc_wear_ratio(seed):
    return wear_ratio("tpcc", seed)


def proxy_wear_ratio(seed):
    return wear_ratio("proxy", seed)


def proxy_cost():
    """Seven eighths of the capacity at the price of TLC, against MLC alone."""
    tlc, mlc = (chip(f"hachiya2013_{kind}")["cost_per_gb"] for kind in ("tlc", "mlc"))
    return 100 * (1 / CHIPS + (CHIPS - 1) / CHIPS * tlc / mlc)


def proxy_cost_saved():
    """Share of the cost that is saved, with the same prices."""
    return 100 - proxy_cost()


def exchange_suspended_dead_time_s(seed):
    return exchange().exchange_suspended_dead_time_s(seed=seed)


def exchange_longest_without_service_ms(seed):
    return exchange().exchange_longest_without_service_ms(seed=seed)


def exchange_collection_ms(seed):
    return exchange().exchange_collection_ms(BASE.spare, seed=seed)


@cache
def exchange():
    """The rows of section 4, from the file beside this one."""
    place = Path(__file__).with_name("exchange.py")
    spec = importlib.util.spec_from_file_location("hachiya2013_exchange", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- Figure 3 ------------------------------------------------------------------------------------

#: Chips with cells, and a part of a block of each: the paper's chips are not modelled.
BOARDS = {
    "tlc_planar": {"chip.geometry.pages_per_block": 24, "chip.geometry.page_bytes": 2048},
    "wang2014_mlc": {"chip.geometry.pages_per_block": 32},
}

#: Cycles of both: the rating of the TLC.
CYCLES = 900


@cache
def board(procedure, chip_name, seed, **params):
    """Rows of a procedure of the virtual test board."""
    found = nandlab.board(
        procedure, chip_name, set=BOARDS[chip_name], seed=seed, cycles=CYCLES, **params
    )
    return found.table().to_pylist()


def retention_errors(chip_name, seed):
    """Share of bits that err after a year at 40 degrees and did not before, in ppm."""
    rates = []
    for step in (0, 1):
        rows = [
            row
            for row in board("retention", chip_name, seed, points=1, hours=8760)
            if row["step"] == step
        ]
        errors, bits = (sum(row[key] for row in rows) for key in ("bit_errors", "bits"))
        rates.append(errors / bits)
    return 1e6 * (rates[1] - rates[0])


def disturb_errors(chip_name, seed):
    """Share of other pages' bits that nine more programs of a page make err, in ppm.

    Pages of a wordline are programmed again before its last page has data.
    """
    last = "upper"
    rates = []
    for reprograms in (1, 10):
        rows = board("program_disturb", chip_name, seed, reprograms=reprograms)
        bits = sum(row["bits"] for row in rows)
        errors = [row["other_pages_bit_errors"] for row in rows if row["page_type"] != last]
        rates.append(sum(errors) / bits)
    return 1e6 * (rates[1] - rates[0])


def retention_above_mlc(seed):
    return retention_errors("tlc_planar", seed) - retention_errors("wang2014_mlc", seed)


def disturb_above_mlc(seed):
    return disturb_errors("tlc_planar", seed) - disturb_errors("wang2014_mlc", seed)


# --- Picture -------------------------------------------------------------------------------------

ROUNDS = (0, 1, 2, 3, 4)
SHARES = (0, 1, 2, 3, 4, 5, 6, 7)


def picture():
    """Throughput, energy and cycles against rounds and share of TLC, with the paper's points."""
    from nandlab.display.picture import new_figure

    figure = new_figure(11.0, 8.2)
    (by_rounds, by_share), (energy, cycles) = figure.subplots(2, 2)
    draw_rounds(by_rounds)
    draw_shares(by_share, serial_mb_s, "throughput", 56)
    draw_shares(energy, write_energy_of, "energy of writes", -29)
    draw_cycles(cycles)
    return figure


def draw_rounds(axes):
    from nandlab.display.picture import COLOURS, finish

    for of, name, colour, printed in (
        (serial_mb_s, "throughput, one chip at a time", COLOURS["read"], 56),
        (write_energy_of, "energy of writes", COLOURS["write"], -29),
        (mlc_erases_of, "erases of MLC", "0.5", -36),
    ):
        changes = [change("tpcc", 4, of, rounds=rounds) for rounds in ROUNDS]
        axes.plot(ROUNDS, changes, "o-", color=colour, label=name)
        axes.plot([1], [printed], "x", color=colour, ms=9, mew=2)
    axes.plot([], [], "kx", ms=9, mew=2, label="paper")
    axes.axhline(0, color="0.8", lw=1)
    axes.set_xticks(ROUNDS)
    axes.set_xlabel("rounds until data count as frozen (N_RDS)")
    axes.set_ylabel("against MLC alone (%)")
    axes.legend(loc="best", frameon=False, fontsize=8)
    finish(axes, "tpcc-like, half of the chips TLC")


def draw_shares(axes, of, name, printed):
    from nandlab.display.picture import COLOURS, finish

    lines = (("tpcc", "frozen", "o-"), ("proxy", "frozen", "s-"), ("tpcc", "cold", "o--"))
    colours = (COLOURS["read"], COLOURS["write"], "0.6")
    at = [100 * chips / CHIPS for chips in SHARES]
    for (workload, policy, style), colour in zip(lines, colours, strict=True):
        changes = [change(workload, chips, of, policy=policy) for chips in SHARES]
        label = f"{workload}-like, {policy}"
        axes.plot(at, changes, style, color=colour, label=label)
    axes.plot([50], [printed], "kx", ms=9, mew=2, label="paper, tpcc")
    axes.axhline(0, color="0.8", lw=1)
    axes.set_xlabel("chips of TLC (%)")
    axes.set_ylabel(f"{name} against MLC alone (%)")
    axes.legend(loc="best", frameon=False, fontsize=8)
    finish(axes, f"{name}, one round")


def draw_cycles(axes):
    from nandlab.display.picture import COLOURS, finish

    at = [100 * chips / CHIPS for chips in SHARES[1:]]
    for workload, style in (("tpcc", "o-"), ("proxy", "s-")):
        found = [measured(workload, chips) for chips in SHARES[1:]]
        mlc = [of.mlc_cycles for of in found]
        tlc = [max(of.tlc_cycles, 1e-3) for of in found]
        axes.plot(at, mlc, style, color=COLOURS["read"], label=f"MLC, {workload}-like")
        axes.plot(at, tlc, style, color=COLOURS["write"], label=f"TLC, {workload}-like")
    axes.set_yscale("log")
    axes.set_xlabel("chips of TLC (%)")
    axes.set_ylabel("cycles of a block for each TB written")
    axes.legend(loc="best", frameon=False, fontsize=8)
    finish(axes, "wear, one round")
