"""Refusals: the error for a wrong input, with place, problem, what is allowed, nearest name."""

from collections.abc import Iterable
from difflib import get_close_matches

from nandlab._core import NandlabError


def refusal(
    place: object,
    problem: object,
    allowed: str | Iterable[str] = "",
    *,
    given: object = None,
    names: Iterable[str] | None = None,
) -> NandlabError:
    """The error of a refused input: ``place: problem; allowed: this, that; did you mean `that`?``.

    Args:
        place: argument, key or file and line, as text or path; empty where the problem says it.
        problem: what is wrong there, as text or as anything that prints as it.
        allowed: what would be right, in words or as names; empty where nothing would.
        given: a name that is unknown; the nearest of `names` is proposed.
        names: what `given` could have been; `allowed` where that is names.
    """
    listed = [] if isinstance(allowed, str) else list(allowed)
    said = allowed if isinstance(allowed, str) else ", ".join(listed)
    said = f"; allowed: {said}" if said else ""
    hint = nearest(given, listed if names is None else names)
    where = f"{place}: " if place != "" else ""
    return NandlabError(f"{where}{problem}{said}{hint}")


def nearest(name: object, names: Iterable[str], cutoff: float = 0.6) -> str:
    """``; did you mean ...?``, or nothing where no name is near or `name` is no text."""
    if not isinstance(name, str):
        return ""
    near = get_close_matches(name, list(names), 1, cutoff)
    return f"; did you mean `{near[0]}`?" if near else ""
