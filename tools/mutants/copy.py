"""Copy of a tree in which every mutant of the list sleeps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from mutants.list import ROOT, Mutant, Refused, mutants
from mutants.schema import DOOR_FILE, SWITCH, SWITCH_FILE, applied, with_switch


def make(folder: Path, root: Path = ROOT) -> int:
    """Copies the tree into a new folder: how many mutants the copy holds.

    Raises:
        Refused: the folder is not empty, a mutant does not fit, or git does not know the tree.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty; expected: a new folder")
    if folder.resolve().is_relative_to(root):
        raise Refused(f"{folder} lies in the tree that is copied; expected: a folder outside of it")
    every = mutants(root)
    by_file: dict[str, list[Mutant]] = {}
    for one in every:
        by_file.setdefault(one.file, []).append(one)
    files = _files(root)
    if missing := sorted({*by_file, DOOR_FILE} - set(files)):
        raise Refused(f"{missing[0]}: not in the tree")
    changed = {file: applied(_text(root, file), of) for file, of in by_file.items()}
    changed[DOOR_FILE] = with_switch(changed.get(DOOR_FILE) or _text(root, DOOR_FILE))
    changed[SWITCH_FILE] = SWITCH
    for file in files:
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / file, target, follow_symlinks=False)
    for file, text in changed.items():
        (folder / file).write_text(text, encoding="utf-8")
    return len(every)


def _text(root: Path, file: str) -> str:
    return (root / file).read_text(encoding="utf-8")


def _files(root: Path) -> list[str]:
    """Files of the tree that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Refused(f"git ls-files: {ended.stderr.strip()}")
    found = (name for name in ended.stdout.split("\0") if name)
    return sorted({name for name in found if (root / name).is_file() or (root / name).is_symlink()})
