"""Laws of a command: how it may end, what it may say, which files it may touch."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import nandlab
from fuzz.inputs import features
from fuzz.running import Outcome

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONGEST_LINE = 4000
"""Characters of a refusal: some list every key of a table."""


def ends(outcome: Outcome) -> Iterator[str]:
    """A command ends, with exit code 0, 2 or, where it was interrupted, 130.

    A study of which points failed, and others did not, ends with 1, and a design without a drive.
    """
    if outcome.code is None:
        yield f"hang: it did not end, {outcome.seconds:.0f} s after its start"
    elif _is_before_python(outcome):
        return
    elif outcome.code < 0:
        yield f"signal {-outcome.code}"
    elif outcome.code == 1 and (_has_failed_points(outcome) or _has_no_drive(outcome)):
        return
    elif outcome.code > 0 and outcome.code not in (2, 130):
        yield f"exit code {outcome.code}"
    elif outcome.code == 130 and not outcome.is_interrupted:
        yield "exit code 130 of a command that was not interrupted"


def _has_failed_points(outcome: Outcome) -> bool:
    """Whether a command ran a study, in whose folder rows of failed points stand."""
    rows = [data for name, data in outcome.after.items() if re.search(r"/rows/.*\.jsonl$", name)]
    is_of_study = outcome.command.arguments[:1] in (["sweep"], ["search"])
    return is_of_study and any(b'"error":' in data for data in rows)


def _has_no_drive(outcome: Outcome) -> bool:
    """Whether a design says that no drive of its space holds."""
    answer = outcome.after.get("a.json", b"")
    return outcome.command.arguments[:1] == ["design"] and b'"best": null' in answer


def _is_before_python(outcome: Outcome) -> bool:
    """Whether a signal came before Python had begun: nothing of ours can answer it then."""
    command = outcome.command
    is_early = command.is_fresh and outcome.is_interrupted and not outcome.written
    ours = str(Path(nandlab.__file__).parent)
    return is_early and (
        outcome.code == -signal.Signals[command.signal]
        or (outcome.code == 1 and ours not in outcome.err)
    )


def no_traceback(outcome: Outcome) -> Iterator[str]:
    """Nobody sees a traceback, a panic or a warning of a library."""
    if _is_before_python(outcome):
        return
    for sign in ("Traceback (most recent", "panicked at", "Fatal Python error", "Warning:"):
        if sign in outcome.err or sign in outcome.out:
            lines = [line for line in outcome.err.splitlines() if line.strip()]
            where = next((line for line in reversed(lines) if sign in line), lines[-1:] or "")
            yield f"{sign.strip(':')}: {where}"
            return


def refusals(outcome: Outcome) -> Iterator[str]:
    """A refusal is one line that begins with `error: `, short and without control characters."""
    if outcome.code != 2:
        return
    lines = outcome.err.splitlines()
    if not lines and "Usage: " in outcome.out:
        # Help, where a command is missing.
        return
    errors = [line for line in lines if line.startswith("error: ")]
    others = [line for line in lines if not line.startswith(("error: ", "note: ", "window at "))]
    is_of_files = bool(errors) and all("File too large" in line for line in errors)
    if len(errors) != 1 and not is_of_files:
        yield f"{len(errors)} lines of `error: `"
    elif others and "standard output" not in errors[0]:
        # With `--json -` the table is there before the numbers cannot be printed.
        yield f"a refusal has another line: {others[0][:200]}"
    for line in errors:
        if len(line) > _LONGEST_LINE:
            yield f"a refusal has {len(line)} characters"
        if _CONTROL.search(line):
            yield "a refusal has control characters"
        if re.search(r"error: *(;|$)|: ;", line):
            yield f"a refusal names no problem: {line[:200]}"


def interruptions(outcome: Outcome) -> Iterator[str]:
    """A command that is interrupted says so in one line, which nothing but notes stand beside."""
    if outcome.code != 130:
        return
    lines = outcome.err.splitlines()
    said = [line for line in lines if "interrupted" in line]
    if not said and not _is_told(outcome):
        yield "nothing says `interrupted`"
    others = [line for line in lines if line.startswith("error: ")]
    if others:
        yield f"an interruption has an error: {others[0][:200]}"


def _is_told(outcome: Outcome) -> bool:
    """Whether the table or the report says it."""
    is_quiet = "--quiet" in outcome.command.arguments
    return is_quiet or "nterrupted" in outcome.out


def inputs_are_left(outcome: Outcome) -> Iterator[str]:
    """No input is another file afterwards, but for one that is gone on with (`--out`)."""
    words = outcome.command.arguments
    grown = {word for before, word in pairwise(words) if before == "--out"}
    for name, data in outcome.before.items():
        if name not in outcome.after:
            # What is unfinished goes when it is done, as docs/formats/curve.md has it.
            if not name.endswith(".unfinished"):
                yield f"{name} is gone"
        elif name in outcome.inputs - grown and outcome.after[name] != data:
            yield f"{name} was an input and is another file now"


def no_litter(outcome: Outcome) -> Iterator[str]:
    """Only files that the command line names are new, and none where it is refused."""
    words = " ".join(outcome.command.arguments)
    for name in outcome.written:
        top = name.split("/")[0]
        if top.removesuffix(".unfinished") not in words:
            yield f"litter: {name}"
    if outcome.code == 2:
        is_of_files = "File too large" in outcome.err or "standard output" in outcome.err
        for name in outcome.written:
            if not is_of_files and name not in outcome.before:
                yield f"a refusal has written {name}"


def pairs_go_together(outcome: Outcome) -> Iterator[str]:
    """Two features without a row in the table of conflicts go together."""
    words = outcome.command.arguments
    sets = [word for option, word in pairwise(words) if option == "--set"]
    # The drive of such a run begins with these; others may have them by chance.
    begin = list(features.BASE)
    places = range(len(sets) - len(begin) + 1)
    if outcome.code != 2 or not any(sets[at : at + len(begin)] == begin for at in places):
        return
    for line in outcome.err.splitlines():
        is_damaged = "out of range" in line or "is no share of a drive" in line
        if not is_damaged and (line.startswith("error: --set") or "not supported: " in line):
            yield f"a pair of features is refused: {line[:400]}"


#: Every law of a command.
LAWS: tuple[Callable[[Outcome], Iterator[str]], ...] = (
    ends,
    no_traceback,
    refusals,
    interruptions,
    inputs_are_left,
    no_litter,
    pairs_go_together,
)


def broken(outcomes: list[Outcome]) -> Iterator[str]:
    """What is broken of the laws of commands, those of files aside."""
    for number, outcome in enumerate(outcomes):
        for law in LAWS:
            for problem in law(outcome):
                yield f"{law.__name__}: {problem}" + (f" (step {number})" if number else "")
