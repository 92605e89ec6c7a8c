"""Draws pictures of the docs: `python tools/pictures.py [NAME]`.

Those of the gallery are drawn by the commands of `docs/gallery.md`, the others by functions here.
"""

from __future__ import annotations

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import nandlab
from nandlab.display.picture import new_figure, save
from nandlab.drive.pictures.timeline import plot_timelines
from nandlab.drive.timeline import Timeline

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
GALLERY = ROOT / "docs" / "gallery.md"

#: One bus with three dies of a memory of Zuolo et al., with little in it: quickly filled. Without
#: the command for cache reads: a read and its transfer follow each other, as in their Fig. 2.
DRIVE = {
    "drive.channels": 1,
    "drive.dies_per_channel": 3,
    "chip.geometry.blocks_per_plane": 16,
    "chip.geometry.pages_per_block": 64,
    "controller.command_us": 0,
    "age.pe_cycles": 8000,
    "chip.features.cache_read": False,
    "host.submit_us": 4.9,
    "ecc.model": "shares",
    "ecc.failures": [0.15, 0.0],
    "ecc.t_decode_us": 5,
    "ecc.t_soft_decode_us": 10,
}

#: What is gained: one transfer of 17 us.
GAIN_NS = 16_900

READS = "[reads]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=8\nnorandommap=1\n"


def soft_read(path: Path) -> None:
    """One read that fails beside two that do not, on one bus: SD above NASD, the same reads."""
    for seed in range(1000):
        alone = _reads("soft_decision", seed)
        if alone is None or not _is_contended(alone):
            continue
        assisted = _reads("nand_assisted", seed)
        if assisted is not None and _decoded_ns(assisted) + GAIN_NS <= _decoded_ns(alone):
            titles = ("soft decision: two transfers", "NAND-assisted: one transfer")
            plot_timelines(dict(zip(titles, (alone, assisted), strict=True)), path)
            return
    raise SystemExit("no seed shows it")


def _reads(retry: str, seed: int) -> Timeline | None:
    """The timeline of the reads, if just one of them fails."""
    changes = {**DRIVE, "retry.name": retry}
    result = nandlab.run(
        "zuolo2016_c_mlc", READS, precondition="fill", seed=seed, set=changes, timeline=True
    )
    soft = result.report.ecc.soft_reads
    return result.kept_timeline if soft == [1] else None


def _is_contended(timeline: Timeline) -> bool:
    """Whether data of another die cross the bus between the two transfers of the soft read."""
    spans = timeline.spans
    order = spans["start_ns"].argsort(kind="stable")
    names = [timeline.kinds[kind] for kind in spans["kind"][order].tolist()]
    on_bus = [name for name in names if name.endswith("data out")]
    first = on_bus.index("soft data out")
    return bool(on_bus[first + 1] == "data out")


def _decoded_ns(timeline: Timeline) -> int:
    """When the soft decode is over."""
    spans = timeline.spans
    return int(spans["end_ns"][spans["kind"] == timeline.kinds.index("soft decode")].max())


#: Drives with an SLC cache: a sixteenth of the pages of a block, GB of the static and of the
#: dynamic part.
CACHED = {
    "consumer_tlc": (48, 6, 36),
    "consumer_qlc": (192, 12, 128),
    "consumer_qlc_sata": (64, 6, 36),
}
SIXTEENTH = 16
#: What is written to see a cache end, in bytes of the whole drive.
WRITTEN = 180_000_000_000
#: A point of the picture for so many 10^9 bytes.
STEP_GB = 2.0


