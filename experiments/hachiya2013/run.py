"""Hachiya et al. (SSDM'13): frozen data of an MLC array move to TLC chips.

One function for each row of `reference.csv`; `nandlab papers hachiya2013` runs them.
`sensitivity.py` beside it shows how the answers move with what the source leaves open.
"""

from functools import cache
from typing import NamedTuple

import nandlab

DRIVE = "hachiya2013"
CHIPS = 8
PAGE_BYTES = 16384

#: Share of the addresses, and of the writes that go to them.
WORKLOADS = {
    # Of the addresses half are never written; of the others a tenth takes half of the writes.
    "tpcc": ((50, 5), (15, 10), (25, 20), (10, 15), (0, 50)),
    # A twentieth of the addresses takes nine tenths of the writes, most are never written.
    "proxy": ((90, 5), (10, 7.5), (0, 87.5)),
}


class Assumed(NamedTuple):
    """What the paper leaves open, or what was in Table I."""

    #: Spare space of the array of MLC alone. Its logical size is that of all arrays.
    spare: float = 0.2
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
    #: Energy of programs and erases for each byte of the host.
    write_nj_per_byte: float
    #: Erases of all chips of a kind for each TB of the host, and cycles of one of its blocks.
    mlc_erases: float
    tlc_erases: float
    mlc_cycles: float
    tlc_cycles: float
    usd: float


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


def new_drive(tlc_chips, policy, rounds, assumed):
    """An array with so many chips of TLC; the others are MLC."""
    preset = nandlab.Drive(DRIVE).config
    if not tlc_chips:
        del preset["chips"]
    return nandlab.Drive(preset, set=settings(tlc_chips, policy, rounds, assumed))


@cache
def measured(workload, tlc_chips, policy="frozen", rounds=1, assumed=BASE):
    """Fills the array, overwrites it three times, and measures as much again."""
    drive = new_drive(tlc_chips, policy, rounds, assumed)
    drive.precondition("fill")
    zones = ":".join(f"{writes}/{addresses}" for writes, addresses in WORKLOADS[workload])
    job = f"""[writes]
rw=randwrite
bs={PAGE_BYTES}
iodepth={assumed.depth}
norandommap=1
random_distribution=zoned:{zones}
number_ios={{count}}
"""
    count = drive.capacity_bytes // PAGE_BYTES
    drive.run(job.format(count=3 * count))
    run = drive.run(job.format(count=2 * count))
    report = run.to_dict()
    host_bytes = 2 * count * PAGE_BYTES
    nand = report["nand"]
    kinds = nand["kinds"] or {"chip": nand}
    written_uj = sum(
        kind["energy"]["program_uj"] + kind["energy"]["erase_uj"] for kind in kinds.values()
    )
    tlc = kinds.get("tlc", {"erases": 0})
    per_tb = 1e12 / host_bytes
    blocks = 128
    return Measured(
        mb_s=report["host"]["bandwidth_mb_s"],
        write_nj_per_byte=1e3 * written_uj / host_bytes,
        mlc_erases=kinds["chip"]["erases"] * per_tb,
        tlc_erases=tlc["erases"] * per_tb,
        mlc_cycles=kinds["chip"]["erases"] * per_tb / (blocks * (CHIPS - tlc_chips)),
        tlc_cycles=tlc["erases"] * per_tb / (blocks * max(1, tlc_chips)),
        usd=report["cost"]["flash_usd"],
    )
