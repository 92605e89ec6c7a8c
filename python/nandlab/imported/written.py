"""Files that an import writes: keys with comments, and a head that lists what is lost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nandlab.given.refusal import plain
from nandlab.given.toml import toml_value
from nandlab.imported.given import Given
from nandlab.imported.result import Unmatched

_WIDTH = 98


@dataclass
class Line:
    """A key of a drive file with its value and the words behind it."""

    path: str
    value: object
    comment: str
    names: Sequence[str]
    """Keys of the other simulator from which it comes."""


@dataclass
class DriveFile:
    """A drive file under construction; sections stand in the order of their first key."""

    given: Given
    lines: dict[str, Line] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def put(self, path: str, value: object, *names: str, how: str = "") -> None:
        """Sets a key.

        Args:
            path: of the key.
            value: of it.
            names: keys of the other simulator that it comes from.
            how: what else is to be said of it; without names, where it comes from.
        """
        self.given.move(names, path)
        told = [self.given.spoken(name) for name in names] + ([how] if how else [])
        self.lines[path] = Line(path, value, "; ".join(told), names)

    def text(self, head: Sequence[str], unmatched: Sequence[Unmatched]) -> str:
        """The whole file.

        Args:
            head: its first lines.
            unmatched: keys without a counterpart.
        """
        lines = [*commented(head), *listed(unmatched, self.notes)]
        by_section: dict[str, list[Line]] = {}
        for line in self.lines.values():
            section, _, key = line.path.partition(".")
            by_section.setdefault(section if key else "", []).append(line)
        # Keys outside of sections stand before the first one.
        for section in sorted(by_section, key=bool):
            lines += ["", f"[{section}]"] if section else [""]
            lines += [written(line, section) for line in by_section[section]]
        return "\n".join(lines) + "\n"


def written(line: Line, section: str) -> str:
    """A line of a drive file."""
    key = line.path.removeprefix(f"{section}.") if section else line.path
    text = f"{key} = {toml_value(line.value)}"
    return f"{text:<32}  # {line.comment}" if line.comment else text


def commented(paragraphs: Sequence[str], indent: str = "") -> Iterator[str]:
    """Paragraphs as lines of a comment; what is shown of inputs in them is plain already."""
    for paragraph in paragraphs:
        yield from textwrap.wrap(
            paragraph,
            _WIDTH,
            initial_indent=f"# {indent}",
            subsequent_indent=f"# {indent}  " if indent else "# ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def listed(unmatched: Sequence[Unmatched], notes: Sequence[str]) -> Iterator[str]:
    """Lines of a comment on all that is lost or different."""
    if notes:
        yield from ("#", "# What is different here:")
        yield from commented(notes, "  ")
    if unmatched:
        yield from ("#", "# Without a counterpart:")
        yield from commented(list(told(unmatched)), "  ")


def told(unmatched: Sequence[Unmatched]) -> Iterator[str]:
    """Keys without a counterpart, in a line each; those with one reason together."""
    by_reason: dict[tuple[str, str], list[Unmatched]] = {}
    for row in unmatched:
        by_reason.setdefault((row.file, row.why), []).append(row)
    for (file, why), rows in by_reason.items():
        if len(rows) == 1:
            row = rows[0]
            yield f"{plain(file)}:{row.line}: {plain(row.key)} = {plain(row.value)}: {why}"
            continue
        keys = ", ".join(f"{plain(row.key)} = {plain(row.value)} (line {row.line})" for row in rows)
        yield f"{plain(file)}: {keys}: {why}"
