"""``nandlab nvme``: serves a drive as an NVMe drive over TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.cli.drive.chosen import DriveName, SavedFile
from nandlab.cli.drive.kept import Explain, ExplainPlot, Series
from nandlab.cli.drive.nbd import ReportFile, RunCommand, nbd
from nandlab.cli.drive.shown import Live
from nandlab.cli.files import Plot, Quiet, Style
from nandlab.cli.options import takes
from nandlab.options.serve import CLIENTS, ServeOptions


@takes(ServeOptions, but=("timeline_spans",))
def nvme(
    drive: DriveName = None,
    saved: SavedFile = None,
    control: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Socket for `nandlab ctl`, for this user (default: none).",
            rich_help_panel=CLIENTS,
        ),
    ] = None,
    json: ReportFile = None,
    series: Series = None,
    plot: Plot = None,
    style: Style = None,
    explain: Explain = None,
    explain_plot: ExplainPlot = None,
    run: RunCommand = None,
    live: Live = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Serves a drive over NVMe/TCP, until Ctrl-C: `nvme connect` makes it a disk of Linux.

    With --socket NBD clients use the same drive.
    """
    nbd(
        drive=drive,
        saved=saved,
        control=control,
        json=json,
        series=series,
        plot=plot,
        style=style,
        explain=explain,
        explain_plot=explain_plot,
        run=run,
        live=live,
        quiet=quiet,
        protocol="nvme",
        **given,
    )
