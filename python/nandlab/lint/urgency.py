"""Checks of who waits for whom: fast pages, windows of predictable latency, quotas of handles."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.display import quantity
from nandlab.drive.notices import nobody_waits
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.jobs import Job
from nandlab.lint.settings import RANDOM_WRITES, SMALL
from nandlab.lint.subject import Subject


def is_urgent(job: Job) -> bool:
    """Whether somebody waits for the writes of a job, by its `prio` and `prioclass`."""
    kind = job.options.get("prioclass")
    if kind in (None, "2"):
        return job.options.get("prio", "") in ("0", "1", "2", "3")
    return kind == "1"


def _for_nobody(subject: Subject) -> Iterator[Hit]:
    if subject.report is not None:
        yield from (Hit(subject.place, said) for said in nobody_waits(subject.report))
        return
    if not subject.value("ftl.fast_pages") or subject.is_varied("ftl.fast_pages", "run."):
        return
    if subject.is_varied("job.prio") or subject.value("ftl.fast_region"):
        return
    writers = [job for job in subject.jobs if job.writes]
    if writers and not any(is_urgent(job) for job in writers):
        yield Hit(
            subject.of_job(writers[0], "rw"),
            f"job `{writers[0].name}` writes without `prio`, so ftl.fast_pages = true gives it"
            " slow pages first",
        )


def _ahead(subject: Subject) -> tuple[float, float] | None:
    """Bytes that a drive takes when collection has run ahead, and that its dies program a second.

    None where the times are those of a cell.
    """
    program_us = subject.value("chip.timing.t_program_us")
    if isinstance(program_us, str) or program_us is None:
        return None
    times = program_us if isinstance(program_us, list) else [program_us]
    pages = 1
    if subject.value("chip.page_order") == "one_shot":
        times, pages = times[:1], int(subject.value("chip.cell_bits"))
    dies = subject.value("drive.channels") * subject.value("drive.dies_per_channel")
    planes = dies * subject.value("chip.geometry.planes_per_die")
    joined = planes if subject.value("chip.features.multi_plane_program") else dies
    page = subject.value("chip.geometry.page_bytes")
    free = max(subject.value("gc.background_free_blocks"), subject.value("gc.start_free_blocks"))
    blocks = (free - subject.value("ftl.gc_reserve_blocks")) * planes
    speed = joined * pages * page / (sum(times) / len(times) / 1e6)
    return blocks * subject.value("chip.geometry.pages_per_block") * page, speed


def _window_too_long(subject: Subject) -> Iterator[Hit]:
    if subject.report is not None:
        windows = subject.report.windows
        if windows and windows.broken > windows.kept:
            yield Hit(
                subject.place,
                f"{windows.broken:,} deterministic windows broke and {windows.kept:,} were kept:"
                " the free blocks do not last for a window",
            )
        return
    window_ms = subject.value("windows.deterministic_ms")
    varied = subject.is_varied("windows", "gc", "ftl", "drive", "chip", "job.rate", "job.think")
    if not window_ms or varied:
        return
    writers = [job for job in subject.jobs if job.writes and job.is_closed]
    if not writers or (ahead := _ahead(subject)) is None:
        return
    room, speed = ahead
    if room / speed < window_ms / 1e3:
        yield Hit(
            subject.of_job(writers[0], "rw"),
            f"job `{writers[0].name}` writes as fast as it can, and a deterministic window of"
            f" {window_ms:g} ms can take {quantity.size(room)}: at the"
            f" {quantity.size(speed)} a second that the dies program, the free blocks last"
            f" {1e3 * room / speed:.3g} ms",
        )


LEAST_GIVEN = 0.99
"""Sum of the quotas of handles below which a check speaks: the rest is rounding."""


def _spare_of_nobody(subject: Subject) -> Iterator[Hit]:
    shares = subject.value("ftl.handle_quota")
    if not shares or subject.is_varied("ftl.handle_quota") or sum(shares) >= LEAST_GIVEN:
        return
    yield Hit(
        subject.at("ftl.handle_quota"),
        f"ftl.handle_quota = {shares}: {1 - sum(shares):.0%} of the spare is no handle's",
    )


_GLOBAL = "[global]\nrw=randwrite\nbs=4k\nnorandommap\n"
#: The others are never measured: the figures are those of the job that somebody waits for.
_OTHERS = "[others]\nrate_iops=120\nnumber_ios=6000\nramp_time=1h\n"
_WAITS = "[waits]\nrate_iops=40\nnumber_ios=2000\n"
_JOBS = _GLOBAL + _OTHERS + _WAITS

CHECKS = (
    Check(
        code="L021",
        title="fast pages without urgent writes",
        assumed="`ftl.fast_pages` makes writes faster.",
        why="Half of the pages of a block are fast, whoever gets them. Urgent writes go to fast"
        " pages, all others to slow pages: if no write is marked urgent, all writes prefer slow"
        " pages.",
        sources=("grupp2009",),
        instead="`prio=0` in jobs with urgent writes (`urgent` of a trace), or `ftl.fast_pages ="
        " false`",
        looks_at=("drive", "job", "report"),
        find=_for_nobody,
        pair=Pair(
            Setting("no job is urgent"),
            Setting("`prio=0` for urgent writes", {}, {"workload": f"{_JOBS}prio=0\n"}),
            _JOBS,
            ("write mean (us)", "write p50 (us)"),
            {
                **SMALL,
                "ftl.fast_pages": True,
                "buffer.bytes": 0,
                "chip.cell_bits": 2,
                "chip.page_order": "all_bitline",
                "chip.timing.t_program_us": [460.0, 1118.0],
            },
            "fill",
        ),
    ),
    Check(
        code="L023",
        title="windows longer than the free blocks last",
        assumed="Reads in a deterministic window never wait for collection.",
        why="Collection rests in a window as long as host writes find free blocks. At the speed of"
        " the dies they run out sooner, the window breaks, and reads meet collection again.",
        sources=(),
        instead="a shorter `windows.deterministic_ms`, more `gc.background_free_blocks`, or a job"
        " with a `rate`",
        looks_at=("drive", "job", "study", "report"),
        find=_window_too_long,
        pair=Pair(
            Setting("windows of 100 ms", {"windows.deterministic_ms": 100.0}),
            Setting(
                "of 5 ms, blocks ahead",
                {"windows.deterministic_ms": 5.0, "gc.background_free_blocks": 6},
            ),
            "[mix]\nrw=randrw\nbs=4k\nnorandommap\nnumber_ios=20000\niodepth=4\n",
            ("read p99.9 (us)", "write mean (us)"),
            {**SMALL, "windows.non_deterministic_ms": 5.0},
        ),
    ),
    Check(
        code="L024",
        title="spare flash that no handle may use",
        assumed="Quotas of handles part the spare flash.",
        why="What the quotas leave over stays free: collection begins as if the drive had less"
        " over-provisioning, and writes more.",
        sources=(),
        instead="shares that add up to 1",
        looks_at=("drive", "study"),
        find=_spare_of_nobody,
        pair=Pair(
            Setting("0.3 and 0.2", {"ftl.handle_quota": [0.3, 0.2]}),
            Setting("0.6 and 0.4", {"ftl.handle_quota": [0.6, 0.4]}),
            RANDOM_WRITES,
            ("write amplification",),
            {
                **SMALL,
                "ftl.overprovisioning": 0.5,
                "ftl.host_streams": 2,
                "ftl.isolation": "persistent",
            },
        ),
    ),
)
"""In the order of their codes."""
