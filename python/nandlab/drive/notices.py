"""Notices of a run: parameters without effect, collection left over from preconditioning."""

from __future__ import annotations

from typing import Any

from nandlab.display import quantity

OWED = 1.5
"""Write amplification above this many times the settled one is left over from before."""


def without_effect(config: dict[str, Any]) -> list[str]:
    """Notices where `config` sets an age or a retry policy, but the flash has no errors."""
    if config["chip"]["array"]["name"] != "ideal":
        return []
    changed = [f"age.{key}" for key, value in config["age"].items() if value]
    changed += ["retry.name"] if config["retry"]["name"] != "none" else []
    if not changed:
        return []
    verb = "changes" if len(changed) == 1 else "change"
    return [f"chip.array `ideal`: reads have no errors, so {' and '.join(changed)} {verb} none"]


def owed(report: dict[str, Any]) -> list[str]:
    """A notice where collection mostly served the preconditioning `steady`, not the run."""
    settled = report["sim"]["precondition_write_amplification"]
    ftl = report["ftl"]
    host, moved = ftl["host_units"], ftl["gc_copies"]
    if report["nandlab"]["run"]["precondition"] != "steady" or not settled:
        return []
    if moved <= (OWED * settled - 1) * host:
        return []
    size = quantity.size(moved * ftl["unit_bytes"])
    return [
        f"precondition `steady` leaves a drive that never pauses: most of the {size} that"
        f" collection moved made up for that, and not for this run's writes (the drive settled at a"
        f" write amplification of {settled:.2f}); `rested` begins after it"
    ]
