"""Build of the wheel with its progress: `python tools/engine.py PROFILE FOLDER`.

Cargo says on a terminal which crate it compiles; five silent minutes elsewhere look like a hang.
This prints crates done of all and the seconds, in place on a terminal and as lines elsewhere, and
shows what the compiler says only where it fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO

#: Seconds between two lines where there is no terminal.
BETWEEN_LINES_S = 15.0


def main() -> int:
    """Builds the wheel; the exit code of the build."""
    profile, folder = sys.argv[1:]
    command = ["maturin", "build", "--profile", profile, "--out", folder]
    told = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "120"}
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **told, "CARGO_TERM_COLOR": "never"},
    )
    assert process.stdout is not None
    progress = Progress(start)
    said = [line for line in pieces(process.stdout) if not progress.took(line)]
    progress.end()
    code = process.wait()
    if code:
        print("\n".join(said), file=sys.stderr)
    else:
        print(f"compiled in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return code


def pieces(stream: IO[bytes]) -> Iterator[str]:
    """Pieces of a stream between ends of lines or returns, each as soon as it comes."""
    rest = b""
    while got := os.read(stream.fileno(), 65536):
        *whole, rest = re.split(rb"[\r\n]+", rest + got)
        yield from (piece.decode(errors="replace") for piece in whole)
    yield rest.decode(errors="replace")


class Progress:
    """The line that says how far the build is."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.is_terminal = sys.stderr.isatty()
        self.shown_at = start

    def took(self, line: str) -> bool:
        """Shows the progress that a line of cargo tells; False where it tells none."""
        found = re.search(r"Building \[[=> ]*\] (\d+)/(\d+)(?:: (.*))?", line)
        if found is None:
            return line.lstrip().startswith(("Compiling ", "Fresh ", "Downloaded ", "Downloading "))
        now = time.monotonic()
        if not self.is_terminal and now - self.shown_at < BETWEEN_LINES_S:
            return True
        self.shown_at = now
        done, of, names = found.groups()
        # Cargo names them as `serde, toml(build)`, and cuts the list.
        crates = (names or "").split("(")[0].split(",")[0].rstrip(". ")
        text = f"compiling: {done} of {of} crates, {now - self.start:.0f} s"
        text += f", {crates} now" if crates else ""
        begin, end = ("\r\x1b[K", "") if self.is_terminal else ("", "\n")
        print(f"{begin}{text}", end=end, file=sys.stderr, flush=True)
        return True

    def end(self) -> None:
        """Clears the line."""
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
