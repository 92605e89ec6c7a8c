"""Terminal output: consoles, errors in one line, a progress bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec

import typer

from nandlab._core import NandlabError
from nandlab.display.progress import Progress
from nandlab.process.early import hand_over

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or standard error; files and pipes get 110 columns."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 110
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(text, file=sys.stderr)


INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it, and after SIGTERM."""

REFUSED = 2
"""Exit code where an input is refused or an output cannot be written."""

_P = ParamSpec("_P")


def guarded(command: Callable[_P, None]) -> Callable[_P, None]:
    """A command whose errors are one line on standard error and an exit code, no traceback."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            hand_over()
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read our output has enough. Nothing is left to be flushed at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (NandlabError, OSError) as error:
            say(f"error: {_said(error)}")
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _said(error: NandlabError | OSError) -> str:
    """The line of an error; of a file that the system refuses, its name and why."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f"`{error.filename}`: "
    allowed = "an existing file" if isinstance(error, FileNotFoundError) else "a file of one's own"
    return f"{where}{error.strerror}; allowed: {allowed}"


_PATIENCE_S = 1.0
"""How long a run may take before a bar is worth a look."""

_WORDS = {
    "precondition": ("preconditioning", "units/s"),
    "run": ("running", "requests/s"),
    "board": ("measuring", "steps/s"),
    "curve": ("measuring", ""),
}


class ProgressBar:
    """A bar with rate and time left, for what takes longer than a second. Called by a run."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._start = perf_counter()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._phase = ""

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Shows how far it is."""
        if not self._is_shown or perf_counter() - self._start < _PATIENCE_S:
            return
        bar = self._bar or self._open()
        words, unit = _WORDS[progress.phase]
        if progress.phase != self._phase:
            if self._task is not None:
                bar.remove_task(self._task)
            self._task = bar.add_task(words, total=None, rate="", left="")
            self._phase = progress.phase
        left = "" if progress.eta_s is None else f"{progress.eta_s:.0f} s left"
        rate = f"{progress.per_s:,.0f} {unit}" if unit else ""
        if self._task is not None:
            bar.update(
                self._task, completed=progress.done, total=progress.total, rate=rate, left=left
            )

    def _open(self) -> RichProgress:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[left]}"),
            console=console(stderr=True),
            transient=True,
        )
        self._bar.start()
        return self._bar
