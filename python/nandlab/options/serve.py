"""Options of a served drive: where clients find it, and how it answers them."""

from os import PathLike
from pathlib import Path
from typing import Annotated, TypedDict

from nandlab.options.option import OUTPUTS, Option
from nandlab.options.run import CallerOptions, KeptOptions, SetOptions

SOCKET = "nandlab.sock"
"""Where a server listens if nothing else is said."""

NVME_PORT = 4420
"""Port of an NVMe drive if nothing else is said: that of the specification."""

CLIENTS = "How clients find it"
"""Panel of the help."""


class ServerOptions(TypedDict, total=False):
    """How a drive is served."""

    protocol: Annotated[str, Option(default="nbd", line=None, form="nbd|nvme")]
    """Protocol of the clients: ``nbd`` (network block device) or ``nvme`` (NVMe over TCP)."""
    socket: Annotated[
        str | PathLike[str] | None,
        Option(unset=SOCKET, line=Path, form="PATH", panel=CLIENTS),
    ]
    """Path of the socket of NBD; only this user may connect to it.

    Beside NVMe hosts at a port, NBD clients use the same drive.
    """
    port: Annotated[int | None, Option(form="N", panel=CLIENTS)]
    """TCP port, only for this machine; 0 chooses a free port.

    Left out, NBD has a socket instead, and NVMe port 4420.
    """
    listen_anywhere: Annotated[bool, Option(default=False, panel=CLIENTS)]
    """Lets other machines connect too, without password or encryption."""
    store: Annotated[str | PathLike[str] | None, Option(unset="memory", form="memory|FILE")]
    """File for the bytes of the drive; created if missing.

    Two servers may share a file only if both are `readonly`.
    """
    clock: Annotated[str, Option(default="real", form="real|scaled=K|fast")]
    """When a request is answered: at its simulated time, K times as late, or at once.

    ``real``, ``scaled=10`` (the drive is ten times slower) or ``fast`` (simulated time advances
    with the requests).
    """
    integrity: Annotated[str, Option(default="model", form="model|exact")]
    """model: a model decides which reads fail; exact: bytes are encoded and decoded.

    ``exact``: a program encodes the bytes, and a read returns the output of the decoder; it needs
    ``ecc.model = "exact"``.
    """
    readonly: Annotated[bool, Option(default=False)]
    """Clients may not write."""
    record: Annotated[str | PathLike[str] | None, Option(line=Path, form="FILE", panel=OUTPUTS)]
    """Trace of all client requests, which `nandlab run` replays; .gz and .zst are compressed.

    It is a fio I/O log. It also has ageing, power cuts and exchanges, which a replay repeats.
    """


class DriveServeOptions(ServerOptions, KeptOptions, total=False):
    """Options of `nandlab.Drive.serve`."""

    timeline: Annotated[bool, Option(default=False, line=Path, form="FILE", panel=OUTPUTS)]
    """Timeline of requests and flash operations, as JSON for ui.perfetto.dev.

    True keeps it: `Result.timeline` writes it.
    """


class ServiceOptions(DriveServeOptions, CallerOptions, total=False):
    """How a drive is served, and what a caller sees of it."""


class ServeOptions(SetOptions, ServiceOptions, total=False):
    """Options of `nandlab.serve`."""

    precondition: Annotated[str | None, Option(unset="none", form="none|fill|steady|rested")]
    """State of the drive before serving; its data read as zeros.

    ``none``, ``fill``, ``steady`` or ``rested``, as for `nandlab.run`.
    """
