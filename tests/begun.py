"""Commands that are waited for: one is started, and returned when its work has come so far."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from waiting import until

#: Python's own start-up file: makes a file when a function is called with what is waited for.
_START_UP = """
import importlib.util
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != {module!r}:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        execute = found.loader.exec_module

        def patched(module):
            execute(module)
            *outer, last = {function!r}.split(".")
            for part in outer:
                module = getattr(module, part)
            inner = getattr(module, last)
            calls = 0

            def told(*given, **named):
                nonlocal calls
                calls += 1
                if {when}:
                    open({mark!r}, "w").close()
                    setattr(module, last, inner)
                return inner(*given, **named)

            setattr(module, last, told)

        found.loader.exec_module = patched
        return found

sys.meta_path.insert(0, Finder())
"""


def begun(
    command: Sequence[str], function: str, when: str, seconds: float = 60.0, **more: Any
) -> subprocess.Popen[str]:
    """Starts a command, and returns when it calls a function as it does in the midst of its work.

    Neither its files, which lie without a name until they are whole, nor what it prints to a pipe
    show how far it is.

    Args:
        command: of nandlab.
        function: of nandlab, as ``module:name`` or ``module:class.name``.
        when: Python that is true of the call: of ``given``, its arguments, and of ``calls``, how
            many there have been.
        seconds: for which it is waited for.
        more: for `subprocess.Popen`.
    """
    module, _, name = function.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder, "mark")
        Path(folder, "sitecustomize.py").write_text(
            _START_UP.format(module=module, function=name, when=when, mark=str(mark))
        )
        paths = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths}
        process = subprocess.Popen(command, text=True, env=environment, **more)
        # A command that ends before has refused something: its test says what.
        try:
            until(
                lambda: mark.exists() or process.poll() is not None,
                seconds,
                f"call of {function} where {when}",
            )
        except BaseException:
            process.kill()
            process.wait()
            raise
    return process


def progressed(
    command: Sequence[str], phase: str, done: int, seconds: float = 60.0, **more: Any
) -> subprocess.Popen[str]:
    """Starts a command, and returns when a phase of it has done more than so much.

    Args:
        command: of nandlab.
        phase: as `nandlab.Progress` calls it.
        done: of its units.
        seconds: for which it is waited for.
        more: for `subprocess.Popen`.
    """
    when = f"given[0]._phase == {phase!r} and given[1] > {done}"
    return begun(command, "nandlab.display.progress:Meter.tell", when, seconds, **more)
