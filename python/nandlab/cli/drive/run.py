"""``nandlab run``: runs a workload on a drive; writes a table, files and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nandlab.cli.drive.chosen import RunDriveName, SavedFile, chosen_drive
from nandlab.cli.drive.kept import Explain, ExplainPlot, Series, check_kinds, write_rows
from nandlab.cli.drive.shown import Live, Shown
from nandlab.cli.files import OUTPUTS, Files, Plot, Quiet, Style, check_pictures, json_file, output
from nandlab.cli.options import takes
from nandlab.display.terminal import FAULTY, INTERRUPTED, ProgressBar, console, say
from nandlab.drive.blame import check_percent
from nandlab.drive.blame_table import print_blame
from nandlab.drive.device import Drive
from nandlab.drive.result import Result
from nandlab.drive.simulate import Interrupted
from nandlab.drive.simulate import run as simulate
from nandlab.ftl.source import ftl_in, shown_causes
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten
from nandlab.options.option import among
from nandlab.options.run import DriveRunOptions, RunOptions
from nandlab.options.trace import TraceOptions
from nandlab.process.interrupt import Stop
from nandlab.trace.format import check_format


@takes(RunOptions, TraceOptions)
def run(
    drive: RunDriveName = None,
    saved: SavedFile = None,
    json: Annotated[Path | None, output("Report.", "FILE|-")] = None,
    series: Series = None,
    timeline_around: Annotated[
        str | None,
        output(
            "Keeps the timeline from shortly before the slowest request; runs twice.", "slowest"
        ),
    ] = None,
    plot: Plot = None,
    style: Style = None,
    explain: Explain = None,
    explain_plot: ExplainPlot = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Kind of --plot: summary (default), latency, throughput or heatmap (latency over "
            "time, which keeps every request).",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        output("Page in one file: the drive over time, and why requests were slow; see --explain."),
    ] = None,
    live: Live = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Runs a fio job file or a recorded trace on a drive."""
    chosen = chosen_drive("run", drive, saved, given)
    to_stdout = json == Path("-")
    requests, timeline = given.get("requests"), given.get("timeline")
    outputs = {
        "--json": json_file(json),
        "--requests": requests,
        "--series": series,
        "--timeline": timeline,
        "--plot": plot,
        "--explain-plot": explain_plot,
        "--html": html,
    }
    inputs = (chosen, given.get("workload"), given.get("trace"))
    check_outputs(outputs, [name for name in inputs if name])
    check_kinds(requests, series)
    check_pictures(style, plot, explain_plot)
    kind = _kind_of_picture(picture, plot)
    begin = _timeline_from(given, timeline_around)
    if explain is not None:
        check_percent("--explain", explain)

    what = among(RunOptions, given)
    what["trace_options"] = among(TraceOptions, given)
    what["timeline_from"] = begin
    what["requests"] = requests or kind == "heatmap"
    what["explain"] = any(one is not None for one in (explain, explain_plot, html))
    # The files of the run are known to it.
    own_files = ("--json", "--series", "--plot", "--explain-plot", "--html")
    what["outputs"] = {name: outputs[name] for name in own_files}

    about = (Path(chosen).stem, str(given.get("workload", given.get("trace", ""))))
    with Shown(about, is_live=live, html=html) as shown:
        code, failures = 0, list[OSError]()
        with shown_causes(), ProgressBar(is_shown=not quiet) as bar:
            what["progress"], what["onlooker"] = bar, shown.onlooker
            what["ftl"] = None if "ftl" not in given else ftl_in("--ftl", given["ftl"])
            try:
                if saved is not None:
                    if "trace" in given:
                        check_format(given["trace"], given.get("format"), what["trace_options"])
                    of_drive = among(DriveRunOptions, what)
                    result = Drive.load(saved, ftl=what["ftl"]).run(**of_drive, is_last=True)
                else:
                    result = simulate(chosen, **what)
            except Interrupted as stop:
                result, code, failures = stop.result, INTERRUPTED, stop.failures
            except Unwritten as stop:
                result, failures = stop.result, stop.failures
        # Files are whole or not there: a Ctrl-C here comes too late, or is the second one.
        with Stop(is_patient=True), Files(failures) as files:
            files.write(outputs["--json"], result.to_json)
            files.write(series, lambda path: write_rows(result, path))
            if result.has_begun:
                files.draw(plot, lambda path: result.plot(path, kind=kind), style)
                if explain_plot is not None:
                    files.draw(explain_plot, result.blame.plot, style)
                shown.write(files, result.title)
            elif (plot or html) is not None and not quiet:
                say(f"note: no picture {plot or html}: nothing was run")
            if not quiet:
                _tell(result, to_stderr=to_stdout)
                if explain is not None and result.has_begun:
                    print_blame(result, explain, console(stderr=to_stdout))
            if to_stdout:
                print(result.to_json(), end="", flush=True)
        if code != INTERRUPTED:
            shown.stay()
    raise typer.Exit(code if code or result.checks.ok else FAULTY)


def _timeline_from(given: Mapping[str, Any], around: str | None) -> float | Literal["slowest"]:
    """Start of the timeline in seconds. Refuses options of it that do not fit together."""
    seconds, spans = given.get("timeline_from"), given.get("timeline_spans")
    if around is not None and (around != "slowest" or seconds is not None):
        problem = repr(around) if around != "slowest" else "beside --timeline-from"
        raise refusal("--timeline-around", problem, "slowest, alone")
    if "timeline" not in given and (spans is not None or seconds or around):
        option = "from" if spans is None else "spans"
        raise refusal("", f"--timeline-{option} without --timeline", hint="give both or neither")
    if spans is not None and spans < 1:
        raise refusal("--timeline-spans", spans, "1 or more")
    return seconds or 0.0 if around is None else "slowest"


def _kind_of_picture(picture: str | None, plot: Path | None) -> str:
    """The kind of the picture, checked before the run."""
    if picture is None:
        return "summary"
    if plot is None:
        raise refusal("", "--picture without --plot", hint="give both or neither")
    from nandlab.drive.pictures.run import check_kind as check_picture

    return check_picture("--picture", picture)


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
