"""``nandlab search``: lets an optimiser choose the points of a study."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.files import (
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
from nandlab.cli.study.sweep import Ftls, Rows, Table, rows_of, show_rows, tell_notices
from nandlab.display.terminal import FAULTY, INTERRUPTED, ProgressBar, say
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal


def search(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study.")],
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'max COLUMN, min COLUMN'",
            help="Objectives; override the study's; repeatable.",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(metavar="'COLUMN <= VALUE'", help="Limits of a good point; repeatable."),
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option(help="Runs of each combination, with other seeds; overrides the study's."),
    ] = None,
    trials: Annotated[int, typer.Option(help="Combinations to try; whole batches.")] = 100,
    sampler: Annotated[
        str,
        typer.Option(metavar="tpe|gp|nsga2|nsga3|cmaes|qmc|random", help="Optimiser, by optuna."),
    ] = "tpe",
    seed: Annotated[int, typer.Option(help="Of the optimiser.")] = 1,
    batch: Annotated[
        int | None, typer.Option(help="Points chosen together, before any of their results (8).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the rows (STUDY.study beside the file)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Points at the same time (one for each processor).")
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="local|dask=ADDRESS|MODULE:FACTORY", help="As for `sweep`.")
    ] = "local",
    ftl: Ftls = None,
    plot: Plot = None,
    style: Style = None,
    picture: Annotated[
        str | None, output("Of --plot: pareto or scatter (what suits the objectives).", "KIND")
    ] = None,
    table: Table = None,
    rows: Rows = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Searches a study for its best points; several objectives have a Pareto front."""
    from nandlab.study.definition import Study, StudyUnfinished
    from nandlab.study.findings.paper import TABLES
    from nandlab.study.findings.pictures import KINDS

    check_outputs({"--plot": plot, "--table": table}, [study])
    check_json(json, [study])
    check_pictures(style, plot)
    if plot is not None:
        if picture is not None and picture not in KINDS:
            raise refusal("--picture", f"unknown picture `{picture}`", KINDS, given=picture)
    elif picture is not None:
        raise refusal("", "--picture without --plot", hint="give both or neither")
    if table is not None:
        check_kind("--table", table, TABLES)
    most = rows_of(rows, quiet=quiet)
    given = Study.load(study, out=out, ftls=ftl or ())
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            found = given.search(
                trials,
                objectives=None if not objectives else _parts(objectives),
                limits=limits or None,
                replicates=replicates,
                sampler=sampler,
                seed=seed,
                batch=batch,
                workers=workers,
                executor=executor,
                progress=bar,
            )
        except StudyUnfinished:
            say("interrupted; the same command goes on")
            raise typer.Exit(INTERRUPTED) from None
    best = found.best()
    found.study.tally = found.tally
    with Files() as files:
        files.write(table, found.write)
        files.draw(plot, lambda path: found.study.plot(path, kind=picture), style)
        if not quiet:
            tell_notices(found.study)
        if json is not None or not quiet:
            tell(json, best, lambda out: None if quiet else show_rows(out, found.study, best, most))
    raise typer.Exit(FAULTY if found.study.errors() else 0)


def _parts(given: list[str]) -> list[str]:
    """Objectives, several of which may stand in one text; commas of functions are theirs."""
    return [part for text in given for part in re.split(r",\s*(?=(?:max|min)\s)", text)]
