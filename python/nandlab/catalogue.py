"""Catalogue of what comes with nandlab: presets, families and their members, schema, citations."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.given.arguments import as_text, named
from nandlab.given.inputs import input_text
from nandlab.given.names import names_checked
from nandlab.given.refusal import nearest, refusal
from nandlab.given.tables import merged, tables_json
from nandlab.given.toml import parse_toml


class Preset(NamedTuple):
    """A parameter file that comes with nandlab."""

    kind: str
    """``drive``, ``chip``, ``cell``, ``code``, ``host``, ``price`` or ``workload``."""
    name: str
    """Its name, as in ``nandlab.run(name, ...)`` for a drive."""
    summary: str
    """What it is, in one line."""


class Member(NamedTuple):
    """A member of a family, as its roster has it."""

    name: str
    summary: str
    """What it does, in one line."""
    citation: str
    """Key of the bibliography; empty for none."""
    schema: dict[str, Any]
    """JSON Schema of its parameters."""


class Conflict(NamedTuple):
    """Two features that exclude each other."""

    feature: str
    key: str
    """Key of a drive file, or name of an option, that turns the feature on."""
    other: str
    other_key: str
    why: str
    """Reason for which a drive cannot have both."""
    instead: str
    """Advice: what to do instead."""


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
    notices: list[str]
    """Size of a scaled drive, and the keys that did not follow."""
    fitted: dict[str, dict[str, Any]]
    """Facts of the fits of its chips, by the place of the chip."""

    def with_facts(self) -> dict[str, Any]:
        """Every parameter, and the facts of the fit of its chip, as a chip file has them."""
        facts = {"fit": self.fitted["chip"]} if "chip" in self.fitted else {}
        return {**self.config, "chip": {**self.config["chip"], **facts}}


def families() -> list[str]:
    """Names of all families, as `roster` takes them."""
    return _core.families()


def roster(family: str) -> list[Member]:
    """The members of a family, in the order of its roster.

    Raises:
        NandlabError: there is no such family; names the nearest one.
    """
    return [Member(n, s, c, json.loads(schema)) for n, s, c, schema in _core.roster(family)]


def conflicts() -> list[Conflict]:
    """Features that exclude each other; two without a row go together."""
    return [Conflict(*row) for row in _core.conflicts()]


@names_checked
def presets(kind: str | None = None) -> list[Preset]:
    """All presets, or those of one kind, sorted by kind and name.

    Raises:
        NandlabError: there is no such kind.
    """
    every = _presets()
    kinds = sorted({preset.kind for preset in every})
    if kind is not None and as_text("presets: kind", kind, ", ".join(kinds)) not in kinds:
        raise refusal("presets", f"unknown kind `{kind}`", kinds, given=kind)
    return [preset for preset in every if kind in (None, preset.kind)]


@cache
def _presets() -> list[Preset]:
    return [Preset(*row) for row in _core.presets()]


@names_checked
def show(name: str | PathLike[str]) -> str:
    """The TOML text of a preset, with its comments and sources.

    Raises:
        NandlabError: there is no such preset; names the nearest one.
    """
    return _core.show(named("show", name))


@names_checked
def schema(*, of_files: bool = False) -> dict[str, Any]:
    """JSON Schema of a drive file.

    Args:
        of_files: also what only files may hold: texts with a unit, such as ``"2MiB"``, in place
            of numbers, and the facts of a chip's fit.
    """
    loaded: dict[str, Any] = json.loads(_core.schema(of_files))
    return loaded


def load_config(
    drive: str | Mapping[str, Any], sets: Sequence[str] = (), place: str = "drive"
) -> Config:
    """A drive, completed and checked.

    Args:
        drive: a preset, the path of a TOML file, or the tables that such a file would hold.
        sets: assignments.
        place: what errors call tables.

    Raises:
        NandlabError: an unknown preset, key or value; says where it stands.
    """
    if isinstance(drive, Mapping):
        return config_of(_core.Config.of_tables(tables_json(place, drive), place, list(sets)))
    # A file that is called as a preset is not meant.
    is_file = not drive.endswith(".toml") and Path(drive).is_file()
    if is_file and drive not in [preset.name for preset in presets("drive")]:
        raise refusal(
            "drive",
            f"{drive}: its name does not end with .toml",
            "a drive's TOML file or a preset",
        )
    return config_of(_core.Config(drive, list(sets)))


def drive_of(given: object) -> str | Mapping[str, Any]:
    """A drive as an argument: the name of a preset, a path, or tables.

    Raises:
        NandlabError: something else.
    """
    if isinstance(given, Mapping):
        return given
    return named("drive", given, "a preset's name, a path, or the tables of a drive file")


def config_of(native: _core.Config) -> Config:
    """The same drive with what is to be read of it."""
    return Config(native, **json.loads(native.json()))


def chip(name: str | PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a chip: a preset by its name, a TOML file by its path, or tables.

    Tables may name a ``preset``, over which they are laid.

    Raises:
        NandlabError: there is no such chip, its file cannot be read, or it is no TOML.
    """
    if isinstance(name, Mapping):
        own: dict[str, Any] = json.loads(tables_json("chip", name))
        under = own.pop("preset", None)
        return own if under is None else merged(chip(under), own)
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
            f"`{name}` is not a code file",
            hint=f"convert it: `nandlab code import {name} --out {Path(name).stem}.toml`",
        )
    return _preset_or_file("code", name)


def parameter_files(name: str | PathLike[str], sets: Iterable[str] = ()) -> list[str]:
    """A parameter file and all files that it names: drives, chips, cells, codes, workloads.

    Nothing is refused here: the reader of a file reports its errors.

    Args:
        name: a preset, which is no file, or the path of a TOML file.
        sets: assignments, which may name files too.
    """
    found: dict[str, None] = {}
    waiting = [fspath(name)]
    waiting += [text.partition("=")[2].strip().strip("\"'") for text in sets]
    while waiting:
        path = waiting.pop()
        real = os.path.realpath(path) if "\0" not in path else path
        if real in found or not os.path.isfile(real):
            continue
        found[real] = None
        if path.endswith(".toml"):
            with suppress(NandlabError):
                waiting += _named_files(parse_toml(input_text(path, ""), path), Path(path).parent)
    return list(found)


_NAMING = ("drive_preset", "preset", "code", "workload", "trace")
"""Keys whose values may be files, from the folder of the file that they stand in."""


def _named_files(tables: Mapping[str, Any], folder: Path) -> Iterator[str]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _named_files(value, folder)
        elif key in _NAMING and isinstance(value, str):
            yield str(folder / value)


def _preset_or_file(kind: str, name: str) -> tuple[str, str]:
    """The text of a preset of a kind or of a TOML file, and what errors call it."""
    names = [preset.name for preset in presets(kind)]
    if name in names:
        return _core.show(f"{kind}/{name}"), f"params/{kind}s/{name}.toml"
    hint = nearest(Path(name).stem, names)
    expected = f"a name that `nandlab presets {kind}` lists, or the path of a TOML file{hint}"
    if name.endswith(".toml"):
        return input_text(name, expected), name
    raise refusal("", f"unknown {kind} `{name}`", expected)


@names_checked
def bibliography(drive: str | PathLike[str] | Mapping[str, Any]) -> str:
    """BibTeX entries of all that a drive (preset, file or its tables) is built on.

    Raises:
        NandlabError: the drive cannot be loaded.
    """
    return _core.bibliography(load_config(drive_of(drive)).cite)
