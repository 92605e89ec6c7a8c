"""Signals during the imports of the command ``nandlab``: one word, exit code 130, no traceback.

Ctrl-C, and SIGTERM, which `kill`, `timeout` and batch systems send. Imported before all else of the
package, so that it holds from then on; a command has its own way to end, and takes over when it
begins. Where the package is a library nothing is done.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def _end(_signal: int, _frame: FrameType | None) -> None:
    # Nothing has been begun, and imports cut short are best left where they are.
    os.write(2, b"interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    started = os.path.basename(sys.argv[0] if sys.argv else "")
    return started in ("nandlab", "nandlab.exe") or sys.orig_argv[1:3] == ["-m", "nandlab"]


def terminated(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a command as Ctrl-C does."""
    raise KeyboardInterrupt


def hand_over() -> None:
    """Gives the signals back to Python: they raise KeyboardInterrupt from now on."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, terminated)


def let_end() -> None:
    """Ignores the signals from now on: all is written, and Python would end with another code."""
    if _is_command():
        # Twice, because a signal may come in between.
        for each in (signal.SIGINT, signal.SIGTERM) * 2:
            with suppress(KeyboardInterrupt):
                signal.signal(each, signal.SIG_IGN)


def guard() -> None:
    """From now on a signal ends the command with one word, until a command takes over."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


if _is_command():
    guard()
