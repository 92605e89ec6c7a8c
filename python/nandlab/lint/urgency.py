"""Checks of who waits: fast pages for urgent writes."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.drive.notices import nobody_waits
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.jobs import Job
from nandlab.lint.settings import SMALL
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
)
"""In the order of their codes."""
