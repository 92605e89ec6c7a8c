"""Measures of a served drive: as numbers, as the table of `nandlab ctl top`, and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from nandlab.display import quantity

if TYPE_CHECKING:
    from rich.table import Table

_PERCENTS = (50.0, 99.0, 99.9)

_EDGES_NS = [digit * 10**power for power in range(3, 10) for digit in (1, 2, 5)] + [10**10]
"""Upper edges of the buckets for Prometheus: 1 us to 10 s."""

Buckets = Sequence[Sequence[int]]
"""Upper edge of a bucket in ns and its count, by rising edge; 0.1 % wide."""


def percentiles_us(buckets: Buckets) -> dict[str, float]:
    """Count, percentiles and maximum of latencies, in microseconds; empty without any."""
    if not buckets:
        return {}
    sums = list(accumulate(count for _, count in buckets))
    told: dict[str, float] = {"count": sums[-1]}
    for percent in _PERCENTS:
        rank = sums[-1] * percent / 100
        at = next(index for index, reached in enumerate(sums) if reached >= rank * (1 - 1e-12))
        told[f"p{percent:g}"] = buckets[at][0] / 1e3
    return {**told, "max": buckets[-1][0] / 1e3}


def summary(now: Mapping[str, Any]) -> dict[str, Any]:
    """Measures with percentiles in place of buckets."""
    told = {name: value for name, value in now.items() if name not in ("latency_ns", "late_ns")}
    told["latency_us"] = {op: percentiles_us(of) for op, of in now["latency_ns"].items()}
    return {**told, "late_us": percentiles_us(now["late_ns"])}


def _since(now: Buckets, before: Buckets) -> list[tuple[int, int]]:
    """What has been added to buckets."""
    earlier = {edge: count for edge, count in before}  # noqa: C416
    added = ((edge, count - earlier.get(edge, 0)) for edge, count in now)
    return [(edge, count) for edge, count in added if count > 0]


def table(now: Mapping[str, Any], before: Mapping[str, Any]) -> Table:
    """Rates and latencies between two measures, and the state of the drive at the second."""
    from rich.table import Table

    seconds = max(now["wall_s"] - before["wall_s"], 1e-9)
    out = Table(box=None, pad_edge=False)
    out.add_column("")
    for name in ("/s", "MB/s", "p50", "p99", "p99.9", "max"):
        out.add_column(name, justify="right")

    def row(name: str, buckets: Buckets, size_bytes: int | None) -> None:
        told = percentiles_us(buckets)
        rate = quantity.rate(told.get("count", 0) / seconds)
        moved = "" if size_bytes is None else quantity.rate(size_bytes / 1e6 / seconds)
        spread = [quantity.latency(told[key]) if told else "" for key in list(told)[1:]]
        out.add_row(name, rate, moved, *spread)

    for op, buckets in now["latency_ns"].items():
        done = now["bytes"][op] - before["bytes"].get(op, 0)
        row(op, _since(buckets, before["latency_ns"].get(op, [])), done if done else None)
    row("answers late", _since(now["late_ns"], before["late_ns"]), None)
    for name, text in _state(now, before, seconds):
        out.add_row(name, text)
    return out


def _state(
    now: Mapping[str, Any], before: Mapping[str, Any], seconds: float
) -> Iterator[tuple[str, str]]:
    """Facts of the drive, with what was added since `before` a second."""
    counts, earlier = now["counts"], before["counts"]

    def per_s(*names: str) -> str:
        added = sum(counts.get(name, 0) - earlier.get(name, 0) for name in names)
        return f"{quantity.rate(added / seconds)}/s"

    soft = [name for name in counts if name.startswith("ecc_soft_reads")]
    yield "power", now["power"]
    yield "clients", f"{now['clients']}, {now['under_way']} requests under way"
    yield "write amplification", f"{now['write_amplification']:.2f}"
    yield "free blocks", f"{now['free_blocks']:,} of {now['blocks']:,}"
    yield "collection", f"{per_s('gc_runs')} blocks, {per_s('gc_copies')} units"
    yield "write buffer", f"{now['buffered_units']:,} units, {per_s('buffer_stalls')} stalls"
    yield "read retries", per_s("ecc_retries")
    yield "soft reads", per_s(*soft)
    yield "oldest data", quantity.seconds(now["oldest_hours"] * 3600)
    yield "failed requests", f"{now['failed']:,}"
    yield "late answers", f"{now['late_answers']:,} by more than 50 µs"
    yield "simulated", f"{now['now_ns'] / 1e9:,.1f} s"


def prometheus(now: Mapping[str, Any]) -> str:
    """Measures in the text format of Prometheus (version 0.0.4)."""
    return "".join(f"{line}\n" for line in _lines(now))


def _lines(now: Mapping[str, Any]) -> Iterator[str]:
    yield from _histogram(
        "latency_seconds", "Simulated latency of completed requests.", "op", now["latency_ns"]
    )
    late = {"all": now["late_ns"]} if now["late_ns"] else {}
    yield from _histogram("late_seconds", "Lateness of answers.", "op", late)
    yield from _family("bytes_total", "counter", "Bytes of completed requests.")
    for op, size_bytes in now["bytes"].items():
        yield f'nandlab_bytes_total{{op="{op}"}} {size_bytes}'
    for name, help_text, value in (
        ("clients", "Clients that are connected.", now["clients"]),
        ("under_way", "Requests that are under way.", now["under_way"]),
        ("power_on", "1 where the drive has power and has started up.", now["power"] == "on"),
        ("write_amplification", "Units programmed for each of the host.", None),
        ("free_blocks", "Erased blocks.", now["free_blocks"]),
        ("blocks", "Blocks in use.", now["blocks"]),
        ("buffered_units", "Units in the write buffer.", now["buffered_units"]),
        ("oldest_data_seconds", "Age of the oldest data.", now["oldest_hours"] * 3600),
        ("simulated_seconds", "Simulated time.", now["now_ns"] / 1e9),
    ):
        yield from _family(name, "gauge", help_text)
        yield f"nandlab_{name} {float(now[name] if value is None else value):.12g}"
    for name, count in {
        "failed": now["failed"],
        "late_answers": now["late_answers"],
        **now["counts"],
    }.items():
        yield f"# TYPE nandlab_{name}_total counter"
        yield f"nandlab_{name}_total {count}"


def _family(name: str, kind: str, help_text: str) -> Iterator[str]:
    yield f"# HELP nandlab_{name} {help_text}"
    yield f"# TYPE nandlab_{name} {kind}"


def _histogram(
    name: str, help_text: str, label: str, every: Mapping[str, Buckets]
) -> Iterator[str]:
    """Buckets as those of Prometheus: each counts all that is not longer than its edge."""
    yield from _family(name, "histogram", help_text)
    for of, buckets in every.items():
        labels = f'{label}="{of}"'
        for edge in _EDGES_NS:
            below = sum(count for upper, count in buckets if upper <= edge)
            yield f'nandlab_{name}_bucket{{{labels},le="{edge / 1e9:g}"}} {below}'
        total = sum(count for _, count in buckets)
        yield f'nandlab_{name}_bucket{{{labels},le="+Inf"}} {total}'
        sum_s = sum(upper * count for upper, count in buckets) / 1e9
        yield f"nandlab_{name}_sum{{{labels}}} {sum_s:.9g}"
        yield f"nandlab_{name}_count{{{labels}}} {total}"
