"""What an import gives: files, what has moved where, and what has no counterpart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nandlab.given.outputs import check_new, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text


class Moved(NamedTuple):
    """A key of another simulator that has a counterpart."""

    file: str
    line: int
    key: str
    value: str
    becomes: str
    """Key of the drive file, option of the jobs or of the trace."""


class Unmatched(NamedTuple):
    """A key of another simulator without a counterpart, or with one in part."""

    file: str
    line: int
    key: str
    value: str
    why: str


@dataclass(frozen=True)
class Imported:
    """A drive of another simulator: the files that it becomes, and what is lost on the way.

    Attributes:
        simulator: ``mqsim``, ``simplessd`` or ``femu``.
        inputs: files that were read.
        files: texts of the new files by their names; ``drive.toml`` is the drive.
        runs: names of those files that `nandlab run` takes as they are: the drive with jobs or a
            trace. Empty if the input has no workload.
        moved: keys that have a counterpart.
        unmatched: keys without one, with the reason.
        notes: differences that no key stands for.
    """

    simulator: str
    inputs: Sequence[str]
    files: Mapping[str, str]
    runs: Sequence[str]
    moved: Sequence[Moved]
    unmatched: Sequence[Unmatched]
    notes: Sequence[str]

    def __repr__(self) -> str:
        """Short text: the files read, and how many keys have a counterpart."""
        moved = len({row.key for row in self.moved})
        return (
            f"<Imported: {self.simulator}, {len(self.files)} files, {moved} keys with a "
            f"counterpart, {len({row.key for row in self.unmatched})} without>"
        )

    def check(self, folder: str | PathLike[str], place: str = "out") -> None:
        """Makes sure that the files can be written.

        Raises:
            NandlabError: one of them exists, or cannot be written.
        """
        check_folder(folder, place)
        if Path(folder).is_dir():
            for name in self.files:
                check_new(place, Path(folder) / name)
                check_outputs({place: Path(folder) / name}, self.inputs)

    def write(self, folder: str | PathLike[str], place: str = "out") -> list[Path]:
        """Writes the files into a folder, which is made if it is missing.

        Raises:
            NandlabError: one of them exists, or cannot be written.
            OSError: a disk that is full, and the like.
        """
        self.check(folder, place)
        to = Path(folder)
        to.mkdir(exist_ok=True)
        paths = [to / name for name in self.files]
        for path in paths:
            write_text(path, self.files[path.name])
        return paths

    def facts(self) -> dict[str, object]:
        """The same as plain data, for JSON."""
        return {
            "simulator": self.simulator,
            "inputs": list(self.inputs),
            "files": list(self.files),
            "runs": list(self.runs),
            "moved": [row._asdict() for row in self.moved],
            "unmatched": [row._asdict() for row in self.unmatched],
            "notes": list(self.notes),
        }


def check_folder(folder: str | PathLike[str], place: str) -> None:
    """Makes sure that files can be written into a folder.

    Raises:
        NandlabError: its own folder is missing, or a file has its name.
    """
    to = Path(folder)
    try:
        is_there, is_folder = to.exists(), to.is_dir()
        is_in_folder = to.absolute().parent.is_dir()
    except (OSError, ValueError) as error:
        problem = f"cannot write {to}: {getattr(error, 'strerror', error)}"
        raise refusal(place, problem) from error
    if is_there and not is_folder:
        raise refusal(place, f"{to} is a file", "a folder, which may be new")
    if not is_in_folder:
        raise refusal(place, f"no folder {to.parent}", "an existing folder")
