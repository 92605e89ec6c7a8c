"""``nandlab lint``: assumptions in files that mislead, and what they change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.cli.files import Files, Json, Plot, Style, check_json, check_pictures, tell
from nandlab.given.completion import preset_of
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from rich.console import Console

ASSUMES = 1
"""Exit code of ``--strict`` where files assume something."""


def lint(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Drive files or presets, fio job files, studies, reports of `nandlab run --json`.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file on which job files are checked.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    precondition: Annotated[
        str, typer.Option(help="State of that drive before the jobs, as for `nandlab run`.")
    ] = "none",
    until: Annotated[
        str | None, typer.Option(help="When their run ends, as for `nandlab run`.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Ends with 1 if there is a finding.")
    ] = False,
    all: Annotated[bool, typer.Option("--all", help="Also shows findings with a reason.")] = False,
    list: Annotated[
        bool, typer.Option("--list", help="Lists all checks, and runs none on files.")
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Runs the two settings of a check side by side."),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    json: Json = None,
) -> None:
    """Finds assumptions about flash that mislead, in drives, jobs, studies and reports."""
    if sum((bool(inputs), list, show is not None)) != 1:
        raise refusal("lint", "one thing at a time", "files, --list, or --show CODE")
    for option, given in (("--plot", plot), ("--style", style)):
        if given is not None and show is None:
            raise refusal(option, "without --show", hint="--show CODE draws a picture")
    check_json(json, inputs or [])
    if list:
        _list(json)
    elif show is not None:
        _show(show, plot, style, json)
    else:
        is_open = _find(inputs or [], drive, precondition, until, json, shows_all=all)
        if strict and is_open:
            raise typer.Exit(ASSUMES)


def _find(
    inputs: list[str],
    drive: str | None,
    precondition: str,
    until: str | None,
    json: Path | None,
    *,
    shows_all: bool,
) -> bool:
    """Prints findings: whether there is one without a reason."""
    from nandlab.lint.linting import lint as linted
    from nandlab.lint.text import finding_lines, summary

    found = linted(*inputs, drive=drive, precondition=precondition, until=until)
    unexplained = [one for one in found if not one.is_explained]

    def table(out: Console) -> None:
        for one in found if shows_all else unexplained:
            for line in finding_lines(one, out.width):
                out.print(line, soft_wrap=True)
        out.print(summary(unexplained, len(inputs)), soft_wrap=True)

    tell(json, [one._asdict() for one in found], table)
    return bool(unexplained)


def _list(json: Path | None) -> None:
    from nandlab.lint.roster import ROSTER
    from nandlab.lint.text import check_lines

    def table(out: Console) -> None:
        for check in ROSTER:
            for line in check_lines(check, out.width):
                out.print(line, soft_wrap=True)

    keys = ("code", "title", "assumed", "why", "sources", "instead", "looks_at")
    tell(json, [{key: getattr(check, key) for key in keys} for check in ROSTER], table)


def _show(code: str, plot: Path | None, style: str | None, json: Path | None) -> None:
    from nandlab.compare.table import table as compared
    from nandlab.lint.picture import plot_pair
    from nandlab.lint.roster import check_of
    from nandlab.lint.show import show
    from nandlab.lint.text import check_lines

    check = check_of(code)
    check_outputs({"--plot": plot}, [])
    check_pictures(style, plot)
    found = show(check)

    def table(out: Console) -> None:
        for line in check_lines(check, out.width):
            out.print(line, soft_wrap=True)
        out.print()
        out.print(compared(found))

    with Files() as files:
        files.draw(plot, lambda path: plot_pair(check, found, path), style)
        tell(json, found.to_dict(), table)
