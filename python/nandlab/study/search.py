"""Search of a study: an optimiser chooses points, in batches, by the results so far.

Points are asked and told in one process, batch by batch, and each one's random numbers come from
the seed and its number. So a seed repeats, whatever the workers, and a search that was stopped goes
on as if it had not been. Optuna keeps what was asked in a journal in the folder of the study.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.display.progress import Progress
from nandlab.display.sheet import KINDS
from nandlab.drive.trust.figures import is_number
from nandlab.given.arguments import path_of
from nandlab.given.outputs import check_kind
from nandlab.given.refusal import refusal
from nandlab.study.axis import Axis
from nandlab.study.check import check_study
from nandlab.study.executors import Workers, workers_of
from nandlab.study.findings.frame import means, records
from nandlab.study.findings.limits import excess
from nandlab.study.findings.paper import TABLES, write_means
from nandlab.study.findings.pareto import front
from nandlab.study.given import Given
from nandlab.study.points import Combination
from nandlab.study.rows import Rows
from nandlab.study.sweep import Tally, sweep
from nandlab.study.task import Tasks, canonical, digest

if TYPE_CHECKING:
    from nandlab.study.definition import Study

JOURNAL = "search.journal"
"""Optuna's journal in the folder of a study."""

SAMPLERS = {
    "tpe": "Parzen estimators; up to about 1,000 trials",
    "gp": "Gaussian processes, for few and costly trials; needs torch",
    "nsga2": "evolution, for many trials and several objectives",
    "nsga3": "the same for three objectives and more",
    "cmaes": "evolution strategy, for one objective and numbers; needs cmaes",
    "qmc": "a Sobol' sequence that looks at no result",
    "random": "independent draws",
}
"""Samplers with their meaning."""

_CLASSES = {
    "tpe": "TPESampler",
    "gp": "GPSampler",
    "nsga2": "NSGAIISampler",
    "nsga3": "NSGAIIISampler",
    "cmaes": "CmaEsSampler",
    "qmc": "QMCSampler",
    "random": "RandomSampler",
}

_NEEDS = {"gp": "torch", "cmaes": "cmaes"}
"""Packages beside optuna."""

BATCH = 8
"""Points that are asked before any of them is told."""

_ALLOWED = "constraints"
"""What the constraints over axes are called in the journal."""

_ASKS = 50
"""Points that are asked for one that the constraints allow, at most."""


