r"""A study: its definition, its folder, and what can be done with it.

>>> study = nandlab.Study("tiny", "[a]\nrw=randwrite\nnumber_ios=1000\n",
...                       axes={"ftl.overprovisioning": [0.1, 0.2]})
>>> study.run(workers=2).frame()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nandlab.display.progress import Progress
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.given.arguments import (
    called,
    flag,
    listed,
    named,
    path_of,
    path_or_none,
    seeded,
    whole,
)
from nandlab.given.outputs import check_kind
from nandlab.given.refusal import refusal
from nandlab.given.toml import read_toml
from nandlab.options.option import among
from nandlab.options.run import PlanOptions
from nandlab.options.trace import TraceOptions
from nandlab.study.findings.frame import check_column, means, records, table, write_table
from nandlab.study.findings.paper import TABLES, write_means
from nandlab.study.given import KEYS, Given, given_study, with_ftls
from nandlab.study.rows import Rows, row_values
from nandlab.study.share import Share, fingerprint, turn
from nandlab.study.sweep import Tally, sweep
from nandlab.study.task import Batch, Tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from nandlab.report import Report
    from nandlab.study.search import Search

TABLE = "results.parquet"
"""The table of a study in its folder."""


class StudyUnfinished(KeyboardInterrupt):
    """Ctrl-C ended a study early. Its rows are kept: `study` has them, and another run goes on."""

    def __init__(self, study: Study) -> None:
        super().__init__("interrupted")
        self.study = study


class Study:
    """One drive model at many points: values of axes, times replicates.

    Rows lie in a folder, one for each point. A point that has a row is not run again, whichever
    study it came from; a changed axis runs only what is new.

    Args:
        drive: preset, path of a drive file, or its tables, as for `nandlab.run`.
        workload: job file or its text, as for `nandlab.run`.
        axes: by path: a list of values, a range (``{"from": 1, "to": 64, "points": 7, "scale":
            "log"}``), or variants (``{"name": {"gc.name": "d_choices", "gc.d": 4}, ...}``). A path
            is one of ``--set``, or ``drive``, ``run.KEY`` (as ``run.precondition``, ``run.trace``),
            ``job.OPTION`` or ``job.NAME.OPTION``. Values of ``ftl.name`` may also be FTLs in
            Python, as for `ftl`; the table has the names of their classes.
        columns: what is wanted of each report: ``"iops = host.iops"``, in a list, or a mapping.
        constraints: expressions over axes that hold for every point.
        design: ``grid``, ``zip``, ``random``, ``sobol``, ``morris`` or ``saltelli``.
        points: how many points a design draws; of ``morris`` trajectories, of ``saltelli`` samples.
        design_seed: of designs that draw.
        zip: paths of axes that go together in a grid, as lists.
        replicates: runs of each combination, with seeds that follow each other.
        objectives: ``"max iops"``, ``"min COLUMN"``: what a Pareto front is made of.
        limits: ``"COLUMN <= VALUE"``: what the best points keep to.
        labels: of axes and columns in tables and pictures, by their paths and names:
            ``{"job.iodepth": "queue depth"}``. Left out: the name, and the unit that it ends with.
        reports: keeps whole reports (about 5 KB each), so that other columns need no run.
        summary: what it is about, in one line.
        out: folder of the rows; a temporary one if left out.
        trace: as for `nandlab.run`, like the arguments behind it.
        format: of the trace.
        trace_options: how it is read.
        iodepth: where it has no times.
        skip: the beginning that is not measured.
        until: the end of a run.
        precondition: the state of the drive before.
        set: parameters that are the same at all points.
        seed: of the first replicate; the drive's if left out.
        ftl: an FTL in Python at all points: a class below `nandlab.ftl.Ftl` or
            `nandlab.ftl.PageHooks`, an object of one, or a file, as ``my_ftl.py`` or
            ``my_ftl.py:CLASS``. Several, beside members: an axis ``ftl.name``.

    Raises:
        NandlabError: an argument is refused.
    """

    def __init__(
        self,
        drive: str | PathLike[str] | Mapping[str, Any],
        workload: str | PathLike[str] | None = None,
        *,
        axes: Mapping[str, Any] | None = None,
        columns: Mapping[str, str] | Sequence[str] | None = None,
        constraints: Sequence[str] = (),
        design: str = "grid",
        points: int | None = None,
        design_seed: int | None = None,
        zip: Sequence[Sequence[str]] = (),
        replicates: int = 1,
        objectives: Sequence[str] = (),
        limits: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        reports: bool = True,
        summary: str = "",
        out: str | PathLike[str] | None = None,
        trace: str | PathLike[str] | None = None,
        format: str | None = None,
        trace_options: TraceOptions | None = None,
        iodepth: int | None = None,
        skip: str | None = None,
        until: str | None = None,
        precondition: str | None = None,
        set: Mapping[str, object] | Sequence[str] = (),
        seed: int | None = None,
        ftl: str | PathLike[str] | type[Ftl | PageHooks] | Ftl | PageHooks | None = None,
    ) -> None:
        given = locals()
        if not isinstance(drive, Mapping):
            drive = named("drive", drive, "a preset's name, a path, or tables")
        run: dict[str, Any] = {
            **among(PlanOptions, given),
            "workload": None if workload is None else named("workload", workload, "a path or text"),
            "trace": None if trace is None else named("trace", trace, "a path"),
            "trace_options": None,
            **(trace_options or {}),
        }
        tables: dict[str, Any] = {
            **{key: given[key] for key in KEYS if key in given},
            "drive": drive,
            "run": {key: value for key, value in run.items() if value is not None},
            "axis": axes or {},
            "ftl": fspath(ftl) if isinstance(ftl, PathLike) else ftl,
        }
        present = {key: value for key, value in tables.items() if value is not None}
        self._tables: tuple[dict[str, Any], str, Path] = (present, "study", Path())
        self._begin(given_study(*self._tables), path_or_none("out", out))

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        out: str | PathLike[str] | None = None,
        ftls: Sequence[str | type[Ftl | PageHooks] | Ftl | PageHooks] = (),
    ) -> Study:
        """Reads ``study.toml``; the format is described in docs/formats/study.md.

        Args:
            path: of the file. Paths in it begin at its folder.
            out: folder of the rows; beside the file, with its name, if left out.
            ftls: values of an axis ``ftl.name``, in the place of such an axis and of the key
                ``ftl``: names of members, ``FILE.py:CLASS``, classes.

        Raises:
            NandlabError: it cannot be read, or a key or value of it is refused.
        """
        file = path_of("study", path)
        study = cls.__new__(cls)
        tables = read_toml(file, "a study's TOML file")
        if several := listed("ftls", ftls, "names, FILE.py:CLASS, or classes, in a list"):
            tables = with_ftls(tables, several)
        study._tables = (tables, str(file), file.parent)
        given = given_study(*study._tables)
        study._begin(given, path_or_none("out", out) or file.with_suffix(".study"))
        return study

    @classmethod
    def of(cls, given: Given, out: Path) -> Study:
        """A study from a checked definition whose rows lie in `out`."""
        study = cls.__new__(cls)
        study._tables = ({}, given.place, given.folder)
        study._begin(given, out)
        return study

    def begin_again(self, given: Given) -> None:
        """Takes another definition, with the same folder."""
        self._given, self._tasks = given, None

    _tasks: Tasks | None

    def _begin(self, given: Given, out: Path | None) -> None:
        self._given, self._tasks = given, None
        self._temporary = TemporaryDirectory("-nandlab-study") if out is None else None
        self.out = out or Path(self._temporary.name if self._temporary else "")
        """Folder of the rows."""
        self.tally: Tally | None = None
        """What the last run has done."""

    def __repr__(self) -> str:
        axes = ", ".join(one.path for one in self._given.axes)
        return f"<{self._given.place} over {axes or 'no axes'}: {len(self):,} points; {self.out}>"

    def _repr_html_(self) -> str:
        from nandlab.study.findings.shown import study_html

        return study_html(self)

    @property
    def given(self) -> Given:
        """Its definition, checked."""
        return self._given

    def __len__(self) -> int:
        """How many points it has, replicates counted."""
        return self._given.design.count()

    def run(
        self,
        *,
        workers: int | None = None,
        executor: str | Executor = "local",
        retry: bool = False,
        share: str | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Study:
        """Runs the points that have no row yet.

        A point that is refused is a row with its error, and not run again; one that the machine
        failed (a killed worker, no memory) is tried again by the next run.

        Args:
            workers: points at the same time; one for each processor if left out.
            executor: ``local`` (processes of this machine), ``dask=ADDRESS``, ``MODULE:FACTORY`` (a
                function that makes an executor from a number of workers), or an executor.
            retry: runs points again that were refused.
            share: ``"2/8"`` runs only the second of eight shares of the points, while other
                processes run the others into the same folder. All need the same study.
            progress: called about ten times a second and at the end.

        Returns:
            The study itself.

        Raises:
            NandlabError: the study cannot be run.
            StudyUnfinished: Ctrl-C; rows of points that were done are kept.
            OSError: a row cannot be written.
        """
        from nandlab.study.check import check_study
        from nandlab.study.executors import workers_of

        if workers is not None:
            workers = whole("workers", workers, 1, 4096)
        called("progress", progress)
        flag("retry", retry)
        mine = None if share is None else Share.parse("share", share)
        total = len(self)
        if total == 0:
            place = f"{self._given.place}: constraints"
            raise refusal(place, "they leave no point", hint="loosen them")
        # Files may have changed since the last run.
        self._tasks = None
        self.out.mkdir(parents=True, exist_ok=True)
        batches, study = self.batches, ""
        if mine is not None:
            batches = Tasks(self._given, str(mine.work_folder(self.out.resolve())), mine).batches
            study = fingerprint(self._given.design, self._tables[0])
            total = sum(1 for group in mine.groups(self._given.design) for _ in group)
        self.tally = sweep(
            self.out,
            batches,
            total,
            self._given.wants,
            lambda: workers_of("executor", executor, workers, max(total, 1)),
            check=lambda: check_study(self._given, self.tasks()),
            share=mine,
            study=study,
            is_retried=retry,
            progress=progress,
        )
        if self.tally.interrupted:
            raise StudyUnfinished(self)
        # The share that ends last writes the rows of all.
        with nullcontext() if mine is None else turn(self.out):
            self.write(self.out / TABLE)
        return self

    def search(
        self,
        trials: int = 100,
        *,
        objectives: Sequence[str] | None = None,
        limits: Sequence[str] | None = None,
        replicates: int | None = None,
        sampler: str = "tpe",
        seed: int = 1,
        batch: int | None = None,
        workers: int | None = None,
        executor: str | Executor = "local",
        progress: Callable[[Progress], object] | None = None,
    ) -> Search:
        """Lets an optimiser choose points of the axes; ``pip install 'nandlab[search]'``.

        The design of the study says nothing here; ranges are searched between their ends. The same
        seed finds the same points, whatever the workers; a search goes on where it was stopped.

        Args:
            trials: combinations to try; whole batches. Replicates are not counted.
            objectives: ``"min COLUMN"``, ``"max COLUMN"``, in the place of the study's.
            limits: ``"COLUMN <= VALUE"``: what a good point keeps to, in the place of the study's.
            replicates: runs of each combination, with seeds that follow each other, in the place
                of the study's. Objectives and limits are those of the means; the best points say
                which of them cannot be told apart.
            sampler: ``tpe``, ``gp``, ``nsga2``, ``nsga3``, ``cmaes``, ``qmc`` or ``random``.
            seed: of the sampler.
            batch: points that are chosen before the results of any of them are known (8).
            workers: as for `run`.
            executor: as for `run`.
            progress: as for `run`, for each batch.

        Raises:
            NandlabError: an argument is refused, or optuna is not installed.
            StudyUnfinished: Ctrl-C; rows and choices so far are kept.
            OSError: a row cannot be written.
        """
        from nandlab.study.search import BATCH, Search

        if workers is not None:
            workers = whole("workers", workers, 1, 4096)
        called("progress", progress)
        size = whole("batch", BATCH if batch is None else batch, 1, 10_000)
        changed = {"objectives": objectives, "limits": limits, "replicates": replicates}
        tables, place, folder = self._tables
        tables = tables | {key: value for key, value in changed.items() if value is not None}
        listed = Study.__new__(Study)
        listed._tables = (tables, place, folder)
        listed._begin(given_study(tables, place, folder, is_listed=True), self.out)
        listed._temporary = self._temporary
        found = Search(listed, sampler, seeded(seed), size)
        found.run(whole("trials", trials, 1, 10**7), workers, executor, progress)
        if found.tally.interrupted:
            raise StudyUnfinished(listed)
        listed.write(self.out / TABLE)
        return found

    def tasks(self) -> Tasks:
        """Its points as tasks, of drive files as they were when it was run or first looked at."""
        if self._tasks is None:
            self._tasks = Tasks(self._given, str(self.out.resolve()))
        return self._tasks

    def batches(self) -> Iterator[Batch]:
        """The same in groups that share a drive."""
        return self.tasks().batches()

    def rows(self) -> Rows:
        """The rows in its folder, also those of other studies."""
        return Rows(self.out)

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows of its points as dictionaries, in the order of the design."""
        yield from records(self._given, self.rows(), self.batches())

    def frame(self) -> pa.Table:
        """One row for each point that has run: axes, columns, error, wall time.

        Also while the study runs, in this process or another. ``polars.from_arrow`` takes it.
        """
        return table(self._given, self.records)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the table to a file.

        Args:
            path: ``.parquet`` has a row for each point, as `frame`. ``.csv`` has the rows of
                `means`. ``.tex`` is the table of means for a paper, with labels, units and
                intervals, for the package ``booktabs``.

        Raises:
            NandlabError: another kind of file.
            OSError: it cannot be written.
        """
        file = path_of("write", path)
        check_kind("write", file, TABLES)
        if file.suffix.lower() == ".parquet":
            write_table(file, self._given, self.records)
        else:
            write_means(file, self._given, self.means())

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``; NandlabError where pandas is not installed."""
        from nandlab.display.frames import data_frame

        return data_frame(self.frame())

    def sql(self, query: str) -> pa.Table:
        """DuckDB's answer over the table ``points``.

        >>> study.sql('select "gc.name", avg(iops) from points group by 1')

        Raises:
            NandlabError: a query that DuckDB refuses.
        """
        import duckdb

        if not isinstance(query, str):
            raise refusal("sql", f"{query!r}: not text", "DuckDB's SQL")
        with duckdb.connect() as connection:
            connection.register("points", self.frame())
            try:
                answer = connection.sql(query)
                if answer is None:
                    raise refusal("sql", "no query", "DuckDB's SQL over the table points")
                return answer.to_arrow_table()
            except duckdb.Error as error:
                problem = str(error).splitlines()[0]
                raise refusal("sql", problem, "DuckDB's SQL over the table points") from error

    def means(self) -> list[dict[str, Any]]:
        """Means over replicates with 95 % intervals, a row for each combination of the axes."""
        return means(self._given, self.records())

    def errors(self) -> list[str]:
        """The errors of failed points, each once."""
        found = (row["error"] for row in self.records())
        return list(dict.fromkeys(error for error in found if error is not None))

    def results(self) -> Iterator[dict[str, Any]]:
        """The rows of all points that have a result, as they stand in its folder."""
        ids = (task.id for batch in self.batches() for task in batch.tasks)
        for row in self.rows().get(ids):
            if row is not None and "values" in row:
                yield row

    def reports(self) -> Iterator[tuple[dict[str, Any], Report]]:
        """Axes and whole report of each point that has one."""
        from nandlab.study.work import unpacked

        ids = (task.id for batch in self.batches() for task in batch.tasks)
        for row in self.rows().get(ids):
            if row is not None and "report" in row:
                yield {**row["axes"], "replicate": row["replicate"]}, unpacked(row["report"])

    def pareto(self) -> list[dict[str, Any]]:
        """The combinations that no other one beats in all objectives, best first in the first one.

        Those beyond a limit of the study are not among them. With replicates also those that are
        not surely beaten; see `nandlab.study.findings.pareto`.

        Raises:
            NandlabError: the study has fewer than two objectives, or no point within its limits.
        """
        from nandlab.study.findings.pareto import front

        return front(self._given, self.means(), self.records())

    def sensitivity(self, column: str | None = None) -> list[dict[str, Any]]:
        """How much each axis matters for a column, the first one if left out; most first.

        Raises:
            NandlabError: the design is neither ``morris`` nor ``saltelli``; no such column; too few
                points have run.
        """
        from nandlab.study.findings.sensitivity import sensitivity

        name = self._given.columns[0].name if column is None else column
        check_column(self._given, name)
        return sensitivity(self._given, self.means(), name)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        kind: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Figure:
        """A picture of the study, also written to `path`.

        Args:
            path: a file that ends with ``.png``, ``.svg`` or ``.pdf``.
            kind: ``lines`` over one axis with intervals, ``heatmap`` of two, ``scatter`` over each
                axis, ``pareto``, ``sensitivity``. If left out, what suits the design.
            columns: what is drawn, a panel each; the first one if left out.

        Raises:
            NandlabError: no such kind or column, or no points that it could show.
            OSError: the file cannot be written.
        """
        from nandlab.study.findings.pictures import plot_study

        return plot_study(self, path_or_none("plot", path), kind, columns)

    def facts(self) -> dict[str, Any]:
        """Numbers of the study as it stands: points, with results, failed, left."""
        rows, total, good, bad = self.rows(), 0, 0, 0
        seen: set[str] = set()
        for batch in self.batches():
            for task in batch.tasks:
                if task.id in seen:
                    continue
                seen.add(task.id)
                total += 1
                worth = rows.worth(task.id)
                if worth == 2:
                    row = next(rows.get([task.id]))
                    good += row is not None and row_values(row, self._given.wants) is not None
                elif worth >= 0:
                    bad += 1
        return {"points": total, "results": good, "failed": bad, "left": total - good - bad}
