"""Options of a served drive: where clients find it, and how it answers them."""

from os import PathLike
from pathlib import Path
from typing import Annotated, TypedDict

from nandlab.options.option import OUTPUTS, Option
from nandlab.options.run import CallerOptions, KeptOptions, SetOptions

SOCKET = "nandlab.sock"
"""Where a server listens if nothing else is said."""

CLIENTS = "How clients find it"
"""Panel of the help."""


class ServerOptions(TypedDict, total=False):
    """How a drive is served."""

    socket: Annotated[
        str | PathLike[str] | None,
        Option(unset=SOCKET, line=Path, form="PATH", panel=CLIENTS),
    ]
    """Path of the socket; only this user may connect to it."""
    port: Annotated[int | None, Option(form="N", panel=CLIENTS)]
    """TCP port instead, of this machine alone; 0 is one that is free."""
    listen_anywhere: Annotated[bool, Option(default=False, panel=CLIENTS)]
    """Other machines may connect too: without password or encryption."""
    store: Annotated[str | PathLike[str] | None, Option(unset="memory", form="memory|FILE")]
    """File that keeps the bytes; it is made where it is missing.

    Two servers at a time may share a file only where both are `readonly`.
    """
    clock: Annotated[str, Option(default="real", form="real|scaled=K|fast")]
    """When a request is answered: at its simulated time, K times as late, or at once.

    ``real``, ``scaled=10`` (the drive is ten times as slow) or ``fast``, where simulated time is
    kept all the same.
    """
    integrity: Annotated[str, Option(default="model", form="model|exact")]
    """Bytes are right unless the model of errors says no; or they are really encoded and decoded.

    ``exact``: they are encoded when they are programmed, and what is read is what the decoder makes
    of them; it needs ``ecc.model = "exact"``.
    """
    readonly: Annotated[bool, Option(default=False)]
    """Clients may not write."""
    record: Annotated[str | PathLike[str] | None, Option(line=Path, form="FILE", panel=OUTPUTS)]
    """Trace of all that clients ask for, which `nandlab run` replays; .gz and .zst are compressed.

    It is one of fio's I/O logs. It also says when the drive was aged, cut off, or had a die
    exchanged, which a replay does not repeat.
    """


class DriveServeOptions(ServerOptions, KeptOptions, total=False):
    """Options of `nandlab.Drive.serve`."""

    timeline: Annotated[bool, Option(default=False, line=Path, form="FILE", panel=OUTPUTS)]
    """Spans of requests and flash, as JSON for ui.perfetto.dev.

    True keeps them: `Result.timeline` writes them.
    """


class ServiceOptions(DriveServeOptions, CallerOptions, total=False):
    """How a drive is served, and what a caller sees of it."""


class ServeOptions(SetOptions, ServiceOptions, total=False):
    """Options of `nandlab.serve`."""

    precondition: Annotated[str | None, Option(unset="none", form="none|fill|steady|rested")]
    """State of the drive before; what it holds then reads as zeros.

    ``none``, ``fill``, ``steady`` or ``rested``, as for `nandlab.run`.
    """
