"""``nandlab nbd``: serves a drive as a network block device."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter, sleep
from typing import Annotated

import typer

from nandlab.cli.files import OUTPUTS, Files, Plot, Quiet, Style, check_pictures, json_file
from nandlab.display.terminal import FAULTY, ProgressBar, console, say
from nandlab.drive.device import Drive
from nandlab.given.completion import key_of_a_drive, preset_of
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.served.control import Control, check_free, path_of
from nandlab.served.serve import CLOCK, INTEGRITY, SOCKET, Service, service
from nandlab.served.server import Server, ServerStatus

_CLIENTS = "How clients find it"

_LOOK_S = 0.05
"""Between two looks at Ctrl-C."""

_LINE_S = 0.5
"""Between two live lines."""


def nbd(
    drive: Annotated[
        str | None,
        typer.Option(help="Preset or drive file.", autocompletion=preset_of("drive")),
    ] = None,
    saved: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Drive that `nandlab save` wrote."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Changes a parameter; repeatable.",
            autocompletion=key_of_a_drive,
        ),
    ] = None,
    precondition: Annotated[
        str | None,
        typer.Option(
            metavar="none|fill|steady|rested",
            help="State of the drive before; what it holds then reads as zeros.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    store: Annotated[
        str,
        typer.Option(metavar="memory|FILE", help="Where the bytes are kept."),
    ] = "memory",
    clock: Annotated[
        str,
        typer.Option(
            metavar="real|scaled=K|fast",
            help="When a request is answered: at its simulated time, K times as late, at once.",
        ),
    ] = CLOCK,
    integrity: Annotated[
        str,
        typer.Option(
            metavar="model|exact",
            help="Bytes are right unless the model says no; or really encoded and decoded.",
        ),
    ] = INTEGRITY,
    readonly: Annotated[bool, typer.Option("--readonly", help="Clients may not write.")] = False,
    socket: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help=f"Socket ({SOCKET}), for this user.", rich_help_panel=_CLIENTS
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="TCP port instead, for this machine; 0: a free one.",
            rich_help_panel=_CLIENTS,
        ),
    ] = None,
    listen_anywhere: Annotated[
        bool,
        typer.Option(
            "--listen-anywhere",
            help="Lets other machines connect: without password or encryption.",
            rich_help_panel=_CLIENTS,
        ),
    ] = False,
    control: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Socket for `nandlab ctl`, for this user (that of the server with .ctl).",
            rich_help_panel=_CLIENTS,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Trace of what clients ask for, for `nandlab run --trace`; .gz, .zst.",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Report.", rich_help_panel=OUTPUTS)
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Every request: .parquet.", rich_help_panel=OUTPUTS),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON for ui.perfetto.dev.", rich_help_panel=OUTPUTS),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="COMMAND",
            help="Ends with this command of the shell, and with its exit code; it finds the "
            "address in $uri.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Serves a drive as a disk, until Ctrl-C: NBD clients, file systems, databases, fio."""
    chosen = _one_of(drive, saved)
    if saved is not None:
        for option, value in {"--set": set, "--seed": seed, "--precondition": precondition}.items():
            if value is not None and value != []:
                raise refusal(option, "a saved drive has its configuration and its state")
    check_pictures(style, plot)
    if requests is not None:
        check_kind("--requests", requests, [".parquet"])
    if control is not None:
        check_free("--control", control)
    to_stdout = json == Path("-")
    outputs = {"--json": json_file(json), "--timeline": timeline, "--plot": plot}
    kept = {"--record": record, "--requests": requests}
    check_outputs({**outputs, **kept}, [chosen, *([] if store == "memory" else [store])])
    with ProgressBar(is_shown=not quiet) as bar:
        how = service(
            socket=socket,
            port=port,
            listen_anywhere=listen_anywhere,
            store=None if store == "memory" else store,
            clock=clock,
            integrity=integrity,
            readonly=readonly,
            record=record,
            requests=requests or False,
            timeline=timeline is not None,
            progress=bar,
            outputs=outputs,
        )
        if control is not None and how.address.socket == control:
            raise refusal("--control", f"{control} is the socket of the server", "another path")
        if saved is not None:
            server = Drive.load(saved).serve_as(how, is_last=True)
        else:
            device = Drive(chosen, set=set or [], seed=seed)
            if precondition not in (None, "none"):
                device.precondition(precondition, progress=bar)
            server = device.serve_as(how, is_last=True)
    if listen_anywhere:
        say("warning: whoever reaches this machine can read and write the drive")
    if not quiet:
        say(f"serving {server.uri} ({clock} clock; Ctrl-C ends)")
    # To the last file: a second Ctrl-C would take away what the first one asked to keep.
    code = 0
    with Stop(is_patient=True) as stop, _control(server, how, control):
        command = None if run is None else _begun(run, server.uri)
        _wait(server, stop, command, is_shown=not quiet and sys.stderr.isatty())
        if command is not None:
            code = _ended(command)
        result = server.stop()
        with Files() as files:
            files.write(outputs["--json"], result.to_json)
            files.write(timeline, result.timeline)
            if result.has_begun:
                files.draw(plot, result.plot, style)
        for notice in result.notices if not quiet else []:
            say(f"note: {notice}")
        if not quiet:
            from nandlab.drive.table import print_result

            print_result(result, console(stderr=to_stdout))
        if to_stdout:
            print(result.to_json(), end="", flush=True)
    raise typer.Exit(code if code or result.checks.ok else FAULTY)


