"""Table of trials: a line for each mutant as it ends, rows of Markdown, and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mutants.trial import Verdict

HEAD = "| mutant | file | fault | killed by | seconds |\n|---|---|---|---|---|"


def line(verdict: Verdict, number: int, of: int) -> str:
    """One line for a terminal."""
    state = "killed" if verdict.is_killed else "SURVIVED"
    by = f" by {_by(verdict)}" if verdict.is_killed else f": {verdict.mutant.why}"
    return f"{number}/{of} {state} {verdict.mutant.name}{by} ({verdict.seconds:.1f} s)"


def markdown(verdicts: Sequence[Verdict]) -> str:
    """The rows of all mutants, below a head."""
    rows = [
        f"| `{one.mutant.name}` | `{one.mutant.file}` | {one.mutant.why} |"
        f" {_by(one) if one.is_killed else '**survived**'} | {one.seconds:.1f} |"
        for one in verdicts
    ]
    return "\n".join([HEAD, *rows])


def summary(verdicts: Sequence[Verdict]) -> str:
    """Counts, in one line."""
    killed = sum(one.is_killed for one in verdicts)
    late = sum(one.is_timeout for one in verdicts)
    return f"{killed} of {len(verdicts)} mutants killed, {late} of them by a timeout"


def as_json(verdicts: Sequence[Verdict]) -> str:
    """All of it as JSON."""
    rows: list[dict[str, Any]] = [
        {
            "name": one.mutant.name,
            "file": one.mutant.file,
            "why": one.mutant.why,
            "is_killed": one.is_killed,
            "suite": one.suite,
            "test": one.test,
            "is_timeout": one.is_timeout,
            "seconds": round(one.seconds, 2),
        }
        for one in verdicts
    ]
    killed = sum(one.is_killed for one in verdicts)
    return json.dumps({"killed": killed, "tried": len(rows), "mutants": rows}, indent=2) + "\n"


def _by(verdict: Verdict) -> str:
    if verdict.is_timeout:
        return f"timeout of {verdict.suite}"
    return f"{verdict.suite} {verdict.test}".strip()
