"""``nandlab board``: runs a procedure on a raw chip; writes rows, a picture, a short table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.display.terminal import INTERRUPTED, ProgressBar, console
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from nandlab.board.measurement import Measurement

_OUT = "Outputs"


def board(
    procedure: Annotated[
        str | None, typer.Argument(help="What to do; left out, lists everything.")
    ] = None,
    chip: Annotated[
        str | None, typer.Option(help="Preset or file of a chip that has a cell.")
    ] = None,
    cycles: Annotated[
        int | None, typer.Option(help="procedure.cycles; the procedure says them if left out.")
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
    seed: Annotated[int, typer.Option(help="Seed of the cells and the data.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="All rows, a new file: .parquet or .csv.", rich_help_panel=_OUT
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=_OUT),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Goes on after the steps in --out.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No table and no bar.", rich_help_panel=_OUT)
    ] = False,
) -> None:
    """Does a procedure to a raw chip on the virtual test board."""
    from nandlab.board.measurement import Unfinished, procedures
    from nandlab.board.measurement import board as measured

    if procedure is None:
        _list()
        return
    if chip is None:
        known = ", ".join(p.name for p in procedures())
        if procedure not in known.split(", "):
            raise refusal("board", f"unknown procedure `{procedure}`", known)
        raise refusal(
            "board", "no chip", "--chip with a preset or a file, for example wang2014_mlc"
        )
    if resume and out is None:
        raise refusal("--resume", "without --out", "the file to go on with")
    check_outputs({"--out": out, "--plot": plot}, [chip])
    if plot is not None:
        from nandlab.display.picture import check_kind

        check_kind(plot)
    params: dict[str, object] = {} if cycles is None else {"cycles": cycles}
    code = 0
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            result = measured(
                procedure,
                chip,
                set=set or [],
                seed=seed,
                out=out,
                resume=resume,
                progress=bar,
                **params,
            )
        except Unfinished as stop:
            result, code = stop.result, INTERRUPTED
    if not quiet:
        _tell(result, out)
    if plot is not None:
        result.plot(plot)
    raise typer.Exit(code)


def _list() -> None:
    from rich.table import Table

    from nandlab.board.measurement import procedures

    table = Table.grid(padding=(0, 2))
    for procedure in procedures():
        keys = ", ".join(procedure.schema.get("properties", {}))
        table.add_row(procedure.name, procedure.summary)
        table.add_row("", f"[bright_black]{keys}[/]")
    console().print(table)


def _tell(result: Measurement, out: Path | None) -> None:
    """The last value of every curve, with its interval."""
    from rich.table import Table

    from nandlab.board.measurement import procedures

    table = result.table()
    if result.interrupted:
        left = f"{result.steps_done} of {result.steps} steps; --resume goes on"
        console().print(f"interrupted: {left if out is not None else left.split(';')[0]}")
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
    console().print(grid)
    where = f" in {out}" if out is not None else ""
    console().print(f"{table.num_rows:,} rows of {result.steps_done:,} steps{where}")
    rates = [name for name in panels if f"{name}_low" in table.column_names]
    if rates and not any(row[name] for row in last.values() for name in rates):
        [keys] = [p.schema["properties"] for p in procedures() if p.name == result.procedure]
        more = [f"procedure.{key}" for key in ("cycles", "reads", "hours") if key in keys]
        cure = f"a larger {' or '.join(more)} shows some" if more else "more stress shows some"
        console().print(f"note: no curve ends with an error; {cure}")


def _number(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _with_interval(row: dict[str, object], name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None:
        return _number(row[name])
    return f"{_number(row[name])}  ({_number(low)} to {_number(high)})"