def _control(server: Server, how: Service, path: Path | None) -> AbstractContextManager[object]:
    """The control socket: where it is wanted, or beside that of the server."""
    if path is None and how.address.socket is not None:
        path = path_of(how.address.socket)
    return nullcontext() if path is None else Control(server, path)


def _begun(command: str, uri: str) -> subprocess.Popen[bytes]:
    """A command of the shell that knows the address."""
    return subprocess.Popen(command, shell=True, env={**os.environ, "uri": uri})


def _ended(command: subprocess.Popen[bytes]) -> int:
    """The exit code of a command; one that goes on is ended."""
    if command.poll() is None:
        command.terminate()
    code = command.wait()
    return code if code >= 0 else 128 - code


def _one_of(drive: str | None, saved: str | None) -> str:
    """The drive, which is named in one way."""
    ways = {"--drive": drive, "--from": saved}
    names = [name for name in ways.values() if name is not None]
    if len(names) != 1:
        problem = "--drive and --from are both given" if names else "no drive"
        expected = "--drive with a preset or a file, or --from with a saved drive"
        raise refusal("nbd", problem, expected)
    return names[0]


def _wait(
    server: Server, stop: Stop, command: subprocess.Popen[bytes] | None, *, is_shown: bool
) -> None:
    """Waits for Ctrl-C, the end of a command, or for the drive to fail; shows how it goes."""
    told, last, before = False, perf_counter(), 0
    while not stop.asked and (command is None or command.poll() is None):
        for note in server.notes():
            say(f"note: {note}")
        now = perf_counter()
        if now - last >= _LINE_S:
            status = server.status()
            if status.has_failed:
                break
            server.save_requests()
            if is_shown:
                rate = (status.completed - before) / (now - last)
                print(f"\r\x1b[2K{_line(status, rate)}", end="", file=sys.stderr, flush=True)
                told = True
            before, last = status.completed, now
        sleep(_LOOK_S)
    for note in server.notes():
        say(f"note: {note}")
    if told:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _line(status: ServerStatus, per_s: float) -> str:
    """How a server is doing, in one line."""
    parts = [] if status.power == "on" else [f"power {status.power}"]
    parts += [
        f"{status.clients} clients" if status.clients != 1 else "1 client",
        f"{status.completed:,} requests ({per_s:,.0f}/s)",
        f"{status.under_way} under way",
        f"WA {status.write_amplification:.2f}",
        f"{status.reclaimed_blocks:,} blocks collected",
        f"{status.now_ns / 1e9:,.1f} s simulated",
    ]
    if status.exchange and not status.exchange["replaced_s"]:
        moved = status.exchange["moved_units"]
        parts.append(f"die {status.exchange['die']} exchanged: {moved:,} units moved")
    if status.failed:
        parts.append(f"{status.failed:,} failed")
    if status.late_answers:
        parts.append(f"{status.late_answers:,} late")
    return ", ".join(parts)