def slc_cache(path: Path) -> None:
    """Writes in order to drives with an SLC cache: empty, fuller, and after a rest.

    Between two runs a drive has all the time that its internal work takes.
    """
    import matplotlib.pyplot as plt

    figure, all_axes = plt.subplots(1, len(CACHED), figsize=(13, 4.2), layout="constrained")
    for axes, name in zip(all_axes, CACHED, strict=True):
        for fill, label in ((0.0, "empty"), (0.5, "half full"), (0.8, "80 % full")):
            drive = a_sixteenth(name)
            if fill:
                write(drive, 0.0, fill)
            gigabytes, rates = write(drive, fill, WRITTEN / SIXTEENTH / drive.capacity_bytes)
            [line] = axes.plot(gigabytes, rates, label=label)
            if fill == 0.5:
                gigabytes, rates = write(drive, 0.7, WRITTEN / SIXTEENTH / drive.capacity_bytes)
                label = f"{label}, again after a rest"
                axes.plot(gigabytes, rates, "--", color=line.get_color(), label=label)
        axes.set_title(name)
        axes.set_xlabel("written (GB, of the whole drive)")
        axes.set_yscale("log")
        axes.grid(visible=True, which="both", alpha=0.25)
    all_axes[0].set_ylabel("MB/s")
    all_axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def a_sixteenth(name: str) -> nandlab.Drive:
    """An empty drive of this name with a sixteenth of the pages of a block, and of its cache."""
    pages, static_gb, dynamic_gb = CACHED[name]
    changes = {
        "chip.geometry.pages_per_block": pages,
        "ftl.static_bytes": static_gb * 10**9 // SIXTEENTH,
        "ftl.dynamic_bytes": dynamic_gb * 10**9 // SIXTEENTH,
        "chip.array.name": "ideal",
    }
    return nandlab.Drive(name, set=changes)


def write(drive: nandlab.Drive, start: float, share: float) -> tuple[list[float], list[float]]:
    """Writes a share of a drive in order: 10^9 bytes of the whole drive, and MB/s, by steps."""
    first = int(start * drive.capacity_bytes) // 2**20
    count = int(share * drive.capacity_bytes) // 2**20
    job = f"[w]\nrw=write\nbs=1m\niodepth=16\noffset={first}m\nsize={count}m\n"
    series = drive.run(job).series().to_pydict()
    gigabytes, rates = [], []
    written = seconds = inside = 0.0
    for duration_s, rate in zip(series["duration_s"], series["write_mb_s"], strict=True):
        seconds, inside = seconds + duration_s, inside + SIXTEENTH * duration_s * rate / 1e3
        if inside >= STEP_GB:
            gigabytes.append(written + inside / 2)
            rates.append(1e3 * inside / SIXTEENTH / seconds)
            written, seconds, inside = written + inside, 0.0, 0.0
    return gigabytes, rates


#: A worn drive of 3D TLC with little in it. Its decoder gives up late, so that a year shows.
WORN = {
    "drive.channels": 2,
    "drive.dies_per_channel": 2,
    "chip.geometry.blocks_per_plane": 48,
    "chip.geometry.pages_per_block": 96,
    "ftl.overprovisioning": 0.2,
    "age.pe_cycles": 3000,
}

#: Hours after which data are refreshed, and what the line is called.
REFRESHES = {0: "no refresh", 2191: "every 3 months", 730: "every month"}

#: Between two looks at the drive: a third of a month.
STEP_HOURS = 243.5


def years(path: Path) -> None:
    """A year of a drive that is only read: its reads, and the wear that refresh costs."""
    figure = new_figure(10.0, 3.4)
    tail, failed, wear = figure.subplots(1, 3)
    for after, name in REFRESHES.items():
        year = _year(after)
        months = [step / 3 for step in range(len(year))]
        for axes, column in zip((tail, failed, wear), zip(*year, strict=True), strict=True):
            axes.plot(months, column, label=name)
    for axes, title in (
        (tail, "99th percentile of 4-KiB reads, us"),
        (failed, "reads that fail, %"),
        (wear, "P/E cycles for refresh"),
    ):
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("months")
        axes.set_xticks(range(0, 13, 3))
        axes.set_ylim(bottom=0)
    wear.legend(fontsize=8)
    save(figure, path)


def _year(after: float) -> list[tuple[float, float, float]]:
    """Step by step: the tail of random reads in us, the percentage that fails, and cycles more."""
    changes = {**WORN, "refresh.after_hours": after}
    drive = nandlab.Drive("modern_tlc", set=changes).precondition("fill")
    year = []
    for step in range(37):
        if step > 0:
            drive.age(hours=STEP_HOURS)
        host = drive.clone().run(YEARLY_READS).report.host
        failed = 100 * host.requests_failed / host.requests_completed
        cycles = drive.pe_cycles.mean - WORN["age.pe_cycles"]
        year.append((host.read.latency_us.p99, failed, cycles))
    return year


