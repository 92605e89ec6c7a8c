"""The virtual test board: a procedure on a raw chip, to rows of results that can be gone on with.

>>> import nandlab
>>> found = nandlab.board("latency_map", chip="wang2014_mlc")
>>> found.table().num_rows
128
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, getpid
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.arguments import as_text, called, flag, named, path_of, path_or_none, seeded
from nandlab.assignments import assignments
from nandlab.catalogue import load_config
from nandlab.interrupt import Stop
from nandlab.outputs import check_kind, check_new, check_outputs
from nandlab.progress import Meter, Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

KINDS = (".parquet", ".csv")
"""What rows are written as."""

SAVE_S = 10.0
"""Rows go to their file this often, so that nothing can take more of them away."""

SAVE_SHARE = 0.05
"""Of the time, that saving may take at most."""

_DRIVE = "tiny"
"""Where the chip is built in: of a drive's file only the chip matters here."""


@dataclass(frozen=True)
class Procedure:
    """What a board can do to a chip."""

    name: str
    summary: str
    citation: str
    """A key of the bibliography, or nothing."""
    schema: dict[str, Any]
    """JSON Schema of its parameters."""


@dataclass(frozen=True)
class Measurement:
    """What a procedure found on a chip."""

    procedure: str
    chip: str
    seed: int
    params: dict[str, Any]
    """Parameters of the procedure that were given, and defaults that are the same for every chip.
    Those that follow the chip (such as its cycles) are not in it; the columns of the table hold
    what was done."""
    steps: int
    """Steps in all; `steps_done` of them are in the table."""
    steps_done: int
    picture: dict[str, Any] = field(repr=False)
    """Which columns are drawn, and how."""
    _table: pa.Table = field(repr=False)

    def __repr__(self) -> str:
        done = f"{self.steps_done} of {self.steps} steps"
        return f"<{self.procedure} of {self.chip}: {done}, {self._table.num_rows} rows>"

    @property
    def interrupted(self) -> bool:
        """Whether steps are missing."""
        return self.steps_done < self.steps

    def table(self) -> pa.Table:
        """All rows: one column for each quantity, units last in the names; ``step`` first."""
        return self._table

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draws the rows, also to `path`: .png, .svg or .pdf."""
        from nandlab.board_plot import plot_measurement

        return plot_measurement(self, path_or_none("plot", path))

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the rows: .parquet (with the parameters as metadata) or .csv."""
        write(self._table, path_of("write", path))


class Unfinished(KeyboardInterrupt):
    """Ctrl-C ended a procedure early. The steps done until then are in `result`."""

    def __init__(self, result: Measurement) -> None:
        super().__init__("interrupted")
        self.result = result


def procedures() -> list[Procedure]:
    """Everything that a board can do."""
    return [Procedure(n, s, c, json.loads(schema)) for n, s, c, schema in _core.procedures()]


