"""Commands of ``nandlab``: every group and command, and the entry point of the program."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from nandlab import __version__, catalogue
from nandlab.cli import code as cli_code
from nandlab.cli import ecc as cli_ecc
from nandlab.cli import trace as cli_trace
from nandlab.cli.board import board
from nandlab.cli.cell import cell
from nandlab.cli.demo import demo
from nandlab.cli.endurance import endurance
from nandlab.cli.fit import fit
from nandlab.cli.papers import papers
from nandlab.cli.run import run
from nandlab.display.terminal import REFUSED, console, guarded, say

app = typer.Typer(
    name="nandlab",
    help="From the threshold voltage of a flash cell to the tail latency of an application.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(guarded(run))
app.command()(guarded(board))
app.command()(guarded(fit))
app.command()(guarded(endurance))
app.command()(guarded(cell))
app.command()(guarded(papers))
app.add_typer(cli_code.app, name="code")
app.add_typer(cli_trace.app, name="trace")
app.add_typer(cli_ecc.app, name="ecc")


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"nandlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


@app.command()
@guarded
def presets(
    kind: Annotated[str | None, typer.Argument(help="cell, chip, code, drive or host.")] = None,
) -> None:
    """Lists the parameter files that come with nandlab."""
    from rich.table import Table

    rows = catalogue.presets(kind)
    table = Table.grid(padding=(0, 2))
    previous = ""
    for preset in rows:
        if preset.kind != previous and len(rows) > 1:
            table.add_row(*([] if not previous else [""]))
        table.add_row(preset.kind if preset.kind != previous else "", preset.name, preset.summary)
        previous = preset.kind
    console().print(table)


@app.command()
@guarded
def show(name: Annotated[str, typer.Argument(help="A name that `nandlab presets` lists.")]) -> None:
    """Prints a preset, with the source of each number."""
    print(catalogue.show(name).rstrip("\n"))


@app.command()
@guarded
def schema() -> None:
    """Prints the JSON Schema of a drive file."""
    print(json.dumps(catalogue.schema(), indent=2))


@app.command()
@guarded
def cite(drive: Annotated[str, typer.Argument(help="Preset or drive file.")]) -> None:
    """Prints BibTeX of everything that a drive is built on."""
    print(catalogue.bibliography(drive), end="")


app.command("demo")(guarded(demo))


def main() -> None:
    """The entry point of the command ``nandlab``: its own errors are one line, too."""
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        # Without a message it is about no arguments at all, and help is printed already.
        if said := error.format_message():
            context = getattr(error, "ctx", None)
            command = "nandlab" if context is None else context.command_path
            say(f"error: {said.rstrip('.')}; see `{command} --help`")
        code = REFUSED
    sys.exit(code)