def exchange(path: Path) -> None:
    """Latencies of a tenth of a second while a die is exchanged: suspended, and in service."""
    changes = {"ftl.overprovisioning": 0.6}
    job = "[mixed]\nrw=randrw\nbs=4k\niodepth=16\nnorandommap\ntime_based\nruntime={}\n"
    figure = new_figure(8, 3.6)
    axes = figure.subplots(1, 2, sharey=True)
    for place, way, runtime in ((axes[0], "suspended", 25), (axes[1], "in_service", 75)):
        run = nandlab.run(
            "tiny",
            job.format(runtime),
            set=changes,
            precondition="steady",
            exchange=f"2@3,{way}",
            requests=True,
        )
        told, table = run.report.exchange, run.requests()
        assert told is not None
        steps = (table["completion_ns"].to_numpy() // 100_000_000).astype(int)
        latency_ms = table["latency_ns"].to_numpy() / 1e6
        worst = {step: latency_ms[steps == step].max() for step in sorted(set(steps.tolist()))}
        place.semilogy([step / 10 for step in worst], list(worst.values()), ".", markersize=3)
        place.axvspan(told.asked_s, told.replaced_s, color="tab:orange", alpha=0.25, lw=0)
        place.set_title(f"{way.replace('_', ' ')}, replaced at {told.replaced_s:.3g} s")
        place.set_xlabel("time (s)")
    axes[0].set_ylabel("longest latency (ms)")
    save(figure, path)


def zones(path: Path) -> None:
    """Throughput of writes by the zones that are open, and of appends and writes to one zone."""
    figure = new_figure(9.0, 3.8)
    by_open, by_depth = figure.subplots(1, 2)
    counts = (1, 2, 3, 4, 6, 8)
    job = "rw=write\nbs=16k\niodepth=8\nsize=1z\noffset_increment=1z\nnumjobs={}\n"
    for dies in (1, 2, 4):
        changes = {"ftl.zone_dies": dies, "chip.geometry.pages_per_block": 512}
        rates = [_written_mb_s(job.format(count), changes) for count in counts]
        by_open.plot(counts, rates, "o-", label=f"zones on {dies} of 4 dies")
    by_open.set_xlabel("zones that are written at a time")
    by_open.set_ylabel("written (MB/s)")
    depths = (1, 2, 4, 8, 16, 32)
    job = "rw=write\nbs=4k\nio_size=24M\niodepth={}\nnandlab_append={}\n"
    # Many dies, and a host that hears of each request 20 us later: the flash does not limit it.
    many = {"drive.channels": 8, "drive.dies_per_channel": 4, "host.link_latency_us": 10.0}
    appends = [_written_mb_s(job.format(depth, 1), many) for depth in depths]
    by_depth.plot(depths, appends, "o-", label="appends under way")
    alone = _written_mb_s(job.format(1, 0), many)
    by_depth.axhline(alone, color="tab:orange", label="writes, one at a time")
    by_depth.set_xscale("log", base=2)
    by_depth.set_xlabel("appends under way")
    for axes in (by_open, by_depth):
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    save(figure, path)


def _written_mb_s(job: str, more: Mapping[str, float]) -> float:
    """Of a small drive with zones."""
    changes = {"ftl.name": "zoned", "ftl.max_active_zones": 14, **more}
    run = nandlab.run("tiny", f"[w]\nzonemode=zbd\n{job}", set=changes)
    return sum(job.write.bw_bytes for job in run.report.jobs) / 1e6


YEARLY_READS = "[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=20000\n"


def tvr(path: Path) -> None:
    """Program times and retention of the chip of Wang 2014 by the share of its margins."""
    shares = [share / 20 for share in range(21)]
    figure = new_figure(9.0, 4.0)
    times, hours = figure.subplots(1, 2)
    for how, label in (("steps", "all of a program is pulses"), ("cell", "by the cell")):
        made = [nandlab.tvr_chip(keep=share, times=how) for share in shares]
        change = [
            100 * (sum(one.reduced.program_us) / sum(one.original.program_us) - 1) for one in made
        ]
        times.plot(shares, change, label=label)
    times.set_ylabel("change of the mean program time (%)")
    kept = [one.reduced.worn_retention_hours for one in made]
    hours.plot(shares, [max(h, 0.01) for h in kept])
    hours.set_yscale("log")
    hours.axhline(24 * 365.25, color="grey", linewidth=1.0)
    hours.annotate("a year", (0.02, 24 * 365.25), (0, 4), textcoords="offset points")
    hours.set_ylabel("retention after 10,000 cycles (hours)")
    hours.set_ylim(bottom=0.1)
    for axes in (times, hours):
        axes.set_xlabel("share of the margins kept")
    times.legend(fontsize=8)
    save(figure, path)


def gallery() -> dict[str, list[str]]:
    """Arguments of the commands of the gallery, by the name of their picture."""
    found = {}
    for block in re.findall(r"^```sh\n(nandlab .*?)^```", GALLERY.read_text(), re.M | re.S):
        _, *words = shlex.split(block.replace("\\\n", " "))
        found[f"gallery-{Path(words[1]).stem}"] = words
    return found


#: Chips with coded pages: their name, and the share of a block that is data, coded.
WRITE_ONCE = {"SLC": ("grupp2009_a_slc2", 43 / 64), "MLC": ("grupp2009_b_mlc32", 107 / 128)}
#: Capacities of the host, as shares of the flash.
SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)


