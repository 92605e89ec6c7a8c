"""Commands of ``nandlab``: every group and command, and the entry point of the program."""

from __future__ import annotations

import copy
import json as json_text
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException
from typer.main import get_command
from typer.models import CommandInfo

from nandlab import __version__, catalogue
from nandlab.cli import code as cli_code
from nandlab.cli import ecc as cli_ecc
from nandlab.cli import new as cli_new
from nandlab.cli import simulators as cli_simulators
from nandlab.cli import trace as cli_trace
from nandlab.cli.board import board
from nandlab.cli.cell import cell
from nandlab.cli.demo import demo
from nandlab.cli.drive.ctl import ctl
from nandlab.cli.drive.dashboard import dashboard
from nandlab.cli.drive.ftl import ftl
from nandlab.cli.drive.life import life
from nandlab.cli.drive.nbd import nbd
from nandlab.cli.drive.nvme import nvme
from nandlab.cli.drive.run import run
from nandlab.cli.drive.save import save
from nandlab.cli.drive.why import why
from nandlab.cli.endurance import endurance
from nandlab.cli.explain import explain
from nandlab.cli.files import Json, check_json, tell
from nandlab.cli.fit import fit
from nandlab.cli.levels.content import content
from nandlab.cli.levels.tvr import tvr
from nandlab.cli.lint import lint
from nandlab.cli.papers import papers
from nandlab.cli.study.calibrate import calibrate
from nandlab.cli.study.compare import compare
from nandlab.cli.study.design import design
from nandlab.cli.study.search import search
from nandlab.cli.study.sweep import sweep
from nandlab.display.streams import prepare_streams
from nandlab.display.terminal import INTERRUPTED, REFUSED, ended_by, guarded, say
from nandlab.explained.report import report_schema
from nandlab.given.completion import preset_of
from nandlab.given.refusal import plain, refusal
from nandlab.process.early import let_end

