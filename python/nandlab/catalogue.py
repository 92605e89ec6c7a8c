"""Catalogue of what comes with nandlab: presets, families and their members, schema, citations."""

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nandlab import _core
from nandlab.given.arguments import as_text, named
from nandlab.given.inputs import input_text
from nandlab.given.refusal import nearest, refusal
from nandlab.given.toml import parse_toml


class Preset(NamedTuple):
    """A parameter file that comes with nandlab."""

    kind: str
    """``drive``, ``chip``, ``cell``, ``code`` or ``host``."""
    name: str
    """What to call it: ``nandlab.run(name, ...)`` where it is a drive."""
    summary: str
    """What it is, in one line."""


class Member(NamedTuple):
    """A member of a family, as its roster has it."""

    name: str
    summary: str
    """What it does, in one line."""
    citation: str
    """A key of the bibliography, or nothing."""
    schema: dict[str, Any]
    """JSON Schema of its parameters."""


class Config(NamedTuple):
    """A drive, completed and checked."""

    native: _core.Config
    """The same, as the engine takes it."""
    config: dict[str, Any]
    """Every parameter."""
    config_hash: str
    summary: str
    cite: list[str]
    """Keys of the bibliography."""
    run: dict[str, Any]
    """Its ``[run]`` table."""


def families() -> list[str]:
    """Names of all families, as `roster` takes them."""
    return _core.families()


def roster(family: str) -> list[Member]:
    """The members of a family, in the order of its roster.

    Raises:
        NandlabError: there is no such family; names the nearest one.
    """
    return [Member(n, s, c, json.loads(schema)) for n, s, c, schema in _core.roster(family)]


def presets(kind: str | None = None) -> list[Preset]:
    """All presets, or those of one kind, sorted by kind and name.

    Raises:
        NandlabError: there is no such kind.
    """
    every = [Preset(*row) for row in _core.presets()]
    kinds = sorted({preset.kind for preset in every})
    if kind is not None and as_text("presets: kind", kind, ", ".join(kinds)) not in kinds:
        raise refusal("presets", f"unknown kind `{kind}`", kinds, given=kind)
    return [preset for preset in every if kind in (None, preset.kind)]


def show(name: str | PathLike[str]) -> str:
    """The TOML text of a preset, with its comments and sources.

    Raises:
        NandlabError: there is no such preset; names the nearest one.
    """
    return _core.show(named("show", name))


def schema() -> dict[str, Any]:
    """JSON Schema of a drive file."""
    loaded: dict[str, Any] = json.loads(_core.schema())
    return loaded


def load_config(drive: str, sets: Sequence[str] = ()) -> Config:
    """A drive, completed and checked.

    Raises:
        NandlabError: an unknown preset, key or value; says where it stands.
    """
    # A file that is called as a preset is not meant.
    is_file = not drive.endswith(".toml") and Path(drive).is_file()
    if is_file and drive not in [preset.name for preset in presets("drive")]:
        raise refusal(
            "drive",
            f"{drive} is a file whose name does not end with .toml",
            "a drive's TOML file, or a preset",
        )
    native = _core.Config(drive, list(sets))
    return Config(native, **json.loads(native.json()))


def chip(name: str | PathLike[str]) -> dict[str, Any]:
    """The tables of a chip: a preset by its name, or a TOML file by its path.

    Raises:
        NandlabError: there is no such chip, its file cannot be read, or it is no TOML.
    """
    text, place = chip_text(name)
    return parse_toml(text, place)


def chip_text(name: str | PathLike[str]) -> tuple[str, str]:
    """The text of a chip, preset or path, and what errors call it.

    Raises:
        NandlabError: there is no such chip, or its file cannot be read; names the nearest one.
    """
    return _preset_or_file("chip", named("chip", name))


def code_text(name: str) -> tuple[str, str]:
    """The text of a code file, preset or path, and what errors call it.

    Raises:
        NandlabError: there is no such code, or its file cannot be read; names the nearest one.
    """
    if Path(name).is_file() and not name.endswith(".toml"):
        raise refusal(
            "",
            f"`{name}` is no code file",
            f"the file that `nandlab code import {name} --out {Path(name).stem}.toml` writes",
        )
    return _preset_or_file("code", name)


def _preset_or_file(kind: str, name: str) -> tuple[str, str]:
    """The text of a preset of a kind or of a TOML file, and what errors call it."""
    names = [preset.name for preset in presets(kind)]
    if name in names:
        return _core.show(f"{kind}/{name}"), f"params/{kind}s/{name}.toml"
    hint = nearest(Path(name).stem, names)
    allowed = f"a name that `nandlab presets {kind}` lists, or the path of a TOML file{hint}"
    if name.endswith(".toml"):
        return input_text(name, allowed), name
    raise refusal("", f"unknown {kind} `{name}`", allowed)


def bibliography(drive: str | PathLike[str]) -> str:
    """BibTeX entries of all that a drive (preset or file) is built on.

    Raises:
        NandlabError: the drive cannot be loaded.
    """
    return _core.bibliography(load_config(named("drive", drive)).cite)
