"""``nandlab life``: a whole life of a drive under a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.cli.drive.chosen import RunDriveName
from nandlab.cli.files import Files, Plot, Quiet, Style, check_pictures, json_file, output
from nandlab.cli.options import takes
from nandlab.display.terminal import INTERRUPTED, ProgressBar, console
from nandlab.ftl.source import ftl_in, shown_causes
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.options.life import LifeOptions
from nandlab.options.option import among
from nandlab.process.interrupt import Stop


@takes(LifeOptions, but=("iodepth",))
def life(
    drive: RunDriveName = None,
    json: Annotated[Path | None, output("Whole life.", "FILE|-")] = None,
    parquet: Annotated[Path | None, output("Windows: .parquet or .csv.")] = None,
    plot: Plot = None,
    style: Style = None,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Lives a drive's life: its workload ages it, and timed runs show its figures by age."""
    from nandlab.board.rows import KINDS
    from nandlab.life.whole import LifeUnfinished
    from nandlab.life.whole import life as lived

    if drive is None:
        raise refusal("life", "no drive", "--drive with a preset or a file")
    outputs = {"--json": json_file(json), "--parquet": parquet, "--plot": plot}
    check_outputs(
        outputs, [drive, *(given[name] for name in ("workload", "trace") if name in given)]
    )
    if parquet is not None:
        check_kind("--parquet", parquet, KINDS)
    check_pictures(style, plot)
    code, to_stdout = 0, json == Path("-")
    options = among(LifeOptions, given)
    with shown_causes(), ProgressBar(is_shown=not quiet) as bar:
        options["progress"] = bar
        if "ftl" in given:
            options["ftl"] = ftl_in("--ftl", given["ftl"])
        try:
            found = lived(drive, **options)
        except LifeUnfinished as stop:
            found, code = stop.result, INTERRUPTED
    with Stop(is_patient=True), Files() as files:
        files.write(outputs["--json"], found.to_json)
        files.write(parquet, found.to_parquet)
        if found.windows:
            files.draw(plot, found.plot, style)
        if not quiet:
            console(stderr=to_stdout).print(str(found), highlight=False, soft_wrap=True)
        if to_stdout:
            print(found.to_json(), end="", flush=True)
    raise typer.Exit(code)
