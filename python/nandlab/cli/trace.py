"""``nandlab trace``: shows what a trace holds; and the options of all commands that read one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from nandlab.display.terminal import console, guarded
from nandlab.trace.info import trace_info
from nandlab.trace.table import print_trace

app = typer.Typer(help="Recorded block traces.", no_args_is_help=True)

_PANEL = "How a trace is read"

Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="Format of the trace; told from its first line where that is certain."
    ),
]
Action = Annotated[
    str | None,
    typer.Option(
        help="blkparse: the action that is replayed: Q (default), D, G, I or C.",
        rich_help_panel=_PANEL,
    ),
]
Device = Annotated[
    list[str] | None,
    typer.Option(help="Only this device; may be given again.", rich_help_panel=_PANEL),
]
SectorBytes = Annotated[
    int | None,
    typer.Option(help="Bytes of the unit of addresses (512).", rich_help_panel=_PANEL),
]
SizeUnitBytes = Annotated[
    int | None,
    typer.Option(
        help="Bytes of the unit of sizes, where it is another one.", rich_help_panel=_PANEL
    ),
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
        help="A bad line: an error (default), or left out and counted.",
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
    file: Annotated[str, typer.Argument(help="The trace; .gz and .zst are opened.")],
    format: Format = None,
    action: Action = None,
    device: Device = None,
    sector_bytes: SectorBytes = None,
    size_unit_bytes: SizeUnitBytes = None,
    time_unit: TimeUnit = None,
    time_scale: TimeScale = None,
    on_bad_line: OnBadLine = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a trace holds: counts, sizes, times, footprint, locality."""
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
    if is_json:
        print(json.dumps(found, indent=2))
    else:
        print_trace(file, found, console())
