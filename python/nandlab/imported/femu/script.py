"""Options of FEMU's device in a shell script: variables, and the words that they are put into.

Only assignments and words with variables are understood. Nothing is executed: `$(...)` and
conditions stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal
from nandlab.imported.given import Found

EXPECTED = "a script such as run-blackbox.sh, or a text with `-device femu,...`"

_ASSIGNMENT = re.compile(r"\s*(?:export\s+|readonly\s+|local\s+)?([A-Za-z_]\w*)=(.*)$", re.S)
_WORD = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+""", re.S)
_PIECE = re.compile(
    r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s'"\\;|&]|\\.)+)""", re.S
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DEVICE = re.compile(r"(?:^|\s)--?device[\s=]+femu(?:,|\s|$)")
_MOST_CHARACTERS = 1 << 16
"""Characters of an expanded line: variables that double in each line would have no end."""


class _Part(NamedTuple):
    """A piece of text with the line in which it was written."""

    text: str
    line: int


def options(path: str | PathLike[str], plain_names: frozenset[str]) -> tuple[list[Found], int]:
    """The options of the device, each with the line of its value, and the line of the device.

    Args:
        path: of the script.
        plain_names: options that may also be variables of this name, where there is no device.

    Raises:
        NandlabError: it cannot be read, or has neither the device nor such variables.
    """
    script = _Script(Path(path).name)
    for number, line in _commands(input_text(path, EXPECTED)):
        script.line = number
        if given := _ASSIGNMENT.match(line):
            script.variables[given[1]] = script.expanded(given[2])
            continue
        found = script.device(script.words(line))
        if found is not None:
            return found, number
    # The options may stand in a variable that no command takes.
    for parts in script.variables.values():
        found = script.device(parts)
        if found is not None:
            return found, parts[0].line
    found = [
        Found(key, "".join(part.text for part in parts), script.name, parts[0].line)
        for key, parts in script.variables.items()
        if key in plain_names and parts
    ]
    if not found:
        raise refusal(script.name, "no `-device femu`, and no parameters of FEMU", EXPECTED)
    return found, found[0].line


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a script with their numbers; those that go on in the next line are joined."""
    begin, held = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not held:
            begin = number
        if line.endswith("\\"):
            held.append(line[:-1])
            continue
        yield begin, " ".join([*held, line])
        held = []
    if held:
        yield begin, " ".join(held)


class _Script:
    """A script while it is read: the values of its variables so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.line = 0
        self.variables: dict[str, list[_Part]] = {}
        self._characters = 0

    def words(self, text: str) -> list[_Part]:
        """A command up to its comment, with blanks between its words."""
        self._characters = 0
        parts: list[_Part] = []
        for word in _WORD.finditer(text):
            if word[0].startswith("#"):
                break
            parts += [*self._word(word[0]), _Part(" ", self.line)]
        return parts

    def expanded(self, text: str) -> list[_Part]:
        """The first word of a text, its variables replaced."""
        self._characters = 0
        return self._word(text)

    def _word(self, text: str) -> list[_Part]:
        parts: list[_Part] = []
        at = 0
        while found := _PIECE.match(text, at):
            at = found.end()
            if found["raw"] is not None:
                parts.append(_Part(found["raw"], self.line))
                continue
            inner = found["bare"] if found["bare"] is not None else found["quoted"]
            if inner.startswith("#") and found["bare"] is not None and not parts:
                break
            parts += self._replaced(re.sub(r"\\(.)", r"\1", inner))
        return [part for part in parts if part.text]

    def _replaced(self, text: str) -> Iterator[_Part]:
        """A text with its variables replaced; unknown ones stay as they are."""
        at = 0
        for found in _VARIABLE.finditer(text):
            yield self._counted(_Part(text[at : found.start()], self.line))
            known = self.variables.get(found[1] or found[2])
            for part in known if known is not None else [_Part(found[0], self.line)]:
                yield self._counted(part)
            at = found.end()
        yield self._counted(_Part(text[at:], self.line))

    def _counted(self, part: _Part) -> _Part:
        # Each part counts, an empty one too.
        self._characters += len(part.text) + 1
        if self._characters > _MOST_CHARACTERS:
            problem = f"more than {_MOST_CHARACTERS} characters with its variables"
            raise refusal(f"{self.name}:{self.line}", problem, EXPECTED)
        return part

    def device(self, parts: list[_Part]) -> list[Found] | None:
        """The options of the device in a command, or None where it has no such device."""
        text = "".join(part.text for part in parts)
        device = _DEVICE.search(text)
        if device is None:
            return None
        begin = text.index("femu", device.start()) + len("femu")
        stop = next((at for at in range(begin, len(text)) if text[at].isspace()), len(text))
        lines = [part.line for part in parts for _ in part.text]
        found, at = [], begin
        for option in text[begin:stop].split(","):
            key, is_given, value = option.partition("=")
            # The line of the value; that of the option where it has none.
            where = at + len(key) + 1 if value else at
            if key:
                found.append(Found(key, value if is_given else "on", self.name, lines[where]))
            at += len(option) + 1
        return found
