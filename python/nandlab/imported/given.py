"""Values of a file of another simulator, by key, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nandlab._core import NandlabError
from nandlab.given.refusal import nearest, plain, refusal
from nandlab.imported.form import Form
from nandlab.imported.result import Moved, Unmatched


class Key(NamedTuple):
    """A key that another simulator knows."""

    name: str
    """Name of the key there, with its section before it where files have sections."""
    form: Form
    default: str | None
    """Default value there; None of a key that cannot be left out."""
    becomes: str
    """Keys of a drive file, or options of jobs and traces; empty if there are none."""
    how: str = ""
    """Conversion of the value, or its condition; the reason where there is no counterpart."""


class Found(NamedTuple):
    """A value in a file."""

    key: str
    text: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """File, line and key, as errors name them."""
        return f"{self.file}:{self.line}: {self.key}"


@dataclass
class Given:
    """Values of one file, or of one part of it, against the keys that its simulator knows.

    A key is *used* when it has become something, or is listed with the reason why not. What is left
    at the end is listed with the reason of its roster, so that no key is dropped in silence.
    """

    roster: Sequence[Key]
    found: Sequence[Found]
    place: str
    """File and line of the whole, for what is missing."""
    moved: list[Moved] = field(default_factory=list)
    unmatched: list[Unmatched] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reads and checks every value, those without a counterpart too."""
        self._known = {key.name: key for key in self.roster}
        self._last: dict[str, Found] = {}
        self._values: dict[str, Any] = {}
        for one in self.found:
            before = self._last.get(one.key)
            if before is not None:
                self._list(before, f"given again: {one.file}:{one.line}")
            self._last[one.key] = one
        for one in self._last.values():
            key = self._known.get(one.key)
            if key is None:
                near = nearest(one.key, self._known).removeprefix("; ")
                told = f"unknown to nandlab{f' ({near})' if near else ''}"
                self._list(one, told)
                continue
            value = key.form.read(one.text)
            if value is None:
                raise refusal(one.place, f"`{plain(one.text)}`", key.form.allowed)
            self._values[one.key] = value

    def __getitem__(self, name: str) -> Any:
        """The value of a key, or its default.

        Raises:
            NandlabError: the key is missing, and has no default.
        """
        if name in self._values:
            return self._values[name]
        key = self._known[name]
        if key.default is None:
            raise refusal(self.place, f"no {name}", key.form.allowed)
        return key.form.read(key.default)

    def __contains__(self, name: str) -> bool:
        """Whether the file has the key."""
        return name in self._values

    def refuse(self, name: str, problem: str, expected: str = "", hint: str = "") -> NandlabError:
        """The error of a value that cannot be what it is."""
        one = self._last.get(name)
        where = f"{self.place}: {name}" if one is None else one.place
        said = self._known[name].default if one is None else one.text
        return refusal(where, f"`{plain(said)}` {problem}", expected, hint=hint)

    def spoken(self, name: str) -> str:
        """A key with its value, as comments name it."""
        one = self._last.get(name)
        if one is not None:
            # An empty text is what some files have for their default.
            return f"{name} = {plain(one.text)}" if one.text else f"{name}, empty"
        return f"{name}, left out there: {self._known[name].default}"

    def move(self, names: Sequence[str], becomes: str) -> None:
        """Notes what keys have become."""
        for name in names:
            one = self._last.get(name)
            if one is not None and name in self._values:
                row = Moved(one.file, one.line, name, one.text, becomes)
                if row not in self.moved:
                    self.moved.append(row)

    def unmatch(self, name: str, why: str) -> None:
        """Lists a key with the reason why it has no counterpart; it may have one in part."""
        if name in self._values:
            self._list(self._last[name], why)

    def unmatch_rest(self) -> None:
        """Lists what has become nothing, with the reasons of the roster."""
        done = {row.key for row in self.moved} | {row.key for row in self.unmatched}
        for name in self._values:
            if name not in done:
                self._list(self._last[name], self._known[name].how or "of no effect here")

    def origins(self) -> Mapping[str, Found]:
        """File and line of each key."""
        return self._last

    def _list(self, one: Found, why: str) -> None:
        self.unmatched.append(Unmatched(one.file, one.line, one.key, one.text, why))
