"""``nandlab compare``: reports of runs side by side, with ratios to the first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.files import Files, Json, check_json, tell
from nandlab.display.terminal import say
from nandlab.given.outputs import check_outputs


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT.json...", help="Reports of `nandlab run --json`."),
    ],
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Compares each report by itself; else other seeds are replicates."
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.")
    ] = None,
    json: Json = None,
) -> None:
    """Compares runs: ratios to the first, with intervals where runs have replicates."""
    from nandlab.compare.comparison import compare as compared
    from nandlab.compare.table import table
    from nandlab.display.picture import check_kind

    check_outputs({"--plot": plot}, reports)
    check_json(json, reports)
    if plot is not None:
        check_kind(plot)
    found = compared(reports, each=each)
    with Files() as files:
        files.write(plot, found.plot)
        for said in found.notices():
            say(f"note: {said}")
        tell(json, found.to_dict(), lambda out: out.print(table(found)))
