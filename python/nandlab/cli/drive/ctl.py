"""``nandlab ctl``: commands to a drive that is served, and how it is doing."""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep
from typing import Annotated, Any

import typer

from nandlab._core import NandlabError
from nandlab.cli.files import check_json, tell
from nandlab.display.terminal import console
from nandlab.drive.exchange import WAYS, line
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.report.tables import Exchange
from nandlab.served.control import COMMANDS, ask
from nandlab.served.measures import prometheus, summary, table

_LOOK_S = 0.5
"""Between two tables."""


def ctl(
    socket: Annotated[
        Path, typer.Argument(help="Socket of the server, or its --control.", metavar="SOCKET")
    ],
    command: Annotated[
        list[str],
        typer.Argument(metavar=" | ".join(COMMANDS), help="What to do."),
    ],
    way: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(WAYS),
            help=f"exchange: beside the clients, or with the drive suspended ({WAYS[0]}).",
        ),
    ] = None,
    pe_cycles: Annotated[
        str | None, typer.Option(metavar="N", help="exchange: cycles of the new chip (0).")
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE|-", help="status: all numbers as JSON; - prints them."
        ),
    ] = None,
) -> None:
    """Shows how a served drive is doing; cuts its power, ages it, exchanges a die, saves it."""
    options = {
        "--way": (way, "exchange"),
        "--pe-cycles": (pe_cycles, "exchange"),
        "--json": (json, "status"),
    }
    for option, (value, owner) in options.items():
        if value is not None and command[0] != owner:
            raise refusal(option, f"not with `{command[0]}`", hint=f"it belongs to {owner}")
    match command:
        case ["top"]:
            _top(socket)
            return
        case ["metrics"]:
            print(prometheus(ask(socket, ["measures"])), end="")
            return
        case ["status"] if json is not None:
            check_json(json)
            words = ["measures"]
        case ["exchange", die]:
            words = ["exchange", die, way or WAYS[0], pe_cycles or "0"]
        case ["snapshot", file]:
            # The server may be in another folder.
            words = ["snapshot", str(Path(file).absolute())]
        case _:
            words = command
    status = ask(socket, words)
    if json is not None:
        tell(json, summary(status), lambda out: out.print(_told(status)))
    else:
        typer.echo(_told(status))


def _told(status: dict[str, Any]) -> str:
    """State of a server, in one line."""
    told = (
        f"power {status['power']}, {status['clients']} clients, "
        f"{status['completed']:,} requests complete, {status['failed']:,} failed, "
        f"{status['now_ns'] / 1e9:,.3f} s simulated"
    )
    if status["exchange"]:
        told += f"; {line(Exchange.of(status['exchange']), is_over=False)}"
    return told


def _top(socket: Path) -> None:
    """A table twice a second until Ctrl-C or the end of the server; one where nobody watches."""
    before = ask(socket, ["measures"])
    with Stop() as stop:
        sleep(_LOOK_S)
        now = ask(socket, ["measures"])
        out = console()
        if not sys.stdout.isatty():
            out.print(table(now, before))
            return
        from rich.live import Live

        with Live(table(now, before), console=out, auto_refresh=False) as live:
            while not stop.asked:
                sleep(_LOOK_S)
                before = now
                try:
                    now = ask(socket, ["measures"])
                except NandlabError:
                    return
                live.update(table(now, before), refresh=True)
