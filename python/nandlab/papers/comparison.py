"""Comparison with a paper: its results, our results, and the verdict.

A paper is a folder of `experiments/`, and nothing else has to know of it:

- `reference.csv`: one row for each figure that the paper prints, with its place in the paper. A
  row whose `needs` is `trace NAME` runs where a folder of traces has that file. One with other
  `needs` waits for a part of nandlab that is not there yet.
- `run.py`: one function for each row that can be computed, by the row's name; it returns our
  figure. That of a row with a trace takes the path of the file. `picture()` returns the paper's
  picture.
- `expected.toml`: its `group`, where it is a real drive or another simulator; for each row how far
  off is still met, what kind of evidence it is, and why a miss is one where that is known. A key
  such as `"sd_latency_*"` is for all rows of the pattern that have no table of their own; the
  longest that fits counts. Under `[[contradictions]]` stands where figures of the paper do not fit
  each other: what we worked out of them is no row, because nobody printed it, and the figures
  themselves are rows, met or not.
"""

from __future__ import annotations

import csv
import fnmatch
import importlib.util
import math
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.given.arguments import as_text, path_or_none
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "experiments"
COLUMNS = ("row", "claim", "relation", "paper", "unit", "place", "needs")
RELATIONS = ("=", "<=", ">=")

GROUPS = ("papers", "real drives", "simulators")
"""What a folder is held against: key `group` of its `expected.toml`; left out, the first."""

KINDS = {
    "validated": "the model was not fitted to it",
    "calibrated": "the model was fitted to it: no validation",
    "chosen": "it decided between two readings or two parts of the model: no validation of these",
    "given": "it is an input of the model, or follows from one: no validation",
    "arithmetic": "a repeated calculation of the paper",
    "reading": "the paper has words; the number is our reading of them",
}
"""What kind of evidence a row is."""

PROVES_NOTHING = ("calibrated", "chosen", "given")
"""Kinds of rows that could hardly come out otherwise: they are not counted as met."""

TRACE = "trace "
"""Begins the `needs` of a row that runs on a trace which is not part of nandlab."""

NO_REASON = "not met"
WITH_REASON = "not met, reason known"

VERDICTS = ("met", *PROVES_NOTHING, WITH_REASON, NO_REASON)
"""What may become of a row."""


class Row(NamedTuple):
    """A figure that a paper prints."""

    name: str
    claim: str
    relation: str
    """``=``, or ``<=`` and ``>=`` where the paper gives a bound."""
    paper: float
    unit: str
    place: str
    needs: str
    """The part of nandlab that the row waits for, or its trace; empty where it always runs."""

    @property
    def trace(self) -> str:
        """Name of the trace that it runs on, without `.zst`; empty where it needs none."""
        return self.needs.removeprefix(TRACE) if self.needs.startswith(TRACE) else ""

    @property
    def waits(self) -> bool:
        """Whether it waits for a part of nandlab."""
        return bool(self.needs) and not self.trace


class Expected(NamedTuple):
    """When a row is met."""

    kind: str
    relative: float
    absolute: float
    explained: str


class Contradiction(NamedTuple):
    """Figures of a paper that cannot all hold."""

    printed: str
    """What the paper prints, with its places."""
    why: str
    """Why not all of it can be."""


