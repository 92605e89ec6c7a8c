"""``nandlab explain``: the meaning of a word, and the source of a key's value in a drive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.given.completion import preset_of, word_to_explain
from nandlab.given.refusal import refusal
from nandlab.keys import written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from nandlab.explained.words import Meaning

_KINDS = {
    "report": "key of the report",
    "member": "member of a family",
    "value": "value of a key",
}
"""Kinds of meanings that are named where a word has several."""


def explain(
    word: Annotated[
        str,
        typer.Argument(
            help="Key as in --set, member of a family (greedy, gc.name=greedy), value of a key "
            "(busy, parity.read_around=busy), key of the report (ftl.write_amplification), or "
            "preset.",
            metavar="WORD",
            autocompletion=word_to_explain,
        ),
    ],
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file; shows the value of a key in this drive.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Explains a key of a drive file or of the report, a value, or a member of a family."""
    from nandlab.explained.words import meanings

    check_json(json, [] if drive is None else [drive])
    found = meanings(word)
    if drive is not None:
        if found[0].kind != "key":
            raise refusal("--drive", f"`{word}` is no key of a drive file", "only with such a key")
        found[0].facts.update(_value(found[0].word, drive))

    def show(out: Console) -> None:
        for at, one in enumerate(found):
            kind = f", {_KINDS.get(one.kind, one.kind)}" if len(found) > 1 else ""
            out.print(*([""] if at else []), f"{one.word}{kind}", style="bold", sep="\n")
            out.print(_table(one.facts))
            if one.members:
                out.print("", _table(one.members), sep="\n")

    first, *others = map(_numbers, found)
    tell(json, {**first, **({"others": others} if others else {})}, show)


def _numbers(one: Meaning) -> dict[str, Any]:
    """A meaning as JSON."""
    members = {"members": one.members} if one.members else {}
    return {"key": one.word, "kind": one.kind, **one.facts, **members}


def _value(key: str, drive: str) -> dict[str, str]:
    """The value of a key in a drive, with its place and source."""
    value = written(key, drive)
    if value is None:
        return {f"in {drive}": "none: this drive does not have it"}
    place, source = value.place or "default", value.comment
    return {f"in {drive}": value.value, "written": place, "source": source}


def _table(facts: dict[str, str]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact)
    return table
