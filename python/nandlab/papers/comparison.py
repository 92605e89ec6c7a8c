"""Comparison with a paper: its results, our results, and the verdict.

A paper is a folder of `experiments/`, and nothing else has to know of it:

- `reference.csv`: one row for each figure that the paper prints, with its place in the paper. A
  row whose `needs` is `trace NAME` runs where a folder of traces has that file. One with other
  `needs` waits for a part of nandlab that is not there yet.
- `run.py`: one function for each row that can be computed, by the row's name; it returns our
  figure. That of a row with a trace takes the path of the file. `picture()` returns the paper's
  picture.
- `expected.toml`: its `group`, where it is a real drive or another simulator; for each row its
  kind, how far off is still met, and why a miss is one where that is known, with the range in which
  the reason holds (`explained_range`, in the unit of the row). `gain` names the group of a gain,
  whose tolerance is half of it or one point, if its own is not stricter. A row with `seeds` of 2
  or more is random, and its function takes `seed`: 1, 2, ... At the head of the file `seeds` is for
  all rows without a number of their own. A key such as `"sd_latency_*"` is for all rows of the
  pattern that have no table of their own; the longest that fits counts. Under `[[contradictions]]`
  stands where figures of the paper do not fit each other: what we worked out of them is no row,
  because nobody printed it, and the figures themselves are rows.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nandlab.given.arguments import as_text, path_or_none
from nandlab.given.refusal import refusal
from nandlab.papers.files import GROUPS, read_expected, read_rows
from nandlab.papers.verdict import Outcome, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "experiments"


class Paper:
    """A folder of `experiments/`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.rows = list(read_rows(folder / "reference.csv"))
        self.group, self.expected, self.contradictions = read_expected(
            folder / "expected.toml", self.rows
        )
        self._module: ModuleType | None = None

    @property
    def title(self) -> str:
        """The heading of its README."""
        file = self.folder / "README.md"
        first = file.read_text(encoding="utf-8").split("\n")[0] if file.is_file() else self.name
        return first.lstrip("# ")

    @property
    def waiting(self) -> list[Row]:
        """Rows that wait for a part of nandlab."""
        return [row for row in self.rows if row.waits]

    def absent(self, traces: str | PathLike[str] | None = None) -> list[Row]:
        """Rows whose trace is not in the folder `traces`."""
        return [row for row in self.rows if row.trace and _trace(traces, row.trace) is None]

    def run(
        self, traces: str | PathLike[str] | None = None, rows: Container[str] | None = None
    ) -> Iterator[Outcome]:
        """Computes every row that can be, in the order of the file.

        Args:
            traces: folder of real traces. Left out, rows that need one do not run.
            rows: names of the rows that run; left out, all of them.

        Raises:
            NandlabError: there is no such folder; a function that is missing.
        """
        folder = path_or_none("papers", traces)
        if folder is not None and not folder.is_dir():
            raise refusal("papers", f"no folder {folder}", "a folder of traces")
        for row in self.rows:
            if rows is not None and row.name not in rows:
                continue
            given: tuple[Path, ...] = ()
            if row.trace:
                file = _trace(folder, row.trace)
                if file is None:
                    continue
                given = (file,)
            if not row.waits:
                expected = self.expected[row.name]
                yield Outcome(self.name, row, expected, self._figures(row, expected.seeds, given))

    def _figures(self, row: Row, seeds: int, given: Sequence[Path]) -> tuple[float, ...]:
        """Ours, once or for each seed."""
        function = self._function(row.name)
        if seeds < 2:
            return (float(function(*given)),)
        return tuple(float(function(*given, seed=seed)) for seed in range(1, seeds + 1))

    def picture(self) -> Figure:
        """The paper's picture, of our figures."""
        figure: Figure = self._function("picture")()
        return figure

    def _function(self, name: str) -> Callable[..., Any]:
        module = self.load()
        found: Callable[..., Any] | None = getattr(module, name, None)
        if not callable(found):
            functions = [key for key, value in vars(module).items() if callable(value)]
            raise refusal(
                self.folder / "run.py",
                f"no function `{name}`",
                "one for each row",
                given=name,
                names=functions,
            )
        return found

    def load(self) -> ModuleType:
        """Its script."""
        if self._module is None:
            file = self.folder / "run.py"
            if not file.is_file():
                raise refusal("papers", f"no {file}", "a script with the paper's rows")
            spec = importlib.util.spec_from_file_location(f"nandlab_paper_{self.name}", file)
            if spec is None or spec.loader is None:
                raise refusal("papers", f"cannot load {file}")
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            self._module = module
        return self._module


def papers(folder: str | PathLike[str] | None = None) -> list[Paper]:
    """Every paper of a folder; left out, of the `experiments/` of the checkout.

    Raises:
        NandlabError: there is no such folder, or a file of it is not what it should be.
    """
    folder = path_or_none("papers", folder) or _find()
    found = sorted(folder.glob("*/reference.csv"))
    if not found:
        raise refusal("papers", f"no papers in {folder}", "folders with a reference.csv")
    every = [Paper(path.parent) for path in found]
    return sorted(every, key=lambda paper: GROUPS.index(paper.group))


def paper(name: str, folder: str | PathLike[str] | None = None) -> Paper:
    """One paper by its name.

    Raises:
        NandlabError: there is no such paper; names the nearest.
    """
    every = {found.name: found for found in papers(folder)}
    expected = ", ".join(every)
    if as_text("papers", name, expected) not in every:
        raise refusal("papers", f"unknown paper `{name}`", expected, given=name, names=list(every))
    return every[name]


def main(script: str) -> None:
    """Prints the table of a paper, as its `run.py` does when run as a script."""
    from nandlab.cli.papers import print_paper
    from nandlab.display.terminal import console

    folder = Path(script).resolve().parent
    print_paper(paper(folder.name, folder.parent), console())


def _trace(folder: str | PathLike[str] | None, name: str) -> Path | None:
    """The file of a trace, compressed or not."""
    if folder is None:
        return None
    files = (Path(folder) / f"{name}{end}" for end in (".zst", ""))
    return next((file for file in files if file.is_file()), None)


def _find() -> Path:
    """The folder of the checkout that we stand in, or that nandlab was installed from."""
    here, package = Path.cwd(), Path(__file__).resolve()
    for folder in (here, *here.parents, *package.parents):
        if list((folder / FOLDER).glob("*/reference.csv")):
            return folder / FOLDER
    raise refusal("papers", f"no folder {FOLDER} here", hint="run it in a checkout of nandlab")