app = typer.Typer(
    name="nandlab",
    help="From the threshold voltage of a flash cell to the tail latency of an application.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
EXAMPLES = {
    "run": (
        "nandlab run --drive tiny --workload jobs.fio --precondition steady",
        "nandlab run --drive tiny --workload jobs.fio --plot run.png",
        "nandlab run --drive modern_tlc --trace disk.csv.gz --json report.json",
        "nandlab run --drive my.toml --set gc.name=fifo --set drive.channels=4 --seed 7",
        "nandlab run --drive tiny --workload jobs.fio --ftl my_ftl.py",
        "nandlab run --drive tiny --workload jobs.fio --html run.html",
        "nandlab run --drive modern_tlc --workload jobs.fio --live",
    ),
    "dashboard": (
        "nandlab dashboard",
        "nandlab dashboard --drive tiny --workload jobs.fio --precondition steady",
        "nandlab dashboard --from steady.nldrive --port 8000 --no-open",
    ),
    "save": (
        "nandlab save --drive tiny --precondition steady --out steady.nldrive",
        "nandlab run --from steady.nldrive --workload jobs.fio",
    ),
    "nbd": (
        "nandlab nbd --drive tiny --precondition steady --socket tiny.sock",
        "nandlab nbd --drive modern_qlc --store disk.img --clock scaled=2",
        "nandlab nbd --from steady.nldrive --clock fast --record disk.iolog.zst",
        "nandlab nbd --drive tiny --clock fast --run 'nbdinfo $uri' --json -",
    ),
    "nvme": (
        "nandlab nvme --drive modern_qlc --store disk.img --control qlc.ctl",
        "nandlab nvme --drive tiny --precondition steady --clock fast --run 'echo $uri'",
    ),
    "ctl": (
        "nandlab ctl nandlab.sock status",
        "nandlab ctl nandlab.sock top",
        "nandlab ctl nandlab.sock cut",
        "nandlab ctl nandlab.sock restore",
        "nandlab ctl nandlab.sock age 8760",
        "nandlab ctl nandlab.sock exchange 2 --way suspended",
        "nandlab ctl nandlab.sock snapshot now.nldrive",
    ),
    "why": ("nandlab why queries.csv --requests requests.parquet",),
    "life": (
        "nandlab life --drive tiny --workload jobs.fio --to-death --dwpd 1",
        "nandlab life --drive my.toml --workload jobs.fio --years 5 --plot life.png",
    ),
    "sweep": (
        "nandlab sweep study.toml --workers 4 --plot study.png",
        "nandlab sweep study.toml --executor dask=tcp://host:8786",
    ),
    "search": (
        "nandlab search study.toml --objectives 'max iops, min read_us_p99'",
        "nandlab search study.toml --objectives 'max iops' --trials 200",
    ),
    "design": (
        "nandlab design target.toml",
        "nandlab design target.toml --workers 4 --json answer.json --plot answer.png",
    ),
    "calibrate": (
        "nandlab calibrate --drive my.toml --measured fio.json --fit gc.d=2:9",
        "nandlab calibrate --drive tiny --measured m.csv --fit gc.d=2:9 --out b.toml",
    ),
    "compare": ("nandlab compare greedy.json fifo.json --plot both.png",),
    "ftl": ("nandlab ftl --drive modern_tlc",),
    "board": (
        "nandlab board",
        "nandlab board wear --chip wang2014_mlc --cycles 100000 --out wear.csv",
    ),
    "fit": ("nandlab fit board.csv --law power_law --plot fit.png",),
    "endurance": (
        "nandlab endurance tlc_3d --retention-hours 8760 --temperature-c 40",
        "nandlab endurance tlc_3d --profile client",
    ),
    "tvr": ("nandlab tvr --retention-hours 720 --out short_lived.toml",),
    "cell": (
        "nandlab cell tlc_3d --pe-cycles 3000 --retention-hours 8760 --plot cell.png",
        "nandlab cell tlc_3d --picture endurance --plot endurance.png",
    ),
    "content": ("nandlab content data.bin --coding inverted --out chip.toml",),
    "lint": (
        "nandlab lint my_drive.toml study.toml jobs.fio report.json",
        "nandlab lint jobs.fio --drive tiny --precondition steady",
        "nandlab lint --show L010 --plot spare.png",
    ),
    "papers": ("nandlab papers", "nandlab papers wang2014"),
    "explain": (
        "nandlab explain gc.start_free_blocks --drive modern_tlc",
        "nandlab explain gc.name=greedy",
        "nandlab explain host.latency_us.p99_9",
    ),
}
"""At the end of the help of a command; the tests read each with its parser."""

for command in (
    run,
    dashboard,
    save,
    nbd,
    nvme,
    ctl,
    why,
    life,
    sweep,
    search,
    design,
    calibrate,
    compare,
    lint,
    ftl,
    board,
    fit,
    endurance,
    tvr,
    cell,
    content,
    papers,
    explain,
):
    epilog = "\n\n".join(["Examples:", *EXAMPLES[command.__name__]])
    app.command(epilog=epilog)(guarded(command))
app.add_typer(cli_new.app, name="new")
app.add_typer(cli_simulators.app, name="import")
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
    kind: Annotated[
        str | None, typer.Argument(help="cell, chip, code, drive, host, price or workload.")
    ] = None,
    json: Json = None,
) -> None:
    """Lists the presets that come with nandlab."""
    from rich.table import Table

    check_json(json)
    rows = catalogue.presets(kind)
    table = Table.grid(padding=(0, 2))
    previous = ""
    for preset in rows:
        if preset.kind != previous and len(rows) > 1:
            table.add_row(*([] if not previous else [""]))
        table.add_row(preset.kind if preset.kind != previous else "", preset.name, preset.summary)
        previous = preset.kind
    tell(json, [preset._asdict() for preset in rows], lambda out: out.print(table))


