"""Interruption by Ctrl-C or SIGTERM after the current step, which keeps the results so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.process.early import terminated

_Handler = Callable[[int, FrameType | None], object] | signal.Handlers

_USUAL: dict[signal.Signals, tuple[_Handler, ...]] = {
    signal.SIGINT: (signal.default_int_handler,),
    signal.SIGTERM: (signal.SIG_DFL, terminated),
}
"""What Python, or our command, does with these signals where nobody says otherwise."""


_OURS = str(Path(__file__).resolve().parent.parent)
"""Folder of nandlab's own code."""


def _is_foreign(frame: FrameType | None) -> bool:
    """Whether code that nandlab has called is running, and is not nandlab's."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_OURS):
            return False
        if isinstance(frame.f_locals.get("self"), Ftl | PageHooks):
            return True
        frame = frame.f_back
    return False


class Stop:
    """While it is entered, the first Ctrl-C or SIGTERM only sets `asked`; a second ends at once.

    SIGTERM is what `kill`, `timeout` and batch systems send. Only in the main thread, and only
    signals that nobody else handles.
    """

    def __init__(self, *, is_patient: bool = False) -> None:
        """Where it `is_patient`, a second signal does no more than the first: for short steps.

        It raises KeyboardInterrupt in code of the user's own, such as an FTL, which may never end.
        """
        self.asked = False
        self._is_patient = is_patient
        self._before: dict[signal.Signals, _Handler] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for each, usual in _USUAL.items():
                now = signal.getsignal(each)
                self._before.update((each, handler) for handler in usual if handler is now)
        for each in self._before:
            signal.signal(each, self._ask)
        return self

    def _ask(self, _signal: int, frame: FrameType | None) -> None:
        if self.asked and self._is_patient and _is_foreign(frame):
            raise KeyboardInterrupt
        self.asked = True
        if not self._is_patient:
            self._restore()

    def _restore(self) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._restore()
