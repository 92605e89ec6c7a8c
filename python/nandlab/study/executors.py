"""Executors of a study: processes of this machine, a Dask cluster, or one of the user's own.

All are `concurrent.futures.Executor`; nothing else is asked of them.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from typing import Any

from nandlab._core import NandlabError
from nandlab.given.refusal import refusal
from nandlab.process.processors import processors
from nandlab.study.work import begin_worker

FORMS = "local, dask=ADDRESS, or MODULE:FACTORY"
"""What an executor is named by."""


class Workers:
    """An executor with its workers."""

    def __init__(
        self, executor: Executor, count: int, *, end: Callable[[bool], object] | None = None
    ) -> None:
        self._executor = executor
        self.count = count
        """How many points can be under way at the same time."""
        self._end = end

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        """Hands something to a worker."""
        return self._executor.submit(call, *given)

    def renew(self) -> bool:
        """Makes new workers where one has died: whether that is possible."""
        return False

    def close(self, *, is_over: bool) -> None:
        """Ends the workers; where not all `is_over`, what is left is dropped."""
        if self._end is not None:
            self._end(is_over)


class LocalWorkers(Workers):
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self._pool = _pool(count)
        super().__init__(self._pool, count)

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        """Hands something to a worker."""
        return self._pool.submit(call, *given)

    def renew(self) -> bool:
        """Makes new workers where one has died: whether that is possible."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = _pool(self.count)
        return True

    def close(self, *, is_over: bool) -> None:
        """Ends the workers; where not all `is_over`, what is left is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=not is_over)


def _pool(count: int) -> ProcessPoolExecutor:
    """Spawned, so that they inherit no locks and no threads."""
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=begin_worker,
        initargs=(os.getpid(), count),
    )
    # All begin at once, not each with the first point that the others have no time for.
    for _ in range(count):
        pool.submit(int)
    return pool


def workers_of(place: str, given: object, workers: int | None, points: int) -> Workers:
    """The workers that an executor's name, or an executor, stands for.

    Args:
        place: what messages call it.
        given: ``local``, ``dask=ADDRESS``, ``MODULE:FACTORY``, or an executor.
        workers: how many; by default one for each processor, or those that a cluster has.
        points: of the study: more workers would have nothing to do.

    Raises:
        NandlabError: there is no such executor.
    """
    count = max(min(workers or processors(), points), 1)
    if isinstance(given, Executor):
        return Workers(given, count)
    if not isinstance(given, str):
        raise refusal(place, f"{given!r}", f"{FORMS}, or a concurrent.futures.Executor")
    if given == "local":
        return LocalWorkers(count)
    if given.startswith("dask="):
        return _of_dask(place, given.removeprefix("dask="), workers)
    if ":" in given:
        return _of_factory(place, given, count)
    raise refusal(
        place, f"unknown executor `{given}`", FORMS, given=given, names=["local", "dask="]
    )


def _of_dask(place: str, address: str, workers: int | None) -> Workers:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        problem = "dask.distributed is not installed"
        raise refusal(place, problem, hint="pip install 'nandlab[dask]'") from error
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"no Dask scheduler at `{address}`: {said}"
        raise refusal(place, problem, "an address, as dask=tcp://host:8786") from error
    threads = sum(client.nthreads().values())
    # A cluster may get its workers later.
    count = workers or threads or processors()

    def end(is_over: bool) -> None:
        executor.shutdown(wait=is_over)
        with suppress(Exception):
            client.close(timeout=5)

    # Points are told apart by their tasks: the same function with other arguments.
    executor = client.get_executor(pure=False)
    return Workers(executor, count, end=end)


def _of_factory(place: str, given: str, count: int) -> Workers:
    """Of a function that makes an executor from a number of workers."""
    module_name, _, name = given.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    expected = "MODULE:FACTORY, a function that makes an executor from a number of workers"
    try:
        module = importlib.import_module(module_name)
        factory = getattr(module, name, None)
        if not callable(factory):
            names = [key for key, value in vars(module).items() if callable(value)]
            problem = f"`{module_name}` has no `{name}`"
            raise refusal(place, problem, expected, given=name, names=names)
        executor = factory(count)
    except NandlabError:
        raise
    except Exception as error:
        problem = f"`{given}`: {type(error).__name__}: {error}"
        raise refusal(place, problem, expected) from error
    if not isinstance(executor, Executor):
        kind = type(executor).__name__
        raise refusal(place, f"`{given}` returned a {kind}", "a concurrent.futures.Executor")
    return Workers(
        executor,
        count,
        end=lambda is_over: executor.shutdown(wait=True, cancel_futures=not is_over),
    )
