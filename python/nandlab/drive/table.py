"""Table of a result, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab._core import OPERATIONS
from nandlab.display import quantity
from nandlab.display.notebook import html_of
from nandlab.drive import exchange
from nandlab.drive.jobs.sets import set_parts
from nandlab.drive.jobs.table import job_parts
from nandlab.drive.jobs.tenants import tenant_parts
from nandlab.drive.latency import is_exceeded
from nandlab.drive.trust import replicates
from nandlab.served import table as served

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from nandlab.drive.latency import Latency
    from nandlab.drive.result import Result
    from nandlab.report.tables import (
        Cost,
        Dies,
        Ecc,
        Operation,
        Report,
        Summary,
        Windows,
        WindowsOfSets,
        Workload,
    )

_BAR = 30
"""Characters of a bar."""

_WIDE = 94
"""Columns of a terminal that hold the whole table; on a narrower one it says less."""

_SILENT_MS = 100.0
"""Shortest silence that the table names; assumed: shorter ones are usual on a busy drive."""

_PERCENTS = (50, 99, 99.9, 99.99)

_DIE_COLOURS = {
    "read": "blue",
    "program": "yellow",
    "erase": "red",
    "wait": "magenta",
    "idle": "bright_black",
}


def print_result(result: Result, console: Console) -> None:
    """Prints a result."""
    for part in _parts(result, is_narrow=console.width < _WIDE):
        console.print(part)


def result_html(result: Result) -> str:
    """The same as HTML, for notebooks."""
    return html_of(*_parts(result, is_narrow=False))


def _parts(result: Result, *, is_narrow: bool) -> Iterator[RenderableType]:
    report = result.report
    yield _facts(
        {
            "drive": _drive(report),
            "changed": ", ".join(report.nandlab.run.set),
            "workload": _workload(report),
            "interrupted": _interrupted(result),
            "replicates": replicates.told(report),
        }
    )
    if not result.has_begun:
        return
    yield ""
    yield _latencies(result, report, is_narrow=is_narrow)
    yield from job_parts(report, is_narrow=is_narrow)
    yield from tenant_parts(report)
    yield from set_parts(report)
    yield from served.traffic_parts(report)
    yield ""
    yield _facts(
        {
            "write amplification": _amplification(report),
            "garbage collection": _collection(report),
            "windows": _windows(report),
            "merges": _merges(report),
            "map on flash": _map(report),
            "SLC cache": _cache(report),
            "FTL memory": _ftl_ram(report),
            "for the start-up": _recovery(report),
            "parity": _parity(report),
            "exchange": exchange.told(report),
            "power cut": _power_cut(report),
            "start-up": _start_up(report),
            "nand": _nand(result, report),
            "power": _power(report),
            "errors": _errors(report),
            "failed requests": _failed(report),
            "longest silence": _silence(report),
            "clients": served.clients(report),
            "answers": served.answers(report),
            "power cuts": served.cuts(report),
            "blocks": _blocks(report),
            "refresh": _refresh(report),
            "buffer": _buffer(report),
            "read cache": _read_cache(report),
            "bottleneck": str(result.bottleneck),
            "cost": _cost(report.cost),
            "channels": _channels(report.channels.busy_fraction),
            "dies": _dies(report.dies),
            "decoders": _decoders(report.ecc),
            "checks": _checks(result),
            "time": _time(report),
        }
    )


def _facts(facts: dict[str, str | Text]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True, width=19)
    table.add_column()
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact)
    return table


def _drive(report: Report) -> str:
    about = report.nandlab
    capacity = quantity.size(about.capacity_bytes)
    return f"{Path(about.drive).stem}, {capacity}: {about.summary}"


def _workload(report: Report) -> str:
    run, trace = report.nandlab.run, report.nandlab.trace
    text = run.name
    if trace:
        text += f", {trace.format}, {_pace(run, trace)}"
    if len(report.jobs) > 1:
        text += f", {len(report.jobs)} jobs"
    if report.sim.begun:
        text += f", mean queue depth {quantity.mean(report.host.mean_queue_depth)}"
    before = run.precondition
    if before != "none":
        sim = report.sim
        amplification = sim.precondition_write_amplification
        unsettled = ", not settled" if sim.precondition_settled is False else ""
        text += f"; drive preconditioned: {before}"
        text += f" (write amplification {amplification:.3f}{unsettled})" if amplification else ""
    return text


def _pace(run: Workload, trace: Summary) -> str:
    """When the requests of a trace are sent."""
    scale = run.get("time_scale", 1.0)
    if trace.timed:
        return "at its own times" if scale == 1.0 else f"at its own times x {scale:g}"
    pauses = "" if scale == 1.0 else f", pauses x {scale:g}"
    return f"{run.iodepth or 1} in flight{pauses}"


def _interrupted(result: Result) -> str:
    if not result.has_begun:
        return "during preconditioning; nothing was run"
    return "the table has the part until then" if result.interrupted else ""


def _latencies(result: Result, report: Report, *, is_narrow: bool) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("latency", style="bold")
    counts = ["IOPS", "MB/s"] if is_narrow else ["requests", "IOPS", "MB/s"]
    for name in (*counts, "mean", *(f"p{percent:g}" for percent in _PERCENTS), "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for op in OPERATIONS:
        latency: Latency | None = result.of_zones.get(op) or getattr(result, op, None)
        if latency is None or latency.count == 0:
            continue
        host: Operation = {**(report.zones or {}), **report.host}[op]
        moves = op in ("read", "write", "append")
        bandwidth = quantity.rate(host.bandwidth_mb_s) if moves else ""
        rates = [f"{latency.count:,}", quantity.rate(host.iops), bandwidth]
        digits = 3 if is_narrow else 4
        at = {percent: latency.percentile(percent) for percent in _PERCENTS}
        tail = [
            # Of few requests the highest percentiles are the greatest latency, and no estimate.
            quantity.latency_cell(us, digits) if is_exceeded(latency.count, percent) else ""
            for percent, us in at.items()
        ]
        mean, most = (quantity.latency_cell(us, digits) for us in (latency.mean_us, latency.max_us))
        table.add_row(op, *rates[-len(counts) :], mean, *tail, most)
        if any(spreads := _spreads(report, op, moves=moves)):
            table.add_row("", *spreads[-len(counts) - len(tail) - 2 :], style="bright_black")
    if not table.row_count:
        table.add_row("none", "0")
    return table


def _spreads(report: Report, op: str, *, moves: bool) -> list[str]:
    """The row of intervals below an operation, as wide as the table; of a run with replicates."""
    path = f"{'host' if op in report.host else 'zones'}.{op}"
    latency = f"{path}.latency_us"
    return [
        "",
        replicates.spread(report, f"{path}.iops"),
        replicates.spread(report, f"{path}.bandwidth_mb_s") if moves else "",
        replicates.spread(report, f"{latency}.mean"),
        *(replicates.percentile_spread(report, latency, percent) for percent in _PERCENTS),
        replicates.spread(report, f"{latency}.max"),
    ]


def _amplification(report: Report) -> str:
    ftl = report.ftl
    if not ftl.host_units:
        return ""
    programmed = {
        "host": ftl.host_units,
        "collection": ftl.gc_copies - ftl.levelled_units,
        "wear levelling": ftl.levelled_units,
        "padding": ftl.padding_units,
        "map": ftl.map.writes,
    }
    # Parts of what was programmed, so that they add up to the figure before them.
    share = ftl.write_amplification / max(sum(programmed.values()), 1)
    parts = " + ".join(f"{units * share:.3f} {use}" for use, units in programmed.items() if units)
    spread = replicates.spread(report, "ftl.write_amplification")
    text = " ".join(filter(None, [f"{ftl.write_amplification:.3f}", spread, "=", parts]))
    flash, settled = ftl.write_amplification_flash, report.settled
    if report.buffer.coalesced and f"{flash:.3f}" != f"{ftl.write_amplification:.3f}":
        text += f"; {flash:.3f} of what left the write buffer"
    is_watched = settled.metric == "write_amplification" and settled.settled_by == "run"
    if is_watched and report.nandlab.run.until:
        return f"settled at {settled.settled_value:.3f}; whole run {text}"
    return text


def _collection(report: Report) -> str:
    ftl = report.ftl
    if not ftl.gc_runs and not ftl.gc_copies:
        return "none"
    size = quantity.size(ftl.gc_copies * ftl.unit_bytes)
    # What is moved before the first block is reclaimed counts in the write amplification.
    blocks = f"{ftl.gc_runs:,} blocks" if ftl.gc_runs else "no block yet"
    levelled = f", {ftl.levelled_blocks:,} for wear levelling" if ftl.levelled_blocks else ""
    return f"{ftl.gc_copies:,} units moved ({size}), {blocks} reclaimed{levelled}"


def _windows(report: Report) -> str:
    windows = report.windows
    if not windows:
        return ""
    if not windows.sets:
        return _windows_of(windows)
    named = ("set " + ", ".join(map(str, row.sets)) for row in windows.sets)
    rows = zip(named, windows.sets, strict=True)
    return "; ".join(f"{name}: {_windows_of(row)}" for name, row in rows)


def _windows_of(windows: Windows | WindowsOfSets) -> str:
    text = f"{windows.kept:,} kept, {windows.broken:,} broken"
    kinds = {"inside": windows.inside.read.latency_us, "outside": windows.outside.read.latency_us}
    tails = [
        f"{quantity.latency(latency.p99_9)} {name}"
        for name, latency in kinds.items()
        if is_exceeded(latency.count, 99.9)
    ]
    return f"{text}; p99.9 of reads {', '.join(tails)}" if tails else text


def _recovery(report: Report) -> str:
    power = report.power
    if not power:
        return ""
    counts = {
        "of summaries": power.summary_pages,
        "of trims": power.trim_pages,
        "of opened blocks": power.opened_pages,
        "of tables": power.table_pages,
        "of copies": power.backup_pages,
    }
    pages = [f"{count:,} {name}" for name, count in counts.items() if count]
    written = f"write amplification {quantity.mean(power.write_amplification)} with "
    return written + (", ".join(pages) + " pages" if pages else "no page more")


def _power_cut(report: Report) -> str:
    cut = report.power and report.power.cut
    if not cut:
        return ""
    held = f", capacitors for {cut.held_up_s * 1e3:.3g} ms" if cut.held_up_s else ""
    lost = cut.unprotected_units
    failed = f", {lost:,} units lost on failed dies" if lost else ""
    return (
        f"after {quantity.mean(cut.at_s)} s: {cut.requests:,} requests not answered,"
        f" {cut.buffered_units:,} units in the buffer alone,"
        f" {cut.torn_programs:,} programs and {cut.torn_erases:,} erases torn{held}{failed}"
    )


def _start_up(report: Report) -> str:
    started = report.power and report.power.start_up
    if not started:
        return ""
    pages = started.log_reads + started.page_reads + started.summary_reads
    restored = started.restored_units
    return (
        f"ready after {started.time_s:.4g} s, {pages:,} pages read,"
        f" {started.mapped_units:,} units found"
        + (f", {restored:,} restored from copies" if restored else "")
    )


def _merges(report: Report) -> str:
    merges = report.ftl.merges
    return ", ".join(f"{count:,} {kind}" for kind, count in merges.items() if count)


def _map(report: Report) -> str:
    access = report.ftl.map
    asked = access.hits + access.misses
    if not asked:
        return ""
    if "map_segments" in report.ftl.ram_bytes:
        return (
            f"{access.mispredictions:,} wrong predictions,"
            f" {access.hits / asked:.1%} of {asked:,} units found at once"
        )
    borrowed = access.host_memory_hits
    return (
        f"{access.reads:,} pages read, {access.writes:,} written,"
        f" {access.hits / asked:.1%} of {asked:,} entries in memory"
        + (f", {borrowed / asked:.1%} in that of the host" if borrowed else "")
    )


def _cache(report: Report) -> str:
    cache, ftl = report.ftl.cache, report.ftl
    if not cache:
        return ""
    share = cache.host_units / ftl.host_units if ftl.host_units else 0.0
    return (
        f"{share:.1%} of the host's units, {cache.folded_units:,} folded,"
        f" {quantity.size(cache.used_bytes)} of {quantity.size(cache.room_bytes)} in use"
    )


def _parity(report: Report) -> str:
    parity = report.ftl.parity
    if not parity:
        return ""
    told = f"{parity.units:,} units, {parity.rebuilt_reads:,} page reads rebuilt"
    if parity.around_reads:
        told += f", {parity.around_reads:,} around busy dies"
    if parity.lost_reads:
        told += f", {parity.lost_reads:,} lost"
    for failed in parity.failed_dies:
        state = "not rebuilt yet"
        if failed.rebuilt_s is not None:
            state = f"rebuilt after {quantity.mean(failed.rebuilt_s - failed.failed_s)} s"
        told += f"; die {failed.die} failed at {quantity.mean(failed.failed_s)} s, {state}"
    return told


def _ftl_ram(report: Report) -> str:
    uses = {use: size for use, size in report.ftl.ram_bytes.items() if use != "total"}
    parts = ", ".join(
        f"{quantity.size(size)} {use.replace('_', ' ')}" for use, size in uses.items()
    )
    return f"{quantity.size(report.ftl.ram_bytes.total)}: {parts}"


def _nand(result: Result, report: Report) -> str:
    nand = report.nand
    text = f"{nand.reads:,} reads, {nand.programs:,} programs, {nand.erases:,} erases"
    if nand.reduced_share is not None:
        text += f" ({nand.reduced_share:.1%} at reduced levels)"
    if nand.suspends:
        text += f", {nand.suspends:,} suspends"
    used = quantity.energy(nand.energy_uj + report.ecc.energy_uj)
    power = f"{result.power_w:.3g} W"
    if result.peak_power_w is not None:
        power += f", peak {result.peak_power_w:.3g} W"
    return text + f", {used} with ECC ({power})"


def _power(report: Report) -> str:
    energy = report.energy
    if not energy:
        return ""
    parts = {
        "controller": energy.controller_uj,
        "DRAM": energy.dram_uj,
        "link": energy.link_uj,
        "flash": energy.flash_uj,
        "decoders": energy.decoders_uj,
        "asleep": energy.asleep_uj,
    }
    shares = (f"{name} {used / energy.total_uj:.0%}" for name, used in parts.items() if used)
    text = f"{energy.power_w:.3g} W, {quantity.energy(energy.total_uj)}: {', '.join(shares)}"
    if heat := energy.temperature:
        text += f", {heat.end_c:.3g} °C at the end"
        limits = (f"{name} {time:.3g} s" for name, time in heat.throttled_s.items() if time)
        text += "".join(f", throttled by {limit}" for limit in limits)
    return text


def _errors(report: Report) -> str:
    ecc = report.ecc
    if not ecc.raw_bit_errors and not ecc.uncorrectable:
        return ""
    parts = [
        f"{ecc.raw_bit_errors:,} raw bit errors in {ecc.codewords:,} codewords",
        f"{ecc.hard_failures:,} hard failures",
    ]
    if ecc.retries:
        parts.append(f"{ecc.retries:,} read again")
    if any(ecc.soft_reads):
        levels = " + ".join(f"{reads:,}" for reads in ecc.soft_reads)
        parts.append(f"{levels} soft reads")
    parts.append(f"{ecc.uncorrectable:,} uncorrectable")
    if ecc.lost_units:
        parts.append(f"{ecc.lost_units:,} units lost")
    return ", ".join(parts)


def _failed(report: Report) -> str:
    failed, zones = report.host.requests_failed, report.zones
    if not failed:
        return ""
    errors = {name: count for name, count in zones.refused.items() if count} if zones else {}
    named = ", ".join(f"{count:,} {name}" for name, count in errors.items())
    return f"{failed:,} of {report.host.requests_completed:,}" + (f": {named}" if named else "")


def _silence(report: Report) -> str:
    longest_ms = report.host.longest_silence_ms
    return quantity.latency(1e3 * longest_ms) if longest_ms >= _SILENT_MS else ""


def _blocks(report: Report) -> str:
    nand, ftl = report.nand, report.ftl
    counts = {"programs": nand.failed_programs, "erases": nand.failed_erases}
    parts = [f"{count:,} {name} failed" for name, count in counts.items() if count]
    if ftl.read_reclaims:
        parts.append(f"{ftl.read_reclaims:,} reclaimed for their reads")
    if ftl.retired_blocks:
        parts.append(f"{ftl.retired_blocks:,} retired")
    if ftl.read_only_at_s is not None:
        at = quantity.seconds(ftl.read_only_at_s)
        parts.append(f"a plane without spare at {at}: writes refused from then on")
    return ", ".join(parts)


def _refresh(report: Report) -> str:
    refresh = report.refresh
    if refresh is None:
        return ""
    names = {"age": "for age", "rber": "for errors", "retries": "for retries"}
    parts = [f"{count:,} {names[why]}" for why, count in refresh.blocks.items() if count]
    if reads := report.nand.patrol_reads:
        parts.append(f"{reads:,} patrol reads")
    if refresh.waiting_blocks:
        parts.append(f"{refresh.waiting_blocks:,} blocks wait")
    parts.append(f"oldest data {refresh.oldest_hours:.4g} h")
    return ", ".join(parts)


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return ""
    return f"${cost.flash_usd:,.2f} of flash, ${cost.usd_per_gb:.3g} per GB that is seen"


def _buffer(report: Report) -> str:
    named = {
        "read hits": report.buffer.read_hits,
        "units rewritten in place": report.buffer.coalesced,
        "stalls": report.buffer.stalls,
    }
    return ", ".join(f"{count:,} {name}" for name, count in named.items() if count)


def _read_cache(report: Report) -> str:
    cache = report.read_cache
    if not cache:
        return ""
    asked = cache.hits + cache.misses
    text = f"{cache.hits / asked:.2%} of {asked:,} units hits" if asked else "not asked"
    if cache.ahead_units:
        used = cache.ahead_used / cache.ahead_units
        text += f"; {used:.2%} of {cache.ahead_units:,} units read ahead were used"
    return f"{text}; holds {cache.held_units:,} of {cache.room_units:,} units"


def _channels(busy: list[float]) -> Text:
    text = _bar(sum(busy) / len(busy))
    if len(busy) > 1:
        text.append(f", least {min(busy):.1%}, most {max(busy):.1%} of {len(busy)}")
    return text


def _decoders(ecc: Ecc) -> Text | str:
    busy = ecc.decoders_busy_fraction
    return _bar(busy) if ecc.decoders_busy_s else ""


def _bar(busy: float) -> Text:
    from rich.text import Text

    full = round(busy * _BAR)
    text = Text()
    text.append("━" * full, style="blue")
    text.append("━" * (_BAR - full), style=_DIE_COLOURS["idle"])
    return text.append(f" busy {busy:.1%}")


def _dies(fractions: Dies) -> Text:
    """A bar of all dies' time. Its cells are given out by largest remainder, so they add up."""
    from rich.text import Text

    cells = {name: int(fractions[name] * _BAR) for name in _DIE_COLOURS}
    by_remainder = sorted(cells, key=lambda name: fractions[name] * _BAR % 1, reverse=True)
    for name in by_remainder[: _BAR - sum(cells.values())]:
        cells[name] += 1
    text = Text()
    for name, colour in _DIE_COLOURS.items():
        text.append("━" * cells[name], style=colour)
    for name, colour in _DIE_COLOURS.items():
        if fractions[name] > 0:
            text.append(f" {name}", style=colour)
            text.append(f" {fractions[name]:.1%}")
    return text


def _checks(result: Result) -> Text:
    from rich.text import Text

    checks = result.checks
    failures = checks.failures()
    if failures:
        return Text("FAILED: " + "; ".join(failures), style="bold red")
    said = f": {', '.join(checks.made())}"
    if left_out := checks.left_out():
        said += f"; does not apply: {', '.join(left_out)}"
    return Text().append("ok", style="bold green").append(said)


def _time(report: Report) -> str:
    sim = report.sim
    before = sim.precondition_wall_s
    return (
        f"{quantity.seconds(sim.simulated_s)} simulated in {quantity.seconds(sim.wall_s)}, "
        + (f"{quantity.seconds(before)} of preconditioning before, " if before >= 0.1 else "")
        + f"{sim.requests_per_wall_s:,.0f} requests a second, "
        f"{sim.peak_rss_mb:,.0f} MB of memory"
    )
