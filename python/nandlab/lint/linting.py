"""Linting of files: findings of all checks, with the reasons that files give for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

from nandlab.drive.result import Result
from nandlab.drive.workload import PRECONDITIONS, is_state
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.lint.check import Finding
from nandlab.lint.reading import Planned, read
from nandlab.lint.roster import ROSTER
from nandlab.lint.subject import Subject
from nandlab.lint.waivers import EXPECTED, reasons, reasons_at, waivers

Input = str | PathLike[str] | Mapping[str, Any] | Result

NO_REASON = "L000"
"""Code of a waiver that gives no reason."""


@names_checked
def lint(
    *inputs: Input,
    drive: str | PathLike[str] | Mapping[str, Any] | None = None,
    precondition: str = "none",
    until: str | None = None,
) -> list[Finding]:
    """Looks for assumptions about flash that mislead.

    Findings that a file explains with a comment (``# lint: L003 because ...``) have the reason in
    ``because``; the others are open.

    Args:
        inputs: drive files or presets, fio job files or their text, studies, reports: paths,
            tables, or results.
        drive: the drive that job files are judged on, as for `nandlab.run`.
        precondition: the state of that drive before the jobs.
        until: when their run ends, as for `nandlab.run`.

    Raises:
        NandlabError: an input is refused; the message says where and why.

    >>> [finding.code for finding in nandlab.lint("my_drive.toml")]
    """
    if not is_state(precondition):
        raise refusal("precondition", f"{precondition!r}", PRECONDITIONS, given=precondition)
    planned = Planned(drive, precondition, until)
    every = (finding for given in inputs for finding in findings(read(given, planned)))
    # Drives that share a preset share its findings.
    return list(dict.fromkeys(every))


def findings(subject: Subject) -> Iterator[Finding]:
    """The findings in one input."""
    yield from _without_reason(subject)
    own = reasons(subject.text)
    for check in ROSTER:
        if subject.kind not in check.looks_at:
            continue
        for hit in check.find(subject):
            because = own.get(check.code) or reasons_at(hit.place).get(check.code, "")
            yield Finding(check.code, check.title, hit.place, hit.says, check.instead, because)


def _without_reason(subject: Subject) -> Iterator[Finding]:
    known = {check.code for check in ROSTER}
    for one in waivers(subject.text):
        unknown = [code for code in one.codes if code not in known]
        if one.reason and not unknown:
            continue
        problem = f"there is no {unknown[0]}" if unknown else "no reason"
        yield Finding(
            NO_REASON,
            "a comment without a valid reason",
            f"{subject.place}:{one.line}",
            f"`lint: {one.text}`: {problem}",
            f"{EXPECTED}, with a code that `nandlab lint --list` has",
        )
