"""Refused input: the error with place, problem, expected values, a hint and the nearest name."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from nandlab._core import NandlabError


def refusal(
    place: object,
    problem: object,
    expected: str | Iterable[str] = "",
    *,
    hint: str = "",
    given: object = None,
    names: Iterable[str] | None = None,
) -> NandlabError:
    """The error of a refused input.

    Its text is ``place: problem; expected: this, that; hint: do this; did you mean `that`?``; empty
    parts are left out. A problem that begins with ``not supported:`` names something that is valid
    elsewhere.

    Args:
        place: argument, key or file and line, as text or path; empty where the problem names it.
        problem: what is wrong, as text or as anything that prints as text.
        expected: valid values or their range, in words or as a list of names.
        hint: what to change, where a list or range of values would not help.
        given: an unknown name, for which the nearest of `names` is proposed.
        names: valid names; by default `expected`, where that is a list.
    """
    listed = [] if isinstance(expected, str) else list(expected)
    said = expected if isinstance(expected, str) else ", ".join(map(plain, listed))
    parts = [
        f"; expected: {said}" if said else "",
        f"; hint: {hint}" if hint else "",
        nearest(given, listed if names is None else names),
    ]
    where = f"{plain(place)}: " if place != "" else ""
    # Names of columns and keys, which stand in what is expected, may hold anything.
    return NandlabError(f"{where}{plain(problem)}{_HIDDEN.sub(_shown, ''.join(parts))}")


_SHOWN = (300, 100)
"""Characters shown of the beginning and of the end of a long input."""

_LONGEST_NAME = 200
"""Longest name for which a nearest name is looked up."""

_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines, marks that turn the direction of text, and other bytes."""


def plain(given: object) -> str:
    """Input as one line that a terminal can show, in the same form as in messages of the engine.

    Control characters become hexadecimal numbers; very long text is cut in the middle.
    """
    text = str(given)
    first, last = _SHOWN
    if len(text) > 2 * (first + last):
        text = f"{text[:first]} … ({len(text) - first - last} characters) … {text[-last:]}"
    return _HIDDEN.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    return "\\n" if found[0] == "\n" else f"\\x{ord(found[0]):02x}"


def nearest(name: object, names: Iterable[str], cutoff: float = 0.6) -> str:
    """``; did you mean ...?``, or an empty text where no name is near or `name` is not text."""
    # Nothing is near a very long text, and the search would be slow.
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return ""
    every = list(names)
    # A name without its first words is too unlike the whole one for what follows; so is
    # one with first words that it should not have.
    longer = [each for each in every if name and each.endswith((f"_{name}", f"-{name}"))]
    shorter = [each for each in every if each and name.endswith((f"_{each}", f"-{each}"))]
    near = longer[:1] or shorter[:1] or get_close_matches(name, every, 1, cutoff)
    return f"; did you mean `{near[0]}`?" if near else ""
