"""TVR and the paper's implications in a drive: `python experiments/wang2014/drive.py`.

Section 5.5: the drive is that of DiskSim's SSD extension (preset `agrawal2008`). `--traces FOLDER`
adds pieces of real traces. `run.py` beside it takes its rows from here.
"""

from argparse import ArgumentParser
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nandlab

DRIVE = "agrawal2008"
HERE = Path(__file__).resolve().parent

#: 8 GiB as the MLC chips have: 512 blocks of a plane instead of 2,048, of which 5 % are kept free.
SLC = {"chip.geometry.blocks_per_plane": 512, "gc.start_free_blocks": 26}

# --- Chips ---------------------------------------------------------------------------------------

#: The MLC chip in the place of the extension's: pages of 2 KiB, a package does one thing at a time.
MLC = {
    "chip.features.multi_plane_program": False,
    "chip.features.multi_plane_read": "none",
    "chip.features.cache_read": False,
    "ftl.unit_bytes": 2048,
    "ecc.payload_bytes": 2048,
    "ecc.parity_bytes": 64,
    "recovery.backup": False,
}


class Chips(NamedTuple):
    """A chip before and after the reduction."""

    what: str
    before: dict
    after: dict


def mlc(**reduced):
    """The chip of the paper, with its levels or with reduced ones, as a drive takes it."""
    if not reduced:
        return {"chip.preset": "wang2014_mlc", **MLC}
    made = nandlab.tvr_chip("wang2014_mlc", **reduced)
    path = folder() / f"{'_'.join(f'{key}_{value}' for key, value in reduced.items())}.toml"
    made.write(path)
    return {"chip.preset": str(path), **MLC}


@cache
def folder():
    """Where chip files are written."""
    from tempfile import mkdtemp

    return Path(mkdtemp())


@cache
def chips():
    """By name: the reading of the paper, and what its cell says."""
    return {
        "extension": Chips(
            "extension's SLC, 200 to 100 us", SLC, {**SLC, "chip.timing.t_program_us": 100.0}
        ),
        "steps": Chips("MLC, time is steps", mlc(), mlc(keep=0.0, times="steps")),
        "cell": Chips("MLC, by its cell", mlc(), mlc(retention_hours=0.0, times="cell")),
    }


# --- Workloads -----------------------------------------------------------------------------------

#: Made by us where a trace cannot be had, by published statistics; arrivals are Poisson.
MADE = {
    # 76.84 % writes, 5,334,987 requests in 12 hours (recalled); sizes of the first 10,000 requests.
    "financial1 (made)": """rw=randrw
bssplit=512/14:1k/12:3k/20:3584/8:8k/32:16k/8:24k/6
percentage_random=55
rate_iops=28,94
size=2g
""",
    # 17.65 % writes, 3,699,194 requests in 11.4 hours (recalled); sizes are assumed.
    "financial2 (made)": """rw=randrw
bssplit=2k/70:4k/20:8k/10
percentage_random=90
rate_iops=74,16
size=1g
""",
    # Sequential writes of 256 KiB, 107 a second, as most of the trace has; 2 % reads.
    "iozone (made)": """rw=rw
bs=64k,256k
rate_iops=2,105
size=1g
""",
    # Reads of 99 KiB, writes of 833 KiB on average; 16.8 % writes, 127 requests a second.
    "postmark (made)": """rw=randrw
bssplit=32k/40:128k/45:256k/15,512k/50:1m/50
percentage_random=54
rate_iops=105,21
size=2g
""",
    # 37 % writes of 8 KiB, hardly any in order; the rate is ours.
    "tpcc (made)": """rw=randrw
bs=8k
rate_iops=1250,750
size=4g
""",
}
#: Those that the paper names.
PRINTED = ("financial1 (made)", "financial2 (made)", "iozone (made)", "postmark (made)")
#: Numbers of packages, and what runs with each.
PACKAGES = (4, 8, 16, 32)
BY_PACKAGES = ("financial1 (made)", "postmark (made)")
JOB = """[requests]
{body}random_distribution=zipf:1.0
rate_process=poisson
iodepth=256
norandommap=1
number_ios=20000
"""

#: Pieces of real traces by the file's name, and how they are read.
TRACES = {
    "financial1": ("spc_financial1.head10k.reconstructed.spc", None, {}),
    "iozone": ("iozone.100k.disksim.trace", "disksim", {}),
    "msr hm_0": ("msr_hm_0.slice7016.csv", None, {}),
    "msr mds_0": ("msr_mds_0.slice1000.csv", None, {}),
    "msr proj_0": ("msr_proj_0.slice1000.csv", None, {}),
    "msr rsrch_1": ("msr_rsrch_1.full.csv", None, {}),
    "tpcc, 50 times slower": ("tpcc_ms_enterprise.6999.mqsim.trace", "mqsim", {"time_scale": 50}),
}
#: Of our own, recorded in memory, as `tpcc` on many disks: faster than such a drive.
SQLITE = HERE.parent.parent / "examples" / "traces" / "sqlite_ext4.iolog.zst"


