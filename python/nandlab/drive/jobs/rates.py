"""Rates of jobs that a run did not reach, as notices and checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.drive.jobs.table import sections

if TYPE_CHECKING:
    from nandlab.report.tables import Job, Report

_SHORT = 0.02
"""Of a rate: less is missing for reasons of the clock."""

_DEVIATIONS = 4.0
"""Standard deviations that Poisson arrivals may be behind."""

_SUFFIXES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def job_options(report: Report, job: Job) -> dict[str, str]:
    """The options of a job, those of ``[global]`` included."""
    return {**report["global options"], **job["job options"]}


def missed_rates(report: Report) -> list[str]:
    """A notice for each section and operation that was sent less often than its options ask."""
    found = []
    for section in sections(report):
        options = job_options(report, section.jobs[0])
        if "read_iolog" in options:
            continue
        name = "rate" if "rate" in options else "rate_iops"
        each = _by_operation(options.get(name, ""))
        for op, asked in each.items():
            done = section.done(op)
            count = sum(of.total_ios for of in done)
            if not (asked and count and section.seconds):
                continue
            size = sum(of.io_bytes for of in done) / count if name == "rate" else 1.0
            asked_iops = asked * len(section.jobs) / size
            reached_iops = count / section.seconds
            waited_s = sum(of.lat_ns.mean * of.total_ios for of in done) / count / 1e9
            due = asked_iops * section.seconds
            # The last request is still to complete, and the first one may begin with an interval.
            spare = asked_iops * waited_s + len(section.jobs)
            if options.get("rate_process") == "poisson":
                spare += _DEVIATIONS * math.sqrt(due)
            if due - count > max(_SHORT * due, spare):
                said = [_rate(iops * size, name) for iops in (asked_iops, reached_iops)]
                found.append(f"job `{section.title}`: {op} rate asked {said[0]}, reached {said[1]}")
    return found


def no_depth(report: Report) -> str:
    """Why no job was held to its depth (Little's law)."""
    if report.sim.interrupted:
        return "the run was cut short"
    paces = ("rate", "rate_iops", "thinktime", "read_iolog")
    for job in report.jobs:
        options = job_options(report, job)
        if "ramp_time" in options and not any(pace in options for pace in paces):
            return "not checked with ramp_time"
    return "no depth to keep"


def _by_operation(text: str) -> dict[str, float]:
    """``100``, ``100,50`` or ``,50,20``: a missing last field takes the one before it."""
    parts = [_number(part) for part in text.split(",")]
    read, write, trim = (parts[min(index, len(parts) - 1)] for index in range(3))
    return {"read": read, "write": write, "trim": trim}


def _number(text: str) -> float:
    """A number with a suffix; 0 for any other form, which gives no notice."""
    digits = text.strip().lower().removesuffix("b").removesuffix("i")
    number = digits.rstrip("kmg")
    suffix = digits[len(number) :]
    is_plain = number.isdecimal() and suffix in _SUFFIXES
    return float(number) * _SUFFIXES[suffix] if is_plain else 0.0


def _rate(per_s: float, name: str) -> str:
    return f"{quantity.rate(per_s / 1e6)} MB/s" if name == "rate" else f"{quantity.rate(per_s)}/s"
