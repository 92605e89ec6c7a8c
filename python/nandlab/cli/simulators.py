"""``nandlab import``: files of other simulators become a drive file, jobs and traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.display.terminal import guarded

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.imported.result import Imported

app = typer.Typer(
    help="Imports drives of other simulators: MQSim, SimpleSSD, FEMU.", no_args_is_help=True
)

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="New files; may be new itself.")]


@app.command()
@guarded
def mqsim(
    config: Annotated[Path, typer.Argument(help="MQSim's configuration, ssdconfig.xml.")],
    out: Out,
    workload: Annotated[
        Path | None, typer.Argument(help="Its scenarios, workload.xml: each becomes a run.")
    ] = None,
    json: Json = None,
) -> None:
    """Imports MQSim's drive and its scenarios: jobs, and options of traces."""
    _import("mqsim", [config, *([workload] if workload is not None else [])], out, json)


@app.command()
@guarded
def simplessd(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Configuration of the SSD, and that of SimpleSSD-Standalone."
        ),
    ],
    out: Out,
    json: Json = None,
) -> None:
    """Imports SimpleSSD's drive (2.0), and the generator or trace of SimpleSSD-Standalone."""
    _import("simplessd", files, out, json)


@app.command()
@guarded
def femu(
    script: Annotated[Path, typer.Argument(help="Script that starts FEMU, as run-blackbox.sh.")],
    out: Out,
    json: Json = None,
) -> None:
    """Imports the drive of FEMU's black-box mode; the guest has its workload."""
    _import("femu", [script], out, json)


def _import(simulator: str, files: Sequence[Path], out: Path, json: Path | None) -> None:
    from nandlab.imported.importing import read_drive
    from nandlab.imported.result import check_folder

    check_json(json, files)
    check_folder(out, "--out")
    read = read_drive(simulator, files, out)
    read.check(out, "--out")
    read.write(out, "--out")
    tell(json, read.facts(), lambda to: _show(to, read, out))


def _show(to: Console, read: Imported, out: Path) -> None:
    """Prints the files written, the keys without counterpart, and the command that runs them."""
    from nandlab.imported.written import told

    def say(text: str) -> None:
        to.print(text, markup=False, highlight=False, soft_wrap=True)

    if read.notes:
        say("What is different here:")
        for note in read.notes:
            say(f"  {note}")
    if read.unmatched:
        say("Without a counterpart:")
        for line in told(read.unmatched):
            say(f"  {line}")
    counts = f"{len({row.key for row in read.moved})} keys have a counterpart"
    say(f"wrote {', '.join(str(out / name) for name in read.files)}; {counts}")
    for name in read.runs:
        say(f"run it: nandlab run --drive {out / name}")
    if not read.runs:
        say(f"run it: nandlab run --drive {out / 'drive.toml'} --workload JOB.fio")
