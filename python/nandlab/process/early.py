"""Ctrl-C during the imports of the command ``nandlab``: one word, exit code 130, no traceback.

Imported before all else of the package, so that it holds from then on; a command has its own way to
end, and takes over when it begins. Where the package is a library nothing is done.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def _end(_signal: int, _frame: FrameType | None) -> None:
    # Nothing has been begun, and imports cut short are best left where they are.
    os.write(2, b"interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    started = os.path.basename(sys.argv[0] if sys.argv else "")
    return started in ("nandlab", "nandlab.exe") or sys.orig_argv[1:3] == ["-m", "nandlab"]


def hand_over() -> None:
    """Gives Ctrl-C back to Python: it raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)
