"""Terminal output: consoles, errors in one line, a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec

import typer

from nandlab._core import NandlabError
from nandlab.display.progress import Progress
from nandlab.display.streams import drop_standard_output, is_of_standard_output, is_reader_gone
from nandlab.given.refusal import plain
from nandlab.process.early import hand_over

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or standard error; files and pipes get 110 columns."""
    from rich.console import Console

    class Ours(Console):
        """A console whose reader may go: rich would end the process with exit code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 110
    # Names of files and jobs may hold brackets and colons: text is no markup.
    return Ours(
        stderr=stderr, width=width, highlight=False, soft_wrap=False, markup=False, emoji=False
    )


def say(text: str) -> None:
    """A line for the person, on standard error; nobody hears it where that cannot be written."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def say_error(error: NandlabError | OSError) -> None:
    """The line of an error."""
    say(f"error: {_said(error)}")


INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it, and after SIGTERM."""

FAULTY = 1
"""Exit code where a command has ended and not all of it can be trusted: points of a study have no
result, or failed checks."""

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
        except (NandlabError, OSError) as error:
            raise typer.Exit(ended_by(error)) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            say("error: out of memory; hint: keep less or raise the memory limit (ulimit, cgroup)")
            raise typer.Exit(REFUSED) from None
        except UnicodeError as error:
            say(f"error: {plain(error)}; expected: text in UTF-8")
            raise typer.Exit(REFUSED) from None

    return run


def ended_by(error: NandlabError | OSError) -> int:
    """Says why a command ends, in one line: its exit code."""
    if is_reader_gone(error):
        drop_standard_output()
        return 0
    if isinstance(error, OSError) and is_of_standard_output(error):
        drop_standard_output()
        say(f"error: standard output: {error.strerror}")
        return REFUSED
    say_error(error)
    return REFUSED


def _said(error: NandlabError | OSError) -> str:
    """The line of an error; of a file that the system refuses, its name and why."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f"`{plain(error.filename)}`: "
    expected = ""
    if isinstance(error, FileNotFoundError):
        expected = "; expected: an existing file"
    elif isinstance(error, PermissionError | IsADirectoryError | NotADirectoryError):
        expected = "; hint: choose a file that you may read and write"
    return f"{where}{error.strerror}{expected}"


_PATIENCE_S = 1.0
"""How long a run may take before a bar is worth a look."""

_WORDS = {
    "precondition": ("preconditioning", "units/s"),
    "age": ("ageing", "erases/s"),
    "skip": ("skipping", "requests/s"),
    "alone": ("running each tenant alone", "requests/s"),
    "run": ("running", "requests/s"),
    "board": ("measuring", "steps/s"),
    "curve": ("measuring", ""),
    "sweep": ("sweeping", "points/s"),
    "life": ("living", ""),
    "start-up": ("starting up", ""),
    "calibrate": ("calibrating", "points/s"),
}


_LONG_S = 10.0
"""How long it may take before one line says how much is left, where nobody sees a bar."""


class ProgressBar:
    """A bar with rate and time left, for what takes longer than a second. Called by a run.

    Where standard error is no terminal, one line says how long preconditioning will take, if that
    is long.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._is_told = is_shown and not self._is_shown
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
        if self._is_told and progress.phase == "precondition":
            self._tell(progress)
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
        rate = f"{progress.per_s:,.{0 if progress.per_s >= 10 else 2}f} {unit}" if unit else ""
        rate += f", {progress.failed:,} failed" if progress.failed else ""
        if self._task is not None:
            bar.update(
                self._task, completed=progress.done, total=progress.total, rate=rate, left=left
            )

    def _tell(self, progress: Progress) -> None:
        """One line about a large drive."""
        if perf_counter() - self._start < _LONG_S or (progress.eta_s or 0.0) < _LONG_S:
            return
        self._is_told = False
        share = progress.done / max(progress.total or 0, 1)
        say(f"note: preconditioning: {share:.0%} done, about {progress.eta_s:.0f} s left")

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
