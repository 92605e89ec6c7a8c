"""``nandlab demo``: replays a real block trace on a small drive; shows a table and a picture.

The trace is part of the package, so that an installed wheel has its demo with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.files import Files
from nandlab.display.terminal import ProgressBar, console
from nandlab.drive.simulate import run
from nandlab.drive.table import print_result
from nandlab.given.refusal import refusal

TRACE = Path(__file__).parent / "sqlite_ext4.iolog.zst"
"""Recorded by the project itself: SQLite and files on ext4, 89 thousand requests.

`examples/traces/` links to it and says how it was made.
"""

DRIVE = {
    "drive.channels": 8,
    "drive.dies_per_channel": 4,
    "chip.geometry.blocks_per_plane": 32,
}
"""The preset `tiny` with eight times the dies, which keep pace with the trace; as much flash."""


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for pictures and tables.")] = Path("demo"),
) -> None:
    """Replays a trace of SQLite on ext4 on a small, full drive and writes pictures and tables."""
    from rich.text import Text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(
            "demo",
            f"cannot make the folder {folder}: {error.strerror}",
            hint="choose a folder that you may write to",
        ) from error
    written = {
        folder / "latency.png": "latency distribution and throughput",
        folder / "timeline.json": "channels, dies and host over time: open it in ui.perfetto.dev",
        folder
        / "requests.parquet": "every request with its latency parts: pandas, polars or DuckDB",
        folder / "report.json": "all numbers; its `jobs` part has the form of fio",
    }
    picture, timeline, requests, report = written
    with ProgressBar(is_shown=True) as bar:
        result = run(
            "tiny",
            trace=TRACE,
            set=DRIVE,
            precondition="steady",
            requests=requests,
            timeline=timeline,
            progress=bar,
        )
    with Files() as files:
        files.write(picture, result.plot)
        files.write(report, result.to_json)
        out = console()
        print_result(result, out)
        out.print()
        for path, meaning in written.items():
            out.print(Text().append(str(path), style="bold").append(f"  {meaning}"))
