"""Changes of the working tree since it left the main branch, and the checks that they ask for."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from suite.steps import ROOT


class Changes(NamedTuple):
    """Changed parts of the tree."""

    base: str
    """The commit that the tree is compared with."""
    crates: Sequence[str]
    """Crates with a changed file, by their folder."""
    python: Sequence[str]
    """Changed Python files."""
    tests: Sequence[str]
    """Python tests of what has changed: folders of tests, or files of them."""

    @classmethod
    def of_tree(cls) -> Changes:
        """The changes of this checkout: committed since the merge base, uncommitted, untracked."""
        if not _git("rev-parse", "HEAD"):
            raise SystemExit("check: no git checkout here; hint: ./lab test checks everything")
        base = merge_base()
        named = _git("diff", "--name-only", "--diff-filter=d", base)
        named += _git("ls-files", "--others", "--exclude-standard")
        return cls.of(base, named)

    @classmethod
    def of(cls, base: str, paths: Sequence[str]) -> Changes:
        """The changes where these paths have changed since `base`."""
        crates = {found[1] for path in paths if (found := re.match(r"crates/(\w+)/", path))}
        python = sorted(path for path in paths if path.endswith((".py", ".pyi")))
        tests = set()
        for path in python:
            room = re.match(r"python/nandlab/(\w+)/", path)
            if re.match(r"tests/.*/test_\w+\.py$", path):
                tests.add(path)
            elif room and (ROOT / "tests" / room[1]).is_dir():
                tests.add(f"tests/{room[1]}")
        # A file whose whole folder runs need not be named again.
        alone = [path for path in tests if path.rpartition("/")[0] not in tests]
        return cls(base, sorted(crates), python, sorted(alone))

    def told(self) -> str:
        """One line: what is checked."""
        crates = ", ".join(self.crates) or "none"
        tests = ", ".join(self.tests) or "none"
        return (
            f"changed since {self.base[:10]}: crates {crates}; {len(self.python)} Python files; "
            f"Python tests {tests}"
        )


def merge_base() -> str:
    """The newest commit that this branch shares with the one that it will go into."""
    for branch in ("origin/HEAD", "main", "master", "@{upstream}"):
        found = _git("merge-base", "HEAD", branch)
        if found and found != _git("rev-parse", "HEAD"):
            return found[0]
    # On the main branch itself: what is not committed.
    return "HEAD"


def _git(*arguments: str) -> list[str]:
    """Lines that git prints; none where it refuses."""
    try:
        ended = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return []
    return ended.stdout.split("\n")[:-1] if ended.returncode == 0 else []
