"""``nandlab nbd``: serves a drive as a network block device."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from nandlab.cli.drive.chosen import DriveName, SavedFile, chosen_drive
from nandlab.cli.drive.kept import Explain, ExplainPlot, Series, check_kinds, write_rows
from nandlab.cli.drive.shown import Live, Shown
from nandlab.cli.files import Files, Plot, Quiet, Style, check_pictures, json_file, output
from nandlab.cli.options import takes
from nandlab.display.terminal import FAULTY, ProgressBar, console, say
from nandlab.drive.blame import check_percent
from nandlab.drive.blame_table import print_blame
from nandlab.drive.device import Drive
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.options.option import among, filled
from nandlab.options.run import SetOptions
from nandlab.options.serve import CLIENTS, ServeOptions, ServiceOptions
from nandlab.process.interrupt import Stop
from nandlab.served.control import Control, check_free, path_of
from nandlab.served.serve import Service, service
from nandlab.served.server import Server, ServerStatus

_LOOK_S = 0.05
"""Between two looks at Ctrl-C."""

_LINE_S = 0.5
"""Between two live lines."""

ReportFile = Annotated[Path | None, output("Report.", "FILE|-")]
RunCommand = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="COMMAND",
        help="Runs this shell command and ends with its exit code; the command finds the "
        "address in $uri.",
    ),
]


@takes(ServeOptions, but=("timeline_spans",))
def nbd(
    drive: DriveName = None,
    saved: SavedFile = None,
    control: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Socket for `nandlab ctl`, for this user (default: --socket with .ctl).",
            rich_help_panel=CLIENTS,
        ),
    ] = None,
    json: ReportFile = None,
    series: Series = None,
    plot: Plot = None,
    style: Style = None,
    explain: Explain = None,
    explain_plot: ExplainPlot = None,
    run: RunCommand = None,
    live: Live = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Serves a drive as a disk, until Ctrl-C: NBD clients, file systems, databases, fio."""
    chosen = chosen_drive(given.get("protocol", "nbd"), drive, saved, given)
    check_pictures(style, plot, explain_plot)
    requests, timeline = given.get("requests"), given.get("timeline")
    check_kinds(requests, series)
    if explain is not None:
        check_percent("--explain", explain)
    if control is not None:
        check_free("--control", control)
    if given.get("store") == "memory":
        del given["store"]
    to_stdout = json == Path("-")
    outputs = {
        "--json": json_file(json),
        "--series": series,
        "--timeline": timeline,
        "--plot": plot,
        "--explain-plot": explain_plot,
    }
    kept = {"--record": given.get("record"), "--requests": requests}
    check_outputs({**outputs, **kept}, [chosen, *([given["store"]] if "store" in given else [])])
    with ProgressBar(is_shown=not quiet) as bar:
        more = {
            "timeline": timeline is not None,
            "explain": explain is not None or explain_plot is not None,
            "progress": bar,
            "outputs": outputs,
        }
        how = service(**filled(ServiceOptions, {**given, **more}))
        if control is not None and how.address.socket == control:
            raise refusal("--control", f"{control} is the socket of the server", "another path")
        if saved is not None:
            server = Drive.load(saved).serve_as(how, is_last=True)
        else:
            made = Drive(chosen, **among(SetOptions, given))
            if (state := given.get("precondition", "none")) != "none":
                made.precondition(state, progress=bar)
            server = made.serve_as(how, is_last=True)
    if given["listen_anywhere"]:
        say("warning: whoever reaches this machine can read and write the drive")
    if not quiet:
        say(f"serving {' and '.join(server.uris)} ({given['clock']} clock; Ctrl-C ends)")
    # To the last file: a second Ctrl-C would take away what the first one asked to keep.
    code = 0
    shown = Shown((Path(chosen).stem, server.uri), is_live=live, kind="clients")
    with Stop(is_patient=True) as stop, _control(server, how, control), shown:
        command = None if run is None else _begun(run, server.uri)
        _wait(server, shown, stop, command, is_shown=not quiet and sys.stderr.isatty())
        if command is not None:
            code = _ended(command)
        result = server.stop()
        with Files() as files:
            files.write(outputs["--json"], result.to_json)
            files.write(series, lambda path: write_rows(result, path))
            files.write(timeline, result.timeline)
            if result.has_begun:
                files.draw(plot, result.plot, style)
                if explain_plot is not None:
                    files.draw(explain_plot, result.blame.plot, style)
        for notice in result.notices if not quiet else []:
            say(f"note: {notice}")
        if not quiet:
            from nandlab.drive.table import print_result

            print_result(result, console(stderr=to_stdout))
            if explain is not None and result.has_begun:
                print_blame(result, explain, console(stderr=to_stdout))
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


def _wait(
    server: Server,
    shown: Shown,
    stop: Stop,
    command: subprocess.Popen[bytes] | None,
    *,
    is_shown: bool,
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
        shown.wait(server.native, _LOOK_S)
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
    exchange = status.exchange
    if exchange and not exchange.replaced_s:
        parts.append(f"die {exchange.die} exchanged: {exchange.moved_units:,} units moved")
    if status.failed:
        parts.append(f"{status.failed:,} failed")
    if status.late_answers:
        parts.append(f"{status.late_answers:,} late")
    return ", ".join(parts)