class Search:
    """What a search does and has found."""

    def __init__(self, study: Study, sampler: str, seed: int, batch: int) -> None:
        """Of a study whose points are listed.

        Raises:
            NandlabError: no objective, no such sampler, optuna is not installed.
        """
        given = study.given
        if not given.objectives:
            expected = "one or more, as `min write_us_p99`"
            raise refusal(f"{given.place}: objectives", "none", expected)
        if sampler not in SAMPLERS:
            raise refusal("sampler", f"unknown sampler `{sampler}`", SAMPLERS, given=sampler)
        if sampler == "cmaes" and len(given.objectives) > 1:
            several = f"not supported: {len(given.objectives)} objectives with `cmaes`"
            raise refusal("sampler", several, hint="use tpe, nsga2 or nsga3")
        self._optuna = _optuna(sampler)
        self._study, self._sampler, self._seed, self._batch = study, sampler, seed, batch
        self.tally = Tally(0)
        """What the last run has done, in points."""
        self.failed = 0
        """Trials without a value of each objective."""

    @property
    def study(self) -> Study:
        """The points so far as a study, with its tables and pictures."""
        return self._study

    def _begin(self) -> Any:
        """Optuna's study, which goes on where the journal ends.

        Its name is a hash of what the search is: another one begins anew, on the same rows.
        """
        given, optuna = self._study.given, self._optuna
        path = self._study.out / JOURNAL
        about = {
            "version": _core.version(),
            "drive": given.drive,
            "run": given.run,
            "sets": given.sets,
            "ftls": [[one.name, one.load().facts] for one in given.own_ftls],
            "first": given.seed,
            "replicates": given.design.replicates,
            "axes": [[one.path, repr(one)] for one in given.axes],
            "constraints": [one.text for one in given.design.constraints],
            "objectives": [[one.column.expression.text, one.is_max] for one in given.objectives],
            "limits": [one.text for one in given.limits],
            "sampler": self._sampler,
            "seed": self._seed,
            "batch": self._batch,
        }
        backend = optuna.storages.journal.JournalFileBackend(str(path))
        directions = ["maximize" if one.is_max else "minimize" for one in given.objectives]
        return optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name=digest(about),
            directions=directions,
            load_if_exists=True,
        )

    def run(
        self,
        trials: int,
        workers: int | None,
        executor: str | Executor,
        progress: Callable[[Progress], object] | None,
    ) -> None:
        """Goes on until so many trials are evaluated; whole batches."""
        study = self._study
        # Constraints that leave nothing are told at once, without the optimiser.
        next(replace(study.given.design, kind="random", points=1).drawn())
        check_study(self._with(self._corners()), Tasks(self._with(self._corners())))
        study.out.mkdir(parents=True, exist_ok=True)
        held: list[Workers] = []

        def make() -> Workers:
            if not held:
                points = self._batch * study.given.design.replicates
                held.append(workers_of("executor", executor, workers, points))
            return held[0]

        is_over = False
        try:
            with _quiet():
                found = self._begin()
                while True:
                    done = self._evaluated(found)
                    self._list(done)
                    if len(done) >= trials:
                        break
                    members = self._ask(found)
                    if not self._evaluate(members, lambda: _Held(make()), progress):
                        return
                    self._tell(found, members)
            is_over = True
        finally:
            for one in held:
                one.close(is_over=is_over)

    def _corners(self) -> list[Combination]:
        """The first and the last values of all axes, for a check."""
        axes = self._study.given.axes
        return [{one.path: one.at(share) for one in axes} for share in (0.0, 1.0)]

    def _with(self, combinations: Sequence[Combination]) -> Given:
        given = self._study.given
        return replace(given, design=replace(given.design, listed=list(combinations)))

    def _list(self, trials: Sequence[Any]) -> None:
        """Makes the points of trials those of the study, each once."""
        found = {canonical(one): one for one in map(self._combination, trials)}
        self._study.begin_again(self._with(list(found.values())))
        self.failed = sum(trial.values is None for trial in trials)

    # --- Asking and telling -----------------------------------------------------------------------

    def _evaluated(self, found: Any) -> list[Any]:
        """Trials that have been told, but for those that the constraints refuse."""
        return [
            trial
            for trial in found.get_trials(deepcopy=False)
            if trial.state.is_finished() and trial.user_attrs.get("is_point")
        ]

    def _ask(self, found: Any) -> list[Any]:
        """A batch of trials: those that were asked before a stop, and new ones."""
        optuna = self._optuna
        design = self._study.given.design
        waiting = [
            trial
            for trial in found.get_trials(deepcopy=False)
            if trial.state == optuna.trial.TrialState.RUNNING
        ]
        members: list[Any] = []
        asked = 0
        while len(members) < self._batch:
            asked += 1
            if asked > _ASKS * self._batch:
                problem = f"{len(members)} points that the constraints allow in {asked - 1} draws"
                raise refusal("constraints", problem, hint="loosen them")
            if waiting:
                trial = self._revived(found, waiting.pop(0))
            else:
                found.sampler = self._sampler_of(len(found.get_trials(deepcopy=False)))
                trial = found.ask()
            for one in design.axes:
                self._suggest(trial, one)
            if design.is_allowed(self._combination(trial)):
                trial.set_user_attr("is_point", True)
                members.append(trial)
            else:
                self._refuse(found, trial)
        return members

    def _refuse(self, found: Any, trial: Any) -> None:
        """Tells that constraints or failed checks bar a point: the worst so far, out of bounds.

        A trial that is told as failed teaches a sampler nothing: it would ask for it again.
        """
        trial.set_constraint(_ALLOWED, 1.0)
        for limit in self._study.given.limits:
            trial.set_constraint(limit.text, 0.0)
        told = [one.values for one in self._evaluated(found) if one.values]
        worst = [
            (min if one.is_max else max)((values[index] for values in told), default=0.0)
            for index, one in enumerate(self._study.given.objectives)
        ]
        found.tell(trial, worst)

    def _revived(self, found: Any, frozen: Any) -> Any:
        found.sampler = self._sampler_of(frozen.number)
        return self._optuna.trial.Trial(found, frozen._trial_id)

    def _sampler_of(self, number: int) -> Any:
        """The sampler of one trial: what it draws depends on the seed, and what is told."""
        kind = getattr(self._optuna.samplers, _CLASSES[self._sampler])
        if self._sampler == "qmc":
            return kind(seed=self._seed, scramble=True)
        return kind(seed=int(digest([self._seed, number])[:8], 16) % 2**31)

    def _suggest(self, trial: Any, one: Axis) -> None:
        """Draws a value: a number of a range, or the place of a value in its list."""
        if one.span is not None:
            draw = trial.suggest_int if one.span.is_whole else trial.suggest_float
            kind = int if one.span.is_whole else float
            draw(one.path, kind(one.span.low), kind(one.span.high), log=one.span.is_log)
        elif one.is_numeric:
            trial.suggest_int(one.path, 0, len(one.values) - 1)
        else:
            trial.suggest_categorical(one.path, list(range(len(one.values))))

    def _combination(self, trial: Any) -> Combination:
        """The point of a trial."""
        combination = {}
        for one in self._study.given.axes:
            value = trial.params[one.path]
            if one.span is None:
                value = one.values[value]
            combination[one.path] = float(f"{value:.12g}") if isinstance(value, float) else value
        return combination

    def _evaluate(
        self,
        members: Sequence[Any],
        make: Callable[[], Workers],
        progress: Callable[[Progress], object] | None,
    ) -> bool:
        """Runs the points of a batch: whether all were run."""
        study = self._study
        given = self._with([self._combination(trial) for trial in members])
        tasks = Tasks(given, str(study.out.resolve()))
        total = given.design.count()
        tally = sweep(study.out, tasks.batches, total, given.wants, make, progress=progress)
        before = self.tally
        self.tally = replace(
            tally,
            total=before.total + total,
            known=before.known + tally.known,
            done=before.done + tally.done,
            failed=before.failed + tally.failed,
            first_error=before.first_error or tally.first_error,
        )
        if tally.interrupted:
            return False
        rows = means(given, records(given, Rows(study.out), tasks.batches()))
        self._means = {canonical([row[one.path] for one in given.axes]): row for row in rows}
        return True

    def _tell(self, found: Any, members: Sequence[Any]) -> None:
        """Tells the results of a batch, in the order in which it was asked."""
        given = self._study.given
        failed = self._optuna.trial.TrialState.FAIL
        for trial in members:
            point = self._combination(trial)
            row = self._means.get(canonical([point[one.path] for one in given.axes]), {})
            values = [row.get(one.column.name) for one in given.objectives]
            over = [excess(limit, row) for limit in given.limits]
            is_whole = row.get("replicates") == given.design.replicates
            if not is_whole or not all(is_number(value) for value in (*values, *over)):
                found.tell(trial, state=failed)
                continue
            if "checks" in (row["doubts"] or ""):
                self._refuse(found, trial)
                continue
            if given.design.constraints:
                trial.set_constraint(_ALLOWED, 0.0)
            for limit, value in zip(given.limits, over, strict=True):
                trial.set_constraint(limit.text, value)
            found.tell(trial, values)

    # --- Findings ---------------------------------------------------------------------------------

    def best(self) -> list[dict[str, Any]]:
        """The best point, or the Pareto front of several objectives, within the limits.

        Points with doubts are barred where others have none: see `nandlab.drive.trust.doubts`.
        Points with a replicate that failed are barred. With replicates, points that cannot be told
        from the best are among them: see `nandlab.study.findings.pareto.front`.

        Raises:
            NandlabError: no point is within the limits.
        """
        given = self._study.given
        rows = [row for row in self._study.means() if row["replicates"] == given.design.replicates]
        return front(given, rows, self._study.records(), least=1)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes all points (``.parquet``), or the table of the best (``.csv``, ``.tex``).

        Raises:
            NandlabError: another kind of file, or no point is within the limits.
            OSError: it cannot be written.
        """
        file = path_of("write", path)
        check_kind("write", file, TABLES)
        if file.suffix.lower() in KINDS:
            write_means(file, self._study.given, self.best())
        else:
            self._study.write(file)


class _Held(Workers):
    """Workers that serve one batch after another."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.count = workers.count

    def submit(self, call: Callable[..., Any], *given: Any) -> Any:
        return self._workers.submit(call, *given)

    def renew(self) -> bool:
        return self._workers.renew()

    def close(self, *, is_over: bool) -> None:
        """They go on."""


def _optuna(sampler: str) -> Any:
    """Optuna, with what a sampler needs beside it."""
    for package in ("optuna", *([_NEEDS[sampler]] if sampler in _NEEDS else [])):
        try:
            importlib.import_module(package)
        except ImportError as error:
            hint = "'nandlab[search]'" if package == "optuna" else package
            problem = f"{package} is not installed"
            raise refusal("search", problem, hint=f"pip install {hint}") from error
    for module in ("samplers", "storages.journal", "trial"):
        importlib.import_module(f"optuna.{module}")
    return importlib.import_module("optuna")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without optuna's own log and its warnings of young features."""
    optuna = importlib.import_module("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
