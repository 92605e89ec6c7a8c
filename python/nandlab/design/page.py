"""Page of an answer: the cheapest drive, its margins, what binds it, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nandlab.design.race import FAILED, UNDECIDED, Candidate

if TYPE_CHECKING:
    from nandlab.design.answer import Answer

MOST_SHOWN = 5
"""Cheaper drives that the page shows, the dearest first."""


def lines_of(answer: Answer) -> Iterator[str]:
    """The lines of the page."""
    drives = len(answer.space.candidates)
    looked = f"{len(answer.tried):,} of {drives:,} drives looked at, {answer.runs:,} runs"
    if answer.best is None:
        yield f"no drive of the space holds; {looked}"
    else:
        yield f"cheapest: {axes_text(answer.best)}"
        parts = ", ".join(f"{name} {value:.2f}" for name, value in answer.best.parts.items())
        yield f"price {answer.best.price:.2f}: {parts}; {looked}"
        yield from _of_best(answer, answer.best)
    cheaper = answer.cheaper
    large = [one for one in cheaper if one.missed != ["capacity_gb"] or one.stage != "capacity"]
    for one in large[:MOST_SHOWN]:
        yield f"price {one.price:.2f}: {axes_text(one)}: {_said(one)}"
    if len(large) > MOST_SHOWN:
        yield f"{len(large) - MOST_SHOWN:,} more do not hold; --json has them"
    if len(large) < len(cheaper):
        yield f"{len(cheaper) - len(large):,} cheaper drives are too small"
    unlived = ", its life not simulated" if answer.target.life else ""
    for name, steps in answer.steps().items():
        for step in steps[:MOST_SHOWN]:
            yield f"{name} {step.limit:.4g} instead: price {step.price:.2f}{unlived}"
    if answer.space.refused:
        refused = answer.space.refused
        yield f"{len(refused):,} drives cannot be built, as: {refused[0]}"
    failed = sum(one.verdict == FAILED for one in cheaper)
    if failed and answer.best is not None:
        yield f"{failed:,} cheaper drives could not be measured"


def _of_best(answer: Answer, best: Candidate) -> Iterator[str]:
    for name, one in best.figures.items():
        margin = f", margin {one.margin:+.0%}" if one.limit else ""
        ends = f"[{one.low:.4g}, {one.high:.4g}]"
        yield f"  {name}: {one.mean:.4g} {ends}, limit {one.limit:.4g}{margin}"
    yield f"bound by: {answer.binding}"
    if (tail := answer.tail) is not None:
        keys = ", ".join(f"{path}={value}" for path, value in tail.keys.items())
        of = f"; keys: {keys}" if keys else ""
        yield f"{tail.target}: {tail.share:.0%} {tail.cause}{of}"
    if lived := best.lived:
        asked, uber = lived["asked"], lived["uber"]
        errors = "no UBER" if uber is None else f"UBER {uber:.2g}"
        yield (
            f"after {lived['years']:.3g} years: {lived['pe_cycles_mean']:,.0f} cycles,"
            f" write amplification {lived['write_amplification'] or 1.0:.3g}, {errors} for"
            f" {asked['uber']:.0e} after {asked['retention_hours']:,.0f} h at"
            f" {asked['temperature_c']:g} °C"
        )
        if lived["acceleration"] > 1:
            yield f"assumed: one of {lived['acceleration']:.3g} cycles of the life is simulated"
    if best.doubts:
        yield f"doubts: {best.doubts}"
    if answer.assumed:
        prices = ", ".join(f"{key} {price:g}" for key, price in answer.assumed.items())
        yield f"assumed prices: {prices}"
    for finding in answer.findings:
        yield f"assumed ({finding.code}): {finding.says}"
    yield f"again: {answer.command(best)}"


def axes_text(one: Candidate) -> str:
    """The values of a drive's axes."""
    return ", ".join(f"{path}={value}" for path, value in one.axes.items())


def _said(one: Candidate) -> str:
    """Why a candidate does not hold."""
    if one.why:
        return f"{one.verdict} ({one.stage}): {one.why}"
    missed = ", ".join(
        f"{name} {one.figures[name].mean:.4g} for {one.figures[name].limit:.4g}"
        for name in one.missed
    )
    sure = f" after {one.replicates} replicates" if one.verdict == UNDECIDED else ""
    return f"{one.verdict}{sure} ({one.stage}): {missed}"
