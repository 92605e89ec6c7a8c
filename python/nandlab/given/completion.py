"""Completion of arguments in a shell: names of presets, formats of traces, keys of drives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Complete = Callable[[str], Iterable[tuple[str, str]]]
"""From what is typed to names with their meaning."""


def preset_of(*kinds: str) -> Complete:
    """Completes names of presets, of these kinds or of any."""

    def complete(incomplete: str) -> Iterable[tuple[str, str]]:
        from nandlab.catalogue import presets

        found = {one.name: one.summary for one in presets() if not kinds or one.kind in kinds}
        return [each for each in found.items() if each[0].startswith(incomplete)]

    return complete


def member_of(family: str) -> Complete:
    """Completes members of a family, as its roster has them."""

    def complete(incomplete: str) -> Iterable[tuple[str, str]]:
        from nandlab.catalogue import roster

        members = [(one.name, one.summary) for one in roster(family)]
        return [each for each in members if each[0].startswith(incomplete)]

    return complete


def key_of_a_drive(incomplete: str) -> Iterable[tuple[str, str]]:
    """Completes keys, as ``--set`` takes them."""
    from nandlab.keys import keys

    first_lines = [(one.path, one.meaning.partition("\n")[0]) for one in keys()]
    return [each for each in first_lines if each[0].startswith(incomplete)]


def word_to_explain(incomplete: str) -> Iterable[tuple[str, str]]:
    """Completes keys, their values, and names of members of families."""
    from nandlab.catalogue import families, roster
    from nandlab.keys import every_key

    for key in every_key():
        for word, meaning in ((key.path, key.meaning.partition("\n")[0]), *key.values):
            if word.startswith(incomplete):
                yield word, meaning
    for family in families():
        for one in roster(family):
            if one.name.startswith(incomplete):
                yield one.name, one.summary
