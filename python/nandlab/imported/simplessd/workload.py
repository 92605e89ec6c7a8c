"""A workload of SimpleSSD-Standalone: its generator as a fio job, or its trace."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

from nandlab.given.refusal import plain
from nandlab.imported.given import Given
from nandlab.imported.job import Job, job_file
from nandlab.imported.written import DriveFile

_TITLE = "The run of SimpleSSD-Standalone's {}, written by `nandlab import simplessd`."


def workload(
    given: Given, path: Path, folder: str | PathLike[str] | None
) -> tuple[dict[str, str], list[str]]:
    """The files of the run, and what is different.

    Raises:
        NandlabError: a value that is refused.
    """
    run = DriveFile(given)
    run.put("drive_preset", "drive.toml")
    title = _TITLE.format(plain(path.name))
    files: dict[str, str] = {}
    if given["global.Mode"] == "generator":
        job = Job("generator", given)
        _put_job(job)
        run.put("run.workload", "jobs.fio", "global.Mode")
        files["jobs.fio"] = job_file([title], [job], ())
        _unmatch(given, "trace.")
    else:
        _put_trace(run, given, path, folder)
        _unmatch(given, "generator.")
    _put_state(run, given)
    files["run.toml"] = run.text([f"{title} `nandlab run --drive run.toml` runs it."], ())
    return files, run.notes


def _unmatch(given: Given, prefix: str) -> None:
    """Lists the keys of the section that Mode switches off."""
    for key in given.roster:
        if key.name.startswith(prefix):
            given.unmatch(key.name, "only with the other global.Mode")


def _put_state(run: DriveFile, given: Given) -> None:
    """The state of the drive before the run."""
    fill, invalid = given["ftl.FillRatio"], given["ftl.InvalidPageRatio"]
    state = "none" if fill == 0 else "fill" if invalid == 0 else "steady"
    names = ["ftl.FillRatio", "ftl.InvalidPageRatio", "ftl.FillingMode"]
    run.put("run.precondition", state, *names)
    if 0 < fill < 1:
        run.notes.append(
            f"FillRatio fills {fill:g} of the drive there, precondition = {state} all of it here."
        )


def _put_job(job: Job) -> None:
    """The options of the generator."""
    given = job.given

    def of(name: str) -> str:
        return f"generator.{name}"

    way = given[of("readwrite")]
    job.put("rw", way, of("readwrite"))
    if way in ("readwrite", "randrw"):
        job.put("rwmixread", round(100 * given[of("rwmixread")]), of("rwmixread"), how="percent")
    length = given[of("blocksize")]
    if length == 0 or length % 512:
        raise given.refuse(of("blocksize"), "is no size of a request", "multiples of 512 from 512")
    job.put("bs", length, of("blocksize"))
    align = given[of("blockalign")] or length
    if way.startswith("rand"):
        job.put("norandommap", 1, of("readwrite"), how="addresses are drawn anew")
        job.put("blockalign", align, of("blockalign"))
    elif align == length:
        given.move([of("blockalign")], "bs")
    else:
        given.unmatch(of("blockalign"), "requests in order follow each other")
    if given[of("iomode")] == "sync":
        job.put("iodepth", 1, of("iomode"))
    else:
        job.put("iodepth", max(1, given[of("iodepth")]), of("iodepth"), of("iomode"))
    job.put("offset", given[of("offset")], of("offset"))
    if given[of("size")]:
        job.put("size", given[of("size")], of("size"))
    else:
        given.move([of("size")], "size")
    if given[of("time_based")]:
        job.put("time_based", 1, of("time_based"))
        job.put("runtime", f"{max(1, given[of('runtime')] // 10**6)}us", of("runtime"))
    elif given[of("io_size")]:
        job.put("io_size", given[of("io_size")], of("io_size"), of("time_based"))
    else:
        hint = "give io_size, or time_based and runtime"
        raise given.refuse(of("io_size"), "ends the run at once", hint=hint)
    job.put("randseed", given[of("randseed")], of("randseed"))


def _put_trace(
    run: DriveFile, given: Given, path: Path, folder: str | PathLike[str] | None
) -> None:
    """The trace, and how it is read."""
    trace = Path(given["trace.File"])
    beside = path.parent / trace
    if not trace.is_absolute():
        trace = Path(os.path.relpath(beside, folder)) if folder is not None else beside
    run.put("run.trace", trace.as_posix(), "trace.File", "global.Mode")
    if not beside.is_file():
        run.notes.append(f"There is no {plain(beside)} yet: set run.trace.")
    regex = given["trace.Regex"]
    if action := _action(regex):
        run.put("run.format", "blkparse", how="as trace.Regex reads it")
        run.put("run.action", action, "trace.Regex")
    way = given["trace.TimingMode"]
    if way == "one by one":
        run.put("run.iodepth", 1, "trace.TimingMode")
    elif way == "queue depth":
        run.put("run.iodepth", given["trace.QueueDepth"], "trace.QueueDepth", "trace.TimingMode")
    else:
        given.move(["trace.TimingMode"], "run.trace")


def _action(regex: str) -> str:
    """The action of blkparse's lines that an expression takes; empty for other expressions."""
    found = re.search(r"(?:\+|\\s)([QGIDC])(?: |\\s)", regex)
    return found[1] if found and r"\d+,\d+" in regex else ""
