"""Draws the pictures of the docs that no command draws: `python tools/pictures.py [NAME]`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import nandlab
from nandlab.display.picture import new_figure, save
from nandlab.drive.pictures.timeline import plot_timelines
from nandlab.drive.timeline import Timeline

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"

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
    soft = result.to_dict()["ecc"]["soft_reads"]
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
        host = drive.clone().run(YEARLY_READS).to_dict()["host"]
        failed = 100 * host["requests_failed"] / host["requests_completed"]
        cycles = drive.pe_cycles.mean - WORN["age.pe_cycles"]
        year.append((host["read"]["latency_us"]["p99"], failed, cycles))
    return year


YEARLY_READS = "[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=20000\n"

ALL: dict[str, Callable[[Path], None]] = {"soft-read": soft_read, "years": years}


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
