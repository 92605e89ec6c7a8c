"""Packages that nandlab needs, a line each: `python tools/needed.py [EXTRA]`.

From `pyproject.toml`, so that they can be installed while the engine is compiled.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    # maturin brings it to such a Python.
    import tomli as tomllib


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
