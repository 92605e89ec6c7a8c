"""Builder of the site: `python -m website [FOLDER]`, by default `build/site`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import engines
import window

from website.stage import ROOT, stage


def main() -> int:
    """Exit code: 0 where the site is built, without a warning."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    work = out.parent / f"{out.name}-work"
    # The page of the window needs its engine: `./lab window` compiles it.
    has_window = engines.MODULE.exists()
    stage(work / "pages", has_window=has_window)
    shutil.rmtree(out, ignore_errors=True)
    sphinx = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning"]
    folders = ["--conf-dir", str(Path(__file__).parent), "--doctree-dir", str(work / "trees")]
    command = [*sphinx, *folders, str(work / "pages"), str(out)]
    code = subprocess.run(command, check=False).returncode
    if code == 0 and has_window:
        window.write(out / "window")
    if code == 0:
        print(out / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
