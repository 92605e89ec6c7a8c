"""``nandlab ctl``: commands to a drive that is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.drive.exchange import WAYS, line
from nandlab.given.refusal import refusal
from nandlab.report.tables import Exchange
from nandlab.served.control import COMMANDS, ask


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
) -> None:
    """Cuts the power of a served drive, restores it, ages it, exchanges a die, saves it."""
    options = {"--way": way, "--pe-cycles": pe_cycles}
    for option, value in options.items() if command[0] != "exchange" else []:
        if value is not None:
            raise refusal(option, f"not with `{command[0]}`", hint="it belongs to exchange")
    match command:
        case ["exchange", die]:
            words = ["exchange", die, way or WAYS[0], pe_cycles or "0"]
        case ["snapshot", file]:
            # The server may be in another folder.
            words = ["snapshot", str(Path(file).absolute())]
        case _:
            words = command
    status = ask(socket, words)
    told = (
        f"power {status['power']}, {status['clients']} clients, "
        f"{status['completed']:,} requests complete, {status['failed']:,} failed, "
        f"{status['now_ns'] / 1e9:,.3f} s simulated"
    )
    if status["exchange"]:
        told += f"; {line(Exchange.of(status['exchange']), is_over=False)}"
    typer.echo(told)
