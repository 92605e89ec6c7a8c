"""Whether victims that erase faster pay: `python experiments/wang2014/erase_speed.py`.

Section 4.2 of the paper proposes to choose them. Blocks of the drive differ in their erase time,
and its erases from cycle to cycle; the policy measures them.
"""

import nandlab

SPREAD = {"erase_block": 0.1, "erase_cycle": 0.05}
POLICIES = {
    "`greedy`": {"gc.name": "greedy"},
    "`fast_erase`, slack 0": {"gc.name": "fast_erase", "gc.slack": 0},
    "`fast_erase`, slack 2": {"gc.name": "fast_erase", "gc.slack": 2},
    "`fast_erase`, slack 8": {"gc.name": "fast_erase", "gc.slack": 8},
}
JOB = """[mixed]
rw=randrw
rwmixread=50
bs=4k
iodepth=16
norandommap
number_ios=1200000
random_distribution={}
"""


def measured(writes, changes, seed=1):
    """Report of a run, and the time of an erase in it."""
    drive = nandlab.Drive("tiny", set={"chip.timing.spread": SPREAD, **changes}, seed=seed)
    report = drive.precondition("steady").age(cycles=60).run(JOB.format(writes)).report
    dies, planes = 4, 2
    busy_ms = 1e3 * report.dies.erase * report.sim.simulated_s * dies
    return report, busy_ms * planes / report.nand.erases


def change_percent(seed=1):
    """Of the erase time, by the policy with the most slack under random writes."""
    before, after = (
        measured("random", POLICIES[name], seed)[1]
        for name in ("`greedy`", "`fast_erase`, slack 8")
    )
    return 100 * (after / before - 1)


def line(writes, name, changes):
    """A row of the table."""
    report, erase_ms = measured(writes, changes)
    wear, host = report.nand.pe_cycles, report.host
    return (
        f"| {writes} | {name} | {erase_ms:.3f} | {wear.min} to {wear.max}"
        f" | {report.ftl.write_amplification:.3f} | {host.iops:,.0f}"
        f" | {host.read.latency_us.p99 / 1e3:.2f} |"
    )


def main():
    print(
        "| writes | policy | erase (ms) | cycles | write amplification | IOPS | p99 of reads (ms) |"
    )
    print("|---|---|---|---|---|---|---|")
    for writes in ("random", "zipf:1.1"):
        for name, changes in POLICIES.items():
            print(line(writes, name, changes))


if __name__ == "__main__":
    main()
