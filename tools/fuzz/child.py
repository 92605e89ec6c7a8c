"""Child: one command line of `nandlab` in a process with limits of its own."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from time import monotonic

#: Bytes of addresses, as `ulimit -v` gives them, and of a file.
MOST_MEMORY = 4 << 30
MOST_FILE = 1 << 30

_READY = ["fuzz.child", "fuzz.ready"]
"""What the process that children are forked from has imported."""


def prepare() -> None:
    """Makes the process that children are forked from, once; later calls do nothing."""
    # A thread of its own for each core would take addresses, and forks have none of them.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["RAYON_NUM_THREADS"] = "2"
    get_context("forkserver").set_forkserver_preload(_READY)


class Child:
    """A command that runs in a folder; its output goes to two files."""

    def __init__(
        self, arguments: list[str], folder: Path, out: Path, err: Path, *, is_fresh: bool
    ) -> None:
        self._fresh: subprocess.Popen[bytes] | None = None
        self._forked: ForkServerProcess | None = None
        if is_fresh:
            self._fresh = _fresh(arguments, folder, out, err)
            self.pid = self._fresh.pid
        else:
            self._forked = get_context("forkserver").Process(
                target=_run, args=(arguments, str(folder), str(out), str(err))
            )
            self._forked.start()
            self.pid = self._forked.pid or 0

    def wait(self, timeout_s: float, is_stopped: Callable[[], bool]) -> int | None:
        """The exit code; below 0 a signal; None where it goes on."""
        end = monotonic() + timeout_s
        while (left := end - monotonic()) > 0 and not is_stopped():
            step = min(left, 0.25)
            if self._forked is not None:
                self._forked.join(step)
                if (code := self._forked.exitcode) is not None:
                    return code
            elif self._fresh is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return self._fresh.wait(step)
        return None

    def send(self, name: str) -> None:
        """Sends a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.Signals[name])

    def kill(self) -> None:
        """Ends it at once."""
        self.send("SIGKILL")
        if self._forked is not None:
            self._forked.join()
        elif self._fresh is not None:
            self._fresh.wait()


def _limit() -> None:
    """Limits of a child; a group of its own, so that Ctrl-C of the terminal does not reach it."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for which, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_FSIZE, MOST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(which, (most, most))


def _run(arguments: list[str], folder: str, out: str, err: str) -> None:
    """In the fork: what `nandlab` does with these arguments. Warnings are errors."""
    _limit()
    os.chdir(folder)
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    faulthandler.enable(2)
    _forbid_warnings()
    sys.argv = ["nandlab", *arguments]
    from nandlab.cli import main
    from nandlab.process import early

    early.guard()
    try:
        main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _forbid_warnings() -> None:
    """Every warning that a user would see is an error."""
    warnings.resetwarnings()
    warnings.simplefilter("error")
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)


def _fresh(arguments: list[str], folder: Path, out: Path, err: Path) -> subprocess.Popen[bytes]:
    """A Python of its own, as from a shell."""
    hidden = ("DeprecationWarning", "PendingDeprecationWarning", "ImportWarning")
    strict = ["-W", "error", *(word for kind in hidden for word in ("-W", f"ignore::{kind}"))]
    words = [
        text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "surrogatepass")
        for text in arguments
    ]
    command = [sys.executable.encode(), *(word.encode() for word in strict), b"-m", b"nandlab"]
    with out.open("wb") as to_out, err.open("wb") as to_err:
        return subprocess.Popen(
            [*command, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=to_out,
            stderr=to_err,
            preexec_fn=_limit,
        )


def _is_escaped(text: str) -> bool:
    """Whether its lone surrogates are bytes that are no text."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