_SHOWN = ("drive", "chip", "host", "cell", "code", "workload", "price")
"""Kinds of presets in the order in which a name is looked for."""


@app.command()
@guarded
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a preset (see `nandlab presets`), or KIND/NAME.",
            autocompletion=preset_of(),
        ),
    ],
) -> None:
    """Prints a preset, with the source of each number."""
    same = [kind for kind in _SHOWN if name in [one.name for one in catalogue.presets(kind)]]
    if len(same) > 1:
        others = " or ".join(f"`nandlab show {kind}/{name}` the {kind}" for kind in same[1:])
        say(f"note: there is a {' and a '.join(same)} {name}; this is the {same[0]}, {others}")
    print(catalogue.show(name).rstrip("\n"))


@app.command()
@guarded
def schema(
    of: Annotated[
        str,
        typer.Argument(
            help="`drive` (a drive file), `report` (of a run) or `life` (the result of one).",
            autocompletion=lambda: ["drive", "report", "life"],
        ),
    ] = "drive",
) -> None:
    """Prints the JSON Schema of a drive file, of a report or of a life."""
    from nandlab.life.schema import life_schema

    schemas: dict[str, Callable[[], object]] = {
        "drive": lambda: catalogue.schema(of_files=True),
        "report": report_schema,
        "life": life_schema,
    }
    if of not in schemas:
        raise refusal("schema", f"no schema of `{of}`", schemas, given=of)
    print(json_text.dumps(schemas[of](), indent=2))


@app.command()
@guarded
def cite(
    drive: Annotated[
        str, typer.Option(help="Preset or drive file.", autocompletion=preset_of("drive"))
    ],
) -> None:
    """Prints the sources of a drive as BibTeX."""
    print(catalogue.bibliography(drive), end="")


app.command("demo")(guarded(demo))


@cache
def program(first: str) -> Callable[..., Any]:
    """The program, with one command where that is its first word, or else with all.

    Its groups and options are put together from the signatures of functions: all of them take a
    fifth of a second.
    """
    named = copy.copy(app)
    named.registered_commands = [one for one in app.registered_commands if _name(one) == first]
    named.registered_groups = [one for one in app.registered_groups if one.name == first]
    is_one = bool(named.registered_commands or named.registered_groups)
    return get_command(named if is_one else app)


def _name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__


def _longer(error: TyperException) -> str:
    """The option of the command whose last words an unknown option has, if there is one."""
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if context is None:
        return ""
    # Words that are too many: errors of known options are of other classes.
    if type(error).__name__ == "UsageError" and _takes(context, "--drive"):
        return "; a drive is named by `--drive`"
    if not isinstance(option, str):
        return ""
    name = option.lstrip("-")
    names = (each for param in context.command.params for each in param.opts)
    return "".join(f"; did you mean `{each}`?" for each in names if each.endswith(f"-{name}"))


def _takes(context: Any, option: str) -> bool:
    """Whether a command has an option."""
    return any(option in param.opts for param in context.command.params)


def main() -> None:
    """The entry point of the command ``nandlab``: its own errors are one line, too."""
    prepare_streams()
    # Pictures are drawn into files: a backend of the environment (a notebook's) has no part in it.
    os.environ.pop("MPLBACKEND", None)
    try:
        code = program("".join(sys.argv[1:2]))(standalone_mode=False)
        sys.stdout.flush()
    except OSError as error:
        # Of what is printed without a command, as help is.
        code = ended_by(error)
    except TyperException as error:
        # Without a message it is about no arguments at all, and help is printed already.
        if said := error.format_message():
            context = getattr(error, "ctx", None)
            command = "nandlab" if context is None else context.command_path
            say(f"error: {plain(said.rstrip('.'))}{_longer(error)}; see `{command} --help`")
        code = REFUSED
    except (KeyboardInterrupt, typer.Abort):
        # Between the end of the command and here.
        say("interrupted")
        code = INTERRUPTED
    let_end()
    sys.exit(code)
