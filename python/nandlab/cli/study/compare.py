"""``nandlab compare``: reports of runs side by side, with ratios to the first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.files import (
    Files,
    Json,
    Plot,
    Style,
    check_json,
    check_pictures,
    output,
    tell,
)
from nandlab.display.terminal import say
from nandlab.given.outputs import check_kind, check_outputs


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT.json...", help="Reports of `nandlab run --json`."),
    ],
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Compares each report separately; otherwise other seeds are replicates."
        ),
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name of a group in table and picture; repeatable, in their order (what differs).",
        ),
    ] = None,
    table: Annotated[Path | None, output("The table, also for LaTeX.", "FILE.csv|.tex")] = None,
    plot: Plot = None,
    style: Style = None,
    json: Json = None,
) -> None:
    """Compares runs: ratios to the first, with intervals where runs have replicates."""
    from nandlab.compare.comparison import compare as compared
    from nandlab.compare.table import table as printed
    from nandlab.display.sheet import KINDS

    check_outputs({"--table": table, "--plot": plot}, reports)
    check_json(json, reports)
    if table is not None:
        check_kind("--table", table, KINDS)
    check_pictures(style, plot)
    found = compared(reports, each=each, labels=label or None)
    with Files() as files:
        files.write(table, found.write)
        files.draw(plot, found.plot, style)
        for said in found.notices():
            say(f"note: {said}")
        tell(json, found.to_dict(), lambda out: out.print(printed(found)))
