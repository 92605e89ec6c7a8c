"""``nandlab trace``: summarizes a trace."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.cli.options import takes
from nandlab.display.terminal import guarded, say
from nandlab.options.option import among
from nandlab.options.trace import FormatOptions, ReaderOptions, TraceOptions
from nandlab.trace.info import trace_info
from nandlab.trace.recording import notes
from nandlab.trace.table import print_trace

app = typer.Typer(help="Recorded block traces.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Recorded block traces."""


@app.command()
@guarded
@takes(FormatOptions, ReaderOptions)
def info(
    file: Annotated[str, typer.Argument(help="Trace; .gz and .zst are decompressed.")],
    json: Json = None,
    **given: Any,
) -> None:
    """Summarizes a trace: counts, sizes, times, footprint and locality."""
    check_json(json, [file])
    for note in notes(file):
        say(f"note: {note}")
    options = among(TraceOptions, given)
    found = trace_info(file, **among(FormatOptions, given), options=options)
    tell(json, found, lambda out: print_trace(file, found, out))
