"""Forms of values in files of other simulators: how each is read, and what it may be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Form(Protocol):
    """Form of the values of a key: reads them, and names what is allowed."""

    def read(self, text: str) -> Any:
        """Value of a text; None where the form does not allow the text."""

    @property
    def allowed(self) -> str:
        """Allowed values in words, for messages and tables."""


@dataclass(frozen=True)
class Whole:
    """A whole number in a range."""

    least: int = 0
    most: int = 2**63 - 1

    def read(self, text: str) -> int | None:
        """The number."""
        # No number has more digits than fit, and Python refuses to read very many.
        if not re.fullmatch(r"[+-]?\d{1,25}", text, re.ASCII):
            return None
        value = int(text)
        return value if self.least <= value <= self.most else None

    @property
    def allowed(self) -> str:
        """Its range."""
        if self.most == 2**63 - 1:
            return f"a whole number from {self.least}"
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class Real:
    """A number in a range."""

    least: float = 0.0
    most: float = math.inf
    is_open: bool = False
    """The lower end is not in the range, nor is a finite upper one."""

    def read(self, text: str) -> float | None:
        """The number."""
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?f?", text, re.ASCII):
            return None
        value = float(text.rstrip("f"))
        if self.is_open:
            return value if self.least < value < self.most else None
        return value if self.least <= value <= self.most and value < math.inf else None

    @property
    def allowed(self) -> str:
        """Its range."""
        below = "above" if self.is_open else "from"
        if self.most == math.inf:
            return f"a number {below} {self.least:g}"
        return (
            f"a number {below} {self.least:g} {'and below' if self.is_open else 'to'} {self.most:g}"
        )


@dataclass(frozen=True)
class Choice:
    """One of several words, in either case."""

    words: tuple[str, ...]

    def read(self, text: str) -> str | None:
        """The word, in the case in which it is listed."""
        return next((word for word in self.words if word.lower() == text.lower()), None)

    @property
    def allowed(self) -> str:
        """The words."""
        return ", ".join(self.words)


class Numbered:
    """One of several meanings, by number."""

    def __init__(self, meanings: Mapping[int, str]) -> None:
        """Takes the meaning of each number."""
        self.meanings = dict(meanings)

    def read(self, text: str) -> str | None:
        """The meaning."""
        number = Whole().read(text)
        return None if number is None else self.meanings.get(number)

    @property
    def allowed(self) -> str:
        """The numbers with their meanings."""
        return ", ".join(f"{number} ({meaning})" for number, meaning in self.meanings.items())


@dataclass(frozen=True)
class Flag:
    """A truth value."""

    words: tuple[tuple[str, ...], tuple[str, ...]] = (("false",), ("true",))
    """Those of no and of yes; the first of each is listed."""

    def read(self, text: str) -> bool | None:
        """Truth value of a word; None of any other word."""
        no, yes = self.words
        word = text.lower()
        return True if word in yes else False if word in no else None

    @property
    def allowed(self) -> str:
        """The words."""
        return " or ".join(words[0] for words in self.words)


@dataclass(frozen=True)
class Text:
    """Any text."""

    def read(self, text: str) -> str | None:
        """The text itself."""
        return text

    @property
    def allowed(self) -> str:
        """No limits."""
        return "text"


@dataclass(frozen=True)
class Numbers:
    """A list of whole numbers, separated by commas."""

    def read(self, text: str) -> list[int] | None:
        """The numbers, each once, in their order."""
        found = [Whole(0, 65535).read(each.strip()) for each in text.split(",")]
        numbers = sorted({each for each in found if each is not None})
        return None if None in found else numbers

    @property
    def allowed(self) -> str:
        """Allowed lists in words."""
        return "whole numbers from 0 to 65535, separated by commas"
