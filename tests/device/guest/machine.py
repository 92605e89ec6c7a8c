"""A Linux guest in QEMU, by emulation alone, whose shell is driven over its serial port."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

#: Address of this machine as the guest sees it: QEMU passes connections on to the loopback address.
HOST = "10.0.2.2"

MARK = re.compile(r"@@(\d+)@@\n")


class Guest:
    """A running guest. `run` has its shell carry out a command, and gives its output.

    Emulation takes ten seconds to a shell on two cores. The guest ends with the `with` block.
    """

    def __init__(self, kernel: Path, image: Path, memory_mib: int = 512) -> None:
        self._serial = subprocess.Popen(
            [
                "qemu-system-x86_64",
                "-accel",
                "tcg",
                "-cpu",
                "max",
                "-m",
                str(memory_mib),
                "-kernel",
                kernel,
                "-initrd",
                image,
                "-append",
                "console=ttyS0 quiet panic=-1",
                "-no-reboot",
                "-display",
                "none",
                "-monitor",
                "none",
                "-serial",
                "stdio",
                "-netdev",
                "user,id=net",
                "-device",
                "e1000,netdev=net",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )

    def __enter__(self) -> Guest:
        try:
            self._until(re.compile("@@ready@@\n"), seconds=180)
        except AssertionError as error:
            self.__exit__()
            pytest.skip(f"a Linux guest does not start here: {error}")
        return self

    def __exit__(self, *_: object) -> None:
        self._serial.kill()
        self._serial.wait()
        for pipe in (self._serial.stdin, self._serial.stdout):
            if pipe is not None:
                pipe.close()

    def run(self, command: str, seconds: float = 120) -> str:
        """Output of a command of the shell. A failure is an `AssertionError` with the output."""
        output, status = self.tried(command, seconds)
        assert status == 0, f"`{command}` of the guest ended with {status}:\n{output}"
        return output

    def tried(self, command: str, seconds: float = 120) -> tuple[str, int]:
        """Output and exit status of a command of the shell."""
        assert self._serial.stdin is not None
        self._serial.stdin.write(f"{{ {command}; }} 2>&1; echo @@$?@@\n".encode())
        output, ended = self._until(MARK, seconds)
        return output, int(ended[1])

    def _until(self, mark: re.Pattern[str], seconds: float) -> tuple[str, re.Match[str]]:
        assert self._serial.stdout is not None
        text = ""
        end = time.monotonic() + seconds
        while (found := mark.search(text)) is None:
            ready, _, _ = select.select(
                [self._serial.stdout], [], [], max(0.0, end - time.monotonic())
            )
            more = os.read(self._serial.stdout.fileno(), 65536) if ready else b""
            assert more, (
                f"the guest is silent or has ended after {seconds:g} s at most; it wrote:\n{text}"
            )
            text += more.decode(errors="replace").replace("\r", "")
        return text[: found.start()], found
