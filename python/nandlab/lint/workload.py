"""Checks of runs: state of the drive, length, where they write and read, latency, who waits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nandlab.display import quantity
from nandlab.drive.jobs.rates import job_options
from nandlab.drive.latency import is_exceeded
from nandlab.drive.notices import nobody_waits, unsettled, unwritten
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.jobs import Job, in_bytes, job_of
from nandlab.lint.settings import RANDOM_WRITES, READS, SMALL
from nandlab.lint.subject import PAGE_MAPPED, Subject
from nandlab.report import Report

STALL = 10.0
"""Percentile 99.9 over the mean above which a closed loop hides requests that would have come."""

LEAST_HITS = 0.01
"""Share of hits below which a cache changes no figure of a run."""

_POLICIES = ("gc.name", "gc.d", "gc.w", "ftl.name", "ftl.separate_gc_stream", "ftl.log_blocks")

_PERCENTILE = re.compile(r"latency_us\.p(9\d[\d_]*)\b")


def _whole_space(subject: Subject) -> Iterator[Hit]:
    writers = [job for job in subject.jobs if job.writes]
    if not subject.is_varied(*_POLICIES) or subject.run is None or subject.run.is_trace:
        return
    changed = [path.rpartition(".")[2] for path in subject.axes if path.startswith("job.")]
    narrow = ("size", "offset", "random_distribution", "percentage_random", "rw", "bs")
    if any(one in narrow for one in changed) or subject.is_varied("run.workload", "run.trace"):
        return
    if writers and all(job.is_over_all for job in writers):
        policy = next(path for path in subject.axes if path.startswith(_POLICIES))
        yield Hit(
            subject.of_axis(policy),
            f"axis {policy} with uniform writes over the whole drive only: the ranking of the"
            " policies may differ under other writes",
        )


def _unsettled(subject: Subject) -> Iterator[Hit]:
    report, run = subject.report, subject.run
    if report is not None:
        if not any(_too_short(subject)):
            yield from (Hit(subject.place, said) for said in unsettled(report))
        return
    if run is None or run.precondition != "none" or run.settles:
        return
    if subject.is_varied("run.precondition", "run.until"):
        return
    is_replay = run.is_trace or any(job.is_replay for job in subject.jobs)
    if is_replay or any(job.writes for job in subject.jobs):
        what = "a trace is replayed" if is_replay else "the jobs write"
        yield Hit(
            subject.of_run("precondition"),
            f"precondition = none: {what} on an empty drive, where collection has nothing to do",
        )


def _unwritten(subject: Subject) -> Iterator[Hit]:
    report, run = subject.report, subject.run
    if report is not None:
        yield from (Hit(subject.place, said) for said in unwritten(report))
        return
    if run is None or run.precondition != "none" or subject.is_varied("run.precondition"):
        return
    readers = [job for job in subject.jobs if job.reads]
    if readers and not run.settles:
        yield Hit(
            subject.of_run("precondition"),
            f"precondition = none: job `{readers[0].name}` reads data that were never written,"
            " which need no flash read",
        )


def _too_short(subject: Subject) -> Iterator[Hit]:
    report, run = subject.report, subject.run
    if report is not None:
        yield from _never_collected(subject, report)
        return
    if run is None or run.precondition != "fill" or run.until is not None or subject.drive is None:
        return
    lengths = ("run.", "job.number_ios", "job.io_size", "job.size", "job.loops", "job.bs")
    if subject.is_varied(*lengths, "ftl.name", "ftl.overprovisioning", "drive"):
        return
    writers = [job for job in subject.jobs if job.writes]
    if not any(job.is_random for job in writers) or subject.value("ftl.name") not in PAGE_MAPPED:
        return
    capacity = round(subject.capacity_bytes)
    slack = capacity * subject.value("ftl.overprovisioning")
    each = [job.written_bytes(capacity) for job in writers]
    total = sum(one for one in each if one is not None)
    if None not in each and total < slack:
        yield Hit(
            subject.of_job(writers[0], "number_ios"),
            f"the jobs write {quantity.size(total)} to a drive that was filled in order; this fits"
            f" into its {quantity.size(slack)} of spare flash, so nothing is collected",
        )


def _never_collected(subject: Subject, report: Report) -> Iterator[Hit]:
    ftl, run = report.ftl, report.nandlab.run
    writes = report.host.write.requests
    if not writes or ftl.gc_runs or any(ftl.merges.values()):
        return
    if run.precondition not in ("none", "fill") or run.skip is not None:
        return
    if report.nandlab.config["ftl"]["name"] in PAGE_MAPPED:
        yield Hit(
            subject.place,
            f"garbage collection never ran: the run wrote"
            f" {report.settled.drive_writes:.2g} of the drive, less than its free space",
        )


def _alignment(subject: Subject) -> Iterator[Hit]:
    if subject.drive is None or subject.value("ftl.name") not in PAGE_MAPPED:
        return
    if subject.is_varied("ftl.name", "drive"):
        return
    geometry = subject.config["chip"]["geometry"]
    block = geometry["pages_per_block"] * geometry["page_bytes"]
    says = (
        f"on a page map (ftl `{subject.value('ftl.name')}`), which places data independently of"
        " their addresses"
    )
    for path in subject.axes:
        if path.startswith("job.") and path.rpartition(".")[2] in ("ba", "blockalign"):
            yield Hit(subject.of_axis(path), f"axis {path} {says}")
            return
    for job in subject.jobs:
        aligned = in_bytes(job.options.get("blockalign", "").split(",")[-1])
        if aligned and aligned >= block and job.writes and job.is_random:
            yield Hit(
                subject.of_job(job, "blockalign"),
                f"job `{job.name}` aligns writes to {quantity.size(aligned)}, blocks of"
                f" {quantity.size(block)}, {says}",
            )


def _closed_loop(subject: Subject) -> Iterator[Hit]:
    if subject.report is not None:
        yield from _stalled(subject, subject.report)
        return
    if subject.kind == "study":
        yield from _percentile_of_study(subject)
        return
    for job in subject.jobs:
        asked = job.options.get("percentile_list")
        if asked and job.is_closed:
            yield Hit(
                subject.of_job(job, "percentile_list"),
                f"job `{job.name}` asks for percentiles ({asked}) in a closed loop"
                f" (iodepth={job.options.get('iodepth', '1')}, no rate)",
            )


def _percentile_of_study(subject: Subject) -> Iterator[Hit]:
    """Percentiles that the study wants low, of jobs in a closed loop."""
    study = subject.study
    if study is None or not subject.jobs or not all(job.is_closed for job in subject.jobs):
        return
    changed = [path.rpartition(".")[2] for path in subject.axes if path.startswith("job.")]
    if any(one.startswith(("rate", "thinktime")) for one in changed):
        return
    if subject.is_varied("run.workload", "run.trace"):
        return
    wanted = [one.column for one in study.objectives]
    wanted += [one for one in study.columns if subject.line("columns")]
    for column in wanted:
        if found := _PERCENTILE.search(column.expression.text):
            percent = found[1].replace("_", ".")
            yield Hit(
                subject.line("columns") or subject.line("objectives") or subject.place,
                f"{column.name} is the {percent}th percentile of a closed loop: a slower setting"
                " gets fewer requests, and the missing ones do not count",
            )
            return


def _stalled(subject: Subject, report: Report) -> Iterator[Hit]:
    """Percentiles of a closed loop far beyond the mean: it stalled, and sent nothing meanwhile."""
    trace = report.nandlab.trace
    jobs = [job_of(one.jobname, job_options(report, one)) for one in report.jobs]
    is_closed = all(job.is_closed for job in jobs) if trace is None else not trace.timed
    latency = report.host.latency_us
    if not is_closed or not is_exceeded(latency.count, 99.9) or not latency.mean:
        return
    ratio = latency.p99_9 / latency.mean
    if ratio > STALL:
        depth = report.host.mean_queue_depth
        late = latency.p99_9 / 1e6 * report.host.iops
        yield Hit(
            subject.place,
            f"closed loop with {quantity.mean(depth)} in flight: 0.1 % of requests wait"
            f" {quantity.latency(latency.p99_9)} and more, {ratio:.0f} times the mean; an open"
            f" loop would send {late:,.0f} requests in that time, which the closed loop did not",
        )


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


def _readers(subject: Subject) -> list[tuple[Job, float]]:
    """Jobs that read, each with the bytes that it reads from; empty where a study varies them."""
    spans = ("job.size", "job.offset", "job.rw", "job.random_distribution", "read_cache", "drive")
    if subject.drive is None or subject.is_varied(*spans, "run.workload", "run.trace"):
        return []
    if not subject.value("read_cache.bytes"):
        return []
    capacity = round(subject.capacity_bytes)
    return [(job, job.span_bytes(capacity)) for job in subject.jobs if job.reads]


def _all_in_cache(subject: Subject) -> Iterator[Hit]:
    readers = _readers(subject)
    cache = subject.value("read_cache.bytes") if readers else 0
    # Jobs may share their bytes: no more than all together are read.
    if readers and sum(span for _, span in readers) <= cache:
        job, _ = readers[0]
        yield Hit(
            subject.of_job(job, "size"),
            f"the jobs read {quantity.size(sum(span for _, span in readers))}, which the read cache"
            f" of {quantity.size(cache)} holds: after the first pass no read needs the flash",
        )


def _no_hits(subject: Subject) -> Iterator[Hit]:
    readers = _readers(subject)
    if not readers or not all(job.is_uniform for job, _ in readers):
        return
    cache, least = subject.value("read_cache.bytes"), min(span for _, span in readers)
    if cache < LEAST_HITS * least:
        yield Hit(
            subject.at("read_cache.bytes"),
            f"uniform reads of {quantity.size(least)} hit a cache of {quantity.size(cache)} in"
            f" {cache / least:.2g} of all cases: the run shows what the cache costs, not its use",
        )


_HALF = RANDOM_WRITES.replace("number_ios=40000", "number_ios=10000")

_MIX = "[mix]\nrw=randrw\nrwmixread=90\nbs=4k\nnorandommap\nnumber_ios=40000\n"

_GLOBAL = "[global]\nrw=randwrite\nbs=4k\nnorandommap\n"
#: The others are never measured: the figures are those of the job that somebody waits for.
_OTHERS = "[others]\nrate_iops=120\nnumber_ios=6000\nramp_time=1h\n"
_WAITS = "[waits]\nrate_iops=40\nnumber_ios=2000\n"
_JOBS = _GLOBAL + _OTHERS + _WAITS
_SKEWED = READS + "random_distribution=zipf:1.2\n"
_CACHE = {**SMALL, "read_cache.bytes": 1 << 18}

CHECKS = (
    Check(
        code="L011",
        title="random writes over the whole space only",
        assumed="Random writes are uniform over the whole drive.",
        why="Writes to a part of the drive, or with hot spots, leave emptier victims: random"
        " writes to a small part of a drive stay fast, and the ranking of victim policies can"
        " change.",
        sources=("desnoyers2013", "vanhoudt2013"),
        instead='an axis of locality beside the policy: `path = "job.random_distribution"`,'
        ' `values = ["random", "zipf:0.9"]`, or `path = "job.size"`',
        looks_at=("study",),
        find=_whole_space,
        pair=Pair(
            Setting("the whole drive"),
            Setting("a sixteenth of it", {}, {"workload": f"{RANDOM_WRITES}size=6%\n"}),
            RANDOM_WRITES,
            ("write amplification", "IOPS"),
            SMALL,
            "fill",
            {"skip": "1x", "until": "40000"},
        ),
    ),
    Check(
        code="L012",
        title="a run that is not settled",
        assumed="A fresh drive behaves like a drive in use.",
        why="An empty drive has nothing to collect: its write amplification is 1, and its write"
        " latency is that of the write buffer. Both change over one drive write and more.",
        sources=("desnoyers2013",),
        instead='`precondition = "steady"`, or `until = "settled"`',
        looks_at=("drive", "job", "study", "report"),
        find=_unsettled,
        pair=Pair(
            Setting("empty drive", {}, {"precondition": "none"}),
            Setting("steady", {}, {"precondition": "steady"}),
            _HALF,
            ("write amplification", "IOPS", "write p99 (us)"),
            SMALL,
        ),
    ),
    Check(
        code="L013",
        title="reads of data that were never written",
        assumed="A read costs the same on an empty drive.",
        why="Data that were never written have no map entry: the drive answers without a flash"
        " read, faster than any drive in use.",
        sources=(),
        instead='`precondition = "fill"`',
        looks_at=("drive", "job", "study", "report"),
        find=_unwritten,
        pair=Pair(
            Setting("empty drive", {}, {"precondition": "none"}),
            Setting("filled", {}, {"precondition": "fill"}),
            READS,
            ("read mean (us)", "IOPS"),
            SMALL,
        ),
    ),
    Check(
        code="L014",
        title="a run shorter than the slack of collection",
        assumed="A run over a full drive sees garbage collection.",
        why="A drive that was filled in order has all of its spare flash free. Until the host has"
        " written it, the drive only takes free blocks and collects none.",
        sources=("desnoyers2013",),
        instead='more requests than the spare flash holds, `until = "settled"`, or'
        ' `precondition = "steady"`',
        looks_at=("drive", "job", "study", "report"),
        find=_too_short,
        pair=Pair(
            Setting("10,000 writes"),
            Setting("until settled", {}, {"until": "settled"}),
            _HALF,
            ("write amplification", "IOPS"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L015",
        title="writes aligned to erase blocks of a page map",
        assumed="Writes aligned to erase blocks save copies in a page-mapped drive.",
        why="A page map places data wherever there is room, whatever their addresses. A block map"
        " can gain from alignment, if the writes are as long as all blocks that are written"
        " together.",
        sources=("desnoyers2013",),
        instead="a block-mapped FTL (`fast`, `bast`, `log_group`) and its effective block, or"
        " writes without alignment",
        looks_at=("drive", "job", "study"),
        find=_alignment,
        pair=Pair(
            Setting("page map", {"ftl.name": "page"}),
            Setting("map of erase blocks", {"ftl.name": "fast", "ftl.stripe": 1}),
            "[aligned]\nrw=randwrite\nbs=512k\nblockalign=512k\niodepth=4\nnorandommap\n",
            ("write amplification", "bandwidth (MB/s)"),
            SMALL,
            "fill",
            {"skip": "1x", "until": "1.5x"},
        ),
    ),
    Check(
        code="L016",
        title="percentiles of a closed loop",
        assumed="Percentiles of a closed loop equal those of an application.",
        why="A closed loop sends a request only when another one completes. While the drive"
        " stalls, it sends nothing, so the slow requests that users would have sent are missing."
        " The mean latency is always depth over throughput.",
        sources=(),
        instead="an open loop: `rate_iops=5000` with `rate_process=poisson` and an `iodepth` that"
        " never delays a request, or a trace with its times",
        looks_at=("drive", "job", "study", "report"),
        find=_closed_loop,
        pair=Pair(
            Setting("closed, 1 in flight"),
            Setting(
                "open, the same rate",
                {},
                {"workload": f"{_MIX}iodepth=4096\nrate_iops=8200,900\nrate_process=poisson\n"},
            ),
            _MIX,
            ("IOPS", "read p99 (us)", "read p99.9 (us)"),
            SMALL,
        ),
    ),
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
        code="L027",
        title="a read cache that holds all that is read",
        assumed="Reads of a small file show the speed of the flash.",
        why="What the DRAM of the controller holds is read from there: a benchmark of fewer bytes"
        " than that measures the DRAM and the link. An application with more data does not see it.",
        sources=(),
        instead="jobs that read more than the cache holds (`size`), or `read_cache.bytes = 0` where"
        " the flash is meant",
        looks_at=("drive", "job", "study"),
        find=_all_in_cache,
        pair=Pair(
            Setting("1 MiB is read", {}, {"workload": f"{READS}size=1m\n"}),
            Setting("all is read", {}, {"workload": READS}),
            READS,
            ("read mean (us)", "IOPS"),
            {**SMALL, "read_cache.bytes": 1 << 21},
            "fill",
        ),
    ),
    Check(
        code="L028",
        title="a read cache under uniform reads",
        assumed="Uniform random reads show the use of a read cache.",
        why="A cache holds what is read again. Under uniform reads its share of hits is its share"
        " of the bytes, whatever its policy: next to nothing on a drive. Under the skewed reads of"
        " applications a cache of the same size has many hits (Che 2002 says how many).",
        sources=("che2002",),
        instead="`random_distribution=zipf:0.9` or a trace, or a cache that is large for the bytes"
        " that are read",
        looks_at=("drive", "job", "study"),
        find=_no_hits,
        pair=Pair(
            Setting("uniform reads", {}, {"workload": READS}),
            Setting("skewed reads", {}, {"workload": _SKEWED}),
            READS,
            ("read mean (us)", "IOPS"),
            _CACHE,
            "fill",
        ),
    ),
)
"""In the order of their codes."""
