"""Trial: the tests against one mutant, those that should kill it first, until one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

from mutants.list import Mutant, Refused
from mutants.suite import Bench, Outcome

NAMED_S = 300.0
"""How long a suite may take that a mutant names."""

WHOLE_S = 3600.0
"""How long one may take that is a whole program, or all of Python."""

PATIENCE = 3.0
"""How many times longer than without a mutant a suite may take, where that is more."""


class Verdict(NamedTuple):
    """The end of a trial."""

    mutant: Mutant
    suite: str
    """The suite that has killed it; empty where it survived."""
    test: str
    is_timeout: bool
    """The suite did not end."""
    seconds: float
    """Of all suites that were run."""

    @property
    def is_killed(self) -> bool:
        """Whether a test has failed."""
        return bool(self.suite)


class Stopped(Exception):
    """The trials are to end."""


class Trials:
    """The trials of some mutants on one bench.

    With `is_named_only` no suite is tried that the mutant does not name.
    """

    def __init__(self, bench: Bench, *, is_named_only: bool = False) -> None:
        self._bench = bench
        self._is_named_only = is_named_only
        self._known: dict[str, Outcome] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def run(
        self, mutants: Sequence[Mutant], jobs: int, tell: Callable[[Verdict], object]
    ) -> list[Verdict]:
        """Tries mutants, so many at a time; `tell` hears of each as it ends.

        Raises:
            Refused: a suite runs no test, or fails without a mutant.
        """
        named = list(dict.fromkeys(suite for one in mutants for suite in one.suites))
        found: list[Verdict] = []

        def try_one(one: Mutant) -> None:
            verdict = self._verdict(one)
            with self._lock:
                found.append(verdict)
                tell(verdict)

        with ThreadPoolExecutor(jobs) as pool:
            try:
                problems = [problem for problem in pool.map(self._problem, named) if problem]
                if problems:
                    raise Refused("\n".join(problems))
                list(pool.map(try_one, mutants))
            except BaseException as error:
                self._bench.stop()
                pool.shutdown(cancel_futures=True)
                if not isinstance(error, KeyboardInterrupt | Stopped):
                    raise
        return sorted(found, key=lambda verdict: mutants.index(verdict.mutant))

    def _verdict(self, mutant: Mutant) -> Verdict:
        seconds = 0.0
        for suite in self._suites(mutant):
            if problem := self._problem(suite):
                raise Refused(problem)
            limit_s = max(_limit_s(suite, mutant.suites), PATIENCE * self._known[suite].seconds)
            outcome = self._bench.run(suite, mutant.name, limit_s)
            seconds += outcome.seconds
            if outcome.how == "stopped":
                raise Stopped
            if outcome.how != "passed":
                is_timeout = outcome.how == "timeout"
                return Verdict(mutant, suite, outcome.test, is_timeout, seconds)
        return Verdict(mutant, "", "", False, seconds)

    def _suites(self, mutant: Mutant) -> Iterable[str]:
        others = [] if self._is_named_only else self._bench.all()
        return dict.fromkeys([*mutant.suites, *others])

    def _problem(self, suite: str) -> str:
        """Runs a suite without a mutant, once: why it cannot judge one; empty where it can."""
        with self._lock:
            lock = self._locks.setdefault(suite, Lock())
        with lock:
            if suite not in self._known:
                # Outside of this class nobody waits for it.
                self._known[suite] = self._bench.run(suite, "", WHOLE_S)
            outcome = self._known[suite]
        if outcome.how == "stopped":
            raise Stopped
        if outcome.how == "passed":
            return ""
        if outcome.how == "empty":
            return f"{suite}: runs no test"
        return f"{suite}: {outcome.how} without a mutant: {outcome.test}\n{outcome.said}"


def _limit_s(suite: str, named: Sequence[str]) -> float:
    return NAMED_S if suite in named else WHOLE_S
