"""Preconditioning of a large drive: how long it takes, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from nandlab.display.progress import Progress
from nandlab.display.terminal import ProgressBar
from tests.begun import progressed
from tests.conftest import COMMAND


def test_one_line_says_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no terminal: once, and only of what takes long."""
    now = 0.0
    monkeypatch.setattr("nandlab.display.terminal.perf_counter", lambda: now)
    for is_shown, left_s, lines in ((True, 137.0, 1), (True, 3.0, 0), (False, 137.0, 0)):
        now = 0.0
        with ProgressBar(is_shown=is_shown) as bar:
            for at_s in (1.0, 20.0, 30.0):
                now = at_s
                bar(Progress("precondition", 25, 100, 1.0, left_s))
        told = capsys.readouterr().err
        assert told.count("\n") == lines
        assert ("137 s" in told) == bool(lines)


def test_ctrl_c_ends_steady_preconditioning(folder: Path) -> None:
    """Of a drive that takes minutes: at once, with nothing written."""
    large = ["--drive", "mqsim_default", "--set=drive.dies_per_channel=1", "--set=drive.channels=2"]
    process = progressed(
        [COMMAND, "save", *large, "--precondition", "steady", "--out", "x.nldrive"],
        "precondition",
        1,
        stderr=subprocess.PIPE,
    )
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    _, err = process.communicate(timeout=30)
    # A machine that does other work besides takes longer than the second that a user sees.
    assert time.monotonic() - asked < 3
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not (folder / "x.nldrive").exists()
