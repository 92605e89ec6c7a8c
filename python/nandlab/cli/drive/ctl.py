"""``nandlab ctl``: commands to a drive that is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.served.control import COMMANDS, ask


def ctl(
    socket: Annotated[Path, typer.Argument(help="Socket of the server.", metavar="SOCKET")],
    command: Annotated[
        list[str],
        typer.Argument(metavar=" | ".join(COMMANDS[:-1]) + " | age HOURS", help="What to do."),
    ],
) -> None:
    """Cuts the power of a served drive, restores it, ages its data, or tells how it is doing."""
    status = ask(socket, command)
    told = (
        f"power {status['power']}, {status['clients']} clients, "
        f"{status['completed']:,} requests complete, {status['failed']:,} failed, "
        f"{status['now_ns'] / 1e9:,.3f} s simulated"
    )
    typer.echo(told)
