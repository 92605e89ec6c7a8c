"""``nandlab life``: a whole life of a drive under a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.files import OUTPUTS, Files, Plot, Quiet, Style, check_pictures, json_file
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console
from nandlab.ftl.source import ftl_in, shown_causes
from nandlab.given.completion import key_of_a_drive, preset_of
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop


def life(
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file, whose `run` table may say what to run.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    workload: Annotated[str | None, typer.Option(help="fio job file.")] = None,
    trace: Annotated[str | None, typer.Option(help="Recorded trace.")] = None,
    format: Annotated[
        str | None, typer.Option(help="Format of the trace (default: told from its first line).")
    ] = None,
    years: Annotated[float | None, typer.Option(help="Years of the life.")] = None,
    to_death: Annotated[bool, typer.Option("--to-death", help="Until the drive dies.")] = False,
    windows: Annotated[int, typer.Option(help="Timed runs along the life.")] = 20,
    writes_per_day: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Host writes a day, as 20GB (default: of the runs)."),
    ] = None,
    dwpd: Annotated[float | None, typer.Option(help="The same in drive writes per day.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="JESD218 requirements: client (default) or enterprise."),
    ] = None,
    uber: Annotated[float | None, typer.Option(help="UBER limit.")] = None,
    retention_hours: Annotated[
        float | None, typer.Option(help="Retention time that data must survive.")
    ] = None,
    temperature_c: Annotated[float | None, typer.Option(help="Storage temperature.")] = None,
    accelerate: Annotated[
        str,
        typer.Option(
            metavar="auto|N", help="Cycles that each simulated one stands for; 1 is exact."
        ),
    ] = "auto",
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Changes a parameter; repeatable.",
            autocompletion=key_of_a_drive,
        ),
    ] = None,
    precondition: Annotated[
        str,
        typer.Option(metavar="fill|steady|rested", help="State of the drive at the beginning."),
    ] = "fill",
    skip: Annotated[
        str | None,
        typer.Option(metavar="N|2s|1.5x", help="Beginning of each timed run that is not measured."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="N|2s|1.5x", help="End of each timed run."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    ftl: Annotated[
        str | None,
        typer.Option(metavar="FILE.py[:CLASS]", help="FTL in Python instead of the drive's."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Whole life.", rich_help_panel=OUTPUTS)
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Windows: .parquet or .csv.", rich_help_panel=OUTPUTS),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    quiet: Quiet = False,
) -> None:
    """Lives a drive's life: its workload ages it, and timed runs show its figures by age."""
    from nandlab.board.rows import KINDS
    from nandlab.life.whole import LifeUnfinished
    from nandlab.life.whole import life as lived

    if drive is None:
        raise refusal("life", "no drive", "--drive with a preset or a file")
    outputs = {"--json": json_file(json), "--parquet": parquet, "--plot": plot}
    check_outputs(outputs, [name for name in (drive, workload, trace) if name])
    if parquet is not None:
        check_kind("--parquet", parquet, KINDS)
    check_pictures(style, plot)
    code, to_stdout = 0, json == Path("-")
    with shown_causes(), ProgressBar(is_shown=not quiet) as bar:
        try:
            found = lived(
                drive,
                workload,
                trace=trace,
                format=format,
                years=years,
                to_death=to_death,
                windows=windows,
                writes_per_day=writes_per_day,
                dwpd=dwpd,
                profile=profile,
                uber=uber,
                retention_hours=retention_hours,
                temperature_c=temperature_c,
                accelerate=accelerate,
                set=set or [],
                precondition=precondition,
                skip=skip,
                until=until,
                seed=seed,
                ftl=None if ftl is None else ftl_in("--ftl", ftl),
                progress=bar,
            )
        except LifeUnfinished as stop:
            found, code = stop.result, INTERRUPTED
    with Stop(is_patient=True), Files() as files:
        files.write(outputs["--json"], found.to_json)
        files.write(parquet, found.to_parquet)
        if found.windows:
            files.draw(plot, found.plot, style)
        if not quiet:
            console(stderr=to_stdout).print(str(found), highlight=False, soft_wrap=True)
        if to_stdout:
            print(found.to_json(), end="", flush=True)
    raise typer.Exit(code)
