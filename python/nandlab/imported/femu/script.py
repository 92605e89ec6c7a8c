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
_PART = re.compile(
    r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s'"\\;|&]|\\.)+)""", re.S
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DEVICE = re.compile(r"(?:^|\s)--?device[\s=]+femu(?:,|\s|$)")
_MOST_CHARACTERS = 1 << 16
"""Characters of a variable: one that doubles in each line would have no end."""


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
    name = Path(path).name
    variables: dict[str, list[_Part]] = {}
    for number, line in _commands(input_text(path, EXPECTED)):
        given = _ASSIGNMENT.match(line)
        if given:
            parts = _expanded(given[2], number, variables)
            if sum(len(part.text) for part in parts) > _MOST_CHARACTERS:
                raise refusal(f"{name}:{number}", f"{given[1]} grows without end", EXPECTED)
            variables[given[1]] = parts
            # Options that have no word of their own yet: FEMU_OPTIONS="-device femu,...".
            continue
        found = _device(_joined(_words(line, number, variables)), name)
        if found is not None:
            return found, number
    # The options may stand in a variable that no command takes.
    for parts in variables.values():
        found = _device(parts, name)
        if found is not None:
            return found, parts[0].line
    plain = [
        Found(key, "".join(part.text for part in parts), name, parts[0].line if parts else 1)
        for key, parts in variables.items()
        if key in plain_names
    ]
    if not plain:
        raise refusal(name, "no `-device femu`, and no parameters of FEMU", EXPECTED)
    return plain, plain[0].line


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a script with their numbers; those that go on in the next line are joined."""
    begin, held = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not held:
            begin = number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield begin, held + line
        held = ""
    if held:
        yield begin, held


def _expanded(text: str, line: int, variables: dict[str, list[_Part]]) -> list[_Part]:
    """The first word of a text, its variables replaced."""
    parts: list[_Part] = []
    at = 0
    while found := _PART.match(text, at):
        at = found.end()
        if found["raw"] is not None:
            parts.append(_Part(found["raw"], line))
            continue
        inner = found["quoted"] if found["quoted"] is not None else found["bare"]
        if found["bare"] is not None and inner.startswith("#") and not parts:
            break
        parts += _replaced(re.sub(r"\\(.)", r"\1", inner), line, variables)
    return [part for part in parts if part.text]


def _replaced(text: str, line: int, variables: dict[str, list[_Part]]) -> list[_Part]:
    """A text with its variables replaced; unknown ones stay as they are."""
    parts: list[_Part] = []
    at = 0
    for found in _VARIABLE.finditer(text):
        parts.append(_Part(text[at : found.start()], line))
        known = variables.get(found[1] or found[2])
        parts += known if known is not None else [_Part(found[0], line)]
        at = found.end()
    parts.append(_Part(text[at:], line))
    return parts


def _words(text: str, line: int, variables: dict[str, list[_Part]]) -> Iterator[list[_Part]]:
    """The words of a command, up to a comment."""
    for word in re.finditer(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+""", text, re.S):
        if word[0].startswith("#"):
            return
        yield _expanded(word[0], line, variables)


def _joined(words: Iterator[list[_Part]]) -> list[_Part]:
    parts: list[_Part] = []
    for word in words:
        parts += [*word, _Part(" ", word[0].line if word else 0)]
    return parts


def _device(parts: list[_Part], name: str) -> list[Found] | None:
    """The options of the device in a command, or None where it has no such device."""
    text = "".join(part.text for part in parts)
    device = _DEVICE.search(text)
    if device is None:
        return None
    begin = text.index("femu", device.start()) + len("femu")
    end = re.search(r"\s|$", text[begin:])
    stop = begin + (end.start() if end else 0)
    lines: list[int] = []
    for part in parts:
        lines += [part.line] * len(part.text)
    found, at = [], begin
    for option in text[begin:stop].split(","):
        key, is_given, value = option.partition("=")
        # The line of the value; that of the option where it has none.
        where = at + len(key) + 1 if value else at
        if key:
            line = lines[min(where, len(lines) - 1)]
            found.append(Found(key, value if is_given else "on", name, line))
        at += len(option) + 1
    return found
