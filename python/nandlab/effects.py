"""Parameters of a drive that were changed and change nothing, as notices say it."""

from __future__ import annotations

from typing import Any


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
