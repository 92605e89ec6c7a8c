"""``nandlab save``: builds a drive, preconditions it, and saves it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.display.terminal import ProgressBar, say
from nandlab.drive.device import Drive
from nandlab.given.outputs import check_outputs


def save(
    drive: Annotated[str, typer.Option(help="Preset or drive file.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Saved drive, for `nandlab run --from`.")
    ],
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Changes a parameter; repeatable."),
    ] = None,
    precondition: Annotated[
        str,
        typer.Option(
            metavar="none|fill|steady|rested", help="Preconditioning before the drive is saved."
        ),
    ] = "none",
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no summary.")] = False,
) -> None:
    """Preconditions a drive and saves it; runs then start from the saved state."""
    device = Drive(drive, set=set or [], seed=seed)
    check_outputs({"--out": out}, device.files)
    with ProgressBar(is_shown=not quiet) as bar:
        if precondition != "none":
            device.precondition(precondition, progress=bar)
    device.save(out)
    if not quiet:
        size = out.stat().st_size / 1e6
        say(f"{out}: {device.capacity_bytes / 2**30:.2f} GiB drive, saved in {size:.1f} MB")
