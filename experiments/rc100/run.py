"""A Toshiba RC100, a drive without DRAM: the rates of its three models, and reads by their span.

`nandlab papers rc100` runs the rows of `reference.csv`. A row's name says model and figure.
"""

import re
from functools import cache

import nandlab
from nandlab.drive.trust.replicates import reports_of

DRIVE = "toshiba_rc100"

#: Drives are a 64th: the memories that hold their maps and the spans of jobs shrink as well.
SCALE = 64

#: Dies of a channel, by gigabytes of the model.
DIES = {480: 4, 240: 2, 120: 1}

#: Gigabytes that are read and written at random: host memory has the map of so many and a half.
SPAN_GB = 16

JOB = """[job]
rw={operation}
bs={size}
iodepth={depth}
size={span}
norandommap=1
number_ios={requests}
"""

#: Operation, size of requests and their number.
JOBS = {
    "read_iops": ("randread", "4k", 30_000),
    "write_iops": ("randwrite", "4k", 30_000),
    "read_mb_s": ("read", "128k", 3_000),
    "write_mb_s": ("write", "128k", 3_000),
}

#: Requests in flight: as many as the drive takes.
DEPTH = 64

#: Runs of a random job with other addresses; jobs in order have nothing that is drawn.
REPLICATES = 3


@cache
def measured(model, figure):
    """The report of each run: reads of a full drive, writes to an empty one."""
    operation, size, requests = JOBS[figure]
    span = SPAN_GB * 10**9 // SCALE // 2**20
    job = JOB.format(
        operation=operation, size=size, depth=DEPTH, span=f"{span}m", requests=requests
    )
    replicates = REPLICATES if "rand" in operation else 1
    filled = "fill" if "read" in operation else "none"
    changed = {"drive.dies_per_channel": DIES[model], "drive.scale": f"1/{SCALE}"}
    found = nandlab.run(DRIVE, job, set=changed, precondition=filled, replicates=replicates)
    return reports_of(found.report)


def iops(model, figure, seed=1):
    return measured(model, figure)[seed - 1].host.iops


def mb_s(model, figure, seed=1):
    return measured(model, figure)[seed - 1].host.bandwidth_mb_s


def __getattr__(name):
    """The function of a row."""
    found = re.fullmatch(r"m(\d+)_((?:read|write)_(iops|mb_s))", name)
    if found is None:
        raise AttributeError(name)
    return lambda seed=1: globals()[found[3]](int(found[1]), found[2], seed)


def picture():
    """Rates of the data sheet and of the drive here, by model."""
    import csv
    from pathlib import Path

    from nandlab.display.picture import COLOURS, finish, new_figure

    with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as lines:
        printed = {row["row"]: float(row["paper"]) for row in csv.DictReader(lines)}
    figure = new_figure(9.0, 4.0)
    models = sorted(DIES)
    for axes, of, figure_of in zip(
        figure.subplots(1, 2), ("iops", "mb_s"), (iops, mb_s), strict=True
    ):
        for operation in ("read", "write"):
            name, colour = f"{operation}_{of}", COLOURS[operation]
            sheet = [printed[f"m{model}_{name}"] for model in models]
            axes.plot(models, sheet, "o", color=colour, label=f"{operation}s, data sheet")
            ours = [figure_of(model, name) for model in models]
            axes.plot(models, ours, color=colour, label=f"{operation}s, nandlab")
        axes.set_xticks(models, [str(model) for model in models])
        axes.set_xlabel("capacity (GB)")
        axes.set_ylabel("IOPS" if of == "iops" else "MB/s")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        finish(axes, "4 KiB at random" if of == "iops" else "in order")
    return figure


if __name__ == "__main__":
    from nandlab.papers import main

    main(__file__)
