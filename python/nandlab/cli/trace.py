"""``nandlab trace``: summarizes a trace; and the options of all commands that read one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nandlab.catalogue import roster
from nandlab.cli.files import Json, check_json, tell
from nandlab.display.terminal import guarded, say
from nandlab.given.completion import member_of
from nandlab.trace.info import trace_info
from nandlab.trace.recording import notes
from nandlab.trace.table import print_trace

app = typer.Typer(help="Recorded block traces.", no_args_is_help=True)

_PANEL = "Trace options"

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the trace (default: detected from its first line). One of "
        f"{', '.join(member.name for member in roster('trace'))}.",
        autocompletion=member_of("trace"),
    ),
]
Action = Annotated[
    str | None,
    typer.Option(
        help="blkparse: action to replay: Q (default), D, G, I or C.",
        rich_help_panel=_PANEL,
    ),
]
Device = Annotated[
    list[str] | None,
    typer.Option(help="Only this device; repeatable.", rich_help_panel=_PANEL),
]
SectorBytes = Annotated[
    int | None,
    typer.Option(help="Bytes of the unit of addresses (512).", rich_help_panel=_PANEL),
]
SizeUnitBytes = Annotated[
    int | None,
    typer.Option(help="Bytes of the unit of sizes, if different.", rich_help_panel=_PANEL),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(help="Unit of times: ps, ns, us, ms, s or 100ns.", rich_help_panel=_PANEL),
]
TimeScale = Annotated[
    float | None,
    typer.Option(help="Multiplies all times: 0.5 replays twice as fast.", rich_help_panel=_PANEL),
]
OnBadLine = Annotated[
    str | None,
    typer.Option(
        metavar="fail|skip",
        help="Bad lines: an error (default), or skipped and counted.",
        rich_help_panel=_PANEL,
    ),
]


def given(**options: Any) -> Any:
    """Only the options that were given."""
    return {key: value for key, value in options.items() if value not in (None, [])}


@app.callback()
def group() -> None:
    """Recorded block traces."""


@app.command()
@guarded
def info(
    file: Annotated[str, typer.Argument(help="Trace; .gz and .zst are decompressed.")],
    format: Format = None,
    action: Action = None,
    device: Device = None,
    sector_bytes: SectorBytes = None,
    size_unit_bytes: SizeUnitBytes = None,
    time_unit: TimeUnit = None,
    time_scale: TimeScale = None,
    on_bad_line: OnBadLine = None,
    json: Json = None,
) -> None:
    """Summarizes a trace: counts, sizes, times, footprint and locality."""
    check_json(json, [file])
    for note in notes(file):
        say(f"note: {note}")
    found = trace_info(
        file,
        format=format,
        options=given(
            action=action,
            device=device,
            sector_bytes=sector_bytes,
            size_unit_bytes=size_unit_bytes,
            time_unit=time_unit,
            time_scale=time_scale,
            on_bad_line=on_bad_line,
        ),
    )
    tell(json, found, lambda out: print_trace(file, found, out))
