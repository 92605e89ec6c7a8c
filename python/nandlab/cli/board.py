"""``nandlab board``: runs a procedure on a raw chip; writes rows, a picture, a short table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.catalogue import parameter_files
from nandlab.cli.files import (
    OUTPUTS,
    Files,
    Json,
    Plot,
    Style,
    check_pictures,
    json_file,
    output,
    tell,
)
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console, say
from nandlab.given.completion import member_of, preset_of
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.board.measurement import Measurement


def board(
    procedure: Annotated[
        str | None,
        typer.Argument(
            help="Procedure; omitted: lists all procedures.",
            autocompletion=member_of("procedure"),
        ),
    ] = None,
    chip: Annotated[
        str | None,
        typer.Option(
            help="Preset or file of a chip with a cell.", autocompletion=preset_of("chip")
        ),
    ] = None,
    cycles: Annotated[
        int | None,
        typer.Option(help="P/E cycles (procedure.cycles); default: from the procedure."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="chip.… or procedure.…; repeatable.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of cells and data.")] = 1,
    rest_hours: Annotated[
        float, typer.Option(help="Rest after each P/E cycle, in which cells recover from wear.")
    ] = 0.0,
    rest_c: Annotated[float, typer.Option(help="Temperature of the rest.")] = 30.0,
    out: Annotated[Path | None, output("New file for all rows: .parquet or .csv.")] = None,
    plot: Plot = None,
    style: Style = None,
    json: Json = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resumes an interrupted measurement in --out.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No table and no progress bar.", rich_help_panel=OUTPUTS)
    ] = False,
) -> None:
    """Runs a characterization procedure on a raw chip on the virtual test board."""
    from nandlab.board.measurement import Unfinished, procedures
    from nandlab.board.measurement import board as measured

    if procedure is None:
        _list()
        return
    if chip is None:
        known = ", ".join(p.name for p in procedures())
        if procedure not in known.split(", "):
            raise refusal("board", f"unknown procedure `{procedure}`", known)
        raise refusal("board", "no chip", "--chip with a preset or a file, such as wang2014_mlc")
    if resume and out is None:
        raise refusal("--resume", "without --out", hint="name the file to resume with --out")
    inputs = [chip, *parameter_files(chip, set or ())]
    check_outputs({"--out": out, "--plot": plot, "--json": json_file(json)}, inputs)
    check_pictures(style, plot)
    params: dict[str, object] = {} if cycles is None else {"cycles": cycles}
    code, failures = 0, list[OSError]()
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            result = measured(
                procedure,
                chip,
                set=set or [],
                seed=seed,
                rest_hours=rest_hours,
                rest_c=rest_c,
                out=out,
                resume=resume,
                progress=bar,
                **params,
            )
        except Unfinished as stop:
            result, code, failures = stop.result, INTERRUPTED, stop.failures
        except Unwritten as stop:
            result, failures = stop.result, stop.failures
    # Drives have these rates, and not those of the rows: before anything else.
    for note in result.notes:
        say(f"note: {note}")
    with Files(failures) as files:
        files.draw(plot, result.plot, style)
        rows = result.table().to_pylist() if json is not None else []
        tell(json, rows, lambda to: None if quiet else _tell(result, out, to))
    raise typer.Exit(code)


def _list() -> None:
    from rich.table import Table
    from rich.text import Text

    from nandlab.board.measurement import procedures

    table = Table.grid(padding=(0, 2))
    for procedure in procedures():
        keys = ", ".join(procedure.schema.get("properties", {}))
        table.add_row(procedure.name, procedure.summary)
        table.add_row("", Text(keys, style="bright_black"))
    console().print(table)


def _tell(result: Measurement, out: Path | None, to: Console) -> None:
    """The last value of every curve, with its interval."""
    from rich.table import Table

    from nandlab.board.measurement import procedures

    table = result.table()
    if result.interrupted:
        left = f"{result.steps_done} of {result.steps} steps; --resume continues"
        to.print(f"interrupted: {left if out is not None else left.split(';')[0]}")
    x, panels = result.picture["x"]["column"], [p["column"] for p in result.picture["panels"]]
    last: dict[tuple[object, ...], dict[str, object]] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in result.picture["series"])
        last[key if result.picture["style"] != "bars" else (row[x],)] = row
    grid = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bright_black")
    for name in (*result.picture["series"], x, *panels):
        grid.add_column(name, justify="left" if name in result.picture["series"] else "right")
    for row in last.values():
        cells = [str(row[name]) for name in result.picture["series"]]
        grid.add_row(*cells, _number(row[x]), *(_with_interval(row, name) for name in panels))
    to.print(grid)
    where = f" in {out}" if out is not None else ""
    to.print(f"{table.num_rows:,} rows of {result.steps_done:,} steps{where}")
    rates = [name for name in panels if f"{name}_low" in table.column_names]
    if rates and not any(row[name] for row in last.values() for name in rates):
        [keys] = [p.schema["properties"] for p in procedures() if p.name == result.procedure]
        more = [f"procedure.{key}" for key in ("cycles", "reads", "hours") if key in keys]
        cure = (
            f"a larger {' or '.join(more)} would show errors"
            if more
            else "more stress would show errors"
        )
        to.print(f"note: no curve has errors at its end; {cure}")


def _number(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _with_interval(row: dict[str, object], name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None:
        return _number(row[name])
    return f"{_number(row[name])}  ({_number(low)} to {_number(high)})"
