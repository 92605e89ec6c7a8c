"""Dice: random choices of a case, the same for the same seed on every machine."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

_WILD = 0.35
"""Share of cases in which anything may be odd or damaged. The others are mostly accepted, and so
reach what lies behind the checks of inputs."""

#: Numbers at the ends of types and beyond them, and what looks like a number.
ODD_NUMBERS = (
    *("0", "-0", "1", "-1", "2", "3", "7", "255", "256", "4095", "65535", "65536"),
    *("2147483647", "2147483648", "4294967295", "4294967296", "9007199254740993"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808"),
    *("0.0", "-0.0", "0.5", "1.0", "1.5", "-1.5", "1e-9", "1e-30", "1e-308", "5e-324", "1e-400"),
    *("1e6", "1e9", "1e12", "1e18", "1e30", "1e300", "1.7976931348623157e308", "1e309"),
    *("inf", "-inf", "nan", "NaN", "1_000", "0x10", "1e", "--1", "1,5", "1" + "0" * 400),
)

#: Text that breaks what reads it carelessly.
ODD_TEXTS = (
    *("", " ", "-", "--", ".", "..", "/", "=", "a=b", "[", "]", "{}", "#", "'", '"', '"""', "`"),
    *("\n", "\r\n", "\t", "\x1b[31m", "\x07", "\u202e", "\ufeff", "é", "µ", "猫", "😀", "\udcff"),
    *("true", "false", "none", "null", "[]", "[1]", "{a=1}", "1979-05-27", "NONE", "all"),
    *("/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "nofile.toml", "~", "a" * 5000),
    *("%s", "$(id)", "${HOME}", "a,b", ",", ";", ":", "1:2:3", "1:0:1", "0:1:0", "0:1:1e-9"),
)


class Dice(random.Random):
    """Random choices, seeded by text."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.is_wild = self.random() < _WILD

    def chance(self, share: float) -> bool:
        """True in this share of draws."""
        return self.random() < share

    def spoils(self, share: float) -> bool:
        """True in this share of the draws of a wild case, and in no other case."""
        return self.chance(share) and self.is_wild

    def one(self, of: Sequence[T]) -> T:
        """One of several."""
        return of[self.randrange(len(of))]

    def some(self, of: Sequence[T], most: int) -> list[T]:
        """Up to `most` different ones, in any order."""
        return self.sample(of, min(len(of), self.randint(0, most)))

    def weighted(self, of: Mapping[T, float]) -> T:
        """One of several, by weight."""
        return self.choices(list(of), list(of.values()))[0]

    def odd_number(self) -> str:
        """A number that few would write, as text."""
        return self.one(ODD_NUMBERS)

    def odd(self) -> str:
        """Text that few would write."""
        kind = self.random()
        if kind < 0.5:
            return self.odd_number()
        if kind < 0.9:
            return self.one(ODD_TEXTS)
        return "".join(chr(self.randrange(1, 0x2FF)) for _ in range(self.randint(1, 12)))

    def near(self, value: float) -> float:
        """A number of the size of `value`; a whole one stays whole."""
        factor = self.one((0.5, 0.9, 1.0, 1.1, 2.0, 4.0))
        if self.is_wild:
            factor *= self.one((0.0, 0.01, 1.0, 1.0, 100.0))
        if isinstance(value, int):
            return max(0, int(value * factor) + self.one((-1, 0, 0, 0, 1)))
        return value * factor if value else self.one((0.0, 1.0, 10.0, 0.01))
