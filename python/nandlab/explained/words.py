"""Meanings of a word: key of a drive file or its value, member of a family, report key, preset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nandlab.catalogue import families, presets, roster
from nandlab.explained.families import SELECTORS, Found, family_of, members, title
from nandlab.explained.report import report_key, report_paths
from nandlab.given.refusal import refusal
from nandlab.keys import Key, every_key, find


class Meaning(NamedTuple):
    """One meaning of a word."""

    kind: str
    """``key``, ``value``, ``family``, ``member``, ``report`` or ``preset``."""
    word: str
    facts: dict[str, str]
    """By what they are; empty ones say nothing."""
    members: dict[str, str]
    """Of a family, with what each does; words that a key takes, with their meanings."""


def meanings(word: str) -> list[Meaning]:
    """All meanings of a word; ``gc.name=greedy`` is the member of that family.

    ``parity.read_around=busy`` is a value of that key.

    Raises:
        NandlabError: it has none; names the nearest word.
    """
    path, is_chosen, value = word.partition("=")
    # As a report has the keys of its drive.
    path, value = path.strip().removeprefix("nandlab.config."), value.strip().strip("\"'")
    family = family_of(path)
    if is_chosen and family is not None and SELECTORS.get(family) == path:
        return [_member(_of_family(word, family, value))]
    one = find(path)
    if is_chosen and one is not None and one.values:
        return [_value_of(word, one, value)]
    found = list(_found(path))
    if not found:
        below = [one.path for one in every_key() if path and one.path.startswith(f"{path}.")]
        if below:
            raise refusal("explain", f"`{path}` is a table", below)
        expected = (
            "a key of a drive file or of the report, its value, a member of a family, or a preset"
        )
        raise refusal("explain", f"unknown word `{path}`", expected, given=path, names=words())
    return found


def words() -> list[str]:
    """Every word that is explained."""
    named = [one.path for one in every_key()]
    named += [word for one in every_key() for word, _ in one.values]
    named += [member.name for family in families() for member in roster(family)]
    return list(dict.fromkeys([*named, *report_paths(), *(one.name for one in presets())]))


def _found(word: str) -> Iterator[Meaning]:
    family = family_of(word)
    one = find(word)
    if one is not None:
        yield _key(word, one, family)
    elif family is not None:
        yield Meaning("family", word, {"meaning": title(family)}, _members(family))
    yield from map(_member, members(word))
    yield from _values(word)
    reported = report_key(word.removeprefix("report."))
    if reported is not None and "." not in reported.path and (one or family):
        # A whole table of the report that has the name of one of a drive file says little.
        reported = None
    if reported is not None:
        facts = {"meaning": reported.meaning}
        if reported.path.count(".") < word.removeprefix("report.").count("."):
            facts["part of"] = reported.path
        yield Meaning("report", word, facts, {})
    for preset in presets():
        if word in (preset.name, f"{preset.kind}/{preset.name}"):
            how = f"nandlab show {preset.kind}/{preset.name}"
            facts = {"meaning": f"{preset.kind}: {preset.summary}", "use": how}
            yield Meaning("preset", word, facts, {})


def _key(word: str, one: Key, family: str | None) -> Meaning:
    below = [key.path for key in every_key() if key.path.rpartition(".")[0] in _tables(one)]
    default = one.default or ("" if below else "none: a drive or its presets set it")
    facts = {
        "meaning": one.meaning or (f"which {title(family)}" if family else ""),
        "type": one.kind,
        "unit": one.unit,
        "default": default,
        "of": ", ".join(one.members),
        "in": f"each part of `{one.rows_of}`" if one.rows_of else "",
        "keys": ", ".join(below),
    }
    return Meaning("key", word, facts, dict(one.values) if family is None else _members(family))


def _tables(one: Key) -> tuple[str, str]:
    """Paths of a key as a table, and as a table of any names."""
    return one.path, f"{one.path}.NAME"


def _values(word: str) -> Iterator[Meaning]:
    """Meanings of a word as the value of a key; keys that mean the same by it are one."""
    paths: dict[str, list[str]] = {}
    for one in every_key():
        if (said := dict(one.values).get(word)) is not None:
            paths.setdefault(said, []).append(one.path)
    for said, of in paths.items():
        yield Meaning("value", word, {"meaning": said, "of": ", ".join(of)}, {})


def _value_of(word: str, one: Key, value: str) -> Meaning:
    """A value of a key.

    Raises:
        NandlabError: the key has no such value; names the nearest one.
    """
    known = dict(one.values)
    if value not in known:
        raise refusal("explain", f"`{word}`: no value of `{one.path}`", list(known), given=value)
    return Meaning("value", value, {"meaning": known[value], "of": one.path}, {})


def _member(found: Found) -> Meaning:
    facts = {
        "meaning": f"{found.what}: {found.member.summary}",
        "use": found.use,
        "keys": ", ".join(found.parameters),
        "source": found.member.citation,
    }
    return Meaning("member", found.member.name, facts, {})


def _members(family: str) -> dict[str, str]:
    return {one.name: one.summary for one in roster(family)}


def _of_family(word: str, family: str, name: str) -> Found:
    """A member of a family by its name.

    Raises:
        NandlabError: there is none; names the nearest one.
    """
    for one in members(name):
        if one.family == family:
            return one
    names = list(_members(family))
    raise refusal("explain", f"`{word}`: no such {title(family)}", names, given=name)
