"""Import of a drive of another simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nandlab.given.arguments import named, several
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.imported.femu import import_femu
from nandlab.imported.mqsim import import_mqsim
from nandlab.imported.result import Imported, check_folder
from nandlab.imported.simplessd import import_simplessd

Folder = str | PathLike[str] | None


class Simulator(NamedTuple):
    """A simulator whose files are read."""

    title: str
    files: str
    """The files that it takes, for messages."""
    most: int
    """Number of files at most."""
    read: Callable[[Sequence[str], Folder], Imported]


SIMULATORS = {
    "mqsim": Simulator(
        "MQSim",
        "ssdconfig.xml, and workload.xml if wanted",
        2,
        lambda files, out: import_mqsim(files[0], files[1] if len(files) > 1 else None, out),
    ),
    "simplessd": Simulator(
        "SimpleSSD",
        "configuration files of the SSD and of SimpleSSD-Standalone",
        8,
        import_simplessd,
    ),
    "femu": Simulator(
        "FEMU", "a script such as run-blackbox.sh", 1, lambda files, _: import_femu(files[0])
    ),
}
"""Simulators by name."""


@names_checked
def import_drive(
    simulator: str,
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    out: str | PathLike[str] | None = None,
) -> Imported:
    """Reads the configuration of another simulator as a drive, and its workloads as runs.

    Args:
        simulator: ``mqsim``, ``simplessd`` or ``femu``.
        files: its files. MQSim: ssdconfig.xml, and workload.xml if wanted. SimpleSSD: one or more
            .cfg files, that of the SSD among them. FEMU: a script such as run-blackbox.sh.
        out: folder for the new files, made if it is missing. None writes nothing; the texts are in
            `Imported.files`.

    Raises:
        NandlabError: a file that is not the simulator's, an unknown value, a drive that nandlab
            refuses, or a new file that exists already.
        OSError: a new file cannot be written.
    """
    read = read_drive(simulator, files, out)
    if out is not None:
        check_folder(out, "out")
        read.write(Path(out))
    return read


def read_drive(
    simulator: str, files: str | PathLike[str] | Sequence[str | PathLike[str]], folder: Folder
) -> Imported:
    """The same without writing the files, which will stand in `folder`."""
    if simulator not in SIMULATORS:
        problem = f"unknown simulator {simulator!r}"
        raise refusal("import_drive", problem, SIMULATORS, given=simulator)
    known = SIMULATORS[simulator]
    given = [named("import_drive: files", one) for one in several("import_drive: files", files)]
    if len(given) > known.most:
        problem = f"{len(given)} files for {known.title}"
        raise refusal("import_drive", problem, known.files)
    return known.read(given, folder)
