"""WOM-v codes on QLC (Jaffer 2022): erases for each byte written, against plain QLC.

One function for each row of `reference.csv`; `nandlab papers jaffer2022` runs them. `table.py`
prints the table of the README, with more trials.
"""

from functools import cache

import nandlab

#: A small drive of QLC: two dies of the preset's chip, units of a page.
DRIVE = "modern_qlc"
CHANGES = {
    "drive.channels": 1,
    "drive.dies_per_channel": 2,
    "chip.geometry.blocks_per_plane": 48,
    "chip.geometry.pages_per_block": 96,
    # Errors are not the question.
    "chip.array.name": "ideal",
    "ftl.unit_bytes": 16384,
    # Programs go to one plane each, as those of coded pages do.
    "chip.features.multi_plane_program": False,
    # What copies least of plain QLC under skewed writes.
    "gc.name": "cost_benefit",
    "gc.background_free_blocks": 0,
    "buffer.bytes": 2**21,
}
CELL_BITS = 4
#: Spare flash over what the host sees.
SPARE = 0.28

JOBS = {
    "uniform": "",
    # Nine writes in ten go to a tenth of the drive.
    "skewed": "random_distribution=zoned:90/10:10/90\n",
}
#: Bits of data of a cell.
BITS = (3, 2, 1)


def generations(bits):
    """Of a cell of QLC; the plain cell has one."""
    return (2**CELL_BITS - 1) // (2**bits - 1)


@cache
def report(bits, workload, spare=SPARE, seed=1):
    """Of a run of about ten cycles of every block, on a drive in a steady state."""
    if bits == CELL_BITS:
        ftl = {"ftl.name": "page"}
    else:
        ftl = {"ftl.name": "wom", "ftl.code": "wom_v", "ftl.bits_per_cell": bits}
    loops = round(8 * generations(bits) * (1 + spare))
    job = f"[w]\nrw=randwrite\nbs=16k\niodepth=16\nnorandommap=1\nloops={loops}\n{JOBS[workload]}"
    changes = {**CHANGES, **ftl, "ftl.overprovisioning": spare}
    return nandlab.run(DRIVE, job, precondition="steady", set=changes, seed=seed).report


def for_each_written(measure, *drive, **more):
    """A measure for each byte that the host writes."""
    found = report(*drive, **more)
    return measure(found.nand) / found.host.write.bytes


def fewer_erases(bits, workload, same_capacity=False, seed=1):
    """Erases of plain QLC for each byte written, over those with the code.

    Both drives have the same spare over what they sell; or they sell the same, and plain QLC has
    the flash that the code takes as spare.
    """
    plain = (1 + SPARE) * CELL_BITS / bits - 1 if same_capacity else SPARE
    return for_each_written(erases, CELL_BITS, workload, spare=plain, seed=seed) / (
        for_each_written(erases, bits, workload, seed=seed)
    )


def erases(nand):
    return nand.erases


def energy(nand):
    return nand.energy_uj


def most_energy(bits, workload, seed=1):
    """Energy of the flash for each byte written with the code, over that of plain QLC."""
    return for_each_written(energy, bits, workload, seed=seed) / (
        for_each_written(energy, CELL_BITS, workload, seed=seed)
    )


def fewer_erases_least(seed):
    """The best of all k, under the workload where it gains least."""
    return max(min(fewer_erases(bits, job, seed=seed) for job in JOBS) for bits in BITS)


def fewer_erases_most(seed):
    """The best of all k and workloads."""
    return max(fewer_erases(bits, workload, seed=seed) for bits in BITS for workload in JOBS)


def picture():
    """Erases of plain QLC over those with the code, by k, workload and what is equal."""
    from nandlab.display.picture import COLOURS, finish, new_figure

    figure = new_figure(8.0, 4.4)
    axes = figure.subplots()
    colours = (COLOURS["read"], COLOURS["write"])
    bars = [
        (workload, same_capacity, colour, 1.0 if not same_capacity else 0.45)
        for workload, colour in zip(JOBS, colours, strict=True)
        for same_capacity in (False, True)
    ]
    for i, (workload, same_capacity, colour, alpha) in enumerate(bars):
        at = [j + 0.2 * (i - 1.5) for j in range(len(BITS))]
        heights = [fewer_erases(bits, workload, same_capacity) for bits in BITS]
        what = "same capacity" if same_capacity else "same spare share"
        drawn = axes.bar(at, heights, 0.19, color=colour, alpha=alpha, label=f"{workload}, {what}")
        axes.bar_label(drawn, fmt="%.2f", padding=2, fontsize=8)
    bound = [bits * generations(bits) / CELL_BITS for bits in BITS]
    for j, height in enumerate(bound):
        label = "k / 4 x generations" if j == 0 else None
        axes.plot([j - 0.42, j + 0.42], [height, height], color="0.3", lw=1, label=label)
    axes.axhspan(4.4, 11.1, color="0.92", zorder=0)
    axes.text(-0.45, 4.5, "printed: 4.4 to 11.1", color="0.4", fontsize=8)
    axes.set_xticks(range(len(BITS)), [f"k = {bits}" for bits in BITS])
    axes.set_ylim(0, 5.2)
    axes.set_ylabel("erases of plain QLC / with the code")
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.83), frameon=False, fontsize=8)
    finish(axes, "WOM-v on QLC: erases for each byte written")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
