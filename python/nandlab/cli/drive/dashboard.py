"""``nandlab dashboard``: a drive in the browser, served on this machine."""

from __future__ import annotations

import webbrowser
from typing import Annotated, Any

import typer

from nandlab.cli.drive.chosen import SavedFile
from nandlab.cli.options import takes
from nandlab.display.terminal import say
from nandlab.given.completion import preset_of
from nandlab.given.inputs import input_bytes
from nandlab.given.refusal import refusal
from nandlab.options.run import SetOptions
from nandlab.process.interrupt import Stop

_LOOK_S = 0.1
"""Between two looks at Ctrl-C."""


@takes(SetOptions)
def dashboard(
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file (default: the page builds one).",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    saved: SavedFile = None,
    workload: Annotated[
        str | None, typer.Option(metavar="FILE", help="Path or text of a fio job file.")
    ] = None,
    precondition: Annotated[
        str | None,
        typer.Option(
            metavar="none|fill|steady|rested", help="State of the drive before its job (none)."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", help="TCP port, 0 for a free one.", show_default=True)
    ] = 0,
    listen_anywhere: Annotated[
        bool, typer.Option("--listen-anywhere", help="Lets other machines connect too.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Opens no browser.")] = False,
    **given: Any,
) -> None:
    """Shows a drive in the browser, and lets its pages drive it, until Ctrl-C."""
    from nandlab.window.assets import carried
    from nandlab.window.desk import Desk
    from nandlab.window.opened import empty_session, own_session, session_of
    from nandlab.window.server import PageServer

    of_drive = {"workload": workload, "precondition": precondition, **given}
    if drive is None and (named := [name for name, value in of_drive.items() if value is not None]):
        raise refusal("dashboard", f"{named[0]} without a drive", "--drive with a preset or a file")
    if saved is not None and drive is not None:
        raise refusal("dashboard", "--drive and --from are both given", "one of them")
    if not 0 <= port < 1 << 16:
        raise refusal("--port", port, "0 to 65535")
    if drive is not None:
        session = session_of(drive, **of_drive)
    else:
        session = empty_session()
        if saved is not None:
            session.load(input_bytes(saved, "a drive that `nandlab save` wrote"))
    desk = Desk()
    server = PageServer(desk, carried(), port=port, is_open=listen_anywhere, another=own_session)
    with Stop() as stop, server:
        if listen_anywhere:
            say("warning: whoever has this address and reaches this machine drives the drive")
        say(f"window at {server.url} (Ctrl-C ends)")
        if not no_open:
            webbrowser.open(server.url)
        while not stop.asked:
            desk.work(session, _LOOK_S)
