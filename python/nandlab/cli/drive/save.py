"""``nandlab save``: builds a drive, preconditions it, and saves it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab.cli.options import takes
from nandlab.display.terminal import ProgressBar, say
from nandlab.drive.device import Drive
from nandlab.given.outputs import check_outputs
from nandlab.options.option import among
from nandlab.options.run import SetOptions


@takes(SetOptions)
def save(
    drive: Annotated[str, typer.Option(help="Preset or drive file.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Saved drive, for `nandlab run --from`.")
    ],
    precondition: Annotated[
        str,
        typer.Option(
            metavar="none|fill|steady|rested", help="Preconditioning before the drive is saved."
        ),
    ] = "none",
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no summary.")] = False,
    **given: Any,
) -> None:
    """Preconditions a drive and saves it; runs then start from the saved state."""
    device = Drive(drive, **among(SetOptions, given))
    check_outputs({"--out": out}, device.files)
    with ProgressBar(is_shown=not quiet) as bar:
        if precondition != "none":
            device.precondition(precondition, progress=bar)
    device.save(out)
    if not quiet:
        size = out.stat().st_size / 1e6
        say(f"{out}: {device.capacity_bytes / 2**30:.2f} GiB drive, saved in {size:.1f} MB")
