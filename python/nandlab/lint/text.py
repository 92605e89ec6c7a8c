"""Findings and checks as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from nandlab.lint.check import Check, Finding

_INDENT = "    "


def finding_lines(finding: Finding, width: int) -> Iterator[str]:
    """Place and title, what the file says, what to set instead."""
    yield f"{finding.place}: {finding.code} {finding.title}"
    yield from _wrapped(finding.says, width)
    if finding.is_explained:
        yield from _wrapped(f"because {finding.because}", width)
    else:
        yield from _wrapped(f"set instead: {finding.instead}", width)


def check_lines(check: Check, width: int) -> Iterator[str]:
    """A check with what is assumed, why that misleads, and what to set instead."""
    yield f"{check.code} {check.title}"
    sources = f" ({', '.join(check.sources)})" if check.sources else ""
    for name, said in (
        ("assumed", check.assumed),
        ("misleads", f"{check.why}{sources}"),
        ("set instead", check.instead),
    ):
        yield from _wrapped(f"{name}: {said}", width)


def summary(found: Sequence[Finding], inputs: int) -> str:
    """How many findings there are."""
    several = "findings" if len(found) > 1 else "finding"
    files = "inputs" if inputs > 1 else "input"
    codes = sorted({one.code for one in found if one.code != "L000"})
    show = f"; `nandlab lint --show {codes[0]}` runs the two settings" if codes else ""
    if not found:
        return f"nothing found in {inputs} {files}"
    return f"{len(found)} {several} in {inputs} {files}{show}"


def _wrapped(said: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        said,
        max(width, 40),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
