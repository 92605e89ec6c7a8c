"""What a user may take for something else, as notices say it: changes without effect, debts."""

from __future__ import annotations

from typing import Any

from nandlab.display import quantity

OWED = 1.5
"""Of the write amplification that a drive settled at: what is more is not that of its writes."""


def without_effect(config: dict[str, Any]) -> list[str]:
    """Notices of ages and retries of a drive whose flash has no errors, of its whole `config`."""
    if config["chip"]["array"]["name"] != "ideal":
        return []
    changed = [f"age.{key}" for key, value in config["age"].items() if value]
    changed += ["retry.name"] if config["retry"]["name"] != "none" else []
    if not changed:
        return []
    verb = "changes" if len(changed) == 1 else "change"
    return [f"chip.array `ideal`: reads have no errors, so {' and '.join(changed)} {verb} none"]


def owed(report: dict[str, Any]) -> list[str]:
    """A notice where a run had to collect what `steady` had left, more than its own writes ask."""
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
