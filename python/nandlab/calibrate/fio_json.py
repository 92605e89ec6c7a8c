"""Results of fio as measured rows: `--output-format=json` or `json+`, with their job options.

Jobs of one group ran at the same time and are one row. Percentiles of several of them can be joined
only where `json+` has their histograms. `nandlab run --json` writes the same keys, and is read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nandlab.calibrate.metric import DIRECTIONS, PERCENTILES
from nandlab.calibrate.row import Row, said_bytes
from nandlab.given.refusal import refusal

EXPECTED = "a result of `fio --output-format=json`"

_SPELLED: dict[str, str] = {"readwrite": "rw", "blocksize": "bs", "io_limit": "io_size"}

_OF_LENGTH = {
    *("runtime", "timeout", "time_based", "ramp_time", "number_ios", "io_size", "loops"),
    *("startdelay", "stonewall", "wait_for_previous", "new_group", "group_reporting"),
}
"""What says how long a run lasts: the simulated one has a length of its own."""

_OF_PLACE = {
    *("size", "filesize", "offset", "fileoffset", "offset_increment", "offset_align"),
    *("filename", "directory", "nrfiles"),
}
"""Where on the drive: a share of it holds here too, bytes are those of another drive."""

_OF_FIO = {
    *("ioengine", "direct", "thread", "buffered", "invalidate", "name", "description"),
    *("write_bw_log", "write_lat_log", "write_iops_log", "log_avg_msec", "percentile_list"),
    *("output", "output-format", "cpus_allowed", "cpus_allowed_policy", "numa_mem_policy"),
    *("lat_percentiles", "clat_percentiles", "slat_percentiles", "hipri", "fixedbufs"),
    *("registerfiles", "sqthread_poll", "sqthread_poll_cpu", "cmd_type", "refill_buffers"),
    *("randrepeat", "allrandrepeat", "randseed", "eta", "status-interval", "minimal"),
}
"""What is about fio and its host."""


def rows_of_fio(text: str, place: str) -> tuple[list[Row], list[str]]:
    """The rows of a result, one for each group of jobs, with notes.

    Raises:
        NandlabError: it is no result of fio, or a job failed.
    """
    result = _loaded(text, place)
    common = _options(result.get("global options", {}))
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for job in result["jobs"]:
        if not isinstance(job, dict):
            raise refusal(place, "a job that is not an object", EXPECTED)
        groups.setdefault(int(job.get("groupid", 0)), []).append(job)
    rows: list[Row] = []
    notes: dict[str, None] = {}
    for number, jobs in groups.items():
        where = place if len(groups) == 1 else f"{place}: group {number}"
        row, said = _row(where, jobs, common, result)
        rows.append(row)
        notes |= dict.fromkeys(said)
    return rows, list(notes)


def _loaded(text: str, place: str) -> dict[str, Any]:
    # fio's own messages may stand before the object.
    start = text.find("{")
    try:
        result = json.loads(text[max(start, 0) :])
    except (ValueError, RecursionError) as error:
        raise refusal(place, f"not JSON: {str(error).splitlines()[0]}", EXPECTED) from None
    if not isinstance(result, dict) or not isinstance(result.get("jobs"), list):
        raise refusal(place, "no `jobs`", EXPECTED)
    if not result["jobs"]:
        raise refusal(place, "no job has run", EXPECTED)
    return result


def _options(given: Any) -> dict[str, str]:
    """Options by their first spelling."""
    if not isinstance(given, dict):
        return {}
    return {_SPELLED.get(str(key), str(key)): str(value) for key, value in given.items()}


def _row(
    place: str,
    jobs: list[Mapping[str, Any]],
    common: Mapping[str, str],
    result: Mapping[str, Any],
) -> tuple[Row, list[str]]:
    """The row of a group."""
    notes: list[str] = []
    sections: dict[str, dict[str, str]] = {}
    for job in jobs:
        if job.get("error"):
            raise refusal(place, f"job {job.get('jobname')} ended with error {job['error']}")
        # Clones of one job come one by one where they were not reported as a group.
        name = str(job.get("jobname", "job"))
        sections[name] = {**common, **_options(job.get("job options", {}))}
    text = "".join(_section(name, options, notes, place) for name, options in sections.items())
    measured, said = _metrics(jobs, place)
    notes += said
    done = [direction for direction in DIRECTIONS if f"{direction}_iops" in measured]
    if not done:
        raise refusal(place, "no reads and no writes", EXPECTED)
    direction = done[0] if len(done) == 1 else ""
    if direction:
        measured = {key.removeprefix(f"{direction}_"): one for key, one in measured.items()}
    if amplification := _amplification(result):
        measured["write_amplification"] = amplification
    columns = _columns(next(iter(sections.values())), place)
    columns["file"] = place
    return (
        Row(
            place=place,
            name=_name(sections, columns, direction),
            job=text,
            direction=direction,
            measured=measured,
            columns=columns,
            is_of_fio=True,
        ),
        notes,
    )


def _section(name: str, options: Mapping[str, str], notes: list[str], place: str) -> str:
    """A job as the simulator runs it: without its length, its files and fio's own matters."""
    kept: list[str] = []
    left: list[str] = []
    for key, value in options.items():
        if key in _OF_LENGTH or key in _OF_FIO:
            continue
        if key in _OF_PLACE and not value.endswith("%"):
            left += [] if key in ("filename", "directory", "nrfiles") else [f"{key}={value}"]
            continue
        if any(sign in value for sign in "\n\r;#"):
            raise refusal(place, f"{key}: {value!r}", "an option as a job file has it")
        kept.append(f"{key}={value}")
    if left:
        notes.append(f"left out: {', '.join(left)}: simulated jobs use the whole drive")
    title = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name) or "job"
    return "\n".join([f"[{title if title != 'global' else 'job'}]", *kept]) + "\n"


