"""Pages of the Python package: one for each of its rooms with public names, from the docstrings."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import nandlab

_MODULES = ("nandlab.ecc", "nandlab.ftl")
"""Public modules whose names are not those of the package itself."""

_REST = "nandlab"
"""Page of names that belong to no room."""


def write(folder: Path) -> None:
    """Writes the pages into a new folder."""
    folder.mkdir(parents=True)
    rooms: dict[str, list[str]] = {}
    for name in nandlab.__all__:
        thing = getattr(nandlab, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        room = _room(getattr(thing, "__module__", ""))
        rooms.setdefault(room, []).append(_entry("nandlab", name, thing))
    for module in _MODULES:
        owner = importlib.import_module(module)
        names = [name for name in owner.__all__ if name not in nandlab.__all__]
        entries = [_entry(module, name, getattr(owner, name)) for name in names]
        rooms.setdefault(module, []).extend(entries)
    for room, entries in rooms.items():
        text = f"# {room}\n\n{_first(room)}\n\n" + "\n".join(entries)
        (folder / f"{room}.md").write_text(text, encoding="utf-8")
    listed_pages = "\n".join(sorted(rooms))
    index = "# Python\n\n`import nandlab`; every name below that is not of a module stands in it.\n"
    index += f"\n```{{toctree}}\n:maxdepth: 2\n\n{listed_pages}\n```\n"
    (folder / "index.md").write_text(index, encoding="utf-8")


def _room(module: str) -> str:
    """Room of the package that a module belongs to."""
    parts = module.split(".")
    is_room = len(parts) > 2 and parts[1] not in ("display", "given", "options")
    return ".".join(parts[:2]) if is_room else _REST


def _first(room: str) -> str:
    """First line of the docstring of a room."""
    said = inspect.getdoc(importlib.import_module(room)) or ""
    return said.partition("\n")[0]


def _entry(module: str, name: str, thing: Any) -> str:
    kind = "function"
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, BaseException) else "class"
    elif not callable(thing):
        kind = "data"
    return f"```{{eval-rst}}\n.. auto{kind}:: {module}.{name}\n```\n"
