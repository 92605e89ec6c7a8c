"""Reduced levels for short-lived data alone: `python experiments/wang2014/short_lived.py`.

Levels without margins keep no data. A drive that has them everywhere loses what is not soon
overwritten; one that has them for the stream of short-lived data (`ftl.reduced_streams`) does not.
The rows in `run.py` compare what both gain.
"""

from functools import cache
from pathlib import Path
from runpy import run_path
from statistics import mean, stdev
from types import SimpleNamespace

import nandlab
from nandlab.compare.comparison import Estimate, half_interval

HERE = Path(__file__).resolve().parent
SEEDS = range(1, 6)

#: Data at reduced levels, by drive.
WHERE = ("none", "short-lived", "all")

#: All three drives keep streams apart, and what collection moves.
STREAMS = {"ftl.host_streams": 2, "ftl.separate_gc_stream": True}

#: Financial1 (made) in two jobs: of the writes 80 % go to a tenth of the data. That is assumed: the
#: paper has no share of short-lived data.
JOBS = """[global]
rate_process=poisson
random_distribution=zipf:1.0
iodepth=128
norandommap=1
[short]
rw=randwrite
bssplit=512/14:1k/12:3k/20:3584/8:8k/32:16k/8:24k/6
percentage_random=55
rate_iops=75
write_hint=short
size=200m
number_ios=12300
[long]
rw=randrw
bssplit=512/14:1k/12:3k/20:3584/8:8k/32:16k/8:24k/6
percentage_random=55
rate_iops=28,19
offset=200m
size=1848m
number_ios=7700
"""


@cache
def drive():
    return SimpleNamespace(**run_path(str(HERE / "drive.py")))


@cache
def chips():
    """By name: a chip at full levels, one with reduced ones beside them, one with these alone."""
    of = drive()
    kinds = of.chips()
    slc = {**of.SLC, "chip.reduced.t_program_us": 100.0}
    return {
        "extension": (kinds["extension"].before, slc, kinds["extension"].after),
        "steps": (kinds["steps"].before, both("steps", keep=0.0), kinds["steps"].after),
        "cell": (kinds["cell"].before, both("cell", retention_hours=0.0), kinds["cell"].after),
    }


def both(times, **reduced):
    """The MLC chip of the paper with reduced levels beside its own, as a drive takes it."""
    path = drive().folder() / f"beside_{times}.toml"
    nandlab.tvr_chip("wang2014_mlc", times=times, beside=True, **reduced).write(path)
    return {**drive().MLC, "chip.preset": str(path)}


@cache
def ran(kind, where, seed):
    """Result of the jobs on a full drive."""
    given = {**chips()[kind][WHERE.index(where)], **STREAMS}
    if where == "short-lived":
        given["ftl.reduced_streams"] = [1]
    made = nandlab.Drive(drive().DRIVE, set=given, seed=seed).precondition("fill")
    return made.run(JOBS)


def change_percent(kind, where, seed):
    """By how much the mean response time of all requests changes against a drive without."""
    before, after = (ran(kind, each, seed).latency.mean for each in ("none", where))
    return 100 * (after / before - 1)


# --- A month without power cuts, after which all data are read -----------------------------------

#: Levels with which data last for a day at the rated cycles, and the refresh that they need.
A_DAY = {"retention_hours": 24.0, "pe_cycles": 10_000}
MONTH_HOURS = 720.0
WRITES = """[global]
norandommap=1
rw=randwrite
bs=4k
iodepth=16
[short]
write_hint=short
size=40m
number_ios=20000
[long]
offset=40m
size=200m
number_ios=5000
"""
READS = """[reads]
norandommap=1
rw=randread
bs=4k
size=240m
number_ios=20000
"""


def month(where, refreshed, seed):
    """Raw bit error rate of reads after a month, and mean cycles that the refresh took."""
    levels = {"none": {}, "short-lived": {"ftl.reduced_streams": [1]}, "all": {}}[where]
    if where != "none":
        path = drive().folder() / f"a_day_{where}.toml"
        nandlab.tvr_chip("wang2014_mlc", beside=where == "short-lived", **A_DAY).write(path)
        levels = {**levels, "chip.preset": str(path)}
    if refreshed:
        key = "reduced_after_hours" if where == "short-lived" else "after_hours"
        levels = {**levels, f"refresh.{key}": A_DAY["retention_hours"]}
    given = {"chip.geometry.blocks_per_plane": 256, "age.pe_cycles": 10_000, "ecc.t": 10}
    made = nandlab.Drive("wang2014_mlc", set={**given, **STREAMS, **levels}, seed=seed)
    made.precondition("fill").run(WRITES)
    made.age(hours=MONTH_HOURS)
    ecc = made.run(READS).report.ecc
    blocks = 256 * 2 * 4
    return ecc.raw_bit_errors / (ecc.codewords * 8 * (512 + 16)), made.refreshed.erases / blocks


def of_seeds(figure):
    """Mean of a figure over seeds, with its 95 % interval."""
    figures = [figure(seed) for seed in SEEDS]
    half = half_interval(Estimate(mean(figures), len(figures), stdev(figures)))
    return f"{mean(figures):.1f} ± {half:.1f}"


def main():
    print("| drive | none | short-lived alone | its programs | both jobs | whole drive |")
    print("|---|---|---|---|---|---|")
    for kind, what in ((kind, chip.what) for kind, chip in drive().chips().items()):
        before = of_seeds(lambda seed, kind=kind: ran(kind, "none", seed).latency.mean)
        share = of_seeds(
            lambda seed, kind=kind: 100 * ran(kind, "short-lived", seed).report.nand.reduced_share
        )
        changes = [
            of_seeds(lambda seed, kind=kind, where=where: change_percent(kind, where, seed))
            for where in WHERE[1:]
        ]
        by_job = [
            of_seeds(lambda seed, kind=kind, job=job: job_change_percent(kind, job, seed))
            for job in (0, 1)
        ]
        print(
            f"| {what} | {before} us | {changes[0]} % | {share} % |"
            f" {by_job[0]} %, {by_job[1]} % | {changes[1]} % |",
            flush=True,
        )
    print("\n| reduced levels | refresh | error rate after a month | cycles of the refresh |")
    print("|---|---|---|---|")
    for where, refreshed in (("none", 0), ("short-lived", 1), ("all", 0), ("all", 1)):
        rates, cycles = zip(*(month(where, refreshed, seed) for seed in SEEDS), strict=True)
        every = "each day" if refreshed else "none"
        print(f"| {where} | {every} | {mean(rates):.2e} | {mean(cycles):.2f} |", flush=True)


def job_change_percent(kind, job, seed):
    """The same of one job, with reduced levels for short-lived data alone."""
    before, after = (
        ran(kind, where, seed).report.jobs[job].write.lat_ns.mean
        for where in ("none", "short-lived")
    )
    return 100 * (after / before - 1)


if __name__ == "__main__":
    main()
