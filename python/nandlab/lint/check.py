"""A check: an assumption, why it misleads, and how it is found in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from nandlab.lint.subject import Subject

KINDS = ("drive", "job", "study", "report")
"""Kinds of files that a check looks at."""


class Hit(NamedTuple):
    """An assumption that a check has found."""

    place: str
    """File and line."""
    says: str
    """What the file says, and what is wrong with it, in one line."""


class Setting(NamedTuple):
    """One of two runs that show the difference."""

    name: str
    """What tables and pictures call it."""
    set: Mapping[str, Any] = {}
    """Parameters on top of those of the pair."""
    run: Mapping[str, Any] = {}
    """Arguments of `nandlab.run` on top of those of the pair: ``workload``, ``precondition``."""


@dataclass(frozen=True)
class Pair:
    """Two settings, run side by side on a small drive."""

    assumed: Setting
    instead: Setting
    workload: str
    """Jobs of both, where a setting has none of its own."""
    figures: tuple[str, ...]
    """Figures of `nandlab.compare` that differ; the picture shows them."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of both."""
    precondition: str = "steady"
    run: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `nandlab.run` of both."""


@dataclass(frozen=True)
class Check:
    """One assumption. To add a check, write one of these and name it in `roster`."""

    code: str
    """``L001``."""
    title: str
    assumed: str
    """What is assumed."""
    why: str
    """Why that misleads."""
    sources: tuple[str, ...]
    """Keys of the bibliography; empty where there is none."""
    instead: str
    """What to set instead."""
    looks_at: tuple[str, ...]
    """Of `KINDS`."""
    find: Callable[[Subject], Iterator[Hit]]
    pair: Pair


class Finding(NamedTuple):
    """An assumption in a file."""

    code: str
    title: str
    place: str
    """File and line, or what else the input is called."""
    says: str
    """What the file says, and what is wrong with it."""
    instead: str
    """What to set instead."""
    because: str = ""
    """The reason that the file gives for it (``# lint: L003 because ...``); empty without one."""

    @property
    def is_explained(self) -> bool:
        """Whether the file says why."""
        return bool(self.because)