def board(
    procedure: str,
    chip: str | PathLike[str],
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int = 1,
    out: str | PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
    **params: object,
) -> Measurement:
    """Does a procedure to a chip on the virtual test board.

    Args:
        procedure: name of a procedure; `procedures` lists them.
        chip: name of a chip preset, or path of a chip's TOML file; it needs a cell.
        set: parameters to change by their path: ``chip.…`` of the chip (a cell for a chip without
            one: ``{"chip.cell.preset": "slc"}``), ``procedure.…`` of the procedure.
        seed: seed of the cells and of the data.
        out: new file for the rows, .parquet or .csv; also after Ctrl-C, and every ten seconds, so
            that a run that was killed can be gone on with.
        resume: goes on after the steps that `out` holds. They must be of the same ``run_hash``,
            and the last of them, which is done again, must come out the same.
        progress: called about ten times a second and at the end.
        params: parameters of the procedure, as ``cycles=200_000``.

    Raises:
        NandlabError: an input that is refused; one line that says where, what and what is allowed.
        Unfinished: Ctrl-C; its ``result`` holds the steps done.
        OSError: `out` cannot be read or written.
    """
    chip = named("board: chip", chip)
    procedure = as_text("board: procedure", procedure, "a procedure's name")
    path, resume = path_or_none("out", out), flag("resume", resume)
    called("progress", progress)
    if resume and path is None:
        raise _core.NandlabError("board: resume without out; allowed: the file to go on with")
    if path is not None:
        check_kind("out", path, KINDS)
        if not resume:
            check_new("out", path, ", or `resume`, which goes on with it")
    check_outputs({"out": path}, [chip])
    seed = seeded(seed)
    chip_sets, own = _sort(set)
    for text in own:
        if (key := text.partition("=")[0].strip()) in params:
            problem = f"board: {key} stands twice: {params[key]}, and --set procedure.{text}"
            raise _core.NandlabError(f"{problem}; allowed: once")
    own += assignments(params)
    sets = [f"chip.preset={chip}", *chip_sets]
    session = _core.Board(_DRIVE, sets, procedure, own, seed)
    facts = {
        "nandlab_version": _core.version(),
        "procedure": procedure,
        "chip": chip,
        "set": json.dumps(chip_sets),
        "params": session.params(),
        "seed": str(seed),
    }
    config = load_config(_DRIVE, sets)["config"]["chip"]
    rows = _Rows(facts, _run_hash(facts, config))
    if resume and path is not None and path.exists():
        rows.take_up(path, session)
    stopped = False
    meter = Meter("board", progress)
    saver = None if path is None else _Saver(path, rows)
    steps = session.steps()
    try:
        with Stop() as stop:
            while (done := session.advance()) is not None:
                step, found = done
                rows.add(step, found)
                if saver is not None:
                    saver.tell()
                meter.tell(step + 1, steps, last=step + 1 == steps)
                if stop.asked:
                    stopped = step + 1 < steps
                    break
    except KeyboardInterrupt:
        stopped = True
    finally:
        if path is not None:
            write(rows.table(), path)
    result = Measurement(
        procedure,
        chip,
        seed,
        json.loads(session.params()),
        steps,
        rows.steps_done,
        json.loads(session.picture()),
        rows.table(),
    )
    if stopped:
        raise Unfinished(result)
    return result


def _sort(sets: Mapping[str, object] | Sequence[str]) -> tuple[list[str], list[str]]:
    """Assignments of the chip, and those of the procedure without its name."""
    chip, own = [], []
    for text in assignments(sets):
        path = text.split("=")[0].strip()
        if path.startswith("chip."):
            chip.append(text)
        elif path.startswith("procedure."):
            own.append(text.split(".", 1)[1])
        else:
            allowed = "chip.KEY=VALUE, or procedure.KEY=VALUE"
            problem = f"--set {text}: neither chip nor procedure"
            raise _core.NandlabError(f"{problem}; allowed: {allowed}")
    return chip, own