def _metrics(jobs: list[Mapping[str, Any]], place: str) -> tuple[dict[str, float], list[str]]:
    """Metrics of jobs that ran together, by direction."""
    measured: dict[str, float] = {}
    notes: list[str] = []
    for direction in DIRECTIONS:
        every: list[Any] = [job.get(direction) for job in jobs]
        parts: list[Mapping[str, Any]] = [
            part for part in every if isinstance(part, dict) and _count(part) > 0
        ]
        if not parts:
            continue
        try:
            measured[f"{direction}_iops"] = sum(float(part["iops"]) for part in parts)
            rate = sum(float(part.get("bw_bytes", 1024 * part["bw"])) for part in parts)
            latencies = [_latency(part) for part in parts]
            counts = [float(one.get("N", part["total_ios"])) for one, part in _pairs(parts)]
            means = [float(one["mean"]) for one in latencies]
        except (KeyError, TypeError, ValueError):
            raise refusal(place, f"`{direction}` lacks keys of fio 3", EXPECTED) from None
        measured[f"{direction}_bandwidth_mb_s"] = rate / 1e6
        mean = sum(n * one for n, one in zip(counts, means, strict=True)) / sum(counts)
        measured[f"{direction}_mean_us"] = mean / 1e3
        percentiles = list(_percentiles(parts))
        if not percentiles:
            notes.append(
                "left out: percentiles of several jobs, which cannot be joined; use "
                "group_reporting, or --output-format=json+"
            )
        measured |= {f"{direction}_{name}": value for name, value in percentiles}
    return {name: value for name, value in measured.items() if value > 0}, notes


def _pairs(parts: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for part in parts:
        yield _latency(part), part


def _count(part: Mapping[str, Any]) -> float:
    count = part.get("total_ios", 0)
    return count if isinstance(count, int | float) else 0


def _latency(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Total latency, or completion latency where fio kept no other."""
    for name in ("lat_ns", "clat_ns"):
        found = part.get(name)
        if isinstance(found, dict) and found.get("mean"):
            return found
    raise KeyError("lat_ns")


def _distribution(part: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Percentiles or bins: of total latency where it has them, else of completion latency."""
    for name in ("lat_ns", "clat_ns"):
        found = part.get(name)
        if isinstance(found, dict) and isinstance(found.get(key), dict) and found[key]:
            return dict(found[key])
    return None


def _percentiles(parts: list[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Percentiles of one job as fio has them; of several by their joined histograms."""
    if len(parts) == 1:
        table = _distribution(parts[0], "percentile") or {}
        listed = {round(float(key), 6): float(value) for key, value in table.items()}
        for name, percent in PERCENTILES.items():
            if percent in listed:
                yield name, listed[percent] / 1e3
        return
    joined: dict[int, int] = {}
    for part in parts:
        bins = _distribution(part, "bins")
        if bins is None:
            return
        for at_ns, count in bins.items():
            joined[int(at_ns)] = joined.get(int(at_ns), 0) + int(count)
    total = sum(joined.values())
    for name, percent in PERCENTILES.items():
        below = 0
        for at in sorted(joined):
            below += joined[at]
            if below >= total * percent / 100:
                yield name, at / 1e3
                break


def _amplification(result: Mapping[str, Any]) -> float | None:
    """Write amplification, which a report of nandlab has beside fio's keys."""
    ftl = result.get("ftl")
    value = ftl.get("write_amplification") if isinstance(ftl, dict) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def _columns(options: Mapping[str, str], place: str) -> dict[str, Any]:
    """What expressions and pictures know of a row."""
    columns: dict[str, Any] = {"operation": options.get("rw", "read")}
    size = options.get("bs", "4k").lower().partition(",")[0].removesuffix("b").removesuffix("i")
    digits = size.rstrip("kmg")
    if digits.isdigit():
        columns["block_bytes"] = int(digits) * _UNITS.get(size[len(digits) :], 1)
    for key, column in (("iodepth", "depth"), ("numjobs", "jobs"), ("rwmixread", "read_percent")):
        value = options.get(key, "")
        if value.isdigit():
            columns[column] = int(value)
        elif column in ("depth", "jobs"):
            columns[column] = 1
    rate = options.get("rate_iops", "").partition(",")[0]
    if rate.isdigit():
        columns["rate_iops"] = float(rate)
    return columns


def _name(
    sections: Mapping[str, Mapping[str, str]], columns: dict[str, Any], direction: str
) -> str:
    operation = columns["operation"]
    if len(sections) > 1:
        return " + ".join(sections)
    parts = [str(operation)]
    if "block_bytes" in columns:
        parts.append(said_bytes(columns["block_bytes"]))
    if not direction and "read_percent" in columns:
        parts.append(f"{columns['read_percent']} % reads")
    columns["series"] = " ".join(parts)
    parts.append(f"depth {columns['depth']}")
    if columns["jobs"] > 1:
        parts.append(f"{columns['jobs']} jobs")
    if "rate_iops" in columns:
        parts.append(f"{columns['rate_iops']:g} IOPS asked")
    return " ".join(parts)
