"""What the tests share: the installed command, small workloads, the folder of real traces."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from nandlab import NandlabError
from nandlab.cli import main
from tests.device.guest.machine import Guest
from tests.device.guest.packages import made

ROOT = Path(__file__).resolve().parent.parent
TRACES = Path(os.environ.get("NANDLAB_TRACES", ROOT.parent / "shared" / "traces"))
COMMAND = shutil.which("nandlab", path=str(Path(sys.executable).parent)) or "nandlab"

#: A small mix on a small drive: under a tenth of a second.
MIXED = "[mixed]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=5000\n"
#: Never ends by itself.
ENDLESS = "[endless]\nrw=randrw\nbs=4k\niodepth=32\ntime_based\nruntime=1000000\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --full."""
    parser.addoption("--full", action="store_true", help="run the long tests too")


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker of long tests."""
    config.addinivalue_line("markers", "long: takes more than some seconds; runs with --full")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in the background of a shell; the commands that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves long tests out unless they are asked for."""
    if not config.getoption("--full"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="a long test: --full runs it"))


def pytest_collection_finish() -> None:
    """Leaves modules and collected tests to the end of the process.

    The garbage collector would go through these hundreds of thousands of objects again and again.
    """
    gc.collect()
    gc.freeze()


def some(cases: Iterable[Any], few: int = 1) -> list[Any]:
    """Cases of a parametrized test: the first few run by default, the others with `--full`."""
    given = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=pytest.mark.long if number >= few else ())
        for number, case in enumerate(given)
    ]


@pytest.fixture(scope="session")
def few_or_all(pytestconfig: pytest.Config) -> Callable[[Any, Any], Any]:
    """Chooses sizes of a test: its first argument by default, its second with `--full`."""
    return lambda few, every: every if pytestconfig.getoption("--full") else few


def carries(message: object, *parts: object) -> str:
    """A message, which must carry its parts: place, refused value, what is expected there.

    A part stands for itself: neither `4` in `64` or `0.4`, nor `page` in `pages` counts. Tests that
    ask for parts, and not for phrases, pass when a message is worded better.
    """
    text = str(message)
    for part in map(str, parts):
        before, behind = (
            # A point between digits is within a number.
            (r"(?<!\w)" if re.match(r"\w", part) else "")
            + (r"(?<!\d\.)" if re.match(r"\d", part) else ""),
            (r"(?!\w)" if re.search(r"\w$", part) else "")
            + (r"(?!\.\d)" if re.search(r"\d$", part) else ""),
        )
        assert re.search(before + re.escape(part) + behind, text), f"`{part}` is missing in: {text}"
    return text


@contextmanager
def refused(*parts: object) -> Iterator[None]:
    """A block of Python that must raise `NandlabError` with a message that carries these parts."""
    assert parts, "a refusal carries a place or a value"
    with pytest.raises(NandlabError) as raised:
        yield
    carries(raised.value, *parts)


class Ended:
    """A command that has ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    def succeeded(self) -> Ended:
        """Itself, if it ended well."""
        assert self.code == 0, self.err
        return self

    def refused(self, *parts: object) -> str:
        """The one line that says why it was refused, which carries these parts."""
        assert self.code == 2, (self.code, self.err)
        assert "Traceback" not in self.err
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("error: ")
        return carries(lines[0], *parts)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the job file mixed.fio."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mixed.fio").write_text(MIXED)
    return tmp_path


@pytest.fixture
def nandlab(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Runs the command in that folder: in this process, or in one of its own where that matters.

    A process of its own costs the half second of its imports. It matters for signals, pipes, limits
    of the system, and what is left behind in Python.
    """
    # The end of a command ignores Ctrl-C, as the end of a process should; these tests go on.
    monkeypatch.setattr("nandlab.cli.commands.let_end", lambda: None)

    def call(*arguments: str | Path, process: bool = False, timeout_s: float = 120) -> Ended:
        words = list(map(str, arguments))
        if not process:
            return called(words, monkeypatch)
        ended = subprocess.run(
            [COMMAND, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return call


@pytest.fixture(scope="session")
def guest() -> Iterator[Guest]:
    """A Linux guest for all tests: it starts in ten seconds.

    A test leaves it without connections and mounts.
    """
    kernel, image = made()
    with Guest(kernel, image) as guest:
        yield guest


def called(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Ended:
    """The command in this process: its exit code, and what it wrote to its two outputs."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    )
    code: object = None
    with monkeypatch.context() as patched:
        patched.setattr(sys, "argv", ["nandlab", *arguments])
        # Messages name the program by this module: here it may be pytest.
        patched.setattr(sys.modules["__main__"], "__package__", None)
        # Put back what the command takes away.
        patched.setitem(os.environ, "MPLBACKEND", os.environ.get("MPLBACKEND", "agg"))
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
            except BaseException:
                traceback.print_exc()
                code = 1
    read = [stream.detach().getvalue().decode() for stream in (out, err)]
    assert code is None or isinstance(code, int), code
    return Ended(code or 0, *read)


@pytest.fixture
def real_trace() -> Callable[[str], Path]:
    """Finds a real trace by its name without .zst, or skips the test."""

    def find(name: str) -> Path:
        path = TRACES / f"{name}.zst"
        if not path.is_file():
            pytest.skip(f"no {path.name} in {TRACES} (NANDLAB_TRACES names the folder)")
        return path

    return find
