"""The nearest of the names that are allowed, as errors say it."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: object, names: Iterable[str], cutoff: float = 0.6) -> str:
    """``; did you mean ...?``, or nothing where none is near, as none is to what is no text."""
    if not isinstance(name, str):
        return ""
    near = get_close_matches(name, list(names), 1, cutoff)
    return f"; did you mean `{near[0]}`?" if near else ""
