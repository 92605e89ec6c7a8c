"""The two settings of a check, run side by side."""

from __future__ import annotations

from typing import Any

from nandlab.compare.comparison import Comparison
from nandlab.compare.groups import Group
from nandlab.drive.simulate import run
from nandlab.lint.check import Check, Pair, Setting
from nandlab.lint.settings import DRIVE
from nandlab.report import Report


def show(check: Check) -> Comparison:
    """Runs what a check finds and what it proposes, and compares them."""
    pair = check.pair
    both = (pair.assumed, pair.instead)
    return Comparison([Group(one.name, [_report(pair, one)], []) for one in both])


def _report(pair: Pair, one: Setting) -> Report:
    given: dict[str, Any] = {
        "workload": pair.workload,
        "precondition": pair.precondition,
        **pair.run,
        **one.run,
    }
    return run(DRIVE, set={**pair.set, **one.set}, **given).report
