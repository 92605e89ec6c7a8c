"""Measurement on the virtual test board: a procedure runs on a raw chip and gives rows.

>>> import nandlab
>>> found = nandlab.board("latency_map", chip="wang2014_mlc")
>>> found.table().num_rows
128
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.board.rows import KINDS, Rows, Saver, write
from nandlab.catalogue import chip as chip_tables
from nandlab.catalogue import load_config, roster, show
from nandlab.cell.source import is_of_the_cell
from nandlab.display.progress import Meter, Progress
from nandlab.given.arguments import (
    as_text,
    called,
    flag,
    named,
    number,
    path_of,
    path_or_none,
    seeded,
)
from nandlab.given.assignments import assignments
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_kind, check_new, check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import Unwritten
from nandlab.given.toml import parse_toml
from nandlab.process.interrupt import Stop

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


_DRIVE = "tiny"
"""Where the chip is built in: of a drive's file only the chip matters here."""


@dataclass(frozen=True)
class Procedure:
    """What a board can do to a chip."""

    name: str
    summary: str
    citation: str
    """Key of the bibliography; empty for none."""
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
    notes: list[str] = field(repr=False)
    """What a reader of the rows must know: drives of the chip may have other error rates."""
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

    def to_pandas(self) -> Any:
        """All rows as a ``pandas.DataFrame``; ``pip install 'nandlab[pandas]'``.

        Raises:
            NandlabError: pandas is not installed.
        """
        from nandlab.display.frames import data_frame

        return data_frame(self.table())

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draws the rows, also to `path`: .png, .svg or .pdf."""
        from nandlab.board.plot import plot_measurement

        return plot_measurement(self, path_or_none("plot", path))

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the rows: .parquet (with the parameters as metadata) or .csv."""
        write(self._table, path_of("write", path))


class Unfinished(KeyboardInterrupt):
    """Ctrl-C ended a procedure early. The steps done until then are in `result`."""

    def __init__(self, result: Measurement, failures: Sequence[OSError] = ()) -> None:
        super().__init__("interrupted")
        self.result = result
        self.failures = list(failures)


@names_checked
def procedures() -> list[Procedure]:
    """Everything that a board can do."""
    return [Procedure(*member) for member in roster("procedure")]


def board(
    procedure: str,
    chip: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int = 1,
    rest_hours: float = 0.0,
    rest_c: float = 30.0,
    out: str | PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
    **params: object,
) -> Measurement:
    """Does a procedure to a chip on the virtual test board.

    Args:
        procedure: name of a procedure; `procedures` lists them.
        chip: name of a chip preset, path of a chip's TOML file, or a mapping of its tables; it
            needs a cell.
        set: parameters to change by their path: ``chip.…`` of the chip (a cell for a chip without
            one: ``{"chip.cell.preset": "slc"}``), ``procedure.…`` of the procedure.
        seed: seed of the cells and of the data.
        rest_hours: rest of each block after each of its cycles, in which its cells recover from
            wear; needs ``chip.cell.wear.recovery`` above 0. The clock of the board does not count
            rests.
        rest_c: temperature of the rest.
        out: new file for the rows, .parquet or .csv; also after Ctrl-C, and every ten seconds, so
            that a run that was killed can be gone on with.
        resume: goes on after the steps that `out` holds. They must be of the same ``run_hash``,
            and the last of them, which is done again, must come out the same.
        progress: called about ten times a second and at the end.
        params: parameters of the procedure, as ``cycles=200_000``.

    Raises:
        NandlabError: an input is refused; the message says where, why and what is expected.
        Unfinished: Ctrl-C; its ``result`` holds the steps done.
        OSError: `out` cannot be read; as `Unwritten`, with the `result`: it cannot be written.
    """
    tables = chip_tables(chip) if isinstance(chip, Mapping) else None
    chip = str(tables.get("summary", "chip")) if tables else named("board: chip", chip)
    procedure = as_text("board: procedure", procedure, "a procedure's name")
    path, resume = path_or_none("out", out), flag("resume", resume)
    called("progress", progress)
    if resume and path is None:
        raise refusal("board", "resume without out", hint="name the file to resume with out")
    if path is not None:
        check_kind("out", path, KINDS)
        if not resume:
            check_new("out", path, ", or resume, which continues this one")
    seed = seeded(seed)
    chip_sets, own = _sort(set)
    for text in own:
        if (key := text.partition("=")[0].strip()) in params:
            raise refusal(
                "board",
                f"{key} is given twice: {params[key]}, and --set procedure.{text}",
                hint="give it once",
            )
    own += assignments(params)
    if tables:
        config = load_config(_around(tables), chip_sets, "board")
    else:
        config = load_config(_DRIVE, [f"chip.preset={chip}", *chip_sets])
    inputs = [] if tables else [chip]
    check_outputs({"out": path}, [*inputs, *config.native.files()])
    rest_hours, rest_c = number("board: rest_hours", rest_hours), number("board: rest_c", rest_c)
    session = _core.Board(config.native, procedure, own, seed, rest_hours, rest_c)
    facts = {
        "nandlab_version": _core.version(),
        "procedure": procedure,
        "chip": chip,
        "set": json.dumps(chip_sets),
        "params": session.params(),
        "seed": str(seed),
    }
    if rest_hours:
        facts |= {"rest_hours": str(rest_hours), "rest_c": str(rest_c)}
    rows = Rows(facts, _run_hash(facts, config.config["chip"]))
    if resume and path is not None and path.exists():
        rows.take_up(path, session)
    stopped, failures = False, list[OSError]()
    meter = Meter("board", progress)
    saver = None if path is None else Saver(path, rows)
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
            try:
                write(rows.table(), path)
            except OSError as error:
                failures.append(error)
    result = Measurement(
        procedure,
        chip,
        seed,
        json.loads(session.params()),
        steps,
        rows.steps_done,
        json.loads(session.picture()),
        _notes(chip, config.with_facts()["chip"], rows.table()),
        rows.table(),
    )
    if stopped:
        raise Unfinished(result, failures)
    if failures:
        raise Unwritten(result, failures)
    return result


