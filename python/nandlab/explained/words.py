"""Meanings of a word: key of a drive file, member of a family, key of the report, or preset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nandlab.catalogue import families, presets, roster
from nandlab.explained.families import SELECTORS, Found, family_of, members, title
from nandlab.explained.report import report_key, report_paths
from nandlab.given.refusal import refusal
from nandlab.keys import Key, keys


class Meaning(NamedTuple):
    """One meaning of a word."""

    kind: str
    """``key``, ``family``, ``member``, ``report`` or ``preset``."""
    word: str
    facts: dict[str, str]
    """By what they are; empty ones say nothing."""
    members: dict[str, str]
    """Of a family, with what each does."""


def meanings(word: str) -> list[Meaning]:
    """All meanings of a word; ``gc.name=greedy`` is the member of that family.

    Raises:
        NandlabError: it has none; names the nearest word.
    """
    path, is_chosen, value = word.partition("=")
    # As a report has the keys of its drive.
    path, value = path.strip().removeprefix("nandlab.config."), value.strip().strip("\"'")
    family = family_of(path)
    if is_chosen and family is not None and SELECTORS.get(family) == path:
        return [_member(_of_family(word, family, value))]
    found = list(_found(path))
    if not found:
        below = [one.path for one in keys() if path and one.path.startswith(f"{path}.")]
        if below:
            raise refusal("explain", f"`{path}` is a table", below)
        expected = "a key of a drive file or of the report, a member of a family, or a preset"
        raise refusal("explain", f"unknown word `{path}`", expected, given=path, names=words())
    return found


def words() -> list[str]:
    """Every word that is explained."""
    named = [one.path for one in keys()]
    named += [member.name for family in families() for member in roster(family)]
    return list(dict.fromkeys([*named, *report_paths(), *(one.name for one in presets())]))


def _found(word: str) -> Iterator[Meaning]:
    family = family_of(word)
    one = next((one for one in keys() if one.path == word), None)
    if one is not None:
        yield _key(one, family)
    elif family is not None:
        yield Meaning("family", word, {"meaning": title(family)}, _members(family))
    yield from map(_member, members(word))
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


def _key(one: Key, family: str | None) -> Meaning:
    facts = {
        "meaning": one.meaning or (f"which {title(family)}" if family else ""),
        "type": one.kind,
        "unit": one.unit,
        "default": one.default or "none: a drive or its presets set it",
        "of": ", ".join(one.members),
    }
    return Meaning("key", one.path, facts, {} if family is None else _members(family))


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
