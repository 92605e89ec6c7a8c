"""``nandlab calibrate``: fits numbers of a drive to measurements of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.cli.files import Files, Plot, Quiet, Style, check_pictures, json_file, output
from nandlab.cli.options import takes
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console
from nandlab.given.completion import preset_of
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.options.run import SetOptions
from nandlab.process.interrupt import Stop

DATA = "Measurements"
FIT = "Fit"


@takes(SetOptions, but=("seed", "scale"))
def calibrate(
    drive: Annotated[
        str,
        typer.Option(
            help="Preset or drive file to begin with.",
            autocompletion=preset_of("drive"),
        ),
    ],
    measured: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Measured rows: .csv, a result of fio --output-format=json, or a folder of"
            " these; repeatable.",
            rich_help_panel=DATA,
        ),
    ],
    fit: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=LOW:HIGH,...",
            help="Keys to fit, with their ranges; KEY[0] is an item of a list, LOW:HIGH:log sets"
            " the scale; repeatable.",
            rich_help_panel=FIT,
        ),
    ],
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Metrics to compare: all of a CSV file; of fio's iops, mean_us, p50_us, p99_us.",
            rich_help_panel=DATA,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="Rows to use, as 'depth <= 64'.", rich_help_panel=DATA),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Random share of the rows to hold out.", rich_help_panel=DATA
        ),
    ] = None,
    holdout_rows: Annotated[
        str | None,
        typer.Option(
            metavar="FILTER",
            help="Rows to hold out, as 'block_bytes == 8192'.",
            rich_help_panel=DATA,
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="THEIRS=OURS",
            help="Renames a column: mean=mean_us; repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Adds a column with one value: operation=randread; repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None,
    precondition: Annotated[
        str,
        typer.Option(
            metavar="none|fill|steady|rested",
            help="State of the drive before a row, if the row does not say.",
        ),
    ] = "fill",
    requests: Annotated[
        int, typer.Option(help="Requests per row, if the row does not say.")
    ] = 20_000,
    trials: Annotated[
        int, typer.Option(help="Points that the fit may try.", rich_help_panel=FIT)
    ] = 400,
    level: Annotated[
        float, typer.Option(help="Level of the intervals.", rich_help_panel=FIT)
    ] = 0.95,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the first points, the held-out rows and the intervals.",
            rich_help_panel=FIT,
        ),
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Points at the same time (one for each processor).")
    ] = None,
    out: Annotated[
        Path | None, output("Drive file with the fitted numbers, each marked.", "FITTED.toml")
    ] = None,
    json: Annotated[Path | None, output("All numbers as JSON.", "FILE|-")] = None,
    table: Annotated[Path | None, output("Residuals: .parquet or .csv.")] = None,
    plot: Plot = None,
    style: Style = None,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Fits numbers of a drive to measurements of a real one, by running the simulator."""
    from nandlab.board.rows import KINDS
    from nandlab.calibrate.calibrating import CalibrationUnfinished
    from nandlab.calibrate.calibrating import calibrate as calibrated
    from nandlab.calibrate.drive_file import check_writable
    from nandlab.catalogue import parameter_files

    sets = given.get("set", [])
    outputs = {"--out": out, "--json": json_file(json), "--table": table, "--plot": plot}
    check_outputs(outputs, [*parameter_files(drive, sets), *measured])
    if out is not None:
        check_kind("--out", out, [".toml"])
        check_writable(drive, sets, fit, out.parent)
    if table is not None:
        check_kind("--table", table, KINDS)
    check_pictures(style, plot)
    code, to_stdout = 0, json == Path("-")
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            found = calibrated(
                drive,
                measured,
                fit,
                metrics=None if metrics is None else _parts(metrics),
                rows=rows,
                holdout=holdout,
                holdout_rows=holdout_rows,
                rename=_pairs("--rename", rename, "mean=mean_us"),
                columns=_pairs("--column", column, "operation=randread"),
                **given,
                precondition=precondition,
                requests=requests,
                trials=trials,
                level=level,
                seed=seed,
                workers=workers,
                progress=bar,
            )
        except CalibrationUnfinished as stop:
            found, code = stop.result, INTERRUPTED
    with Stop(is_patient=True), Files() as files:
        files.write(out, found.to_toml)
        files.write(outputs["--json"], found.to_json)
        files.write(table, found.to_parquet)
        files.draw(plot, found.plot, style)
        if not quiet:
            console(stderr=to_stdout).print(str(found), highlight=False, soft_wrap=True)
        if to_stdout:
            print(found.to_json(), end="", flush=True)
    raise typer.Exit(code)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pairs(option: str, given: list[str] | None, example: str) -> dict[str, str]:
    """Pairs NAME=VALUE of an option."""
    found = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise refusal(option, f"`{text}`", f"NAME=VALUE, as {example}")
        found[name.strip()] = value.strip()
    return found