def workload(name, path=None):
    """Arguments of a run. `path` is the file of a trace."""
    if name in MADE:
        return {"workload": JOB.format(body=MADE[name])}
    _, form, options = TRACES.get(name, ("", None, {"time_scale": 10}))
    return {
        "trace": path or SQLITE,
        "format": form,
        "trace_options": {"address": "compact", **options},
    }


@cache
def mean_us(name, kind, which, path=None, packages=8, seed=None):
    """Mean response time of all requests on a full drive; with other packages of the same bytes."""
    given = {**getattr(chips()[kind], which), "drive.channels": packages}
    if packages != 8:
        given["chip.geometry.blocks_per_plane"] = 512 * 8 // packages
        given["gc.start_free_blocks"] = 26 * 8 // packages
    drive = nandlab.Drive(DRIVE, set=given, seed=seed).precondition("fill")
    return drive.run(**workload(name, path)).latency.mean


def gain_percent(name, kind="extension", path=None, packages=8, seed=None):
    """By how much the reduction shortens the mean response time."""
    before, after = (
        mean_us(name, kind, which, path, packages, seed) for which in ("before", "after")
    )
    return 100 * (1 - after / before)


#: Beyond this mean, requests come faster than the drive takes them: the queue has no end.
OVERLOADED_US = 100_000


def picture(reduction):
    """Levels before and after; mean response times of the made workloads, and by packages."""
    from nandlab.display.picture import COLOURS, finish, new_figure
    from nandlab.endurance.tvr_plot import draw_states

    figure = new_figure(11.0, 6.4)
    (above, bars), (below, lines) = figure.subplots(2, 2)
    draw_states(above, below, reduction)
    colours = list(COLOURS.values())
    for i, (kind, chip) in enumerate(chips().items()):
        shown = [n for n in MADE if mean_us(n, kind, "before") <= OVERLOADED_US]
        at = [list(MADE).index(name) + 0.27 * (i - 1) for name in shown]
        gains = [gain_percent(name, kind) for name in shown]
        bars.bar(at, gains, width=0.25, color=colours[i], label=chip.what)
    bars.axhspan(11, 35, color="#999999", alpha=0.25, linewidth=0)
    bars.set_xticks(range(len(MADE)), [name.split()[0] for name in MADE])
    bars.set_ylim(0, 80)
    bars.set_ylabel("response time falls by (%)")
    bars.legend(frameon=False, fontsize=8, loc="upper right")
    finish(bars, "grey: 11 to 35 %, as printed")
    for name, colour in zip(BY_PACKAGES, colours, strict=False):
        for which, style in (("before", "-"), ("after", "--")):
            means = [mean_us(name, "extension", which, None, n) for n in PACKAGES]
            label = f"{name.split()[0]}, {'original' if which == 'before' else 'reduced'}"
            lines.plot(PACKAGES, means, style, color=colour, marker="o", label=label)
    lines.set_xscale("log", base=2)
    lines.set_yscale("log")
    lines.set_xticks(PACKAGES, [str(n) for n in PACKAGES])
    lines.set_xlabel("packages")
    lines.set_ylabel("mean response time (us)")
    lines.legend(frameon=False, fontsize=8)
    finish(lines, "more packages, SLC of the extension")
    return figure


def names(traces):
    """Workloads that can run, with their files."""
    found = dict.fromkeys(MADE)
    found["sqlite, 10 times slower"] = SQLITE
    for name, (file, _, _) in TRACES.items():
        path = None if traces is None else traces / f"{file}.zst"
        if path is not None and path.is_file():
            found[name] = path
        else:
            print(f"skipped: {name}, no {file} (--traces FOLDER)")
    return found


def main():
    parser = ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--traces", type=Path, metavar="FOLDER")
    traces = parser.parse_args().traces
    every = names(traces)
    kinds = chips()
    print("\n| workload | " + " | ".join(f"{kind.what}" for kind in kinds.values()) + " |")
    print("|---|" + "---|" * len(kinds))
    for name, path in every.items():
        cells = []
        for kind in kinds:
            before = mean_us(name, kind, "before", path)
            gain = f"-{gain_percent(name, kind, path):.1f} %"
            cells.append("overloaded" if before > OVERLOADED_US else f"{before:,.0f} us, {gain}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\n| workload | " + " | ".join(f"{n} packages" for n in PACKAGES) + " |")
    print("|---|" + "---|" * len(PACKAGES))
    for name in BY_PACKAGES:
        cells = [
            f"{mean_us(name, 'extension', 'before', None, n):,.0f} to"
            f" {mean_us(name, 'extension', 'after', None, n):,.0f} us,"
            f" -{gain_percent(name, packages=n):.1f} %"
            for n in PACKAGES
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