def wom(path: Path) -> None:
    """What the host writes for each byte that is erased, with write-once codes and without.

    Uniform random writes of a page on drives in a steady state, by the capacity that the host
    sees.
    """
    import matplotlib.pyplot as plt

    figure, all_axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    for axes, (title, (name, rate)) in zip(all_axes, WRITE_ONCE.items(), strict=True):
        for ftl, share_of_data, label in (("page", 1.0, "plain"), ("wom", rate, "write-once")):
            points = [
                (share, written_for_each_erased(name, ftl, share_of_data / share - 1))
                for share in SHARES
                if share < 0.88 * share_of_data
            ]
            axes.plot(*zip(*points, strict=True), "o-", label=label)
        axes.set_title(title)
        axes.set_xlabel("capacity of the host / flash")
        axes.grid(visible=True, alpha=0.25)
    all_axes[0].set_ylabel("host bytes written / bytes erased")
    all_axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def written_for_each_erased(name: str, ftl: str, overprovisioning: float) -> float:
    """Of a small drive with this chip and FTL, which is written eight times its flash."""
    changes = {
        "chip.geometry.blocks_per_plane": 128,
        "ftl.name": ftl,
        "ftl.overprovisioning": overprovisioning,
    }
    loops = math.ceil(8 * (1 + overprovisioning))
    job = f"[w]\nrw=randwrite\nbs=4k\niodepth=32\nnorandommap=1\nloops={loops}\n"
    report = nandlab.run(name, job, precondition="steady", set=changes, seed=1).report
    geometry = report.nandlab.config["chip"]["geometry"]
    block = geometry["pages_per_block"] * geometry["page_bytes"]
    return float(report.host.write.bytes / (report.nand.erases * block))


def study(words: list[str], path: Path) -> None:
    """A picture of the gallery, by its command in a folder that is then removed."""
    with TemporaryDirectory() as folder:
        changed = {"--out": folder, "--plot": str(path)}
        now = [changed.get(before, word) for before, word in zip(["", *words], words, strict=False)]
        subprocess.run([sys.executable, "-m", "nandlab", *now, "--quiet"], cwd=ROOT, check=True)


ALL: dict[str, Callable[[Path], None]] = {
    "soft-read": soft_read,
    "slc-cache": slc_cache,
    "wom": wom,
    "years": years,
    "exchange": exchange,
    "zones": zones,
    "tvr": tvr,
    **{name: partial(study, words) for name, words in gallery().items()},
}


def main(names: list[str]) -> None:
    """Draws those that are named, or all."""
    if unknown := [name for name in names if name not in ALL]:
        sys.exit(f"{unknown[0]}: unknown picture; expected: {', '.join(ALL)}")
    for name in names or ALL:
        path = PICTURES / f"{name}.png"
        ALL[name](path)
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