class Outcome(NamedTuple):
    """A row that was run."""

    paper: str
    row: Row
    expected: Expected
    ours: float

    @property
    def is_met(self) -> bool:
        """Whether ours is the paper's figure within the tolerance, or keeps its bound."""
        slack = max(self.expected.absolute, self.expected.relative * abs(self.row.paper))
        # A hair for binary fractions: 0.36 - 0.355 is more than 0.005.
        slack += 1e-12 * max(abs(self.row.paper), 1.0)
        over = self.ours - self.row.paper
        if self.row.relation == "<=":
            return over <= slack
        if self.row.relation == ">=":
            return over >= -slack
        return abs(over) <= slack

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`. A row that is met and proves nothing has its kind for a verdict."""
        if self.is_met:
            return self.expected.kind if self.expected.kind in PROVES_NOTHING else "met"
        return WITH_REASON if self.expected.explained else NO_REASON

    @property
    def tolerance(self) -> str:
        """As it is read."""
        if self.expected.absolute:
            return f"± {self.expected.absolute:g} {self.row.unit}".strip()
        return f"{100 * self.expected.relative:g} % of it" if self.expected.relative else "exact"


def tally(outcomes: Sequence[Outcome]) -> str:
    """Counts of verdicts in one line: first the rows that could have failed.

    Calibrated, chosen and given rows within their tolerance stand apart. Outside of it they count
    as not met.
    """
    count = Counter(outcome.verdict for outcome in outcomes)
    open_rows = sum(count[verdict] for verdict in ("met", WITH_REASON, NO_REASON))
    said = f"{len(outcomes)} rows: {count['met']} of {open_rows} met"
    if open_rows:
        said += f" ({100 * count['met'] / open_rows:.1f} %)"
    said += f", {count[WITH_REASON]} not met with a known reason"
    said += f", {count[NO_REASON]} not met without one"
    apart = [f"{count[kind]} {kind}" for kind in PROVES_NOTHING if count[kind]]
    return f"{said}; not counted: {', '.join(apart)}" if apart else said


class Paper:
    """A folder of `experiments/`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.rows = list(_rows(folder / "reference.csv"))
        self.group, self.expected, self.contradictions = _expected(
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
                ours = float(self._function(row.name)(*given))
                yield Outcome(self.name, row, self.expected[row.name], ours)

    def picture(self) -> Figure:
        """The paper's picture, of our figures."""
        figure: Figure = self._function("picture")()
        return figure

    def _function(self, name: str) -> Callable[[], Any]:
        module = self.load()
        found: Callable[[], Any] | None = getattr(module, name, None)
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


def _rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise refusal(f"{file}:1", f"columns {', '.join(reader.fieldnames or ())}", COLUMNS)
        seen: set[str] = set()
        for given in reader:
            place = f"{file}:{reader.line_num}"
            name = given["row"]
            if None in given or None in given.values():
                raise refusal(
                    place, f"{len(given)} fields do not fit the heading", f"{len(COLUMNS)} fields"
                )
            if name in seen or not name.isidentifier():
                raise refusal(place, f"row `{name}`", "the name of a function, once")
            seen.add(name)
            if given["relation"] not in RELATIONS:
                raise refusal(place, f"relation `{given['relation']}`", " ".join(RELATIONS))
            yield Row(
                name,
                given["claim"],
                given["relation"],
                _number(place, "paper", given["paper"]),
                given["unit"],
                given["place"],
                given["needs"],
            )


def _number(place: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refusal(place, f"{column} `{text}`: not a number", "a finite number")
    return value


def _expected(
    file: Path, rows: Sequence[Row]
) -> tuple[str, dict[str, Expected], list[Contradiction]]:
    """Its group, expectations of every row that runs, and contradictions within the paper.

    What is said of no row is an error.
    """
    from nandlab.given.toml import read_toml

    tables = read_toml(file)
    contradictions = _contradictions(file, tables.pop("contradictions", []))
    group = tables.pop("group", GROUPS[0])
    if group not in GROUPS:
        raise refusal(file, f"group = {group!r}", GROUPS, given=str(group), names=GROUPS)
    names = [row.name for row in rows if not row.waits]
    for name in tables:
        if not fnmatch.filter(names, name):
            raise refusal(
                file,
                f"no row `{name}` that runs in reference.csv",
                "its rows",
                given=name,
                names=names,
            )
    found = {}
    for name in names:
        patterns = [key for key in tables if fnmatch.fnmatchcase(name, key)]
        table = tables.get(name, tables.get(max(patterns, key=len, default=name)))
        if not isinstance(table, dict):
            raise refusal(file, f"no [{name}]", "a table for each row that runs")
        known = ("kind", "relative", "absolute", "explained")
        for key in table:
            if key not in known:
                raise refusal(file, f"[{name}]: unknown key `{key}`", known, given=key)
        kind = table.get("kind", "")
        if kind not in KINDS:
            raise refusal(file, f"[{name}]: kind `{kind}`", KINDS, given=kind)
        relative, absolute = table.get("relative", 0.0), table.get("absolute", 0.0)
        for slack in (relative, absolute):
            if not isinstance(slack, (int, float)) or not slack >= 0:
                raise refusal(file, f"[{name}]: a tolerance of {slack}", "a number, 0 or more")
        explained = str(table.get("explained", ""))
        found[name] = Expected(kind, float(relative), float(absolute), explained)
    return group, found, contradictions


def _contradictions(file: Path, given: object) -> list[Contradiction]:
    keys = Contradiction._fields
    found = []
    for table in given if isinstance(given, list) else [given]:
        if not isinstance(table, dict) or set(table) != set(keys):
            raise refusal(file, f"contradictions: {table!r:.60}", f"tables of {' and '.join(keys)}")
        found.append(Contradiction(*(str(table[key]) for key in keys)))
    return found
