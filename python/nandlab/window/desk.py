"""Desk: what pages ask for, done by the one thread that has the drive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

_T = TypeVar("_T")


class Looked(Protocol):
    """What pages look at: a session of the engine, or a run that goes on by itself."""

    def call(self, request: str, /) -> str:
        """The answer to a call, both as JSON."""

    def frame(self, layers: int, /) -> bytes:
        """A frame with these layers."""

    def save(self, /) -> bytes:
        """The bytes of a saved drive."""

    def load(self, saved: bytes, /) -> None:
        """Goes on from the bytes of a saved drive."""


Job = Callable[[Looked], object]


class Closed(Exception):
    """Nobody works at the desk any more."""


class Desk:
    """Jobs that wait for the thread with the drive. Any thread asks, one works."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Job, Future[object]]] = SimpleQueue()
        self._is_closed = False

    def ask(self, job: Callable[[Looked], _T]) -> Future[_T]:
        """Leaves a job; its result comes when somebody has worked on it.

        Raises:
            Closed: nobody will.
        """
        answer: Future[object] = Future()
        self._waiting.put((job, answer))
        if self._is_closed:
            self._refuse_all()
        return answer  # type: ignore[return-value]

    def work(self, looked: Looked, wait_s: float = 0.0) -> None:
        """Does what waits; where nothing does, waits so long for something."""
        try:
            job, answer = self._waiting.get(timeout=wait_s) if wait_s else self._waiting.get(False)
            while True:
                if answer.set_running_or_notify_cancel():
                    try:
                        answer.set_result(job(looked))
                    except BaseException as error:
                        # A loop that waits for the answer is not to end by Ctrl-C.
                        answer.set_exception(error if isinstance(error, Exception) else Closed())
                        if not isinstance(error, Exception):
                            raise
                job, answer = self._waiting.get(False)
        except Empty:
            return

    def close(self) -> None:
        """From now on nothing is done: what waits and what is asked for fails."""
        self._is_closed = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        try:
            while True:
                _, answer = self._waiting.get(False)
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(Closed())
        except Empty:
            return