def _notes(name: str, chip: Mapping[str, Any], rows: pa.Table) -> list[str]:
    """The rates of drives where they are not those of the cell, in the state of the last row."""
    from nandlab.endurance.beside import beyond_fit, by_layer, in_words, rates_beside

    array = chip["array"]
    if is_of_the_cell(array) or rows.num_rows == 0:
        return []
    last = rows.slice(rows.num_rows - 1).to_pylist()[0]
    what = (
        f"this is the cell of {name}, not what a drive of it has: the error rates of chip.array "
        f"`{array['name']}`"
    )
    if "pe_cycles" not in last:
        return [f"{what}, which `nandlab cell {name}` prints"]
    state: dict[str, Any] = {
        "pe_cycles": int(last["pe_cycles"]),
        "retention_hours": float(last.get("hours", last.get("retention_hours", 0.0))),
        "reads": int(last.get("reads", 0)),
    }
    at = ", ".join(f"{key} = {value:g}" for key, value in state.items())
    try:
        state["temperature_c"] = last.get("temperature_c")
        found = rates_beside(name, chip, **state)
    except NandlabError as error:
        return [f"{what}. They are not known at {at}: {error}"]
    said = f"{what}, which are {in_words(found or {})} at {at}"
    return [said, *by_layer(array), *beyond_fit(chip, **state)]


def _around(chip: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a drive with this chip."""
    facts = ("summary", "cite")
    own = {key: value for key, value in chip.items() if key not in facts}
    return {**parse_toml(show(f"drive/{_DRIVE}"), _DRIVE), "chip": own}


def _sort(sets: Mapping[str, object] | Sequence[str]) -> tuple[list[str], list[str]]:
    """Assignments of the chip, and assignments of the procedure without `procedure.`."""
    chip, own = [], []
    for text in assignments(sets):
        path = text.split("=")[0].strip()
        if path.startswith("chip."):
            chip.append(text)
        elif path.startswith("procedure."):
            own.append(text.split(".", 1)[1])
        else:
            raise refusal(
                f"--set {text}",
                "not a key of chip or procedure",
                "chip.KEY=VALUE or procedure.KEY=VALUE",
            )
    return chip, own


def _run_hash(facts: dict[str, str], chip: dict[str, Any]) -> str:
    """A hash of everything that rows depend on: rows belong together where it is the same."""
    from hashlib import sha256

    about = {key: value for key, value in facts.items() if key not in ("chip", "set")}
    text = json.dumps({**about, "config": chip}, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]
