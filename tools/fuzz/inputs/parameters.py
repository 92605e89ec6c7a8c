"""Parameter files: presets of every kind with other numbers, words and lines."""

from __future__ import annotations

import re

from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice
from nandlab import catalogue

#: Kinds of recovery after a power cut.
RECOVERIES = ("scan_pages", "scan_blocks", "checkpoint", "journal")

#: Names of the presets by kind.
PRESETS: dict[str, tuple[str, ...]] = {
    kind: tuple(preset.name for preset in catalogue.presets(kind))
    for kind in ("cell", "chip", "code", "drive", "host")
}

_VALUE = re.compile(r"(?<==)(\s*)(-?[\d.]+(?:e[-+]?\d+)?)(?=\s*(?:#|$))", re.M)


def text(dice: Dice, kind: str, name: str | None = None) -> bytes:
    """The text of a preset, changed in some draws."""
    chosen = catalogue.show(f"{kind}/{name or dice.one(PRESETS[kind])}")
    if dice.spoils(0.5):
        return damaged(chosen.encode(), dice)
    return _other_numbers(dice, chosen).encode("utf-8", "replace")


def _other_numbers(dice: Dice, chosen: str) -> str:
    """The text with other numbers, near the old ones or odd."""
    wild = dice.one((0.0, 0.1, 0.5)) if dice.is_wild else 0.0
    share = dice.one((0.0, 0.05, 0.3))

    def other(found: re.Match[str]) -> str:
        # Another number of bits asks for another cell.
        is_shape = chosen[: found.start()].endswith("cell_bits =")
        if not dice.chance(share) or (is_shape and not dice.is_wild):
            return found[0]
        if dice.chance(wild):
            return found[1] + dice.odd_number()
        number = float(found[2])
        is_whole = number == int(number) and "." not in found[2] and "e" not in found[2]
        return found[1] + repr(dice.near(int(number) if is_whole else number))

    return _VALUE.sub(other, chosen)


def chip(dice: Dice) -> bytes:
    """A chip that has a cell: what a test board and `cell` take."""
    if dice.chance(0.6):
        return text(dice, "chip", dice.one(("tlc_3d", "qlc_3d", "wang2014_mlc", "tlc_planar")))
    return text(dice, "chip")


def matrix(dice: Dice) -> tuple[str, bytes]:
    """Parity checks for `code import`: a name and a base matrix or an alist file."""
    rows, z = dice.randint(1, 4), dice.one((1, 4, 8, 16, 64))
    columns = rows + dice.randint(0, 8)
    if dice.chance(0.6):
        lines = [f"{columns} {rows} {z}" if dice.chance(0.7) else str(z)]
        for row in range(rows):
            shifts = ["-" if dice.chance(0.2) else str(dice.randrange(z)) for _ in range(columns)]
            # Parity columns have an inverse where they are a staircase.
            for column in range(rows):
                stairs = "0" if column in (row, row - 1) else "-"
                shifts[columns - rows + column] = stairs if dice.chance(0.95) else shifts[column]
            lines.append(" ".join(shifts))
        data = "\n".join(lines).encode() + b"\n"
        return "m.base", damaged(data, dice) if dice.spoils(0.7) else data
    checks = [sorted(dice.sample(range(columns), dice.randint(1, columns))) for _ in range(rows)]
    bits = [[r + 1 for r in range(rows) if c in checks[r]] for c in range(columns)]
    lists = [*bits, *([c + 1 for c in check] for check in checks)]
    lines = [
        f"{columns} {rows}",
        f"{max(map(len, bits))} {max(map(len, checks))}",
        " ".join(str(len(one)) for one in bits),
        " ".join(str(len(one)) for one in checks),
        *(" ".join(map(str, one)) for one in lists),
    ]
    data = "\n".join(lines).encode() + b"\n"
    return "m.alist", damaged(data, dice) if dice.spoils(0.7) else data
