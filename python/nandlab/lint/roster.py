"""Roster of all checks, by code."""

from __future__ import annotations

from nandlab.given.refusal import refusal
from nandlab.lint import controller, flash, urgency, workload
from nandlab.lint.check import Check

ROSTER: tuple[Check, ...] = tuple(
    sorted(
        (*flash.CHECKS, *controller.CHECKS, *workload.CHECKS, *urgency.CHECKS),
        key=lambda check: check.code,
    )
)
"""Every check."""


def check_of(code: str) -> Check:
    """A check by its code.

    Raises:
        NandlabError: there is no such check; names the nearest one.
    """
    for one in ROSTER:
        if one.code == code.upper():
            return one
    codes = [one.code for one in ROSTER]
    expected = f"{codes[0]} to {codes[-1]}"
    raise refusal("lint", f"no check `{code}`", expected)
