"""Doubts: what keeps the figures of a run from standing for its drive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.drive.result import Checks

if TYPE_CHECKING:
    from nandlab.report.tables import Report

DOUBTS = {
    "checks": "failed their checks",
    "unsettled": "are not known to have settled",
}
"""Doubts by name, and what is said of the runs that have them."""


def doubts(report: Report) -> list[str]:
    """The doubts of a report, a part of `DOUBTS`.

    ``checks`` where a check of the simulator itself failed, ``unsettled`` where the run does not
    stand for the drive in steady state, or nobody knows.
    """
    is_in_doubt = {
        "checks": not Checks.of(report).ok,
        "unsettled": report.settled.ok is False,
    }
    return [name for name in DOUBTS if is_in_doubt[name]]
