"""List of mutants: `mutants.toml`, read and checked against the tree."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""The tree that this file stands in."""

LIST = "tools/mutants/mutants.toml"
"""Its list."""

KINDS = ("expression", "statement")


class Mutant(NamedTuple):
    """A fault: a text of a file, and what stands there instead."""

    name: str
    file: str
    """By its path in the tree, with `/`."""
    old: str
    new: str
    why: str
    """What is wrong with it."""
    suites: tuple[str, ...]
    """Parts of the tests that are tried first: see `suite.Suite`."""
    kind: str = "expression"
    within: str = ""
    """A text that stands once in the file and holds `old` once; empty where `old` stands once."""


class Refused(Exception):
    """A list, a tree or a build that cannot be worked with; says why."""


def read(text: str) -> list[Mutant]:
    """The mutants of a list.

    Raises:
        Refused: a mutant lacks a key, has an unknown one, or cannot be told from another one.
    """
    found = [_mutant(table) for table in _tables(text).get("mutant", [])]
    for name, count in Counter(one.name for one in found).items():
        if count > 1:
            raise Refused(f"{name}: {count} mutants of this name")
    if not found:
        raise Refused("the list holds no mutant")
    return found


def mutants(root: Path = ROOT) -> list[Mutant]:
    """The mutants of a tree.

    Raises:
        Refused: as `read`.
    """
    return read((root / LIST).read_text(encoding="utf-8"))


def _tables(text: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib.loads(text)
    from nandlab.given.toml import parse_toml

    return parse_toml(text, LIST)


def _mutant(table: Mapping[str, Any]) -> Mutant:
    name = str(table.get("name", "a mutant without a name"))
    needed = {"name", "file", "old", "new", "why", "suites"}
    if missing := sorted(needed - set(table)):
        raise Refused(f"{name}: no {', '.join(missing)}")
    if unknown := sorted(set(table) - set(Mutant._fields)):
        raise Refused(f"{name}: unknown key {', '.join(unknown)}")
    one = Mutant(**{**table, "suites": tuple(table["suites"])})
    if re.fullmatch(r"[a-z0-9-]+", name) is None:
        raise Refused(f"{name}: a name has small letters, digits and -")
    if one.kind not in KINDS:
        raise Refused(f"{name}: kind {one.kind}; expected: {', '.join(KINDS)}")
    if one.kind == "statement" and not one.file.endswith(".rs"):
        raise Refused(f"{name}: a statement in {one.file}; expected: an expression")
    if not one.old.strip() or one.old == one.new or not one.suites:
        raise Refused(f"{name}: `old` is empty, `new` is the same, or there are no suites")
    return one


def span(mutant: Mutant, text: str) -> tuple[int, int]:
    """Start and end of `old` in the text of its file.

    Raises:
        Refused: it does not stand there exactly once.
    """
    start, part = 0, text
    if mutant.within:
        start, part = _once(mutant, mutant.within, text), mutant.within
    start += _once(mutant, mutant.old, part)
    return start, start + len(mutant.old)


def _once(mutant: Mutant, sought: str, text: str) -> int:
    count = text.count(sought)
    if count != 1:
        where = f"`{sought}` stands {count} times in {mutant.file}"
        raise Refused(f"{mutant.name}: {where}; expected: once")
    return text.index(sought)


def problems(root: Path = ROOT) -> Iterator[str]:
    """Everything that is wrong with the list of a tree, mutant by mutant."""
    try:
        found = mutants(root)
    except Refused as error:
        yield str(error)
        return
    for one in found:
        path = root / one.file
        if not path.is_file():
            yield f"{one.name}: there is no {one.file}"
            continue
        try:
            span(one, path.read_text(encoding="utf-8"))
        except Refused as error:
            yield str(error)
        for suite in one.suites:
            if problem := _unknown(suite, root):
                yield f"{one.name}: {problem}"


def _unknown(suite: str, root: Path) -> str:
    """The fault of a suite that can be seen without a build; empty where there is none."""
    kind, _, rest = suite.partition(":")
    if kind == "pytest":
        file = rest.partition("::")[0]
        return "" if (root / file).exists() else f"{suite}: there is no {file}"
    parts = rest.split(":", 2)
    if kind != "cargo" or len(parts) < 2:
        return f"{suite}; expected: cargo:PACKAGE:TARGET[:FILTER] or pytest:FILE[::TEST]"
    crate, target, *chosen = parts
    # The tests of a library stand in its sources, those of a test program in `tests`.
    inside = "src" if target == "lib" else "tests"
    folder = root / "crates" / crate.removeprefix("nandlab-") / inside
    *modules, test = "".join(chosen).split("::")
    path = folder.joinpath(*modules)
    files = [path.with_suffix(".rs"), *path.rglob("*.rs")]
    sought = f"fn {test}" if test else "#[test]"
    has_it = any(sought in file.read_text(encoding="utf-8") for file in files if file.is_file())
    return "" if has_it else f"{suite}: no `{sought}` in {path.relative_to(root)}"
