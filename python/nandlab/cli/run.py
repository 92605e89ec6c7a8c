"""``nandlab run``: runs a workload on a drive; writes a table, files and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli import trace as cli_trace
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console, say
from nandlab.drive.result import Result
from nandlab.drive.simulate import TIMELINE_SPANS, Interrupted
from nandlab.drive.simulate import run as simulate
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop

_OUT = "Outputs"
_TRACE = "How a trace is read"


def run(
    config: Annotated[
        str | None,
        typer.Argument(
            help="Drive file; its `run` table may say what to run.", metavar="CONFIG.toml"
        ),
    ] = None,
    drive: Annotated[str | None, typer.Option(help="Preset or drive file.")] = None,
    workload: Annotated[str | None, typer.Option(help="fio job file.")] = None,
    trace: Annotated[str | None, typer.Option(help="Recorded trace.")] = None,
    format: cli_trace.Format = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Changes a parameter; repeatable."),
    ] = None,
    precondition: Annotated[
        str | None,
        typer.Option(metavar="none|fill|steady|rested", help="State of the drive before."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Report.", rich_help_panel=_OUT)
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Every request: .parquet.", rich_help_panel=_OUT),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rates over time: .parquet or .csv.", rich_help_panel=_OUT
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON for ui.perfetto.dev.", rich_help_panel=_OUT),
    ] = None,
    timeline_spans: Annotated[
        int | None,
        typer.Option(help=f"Spans that it holds at most ({TIMELINE_SPANS}).", rich_help_panel=_OUT),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture: .png, .svg or .pdf.", rich_help_panel=_OUT),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No table, bar or notice.", rich_help_panel=_OUT)
    ] = False,
    action: cli_trace.Action = None,
    device: cli_trace.Device = None,
    sector_bytes: cli_trace.SectorBytes = None,
    size_unit_bytes: cli_trace.SizeUnitBytes = None,
    time_unit: cli_trace.TimeUnit = None,
    time_scale: cli_trace.TimeScale = None,
    on_bad_line: cli_trace.OnBadLine = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="reject|wrap|compact",
            help="Addresses beyond the drive: an error (default), modulo, or packed.",
            rich_help_panel=_TRACE,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="reject|clamp|sort-window",
            help="Times that go back: an error (default), set to the one before, or sorted.",
            rich_help_panel=_TRACE,
        ),
    ] = None,
    sort_window: Annotated[
        int | None,
        typer.Option(help="Requests held back for sorting (4096).", rich_help_panel=_TRACE),
    ] = None,
    iodepth: Annotated[
        int | None,
        typer.Option(
            help="In flight where a trace has no times (1), or to leave its times aside.",
            rich_help_panel=_TRACE,
        ),
    ] = None,
) -> None:
    """Runs a fio job file or a recorded trace on a drive."""
    if (config is None) == (drive is None):
        allowed = "a CONFIG.toml, or --drive with a preset or a file"
        problem = "no drive" if drive is None else "CONFIG.toml and --drive are both given"
        raise refusal("run", problem, allowed)
    to_stdout = json == Path("-")
    outputs = {
        "--json": None if to_stdout else json,
        "--requests": requests,
        "--series": series,
        "--timeline": timeline,
        "--plot": plot,
    }
    chosen = config or drive or ""
    check_outputs(outputs, [name for name in (chosen, workload, trace) if name])
    _check_kinds(requests, series, plot)
    if timeline_spans is not None:
        _check_spans(timeline_spans, timeline)

    code = 0
    with ProgressBar(is_shown=not quiet) as bar:
        try:
            result = simulate(
                chosen,
                workload,
                trace=trace,
                format=format,
                trace_options=cli_trace.given(
                    action=action,
                    device=device,
                    sector_bytes=sector_bytes,
                    size_unit_bytes=size_unit_bytes,
                    time_unit=time_unit,
                    time_scale=time_scale,
                    on_bad_line=on_bad_line,
                    address=address,
                    time=time,
                    sort_window=sort_window,
                ),
                iodepth=iodepth,
                set=set or [],
                precondition=precondition,
                seed=seed,
                requests=requests or False,
                timeline=timeline or False,
                timeline_spans=timeline_spans,
                progress=bar,
            )
        except Interrupted as stop:
            result, code = stop.result, INTERRUPTED
    # Files are whole or not there: a Ctrl-C here comes too late, or is the second one.
    with Stop(is_patient=True):
        if not quiet:
            _tell(result, to_stderr=to_stdout)
        if to_stdout:
            print(result.to_json(), end="", flush=True)
        elif json is not None:
            result.to_json(json)
        if series is not None:
            from nandlab.board.rows import write

            write(result.series(), series)
        if plot is not None and result.has_begun:
            result.plot(plot)
        elif plot is not None and not quiet:
            say(f"note: no picture {plot}: nothing was run")
    raise typer.Exit(code)


def _check_kinds(requests: Path | None, series: Path | None, plot: Path | None) -> None:
    if requests is not None:
        check_kind("--requests", requests, [".parquet"])
    if series is not None:
        from nandlab.board.rows import KINDS

        check_kind("--series", series, KINDS)
    if plot is not None:
        from nandlab.display.picture import check_kind as check_picture

        check_picture(plot)


def _check_spans(spans: int, timeline: Path | None) -> None:
    if timeline is None:
        raise refusal("", "--timeline-spans without --timeline", "both, or neither")
    if spans < 1:
        raise refusal("--timeline-spans", spans, "1 or more")


def _tell(result: Result, *, to_stderr: bool) -> None:
    """What a person reads; the notes go to standard error."""
    from nandlab.drive.table import print_result

    for notice in result.notices:
        say(f"note: {notice}")
    if result.read.count and not result.to_dict()["nand"]["reads"]:
        say("note: no read went to the flash: nothing was written there (--precondition fill)")
    print_result(result, console(stderr=to_stderr))
    if result.timeline_dropped:
        say(
            f"note: the timeline ends early: {result.timeline_dropped:,} spans were dropped "
            "(--timeline-spans)"
        )
