"""Drive of a command: named by ``--drive``, or saved before and read by ``--from``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from nandlab.given.completion import preset_of
from nandlab.given.refusal import refusal


def _named(text: str) -> Any:
    return typer.Option("--drive", help=text, autocompletion=preset_of("drive"))


DriveName = Annotated[str | None, _named("Preset or drive file.")]

RunDriveName = Annotated[
    str | None, _named("Preset or drive file, whose `run` table may say what to run.")
]
"""Of commands that run something on it."""

SavedFile = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="Drive that `nandlab save` wrote."),
]


def chosen_drive(
    command: str, drive: str | None, saved: str | None, given: Mapping[str, object]
) -> str:
    """The drive, which is named in one way.

    Raises:
        NandlabError: in none or both; or `given` has what a saved drive has already.
    """
    ways = {way: at for way, at in (("--drive", drive), ("--from", saved)) if at is not None}
    if len(ways) != 1:
        expected = "--drive with a preset or a file, or --from with a saved drive"
        problem = " and ".join(ways) + " are both given" if ways else "no drive"
        raise refusal(command, problem, expected)
    for option in ("set", "seed", "scale", "precondition"):
        if saved is not None and option in given:
            problem = "a saved drive has its configuration and its state"
            hint = "use --drive, or save the drive again with `nandlab save`"
            raise refusal(f"--{option}", problem, hint=hint)
    return next(iter(ways.values()))
