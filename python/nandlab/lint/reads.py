"""Checks of reads that disturb: read reclaim that comes too soon, or after data are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.cell import cell
from nandlab.cell.source import is_of_the_cell
from nandlab.ecc.code_limit import code_limit, levels_of, limit_of_errors
from nandlab.ecc.uber import Ecc
from nandlab.lint.check import Check, Hit, Pair, Setting
from nandlab.lint.settings import AGED, READS, SMALL
from nandlab.lint.subject import Subject

LEAST_PASSES = 38
"""Whole-drive reads after which bought drives have rewritten their data: 38 to 400."""

UBER = 1e-15
"""Uncorrectable bit error rate of a drive of JESD218, for clients."""

_PAGES = "chip.geometry.pages_per_block"


def _too_soon(subject: Subject) -> Iterator[Hit]:
    limit, pages = (subject.value(key) for key in ("gc.reclaim_reads", _PAGES))
    if not limit or subject.is_varied("gc.reclaim_reads", _PAGES):
        return
    passes = limit / pages
    if passes < LEAST_PASSES:
        rated = subject.value("chip.rated_pe_cycles") or 0
        worn = f", and {rated * passes:,.0f} wear it out" if rated else ""
        yield Hit(
            subject.at("gc.reclaim_reads"),
            f"gc.reclaim_reads = {limit:,} with {pages:,} pages a block: {passes:.3g} whole-drive"
            f" reads have the drive rewrite itself{worn}; bought drives wait for {LEAST_PASSES}"
            " to 400",
        )


def _too_late(subject: Subject) -> Iterator[Hit]:
    varied = ("gc.reclaim", "chip.array", "chip.cell", "ecc", "age", "chip.geometry")
    if subject.is_varied(*varied) or subject.value("chip.array.name") == "ideal":
        return
    limit = subject.value("gc.reclaim_reads")
    asked = (subject.value("age.read_passes") or 0) * subject.value(_PAGES)
    reads = min(given for given in (limit, asked) if given) if limit or asked else 0
    corrects = _corrects(subject) if reads else None
    if corrects is None:
        return
    rate = _rate(subject, reads)
    if rate > corrects:
        key = "gc.reclaim_reads" if reads == limit else "age.read_passes"
        yield Hit(
            subject.at(key),
            f"{reads:,} reads of a block disturb its pages to a bit error rate of {rate:.2g}; the"
            f" code corrects {corrects:.2g}",
        )


def _corrects(subject: Subject) -> float | None:
    """Highest bit error rate that the code of a drive corrects; None where none is known."""
    is_soft = subject.value("retry.name") != "none"
    if code := subject.value("ecc.code"):
        try:
            levels = levels_of(code)[-1] if is_soft else 0
            return code_limit(code, levels=levels, uber=UBER).rber
        except NandlabError:
            # The failures of this code were not measured.
            return None
    if subject.value("ecc.model") != "threshold":
        return None
    errors = subject.value("ecc.t")
    if is_soft and (soft := subject.value("ecc.t_soft")):
        errors = soft[-1]
    payload, parity = (8 * subject.value(f"ecc.{key}_bytes") for key in ("payload", "parity"))
    ecc = Ecc(int(errors), int(payload + parity), int(payload))
    return limit_of_errors("ecc.t", ecc, UBER).rber


def _rate(subject: Subject, reads: int) -> float:
    """Mean bit error rate of the worst page type after these reads, at the age of the drive."""
    array, pages = subject.value("chip.array"), range(subject.value("chip.cell_bits"))
    cycles, hours = (subject.value(f"age.{key}") for key in ("pe_cycles", "retention_hours"))
    if is_of_the_cell(array):
        of = cell(subject.config["chip"])
        state = {"pe_cycles": cycles, "retention_hours": hours, "reads": reads}
        return max(float(of.rber(page, **state)) for page in pages)
    rates = _core.Array(json.dumps(array)).rber([(page, cycles, hours, reads) for page in pages])
    return float(max(rates))


_DISTURBED = {
    **AGED,
    "age.pe_cycles": 1000,
    "age.retention_hours": 0.0,
    "age.read_passes": 12000,
}
"""Flash with the law of Kim 2019, read over and over."""

CHECKS = (
    Check(
        code="L023",
        title="read reclaim that comes too soon",
        assumed="The sooner read reclaim moves data, the safer.",
        why="Each reclaim of a block is a cycle. Where some passes over the data are enough, a"
        " drive that is only read writes itself to death, and its reads wait for its own programs."
        " Six bought drives moved their data after 38 to 400 passes, or never.",
        sources=("liu2021",),
        instead="`gc.reclaim_reads` of 40 and more times `chip.geometry.pages_per_block`, or a"
        " limit of errors, `refresh.rber`, which moves what is disturbed and nothing else",
        looks_at=("drive", "study"),
        find=_too_soon,
        pair=Pair(
            Setting("after 1 pass", {"gc.reclaim_reads": 64}),
            Setting("after 100 passes", {"gc.reclaim_reads": 6400}),
            READS,
            ("read p99 (us)", "read p99.9 (us)"),
            SMALL,
            "fill",
        ),
    ),
    Check(
        code="L024",
        title="disturb beyond the code",
        assumed="Reads cost no data: the code corrects what they disturb.",
        why="Each read disturbs the other pages of its block. If reclaim comes after more reads"
        " than the code can stand, or never, the tail of reads grows, and then data are lost.",
        sources=("liu2021", "kim2019"),
        instead="a lower `gc.reclaim_reads`, or a `refresh.rber` that the code corrects",
        looks_at=("drive", "study"),
        find=_too_late,
        pair=Pair(
            Setting("no reclaim"),
            Setting("reclaim in time", {"gc.reclaim_reads": 20_000}),
            READS,
            ("read mean (us)", "read p99.9 (us)"),
            {**SMALL, **_DISTURBED},
            "fill",
        ),
    ),
)
"""In the order of their codes."""
