"""Laws of tables: requests, time series, rows of the test board, curves of codes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from fuzz.laws.report import by_op
from nandlab.drive.trust.replicates import reports_of
from nandlab.report import Report

_CLOSE = 1e-6

#: Columns that are NaN where there is nothing to tell.
_MAY_BE_NAN = ("latency_mean_us", "write_amplification")

#: Lower end, value and upper end; part and whole.
_INTERVALS = (
    ("rber_low", "rber", "rber_high"),
    ("fer_low", "fer", "fer_high"),
    ("ber_low", "ber", "ber_high"),
    ("uber_low", "uber", "uber_high"),
    ("cell_error_rate_low", "cell_error_rate", "cell_error_rate_high"),
)
_PARTS = (
    ("bit_errors", "bits"),
    ("cell_errors", "cells"),
    ("frame_errors", "frames"),
    ("undetected", "frame_errors"),
)


def broken(table: pa.Table, report: Report | None) -> Iterator[str]:
    """What is broken in a table; `report` is that of the same run."""
    yield from _finite(table)
    report = None if report is None else _of_first(report)
    names = set(table.column_names)
    if "latency_ns" in names:
        yield from _requests(table, report)
    elif "duration_s" in names:
        yield from _series(table, report)
    else:
        yield from _rates(table)


def _of_first(report: Report) -> Report | None:
    """The report of the first replicate, which tables are of; None where it has not ended."""
    is_whole = not report.get("replicates") or not report.sim.interrupted
    return reports_of(report)[0] if is_whole else None


def _finite(table: pa.Table) -> Iterator[str]:
    """Numbers are finite and no rate, count or time is below zero."""
    for name in table.column_names:
        column = table[name]
        if not pa.types.is_floating(column.type):
            continue
        if (
            name not in _MAY_BE_NAN
            and not pc.all(pc.is_finite(pc.drop_null(column))).as_py()
            and (len(pc.drop_null(column)))
        ):
            yield f"{name} is not finite"


def _requests(table: pa.Table, report: Report | None) -> Iterator[str]:
    """Requests: times are in order, latencies are their difference, all are in the report."""
    names = ("arrival_ns", "start_ns", "completion_ns", "latency_ns")
    arrival, start, completion, latency = (table[name].to_numpy() for name in names)
    if (start < arrival).any() or (completion < start).any():
        yield "requests: a time goes back"
    if (completion - arrival != latency).any():
        yield "requests: a latency is not completion - arrival"
    if (completion[1:] < completion[:-1]).any():
        yield "requests: not in the order of completion"
    parts = sum(table[name].to_numpy() for name in ("queue_ns", "flash_ns", "bus_ns", "ecc_ns"))
    if len(table) and (parts > latency).any():
        yield "requests: parts are longer than the latency"
    if report is None:
        return
    if len(table) != report.host.requests_completed:
        yield f"requests: {len(table)} rows of {report.host.requests_completed}"
    measured = table.filter(table["measured"])
    for op, part in by_op(report).items():
        rows = measured.filter(pc.equal(measured["op"].cast(pa.string()), op))
        if len(rows) != part.requests:
            yield f"requests: {len(rows)} rows of {part.requests} {op}s"
            continue
        if not len(rows):
            continue
        ordered = sorted(rows["latency_ns"].to_pylist())
        if pc.sum(rows["length_bytes"]).as_py() != part.bytes:
            yield f"requests: bytes of {op}s are not those of the report"
        for key, share in (("p50", (1, 2)), ("p99", (99, 100)), ("p99_9", (999, 1000))):
            rank = max(1, math.ceil(share[0] * len(ordered) / share[1]))
            exact, said = ordered[rank - 1] / 1e3, part.latency_us[key]
            if abs(said - exact) > 1.1e-3 * exact + 1e-3:
                yield f"requests: {key} of {op}s is {exact} us, the report says {said}"
        if abs(sum(ordered) / len(ordered) / 1e3 - part.latency_us.mean) > _CLOSE * (
            ordered[-1] / 1e3 + 1
        ):
            yield f"requests: mean of {op}s is not the report's"


def _series(table: pa.Table, report: Report | None) -> Iterator[str]:
    """Time series: intervals join, and their requests are those of the report."""
    start, length = (table[name].to_numpy() for name in ("time_s", "duration_s"))
    if (length < 0).any() or (
        abs(start[1:] - start[:-1] - length[:-1]) > 1e-9 + 1e-9 * start[1:]
    ).any():
        yield "series: intervals do not join"
    for name in table.column_names:
        low = pc.min(table[name]).as_py()
        if low is not None and low < 0:
            yield f"series: {name} is below zero"
    if report is None or report.host.requests_failed:
        return
    ended = sum((table[f"{op}_iops"].to_numpy() * length).sum() for op in ("read", "write"))
    if ended > report.host.requests_completed * (1 + _CLOSE) + _CLOSE:
        yield f"series: {ended} requests of {report.host.requests_completed}"


def _rates(table: pa.Table) -> Iterator[str]:
    """Rates: within 0 and 1, within their intervals; parts no more than their whole."""
    names = set(table.column_names)
    for column in table.column_names:
        if not pa.types.is_floating(table[column].type):
            continue
        low, high = (pc.min(table[column]).as_py(), pc.max(table[column]).as_py())
        is_rate = column.split("_")[-1] in ("rber", "fer", "ber") or column.endswith("_rate")
        if is_rate and low is not None and not 0 <= low <= high <= 1:
            yield f"{column} lies within {low} and {high}"
    for ends in _INTERVALS:
        if names.issuperset(ends) and len(table):
            low, value, high = (table[name] for name in ends)
            if not pc.all(pc.and_(pc.less_equal(low, value), pc.less_equal(value, high))).as_py():
                yield f"{ends[1]} lies without its interval"
    for part, whole in _PARTS:
        is_there = names.issuperset((part, whole)) and len(table) > 0
        if is_there and not pc.all(pc.less_equal(table[part], table[whole])).as_py():
            yield f"more {part} than {whole}"
