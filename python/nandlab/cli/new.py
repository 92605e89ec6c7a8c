"""``nandlab new``: writes a commented drive, fio job or study file to begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nandlab.display.terminal import guarded
from nandlab.given.outputs import check_kind, check_new, check_outputs
from nandlab.given.replacement import write_text

app = typer.Typer(
    help="Writes a commented file to begin with: a drive, a fio job, or a study.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="New file; - prints it.", metavar="FILE|-")]

# A job in a .toml file would be read as a drive or a study by `nandlab lint`.
JOB_KINDS = [".fio", ".job", ".ini"]


@app.command()
@guarded
def drive(file: File) -> None:
    """Writes a drive file with the keys of all members: meaning, unit and default of each."""
    from nandlab.templates import drive_text

    _write(file, [".toml"], drive_text, f"nandlab run --drive {file} --workload JOB.fio")


@app.command()
@guarded
def job(file: File) -> None:
    """Writes a fio job file with the options that are used most."""
    from nandlab.templates import JOB

    _write(file, JOB_KINDS, lambda: JOB, f"nandlab run --drive tiny --workload {file}")


@app.command()
@guarded
def study(file: File) -> None:
    """Writes a study with every key, which runs in seconds."""
    from nandlab.templates import STUDY

    _write(file, [".toml"], lambda: STUDY, f"nandlab sweep {file} --plot study.png")


def _write(file: Path, kinds: Sequence[str], text: Callable[[], str], how: str) -> None:
    if file == Path("-"):
        print(text(), end="")
        return
    check_kind("new", file, kinds)
    check_outputs({"new": file}, [])
    check_new("new", file)
    write_text(file, text())
    print(f"wrote {file}; run it: {how}")
