"""``nandlab design``: the cheapest drive of a space that keeps to a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.cli.files import Files, Json, Plot, Quiet, Style, check_json, check_pictures, tell
from nandlab.cli.options import takes
from nandlab.display.terminal import FAULTY, INTERRUPTED, ProgressBar, say
from nandlab.given.outputs import check_outputs
from nandlab.options.design import DesignOptions
from nandlab.options.option import among

if TYPE_CHECKING:
    from rich.console import Console


@takes(DesignOptions)
def design(
    target: Annotated[Path, typer.Argument(metavar="TARGET.toml", help="Target and space.")],
    plot: Plot = None,
    style: Style = None,
    json: Json = None,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Finds the cheapest drive that keeps to a target; exit code 1 where none does."""
    from nandlab.design.designing import design as designed
    from nandlab.life.whole import LifeUnfinished
    from nandlab.study.definition import StudyUnfinished

    check_outputs({"--plot": plot}, [target])
    check_json(json, [target])
    check_pictures(style, plot)
    options = among(DesignOptions, given)
    with ProgressBar(is_shown=not quiet) as bar:
        options["progress"] = bar
        try:
            found = designed(target, **options)
        except (StudyUnfinished, LifeUnfinished):
            say("interrupted; the same command goes on")
            raise typer.Exit(INTERRUPTED) from None

    def show(shown: Console) -> None:
        if not quiet:
            shown.print(str(found), highlight=False, markup=False, soft_wrap=True)

    with Files() as files:
        files.draw(plot, found.plot, style)
    tell(json, found.to_dict(), show)
    raise typer.Exit(0 if found.best is not None else FAULTY)
