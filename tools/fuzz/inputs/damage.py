"""Damage: mutations of the bytes and lines of a file."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzz.inputs.dice import Dice

_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]\w+")
_MOST_TOKENS = 2_000_000
"""Bytes of a file whose numbers and words are looked for."""


def damaged(data: bytes, dice: Dice) -> bytes:
    """The file with one to four mutations."""
    for _ in range(dice.one((1, 1, 1, 2, 4))):
        data = dice.one(MUTATIONS)(data, dice)
    return data


def _flipped(data: bytes, dice: Dice) -> bytes:
    """Some bits are other ones."""
    changed = bytearray(data)
    for _ in range(dice.one((1, 1, 2, 8, 64))):
        if changed:
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _cut(data: bytes, dice: Dice) -> bytes:
    """The end is missing."""
    return data[: dice.randint(0, len(data))]


def _behind(data: bytes, dice: Dice) -> bytes:
    """Something stands behind the end."""
    return data + dice.one((b"\0", b"\n\n", data[: dice.randint(0, 200)], b"\xff" * 9, b"x"))


def _hole(data: bytes, dice: Dice) -> bytes:
    """Bytes are missing in the middle."""
    start = dice.randint(0, len(data))
    return data[:start] + data[start + dice.one((1, 2, 8, 100, 4096)) :]


def _blot(data: bytes, dice: Dice) -> bytes:
    """Bytes are overwritten by noise, zeros or ones."""
    length = dice.one((1, 4, 8, 64, 512))
    start = dice.randint(0, len(data))
    ink = dice.one((b"\0", b"\xff", b"\n", b" ", b"9"))
    blot = dice.randbytes(length) if dice.chance(0.4) else ink * length
    return data[:start] + blot + data[start + length :]


def _insertion(data: bytes, dice: Dice) -> bytes:
    """Something stands between."""
    start = dice.randint(0, len(data))
    text = dice.odd().encode("utf-8", "surrogateescape" if dice.chance(0.5) else "replace")
    return data[:start] + text + data[start:]


def _token(pattern: re.Pattern[bytes]) -> Callable[[bytes, Dice], bytes]:
    def mutated(data: bytes, dice: Dice) -> bytes:
        """A number or a word is another one."""
        found = list(pattern.finditer(data, 0, _MOST_TOKENS))
        if not found:
            return _flipped(data, dice)
        at = dice.one(found)
        other = dice.one(found)[0] if dice.chance(0.2) else b""
        text = other or (dice.odd_number() if dice.chance(0.8) else dice.odd()).encode(
            "utf-8", "replace"
        )
        return data[: at.start()] + text + data[at.end() :]

    return mutated


def _lines(data: bytes, dice: Dice) -> bytes:
    """A line is missing, doubled, moved, joined to the next, or very long."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return b"\n"
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    how = dice.randrange(6)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(other, lines[at])
    elif how == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 3:
        lines[at] = lines[at].rstrip(b"\r\n")
    elif how == 4:
        lines[at] = lines[at] * dice.one((3, 50, 3000))
    else:
        lines[at] = lines[at].rstrip(b"\r\n") + dice.one((b"\r\n", b"\r", b"\0\n", b" \n", b",\n"))
    return b"".join(lines)


def _coded(data: bytes, dice: Dice) -> bytes:
    """Text in another encoding, or with a mark at its start."""
    text = data.decode("utf-8", "replace")
    return dice.one(
        (
            b"\xef\xbb\xbf" + data,
            text.encode("utf-16"),
            data.replace(b"\n", b"\r\n"),
            data.replace(b"\n", b"\r"),
            b"",
        )
    )


#: Every mutation; those of tokens and lines twice, because what they leave is nearly right.
MUTATIONS: tuple[Callable[[bytes, Dice], bytes], ...] = (
    _flipped,
    _cut,
    _behind,
    _hole,
    _blot,
    _insertion,
    _token(_NUMBER),
    _token(_NUMBER),
    _token(_WORD),
    _lines,
    _lines,
    _coded,
)
