"""``nandlab run``: runs a workload on a drive; writes a table, files and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypedDict

import typer

from nandlab.cli import trace as cli_trace
from nandlab.cli.files import OUTPUTS, Files, Plot, Quiet, Style, check_pictures, json_file
from nandlab.display.terminal import FAULTY, INTERRUPTED, ProgressBar, console, say
from nandlab.drive.blame import check_percent
from nandlab.drive.blame_table import print_blame
from nandlab.drive.device import Drive
from nandlab.drive.result import Result
from nandlab.drive.simulate import TIMELINE_SPANS, Interrupted
from nandlab.drive.simulate import run as simulate
from nandlab.ftl.source import ftl_in, shown_causes
from nandlab.given.completion import key_of_a_drive, preset_of
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten
from nandlab.process.interrupt import Stop
from nandlab.trace.format import check_format
from nandlab.trace.options import TraceOptions

_TRACE = "How a trace is read"


def run(
    drive: Annotated[
        str | None,
        typer.Option(
            help="Preset or drive file, whose `run` table may say what to run.",
            autocompletion=preset_of("drive"),
        ),
    ] = None,
    saved: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Drive that `nandlab save` wrote."),
    ] = None,
    workload: Annotated[str | None, typer.Option(help="fio job file.")] = None,
    trace: Annotated[str | None, typer.Option(help="Recorded trace.")] = None,
    format: cli_trace.Format = None,
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
            metavar="none|fill|steady|rested|trace[=N]",
            help="State of the drive before; trace: filled, then the trace's writes, N times.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="settled|pts|N|2s|1.5x",
            help="End of the run, whose jobs are repeated: settled (or settled=iops, =p99.9), "
            "SNIA's rule, requests, simulated time, drive writes.",
        ),
    ] = None,
    skip: Annotated[
        str | None,
        typer.Option(
            metavar="settled|pts|N|2s|1.5x", help="Beginning of the run that is not measured."
        ),
    ] = None,
    cut_at: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Simulated time at which the power is cut; the drive starts up again.",
        ),
    ] = None,
    exchange: Annotated[
        str | None,
        typer.Option(
            metavar="DIE@SECONDS[,suspended]",
            help="Die whose chip is replaced, and when; suspended: no requests meanwhile.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    ftl: Annotated[
        str | None,
        typer.Option(metavar="FILE.py[:CLASS]", help="FTL in Python instead of the drive's."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Report.", rich_help_panel=OUTPUTS)
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Every request: .parquet.", rich_help_panel=OUTPUTS),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rates over time: .parquet or .csv.", rich_help_panel=OUTPUTS
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON for ui.perfetto.dev.", rich_help_panel=OUTPUTS),
    ] = None,
    timeline_spans: Annotated[
        int | None,
        typer.Option(
            help=f"Spans that it holds at most ({TIMELINE_SPANS}).", rich_help_panel=OUTPUTS
        ),
    ] = None,
    timeline_from: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Simulated time from which it is kept.", rich_help_panel=OUTPUTS
        ),
    ] = None,
    timeline_around: Annotated[
        str | None,
        typer.Option(
            metavar="slowest",
            help="Keeps it from shortly before the slowest request; runs twice.",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    explain: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            help="Says what requests from this percentile on waited for, as 99.9.",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    explain_plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture of that.", rich_help_panel=OUTPUTS),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Of --plot: summary, if left out, latency, throughput or heatmap (latency over "
            "time, which keeps every request).",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    quiet: Quiet = False,
    action: cli_trace.Action = None,
    device: cli_trace.Device = None,
    sector_bytes: cli_trace.SectorBytes = None,
    size_unit_bytes: cli_trace.SizeUnitBytes = None,
    time_unit: cli_trace.TimeUnit = None,
    time_scale: cli_trace.TimeScale = None,
    on_bad_line: cli_trace.OnBadLine = None,
    urgent: Annotated[
        str | None,
        typer.Option(
            metavar="none|marked|all",
            help="Writes that somebody waits for: none (default), as the trace marks, or all.",
            rich_help_panel=_TRACE,
        ),
    ] = None,
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
    loops: Annotated[
        int | None,
        typer.Option(help="Passes over the trace (1).", rich_help_panel=_TRACE),
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
    chosen = _one_of(drive, saved)
    if saved is not None:
        _check_saved({"--set": set, "--seed": seed, "--precondition": precondition})
    to_stdout = json == Path("-")
    outputs = {
        "--json": json_file(json),
        "--requests": requests,
        "--series": series,
        "--timeline": timeline,
        "--plot": plot,
        "--explain-plot": explain_plot,
    }
    check_outputs(outputs, [name for name in (chosen, workload, trace) if name])
    _check_kinds(requests, series)
    check_pictures(style, plot, explain_plot)
    kind = _kind_of_picture(picture, plot)
    if timeline_spans is not None:
        _check_spans(timeline_spans, timeline)
    begin = _timeline_from(timeline_from, timeline_around)
    if begin and timeline is None:
        raise refusal("", "--timeline-from without --timeline", hint="give both or neither")
    if explain is not None:
        check_percent("--explain", explain)

    code, failures = 0, list[OSError]()
    with shown_causes(), ProgressBar(is_shown=not quiet) as bar:
        own = None if ftl is None else ftl_in("--ftl", ftl)
        what: _What = {
            "trace": trace,
            "format": format,
            "trace_options": cli_trace.given(
                action=action,
                device=device,
                sector_bytes=sector_bytes,
                size_unit_bytes=size_unit_bytes,
                time_unit=time_unit,
                time_scale=time_scale,
                on_bad_line=on_bad_line,
                urgent=urgent,
                address=address,
                time=time,
                sort_window=sort_window,
                loops=loops,
            ),
            "skip": skip,
            "until": until,
            "cut_at": cut_at,
            "exchange": exchange,
            "iodepth": iodepth,
            "requests": requests or kind == "heatmap",
            "timeline": timeline or False,
            "timeline_spans": timeline_spans,
            "timeline_from": begin,
            "explain": explain is not None or explain_plot is not None,
            "progress": bar,
            "outputs": {
                name: outputs[name] for name in ("--json", "--series", "--plot", "--explain-plot")
            },
        }
        try:
            if saved is not None:
                if trace is not None:
                    check_format(trace, format, what["trace_options"])
                result = Drive.load(saved, ftl=own).run(workload, **what, is_last=True)
            else:
                result = simulate(
                    chosen,
                    workload,
                    set=set or [],
                    precondition=precondition,
                    seed=seed,
                    ftl=own,
                    **what,
                )
        except Interrupted as stop:
            result, code, failures = stop.result, INTERRUPTED, stop.failures
        except Unwritten as stop:
            result, failures = stop.result, stop.failures
    # Files are whole or not there: a Ctrl-C here comes too late, or is the second one.
    with Stop(is_patient=True), Files(failures) as files:
        files.write(outputs["--json"], result.to_json)
        files.write(series, lambda path: _write_rows(result, path))
        if result.has_begun:
            files.draw(plot, lambda path: result.plot(path, kind=kind), style)
            if explain_plot is not None:
                files.draw(explain_plot, result.blame.plot, style)
        elif plot is not None and not quiet:
            say(f"note: no picture {plot}: nothing was run")
        if not quiet:
            _tell(result, to_stderr=to_stdout)
            if explain is not None and result.has_begun:
                print_blame(result, explain, console(stderr=to_stdout))
        if to_stdout:
            print(result.to_json(), end="", flush=True)
    raise typer.Exit(code if code or result.checks.ok else FAULTY)


class _What(TypedDict):
    """What is run and kept, whichever way the drive comes."""

    trace: str | None
    format: str | None
    trace_options: TraceOptions
    skip: str | None
    until: str | None
    cut_at: float | None
    exchange: str | None
    iodepth: int | None
    requests: Path | bool
    timeline: Path | bool
    timeline_spans: int | None
    timeline_from: float | Literal["slowest"]
    explain: bool
    progress: ProgressBar
    outputs: dict[str, Path | None]


def _one_of(drive: str | None, saved: str | None) -> str:
    """The drive, which is named in one way."""
    given = {"--drive": drive, "--from": saved}
    ways = {way: name for way, name in given.items() if name is not None}
    if len(ways) != 1:
        expected = "--drive with a preset or a file, or --from with a saved drive"
        problem = " and ".join(ways) + " are both given" if ways else "no drive"
        raise refusal("run", problem, expected)
    return next(iter(ways.values()))


def _check_saved(given: dict[str, object]) -> None:
    """Refuses what a saved drive has already."""
    for option, value in given.items():
        if value is not None and value != []:
            problem = "a saved drive has its configuration and its state"
            raise refusal(
                option, problem, hint="use --drive, or save the drive again with `nandlab save`"
            )


def _write_rows(result: Result, path: Path) -> None:
    from nandlab.board.rows import write

    write(result.series(), path)


def _timeline_from(seconds: float | None, around: str | None) -> float | Literal["slowest"]:
    """Where the timeline begins."""
    if around is None:
        return seconds or 0.0
    if around != "slowest" or seconds is not None:
        problem = repr(around) if around != "slowest" else "beside --timeline-from"
        raise refusal("--timeline-around", problem, "slowest, alone")
    return "slowest"


def _check_kinds(requests: Path | None, series: Path | None) -> None:
    if requests is not None:
        check_kind("--requests", requests, [".parquet"])
    if series is not None:
        from nandlab.board.rows import KINDS

        check_kind("--series", series, KINDS)


def _kind_of_picture(picture: str | None, plot: Path | None) -> str:
    """The kind of the picture, checked before the run."""
    if picture is None:
        return "summary"
    if plot is None:
        raise refusal("", "--picture without --plot", hint="give both or neither")
    from nandlab.drive.pictures.run import check_kind as check_picture

    return check_picture("--picture", picture)


def _check_spans(spans: int, timeline: Path | None) -> None:
    if timeline is None:
        raise refusal("", "--timeline-spans without --timeline", hint="give both or neither")
    if spans < 1:
        raise refusal("--timeline-spans", spans, "1 or more")


def _tell(result: Result, *, to_stderr: bool) -> None:
    """What a person reads; the notes go to standard error."""
    from nandlab.drive.table import print_result

    for notice in result.notices:
        say(f"note: {notice}")
    print_result(result, console(stderr=to_stderr))
    if result.timeline_dropped:
        say(
            f"note: the timeline ends early: {result.timeline_dropped:,} spans were dropped "
            "(--timeline-spans)"
        )
