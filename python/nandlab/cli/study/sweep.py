"""``nandlab sweep``: runs the points of a study; writes rows, a table, a picture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.cli.files import (
    OUTPUTS,
    Files,
    Json,
    Plot,
    Quiet,
    Style,
    check_json,
    check_pictures,
    output,
    tell,
)
from nandlab.display.terminal import FAULTY, INTERRUPTED, REFUSED, ProgressBar, say
from nandlab.drive.trust.doubts import DOUBTS
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.study.definition import Study


Ftls = Annotated[
    list[str] | None,
    typer.Option(
        "--ftl",
        metavar="NAME|FILE.py[:CLASS]",
        help="FTL to compare, built-in or custom: a value of the axis ftl.name; overrides the"
        " study's; repeatable.",
    ),
]
"""FTLs of a study."""


_MOST_ERRORS = 3
"""Errors of points that are told."""


Table = Annotated[
    Path | None,
    typer.Option(
        "--table",
        metavar="FILE.csv|.tex|.parquet",
        help="Printed table with all rows (.csv, .tex), or all points (.parquet).",
        rich_help_panel=OUTPUTS,
    ),
]
"""Of commands that print the table of a study."""

Rows = Annotated[
    str | None,
    typer.Option(
        "--rows",
        metavar="N|all",
        help="Rows of the printed table (20).",
        rich_help_panel=OUTPUTS,
    ),
]
"""Of the same."""


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the rows (STUDY.study beside the file)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Points at the same time (one for each processor).")
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            metavar="local|dask=ADDRESS|MODULE:FACTORY",
            help="Processes of this machine, a Dask cluster, or your executor.",
        ),
    ] = "local",
    share: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Runs share I of N of the points; other processes run the others into DIR.",
        ),
    ] = None,
    ftl: Ftls = None,
    retry: Annotated[bool, typer.Option("--retry", help="Runs refused points again.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Counts the finished and the remaining points; runs nothing."
        ),
    ] = False,
    plot: Plot = None,
    style: Style = None,
    picture: Annotated[
        str | None,
        output(
            "Of --plot: lines, heatmap, scatter, pareto, sensitivity (what suits the study).",
            "KIND",
        ),
    ] = None,
    column: Annotated[
        list[str] | None, output("Column of --plot; repeatable (the first).", "NAME")
    ] = None,
    table: Table = None,
    rows: Rows = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Runs a study: a drive at many points, each once, whenever it is started."""
    from nandlab.study.definition import Study, StudyUnfinished
    from nandlab.study.findings.paper import TABLES
    from nandlab.study.findings.pictures import check_picture

    check_outputs({"--plot": plot, "--table": table}, [study])
    check_json(json, [study])
    found = Study.load(study, out=out, ftls=ftl or ())
    check_pictures(style, plot)
    if plot is not None:
        check_picture(found.given, "--picture", picture, column)
    elif picture is not None or column:
        option = "--picture" if picture is not None else "--column"
        raise refusal("", f"{option} without --plot", hint="give both or neither")
    if table is not None:
        check_kind("--table", table, TABLES)
    most = rows_of(rows, quiet=quiet)
    if dry_run:
        if share is not None:
            raise refusal("", "--share with --dry-run", hint="leave one out")
        facts = found.facts()
        tell(json, facts, lambda shown: shown.print(_said(facts)))
        return
    code = 0
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            found.run(workers=workers, executor=executor, retry=retry, share=share, progress=bar)
        except StudyUnfinished:
            code = INTERRUPTED
    means = found.means()
    with Files() as files:
        files.write(table, found.write)
        if plot is not None and not code and means:
            files.draw(plot, lambda path: found.plot(path, kind=picture, columns=column), style)
        if not quiet:
            tell_notices(found)
        if json is not None or not quiet:
            tell(json, means, lambda out: None if quiet else show_rows(out, found, means, most))
    tally = found.tally
    # A share may have no point.
    if not code and tally is not None and tally.total and not means:
        say(
            f"error: no point of the study has a result: {tally.first_error}"
            if tally.first_error
            else "error: no point of the study has a result"
        )
        code = REFUSED
    raise typer.Exit(code or (FAULTY if found.errors() else 0))


def _said(facts: dict[str, Any]) -> str:
    return (
        f"{facts['points']:,} points: {facts['results']:,} with results,"
        f" {facts['failed']:,} failed, {facts['left']:,} left"
    )


def tell_notices(study: Study) -> None:
    """What was done, on standard error."""
    tally = study.tally
    if tally is None:
        return
    ran = f"{tally.done + tally.failed:,} points run"
    say(f"{ran}, {tally.known:,} known before, {tally.left:,} left; rows: {study.out}")
    if damaged := study.rows().damaged:
        say(f"note: {len(damaged)} damaged lines are left out, the first: {damaged[0]}")
    for said in doubts_of(study):
        say(f"note: {said}")
    errors = study.errors()
    for error in errors[:_MOST_ERRORS]:
        say(f"note: a point failed: {error}")
    if len(errors) > _MOST_ERRORS:
        say(
            f"note: {len(errors) - _MOST_ERRORS} other errors; column `error` of the table has them"
        )


def doubts_of(study: Study) -> list[str]:
    """A line for each doubt that points have, and one for the notices of their reports."""
    had, notices = Counter[str](), 0
    for row in study.results():
        had.update(row.get("doubts") or ())
        notices += bool(row.get("notices"))
    lines = [
        f"{had[name]:,} points {said}; they are marked, and those without doubts are better"
        for name, said in DOUBTS.items()
        if had[name]
    ]
    if notices:
        lines.append(f"{notices:,} points have notices; `nandlab run` of such a point prints them")
    return lines


def rows_of(given: str | None, *, quiet: bool) -> int | None:
    """How many rows of the table are printed; None for all.

    Raises:
        NandlabError: no number, and not ``all``; or nothing is printed.
    """
    from nandlab.study.findings.shown import MOST_LINES

    if given is None:
        return MOST_LINES
    if quiet:
        raise refusal("", "--rows with --quiet, which prints no table", hint="leave one out")
    if given == "all":
        return None
    if not given.isdecimal() or int(given) == 0:
        raise refusal("--rows", f"`{given}`", "a number of rows, 1 or more, or all")
    return int(given)


def show_rows(shown: Console, study: Study, rows: list[dict[str, Any]], most: int | None) -> None:
    """Means over replicates, the first rows of them."""
    from nandlab.study.findings.shown import table_of

    for part in table_of(study, rows, most):
        shown.print(part)
