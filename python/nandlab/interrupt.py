"""Ctrl-C that lets the step under way end, so that nothing done is lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Stop:
    """While it is entered, the first Ctrl-C only sets `asked`; a second one interrupts at once.

    Only in the main thread, and only where nobody else handles the signal.
    """

    def __init__(self, *, is_patient: bool = False) -> None:
        """Where it `is_patient`, a second Ctrl-C does no more than the first: for short steps."""
        self.asked = False
        self._is_patient = is_patient
        self._is_ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def __enter__(self) -> Stop:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, _signal: int, _frame: FrameType | None) -> None:
        self.asked = True
        if not self._is_patient:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
