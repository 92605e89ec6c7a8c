"""Packages that nandlab needs, a line each: `python tools/needed.py [EXTRA]`.

From `pyproject.toml`, so that they can be installed while the engine is compiled.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

try:
    tomllib = importlib.import_module("tomllib")
except ModuleNotFoundError:
    # Python 3.10 has none; maturin brings this one there.
    tomllib = importlib.import_module("tomli")


def main() -> None:
    """Prints the packages of the project, and those of the extra where one is named."""
    file = Path(__file__).resolve().parent.parent / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    needed = list(project["dependencies"])
    for extra in filter(None, sys.argv[1:]):
        needed += project["optional-dependencies"][extra]
    print("\n".join(needed))


if __name__ == "__main__":
    main()