def _run_hash(facts: dict[str, str], chip: dict[str, Any]) -> str:
    """Of everything that rows depend on: only rows with the same one belong together."""
    from hashlib import sha256

    about = {key: value for key, value in facts.items() if key not in ("chip", "set")}
    text = json.dumps({**about, "config": chip}, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


class _Rows:
    """Rows of a run, those of a file before them."""

    def __init__(self, facts: dict[str, str], run_hash: str) -> None:
        self._facts = {**facts, "run_hash": run_hash}
        self._hash = run_hash
        self._rows: list[dict[str, int | float | str]] = []
        self._before: pa.Table | None = None
        self._begin = 0
        self.steps_done = 0
        """Whole steps that the rows are of."""

    def take_up(self, path: Path, session: _core.Board) -> None:
        """Goes on after the rows of a file: its last step is done again and compared."""
        known = read(path)
        if known.num_rows == 0:
            return
        for name in ("step", "run_hash"):
            if (count := known.column_names.count(name)) != 1:
                problem = f"{path}: {count or 'no'} columns {name}"
                raise _core.NandlabError(f"{problem}; allowed: one, as nandlab board writes it")
        steps = [_step(path, row, step) for row, step in enumerate(known["step"].to_pylist(), 1)]
        last = max(steps)
        if any(run_hash != self._hash for run_hash in known["run_hash"].to_pylist()):
            self._refuse(path, "rows of another run")
        if last >= session.steps() or steps != sorted(steps):
            self._refuse(path, f"step {last} of {session.steps()}")
        rows_of = Counter(steps)
        # Only the last step may be short of rows; it is compared row by row.
        whole = max(rows_of.values())
        for step in range(last):
            if rows_of[step] != whole:
                self._refuse(path, f"step {step} has {rows_of[step]} of {whole} rows")
        session.begin_at(last)
        again: list[dict[str, Any]] = []
        while (done := session.advance()) is not None:
            step, found = done
            if step == last:
                again = found
                break
        fresh = self._typed(again)
        if known.column_names != fresh.column_names:
            self._refuse(path, "other columns")
        try:
            known = known.cast(fresh.schema)
        except ValueError:
            self._refuse(path, "other kinds of columns")
        first = steps.index(last)
        if known.slice(first).to_pylist() != fresh.to_pylist():
            self._refuse(path, f"step {last} comes out differently")
        self._before = known
        self.steps_done = last + 1
        self._begin = last + 1

    def _refuse(self, path: Path, what: str) -> None:
        allowed = "rows of the same procedure, chip, parameters, seed and version"
        raise _core.NandlabError(f"{path}: cannot be gone on with: {what}; allowed: {allowed}")

    def add(self, step: int, found: list[dict[str, int | float | str]]) -> None:
        """Keeps the rows of a step, unless they are there already."""
        if step >= self._begin:
            self._rows += found
            self.steps_done = step + 1

    def _typed(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        import pyarrow as pa

        names = list(rows[0]) if rows else ["step"]
        columns = {name: [row[name] for row in rows] for name in names}
        kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
        fields = [(name, kinds[type(rows[0][name])] if rows else pa.int64()) for name in names]
        columns["run_hash"] = [self._hash] * len(rows)
        fields.append(("run_hash", pa.string()))
        return pa.table(columns, schema=pa.schema(fields))

    def table(self) -> pa.Table:
        """All rows with the facts of the run."""
        import pyarrow as pa

        parts = [] if self._before is None else [self._before]
        if self._rows or not parts:
            parts.append(self._typed(self._rows))
        return pa.concat_tables(parts).replace_schema_metadata(self._facts)


def _step(path: Path, row: int, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        problem = f"{path}: row {row}, column step: `{'' if value is None else value}`"
        allowed = "rows of nandlab board"
        raise _core.NandlabError(f"{problem}: no whole number; allowed: {allowed}") from None


class _Saver:
    """Writes rows now and then, seldom enough to cost next to nothing."""

    def __init__(self, path: Path, rows: _Rows) -> None:
        self._path = path
        self._rows = rows
        self._due = monotonic() + SAVE_S

    def tell(self) -> None:
        """A step is done: writes where it is time."""
        begin = monotonic()
        if begin < self._due:
            return
        write(self._rows.table(), self._path)
        end = monotonic()
        self._due = end + max(SAVE_S, (end - begin) / SAVE_SHARE)


def write(table: pa.Table, path: Path) -> None:
    """Writes rows at once: what was there stays until the new ones are complete."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    check_kind("out", path, KINDS)
    # Of this process: another one may write the same file just now.
    part = path.with_name(f"{path.name}.{getpid()}.part")
    if path.suffix.lower() == ".csv":
        csv.write_csv(table, part)
    else:
        pq.write_table(table, part, compression="zstd")
    part.replace(path)


def read(path: Path) -> pa.Table:
    """Reads rows back; of a CSV all as text, because 00 and 11 are no numbers.

    Raises:
        NandlabError: the file is neither.
        OSError: it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() != ".csv":
            return pq.read_table(path)
        with path.open(encoding="utf-8") as file:
            names = [name.strip().strip('"') for name in file.readline().split(",")]
        kinds = csv.ConvertOptions(column_types={name: pa.string() for name in names})
        return csv.read_csv(path, convert_options=kinds)
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        # A broken page is an OSError without a number; those of the system have one.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _core.NandlabError(f"{path}: no table: {str(error).splitlines()[0]}") from error
