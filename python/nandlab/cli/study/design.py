"""``nandlab design``: the cheapest drive of a space that keeps to a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.cli.files import Json, Quiet, check_json, tell
from nandlab.display.terminal import FAULTY, INTERRUPTED, ProgressBar, say

if TYPE_CHECKING:
    from rich.console import Console


def design(
    target: Annotated[Path, typer.Argument(metavar="TARGET.toml", help="Target and space.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the rows (TARGET.design beside the file)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs at the same time (one for each processor).")
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="local|dask=ADDRESS|MODULE:FACTORY", help="As for `sweep`.")
    ] = "local",
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Finds the cheapest drive that keeps to a target; exit code 1 where none does."""
    from nandlab.design.designing import design as designed
    from nandlab.life.whole import LifeUnfinished
    from nandlab.study.definition import StudyUnfinished

    check_json(json, [target])
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            found = designed(target, out=out, workers=workers, executor=executor, progress=bar)
        except (StudyUnfinished, LifeUnfinished):
            say("interrupted; the same command goes on")
            raise typer.Exit(INTERRUPTED) from None

    def show(shown: Console) -> None:
        if not quiet:
            shown.print(str(found), highlight=False, markup=False, soft_wrap=True)

    tell(json, found.to_dict(), show)
    raise typer.Exit(0 if found.best is not None else FAULTY)
