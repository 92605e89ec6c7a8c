"""The window without a server of its own: `python tools/window.py FOLDER`.

Any web server gives out the folder; the engine runs in the browser. The address of an experiment
names drive, job and seed behind the `#`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import engines

from nandlab.window.assets import of_folder
from nandlab.window.html import with_policy
from nandlab.window.security import POLICY

WEB = engines.ROOT / "web"


def write(folder: Path) -> None:
    """Writes the files of the page, and the engine beside them."""
    for name, content in of_folder(WEB).items():
        if name == "index.html":
            content = with_policy(content.decode(), POLICY).encode()
        put(folder / name, content)
    put(folder / "wasm" / engines.MODULE.name, engines.MODULE.read_bytes())


def put(path: Path, content: bytes) -> None:
    """Writes a file, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def main() -> int:
    """Writes the folder, with an engine that is compiled where there is none yet."""
    if len(sys.argv) != 2:
        print("usage: python tools/window.py FOLDER", file=sys.stderr)
        return 2
    if not engines.MODULE.exists() and (code := engines.main()):
        return code
    folder = Path(sys.argv[1])
    write(folder)
    print(f"{folder}: serve it with any web server: python3 -m http.server --directory {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
