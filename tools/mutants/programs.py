"""Test programs of Rust, as cargo has built them in the copy of a tree."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mutants.list import Refused

LIBRARY = "lib"
"""Target that stands for the tests inside of a library, whatever it is called."""

_LIBRARIES = {"lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"}


class Program(NamedTuple):
    """A test program."""

    package: str
    target: str
    path: str
    folder: Path
    """Folder of its crate: cargo runs it there."""


def programs(folder: Path) -> list[Program]:
    """The test programs of a copy, which cargo builds where they are missing or stale.

    Raises:
        Refused: they cannot be built.
    """
    command = ["cargo", "test", "--workspace", "--no-run", "--message-format=json"]
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise Refused(f"`{' '.join(command)}` in {folder} has failed: see above")
    return told(ended.stdout.splitlines())


def told(messages: Iterable[str]) -> list[Program]:
    """The test programs that messages of cargo name.

    Raises:
        Refused: they name none.
    """
    found = []
    for line in messages:
        message: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"]:
            continue
        target, path = _target(message["target"]), message.get("executable")
        if target and path:
            # path+file:///folder#package@version
            package = message["package_id"].rpartition("#")[2].partition("@")[0]
            folder = Path(message["manifest_path"]).parent
            found.append(Program(package, target, path, folder))
    if not found:
        raise Refused("cargo names no test program")
    return sorted(found)


def _target(target: dict[str, Any]) -> str:
    """What suites call a target; empty where it is neither a library nor a test."""
    if _LIBRARIES & set(target["kind"]):
        return LIBRARY
    return str(target["name"]) if "test" in target["kind"] else ""
