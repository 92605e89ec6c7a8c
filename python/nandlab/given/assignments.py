"""Assignments ``path=value`` of parameters: their forms, and errors that name the wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from nandlab._core import NandlabError
from nandlab.given.arguments import seeded
from nandlab.given.refusal import refusal
from nandlab.given.toml import toml_value


def assignments(given: Mapping[str, object] | Iterable[str] | None) -> list[str]:
    """Assignments as texts ``path=value``, from a mapping, several texts, one text or None.

    Raises:
        NandlabError: something else.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{path}={toml_value(value)}" for path, value in given.items()]
    texts = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for text in texts:
        if not isinstance(text, str):
            raise refusal(
                "set",
                f"{text!r}",
                "a mapping from paths to values, or texts of the form path.to.key=value",
            )
    return texts


def of_a_drive(
    given: Mapping[str, object] | Iterable[str] | None,
    scale: str | float | None = None,
    seed: int | None = None,
) -> list[str]:
    """Assignments of a drive: those given, then its scale and its seed, which go before them."""
    sets = list(assignments(given))
    if scale is not None:
        sets.append(f"drive.scale={toml_value(scale)}")
    if seed is not None:
        sets.append(f"seed={seeded(seed)}")
    return sets


@contextmanager
def blaming(place: str, sets: Sequence[str], start: str = "") -> Iterator[None]:
    """Makes errors of an assigned key name the assignment instead of the file at `place`.

    Args:
        place: what errors call the file.
        sets: assignments on top of it.
        start: what errors have before the path of an assignment.
    """
    try:
        yield
    except NandlabError as error:
        where = f"{place}: {start}"
        key, colon, problem = str(error).removeprefix(where).partition(": ")
        at_fault = [each for each in sets if each.partition("=")[0].strip() == key]
        if not (colon and at_fault and str(error).startswith(where)):
            raise
        # The last one holds.
        raise refusal(f"--set {at_fault[-1]}", problem) from error
