"""``nandlab explain``: the meaning of a key of a drive file, and the source of its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.given.completion import key_of_a_drive, preset_of
from nandlab.keys import key as find
from nandlab.keys import written

if TYPE_CHECKING:
    from rich.console import Console


def explain(
    key: Annotated[
        str,
        typer.Argument(
            help="Path of a key, as in --set.", metavar="KEY", autocompletion=key_of_a_drive
        ),
    ],
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file; shows the value in this drive.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Explains a key of a drive file: meaning, type, unit, default, source."""
    from rich.table import Table

    check_json(json, [] if drive is None else [drive])
    found = find(key)
    facts = {
        "meaning": found.meaning,
        "type": found.kind,
        "unit": found.unit,
        "default": found.default or "none: a drive or its presets set it",
        "of": ", ".join(found.members),
    }
    if drive is not None:
        value = written(key, drive)
        if value is None:
            facts[f"in {drive}"] = "none: the chosen member does not have it"
        else:
            facts[f"in {drive}"] = value.value
            facts["written"] = value.place or "default"
            facts["source"] = value.comment
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact)

    def show(out: Console) -> None:
        out.print(key, style="bold", highlight=False)
        out.print(table, highlight=False)

    tell(json, {"key": key, **facts}, show)
