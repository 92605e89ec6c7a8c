"""Notices of a run: parameters without effect, reads of nothing, rates that have not settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nandlab.cell.source import is_of_the_cell
from nandlab.display import quantity
from nandlab.endurance.beside import beyond_fit

if TYPE_CHECKING:
    from nandlab.catalogue import Config
    from nandlab.report.tables import Report

MOST_UNWRITTEN = 0.01
"""Share of what is read that may never have been written before a notice says so."""


MOST_FAILED = 0.5
"""Share of codewords that may fail the hard decision before a notice says so."""

MOST_SPARE = 1.0
"""Over-provisioning above this, spare flash over what is sold, is hardly meant."""


def without_effect(config: dict[str, Any]) -> list[str]:
    """Notices where `config` sets what has no effect: most of it on flash without errors."""
    refresh = config.get("refresh", {})
    has_rber, patrols = refresh.get("rber", 0) > 0, refresh.get("patrol_hours", 0) > 0
    notices = []
    if patrols and not has_rber and not config["gc"]["reclaim_rounds"]:
        notices.append(
            "refresh.patrol_hours: patrol reads rewrite nothing without refresh.rber or"
            " gc.reclaim_rounds"
        )
    aged = [f"age.{key}" for key, value in config["age"].items() if value]
    if aged and _has_levels_only(config["chip"]):
        verb = "changes" if len(aged) == 1 else "change"
        notices.append(
            "chip.cell has levels but no mechanisms, as after a fit to a histogram: without wear"
            f" and retention {' and '.join(aged)} {verb} no errors (add tables such as"
            " [chip.cell.wear] and [chip.cell.retention]; or fit error counts over cycles)"
        )
    if config["chip"]["array"]["name"] != "ideal":
        return notices
    changed = aged
    if refresh.get("after_hours", 0) > 0:
        changed = [key for key in changed if key != "age.retention_hours"]
    if config["gc"]["reclaim_reads"]:
        changed = [key for key in changed if key != "age.read_passes"]
    changed += ["retry.name"] if config["retry"]["name"] != "none" else []
    changed += ["refresh.rber"] if has_rber else []
    if not changed:
        return notices
    verb = "changes" if len(changed) == 1 else "change"
    return [
        *notices,
        f"chip.array `ideal`: reads have no errors, so {' and '.join(changed)} {verb} nothing",
    ]


def _has_levels_only(chip: dict[str, Any]) -> bool:
    """Whether errors are those of a cell that nothing happens to."""
    return is_of_the_cell(chip["array"]) and set(chip.get("cell") or ()) == {"levels"}


def extrapolated(loaded: Config, report: Report) -> list[str]:
    """A notice where error rates of a fitted chip are used beyond the data of its fit.

    Cycles are those of the most worn block at the end, hours those of the data at the beginning.
    """
    age, chip = loaded.config["age"], loaded.with_facts()["chip"]
    worn = max(float(report.nand.pe_cycles.max or 0), age["pe_cycles"])
    return beyond_fit(
        chip,
        pe_cycles=worn,
        retention_hours=age["retention_hours"],
        temperature_c=age.get("temperature_c"),
    )


def beyond_belief(report: Report) -> list[str]:
    """A notice where more of the flash is spare than sold: perhaps percent were meant."""
    about = report.nandlab
    spare = about.config["ftl"].overprovisioning
    if spare <= MOST_SPARE:
        return []
    seen = quantity.size(about.capacity_bytes)
    return [
        f"ftl.overprovisioning = {spare:g} is {100 * spare:,.0f} % spare flash, and the host sees"
        f" {seen}; {spare:g} % is written {spare / 100:g}"
    ]


def still_young(report: Report) -> list[str]:
    """A notice where data were to be refreshed at an age that none of them reached."""
    after = report.nandlab.config.get("refresh", {}).get("after_hours", 0)
    refresh = report.refresh
    if not after or refresh is None or refresh.blocks.age or refresh.oldest_hours >= after:
        return []
    return [
        f"refresh.after_hours = {after:g}: no data reached this age; the oldest have"
        f" {refresh.oldest_hours:.3g} h"
    ]


def unwritten(report: Report) -> list[str]:
    """A notice where more than a little of what was read had never been written."""
    host = report.host
    read, nothing = host.read_units, host.read_units_unwritten
    if nothing <= MOST_UNWRITTEN * read:
        return []
    return [
        f"{nothing / read:.0%} of the data read had never been written and needed no flash read:"
        " latencies and IOPS are too good (precondition `fill` writes all data)"
    ]


def weak_code(report: Report) -> list[str]:
    """A notice where most codewords that were read had more errors than the code corrects."""
    ecc = report.ecc
    if ecc.hard_failures <= MOST_FAILED * ecc.codewords:
        return []
    share, mean = ecc.hard_failures / ecc.codewords, ecc.raw_bit_errors / ecc.codewords
    config = report.nandlab.config["ecc"]
    limit = f", and the code corrects {config.t}" if config.model == "threshold" else ""
    return [
        f"{share:.0%} of the codewords read failed the hard decision: {mean:.3g} bits of each were"
        f" wrong on average{limit}"
    ]


def nobody_waits(report: Report) -> list[str]:
    """A notice where urgent writes were to get fast pages, and no write was urgent."""
    host = report.host
    ftl = report.nandlab.config["ftl"]
    if not ftl.get("fast_pages", False) or ftl.get("fast_region"):
        return []
    if not host.write.requests or host.urgent_writes:
        return []
    return [
        "ftl.fast_pages: no write was urgent, so all writes went to slow pages first (mark urgent"
        " writes with `prio` of a job, `urgent` of a trace, or ftl.fast_region)"
    ]


def nothing_is_short_lived(report: Report) -> list[str]:
    """A notice where streams have reduced levels, and no data went to them."""
    if report.nand.reduced_programs != 0 or not report.nand.programs:
        return []
    return [
        "ftl.reduced_streams: nothing was programmed at reduced levels (name the stream with"
        " `write_hint` or `plids` of a job; hints count modulo ftl.host_streams)"
    ]


def nothing_stayed(report: Report) -> list[str]:
    """A notice where moved data were to stay on the chip, and none did."""
    if report.nandlab.config["gc"].copyback == "off":
        return []
    if not report.ftl.gc_copies or report.nand.copybacks:
        return []
    return [
        "gc.copyback: no moved data could stay on the chip: copyback moves only whole pages, each"
        " inside its plane"
    ]


def coalesced(report: Report) -> list[str]:
    """A notice where the write buffer took up more than 5 % of what the host wrote."""
    ftl, units = report.ftl, report.buffer.coalesced
    share = units / max(units + ftl.host_units, 1)
    if share <= 0.05:
        return []
    return [
        f"{share:.0%} of the units written by the host were overwritten in the write buffer and"
        f" never programmed: write amplification is {ftl.write_amplification:.3g} over host"
        f" writes, and {ftl.write_amplification_flash:.3g} over writes that left the buffer"
    ]


def unsettled(report: Report) -> list[str]:
    """A notice where the run's value lies more than 10 % from the settled one, or none is known."""
    settled = report.settled
    if settled.ok in (True, None):
        return []
    what = _METRICS.get(settled.metric, f"the {settled.metric} latency")
    run, value = settled.run_value, settled.settled_value
    written = f"the run wrote {settled.drive_writes:.2g} of the drive"
    if settled.settled_by == "run":
        return [
            f"{what} settled at {value:.4g}, but is {run:.4g} over the whole run, because of its"
            " beginning: --skip leaves the beginning out"
        ]
    begin = report.nandlab.run.precondition
    if value is not None:
        hint = "--until settled runs until it settles"
        if begin == "steady" and run is not None and run > value:
            hint = (
                "the drive began with few free blocks, and garbage collection caught up: run"
                " longer, or begin with --precondition rested"
            )
        return [
            f"{what} has not settled: {run:.3g} in this run, {value:.3g} after preconditioning by"
            f" uniform random writes; {written} ({hint})"
        ]
    state = {"none": "began with an empty drive and ", "fill": "began with a full drive and "}
    return [
        f"{what} has not settled: {run:.3g} in this run, which {state.get(begin, '')}wrote"
        f" {settled.drive_writes:.2g} of the drive (--precondition steady, or --until settled)"
    ]


_METRICS = {"write_amplification": "write amplification", "iops": "IOPS", "bandwidth": "bandwidth"}
"""Names of metrics in a sentence."""
