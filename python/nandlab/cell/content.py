"""Content of a chip: the levels that real data need, stored plain, scrambled or inverted.

Wang, Xie, Zhou (ICS'14), sections 3.2 and 4.2: data at lower levels are programmed faster and wear
less. `content` lays data over the pages of blocks, in the order in which a drive programs them,
codes them, and counts the cells at each level. A chip file with these counts (`chip.content`) runs
in a drive, whose times and wear follow from its cell.

Codings:

- ``plain``: as given.
- ``scrambled``: xor with random bits, as usual in drives: every level holds as many cells.
- ``inverted``: each segment of a page is stored inverted where that rests its cells lower. What
  pages of the wordline were programmed before is known then, what comes later is not. A flag for
  each segment says so: one bit, which needs spare space.
- ``top_free``: a code without the highest level, exact for any data, which costs capacity
  (`cell/top_free.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.catalogue import chip_text
from nandlab.cell.model import Cell, cell
from nandlab.cell.top_free import TopFree
from nandlab.display.notebook import InNotebook
from nandlab.given.arguments import as_text, path_of, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text
from nandlab.given.toml import parse_toml, toml_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.uint8]

CODINGS = ("plain", "scrambled", "inverted", "top_free")


@dataclass(frozen=True)
class Kind:
    """Wordlines whose pages need the same levels."""

    share: float
    level_shares: tuple[float, ...]


@dataclass(frozen=True)
class Content(InNotebook):
    """Levels that data need on a chip, and what follows."""

    chip: str
    coding: str
    segment_bytes: int
    wordlines: int
    kinds: tuple[Kind, ...]
    mean_v: float
    """Mean threshold voltage of all cells, fresh."""
    flag_bits: int
    """A page that has flags; 0 without segments."""
    rate: float
    """Bits of data over stored bits, flags included, of the wordlines that are full."""
    program_us: tuple[float, ...]
    """By page type, fresh; of the wordline where it is programmed in one shot."""
    erase_us: float
    cycle_weight: float
    """Wear of a cycle against one with random data."""
    text: str
    """The chip file."""

    @property
    def level_shares(self) -> tuple[float, ...]:
        """Of all wordlines."""
        rows = [[kind.share * share for share in kind.level_shares] for kind in self.kinds]
        return tuple(sum(column) for column in zip(*rows, strict=True))

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the chip file, for `--set chip.preset=FILE` or `[chip] preset` of a drive."""
        write_text(path_of("content", path), self.text)

    def __repr__(self) -> str:
        return f"<content of {self.chip}, {self.coding}: {self.mean_v:.2f} V on average>"

    def __str__(self) -> str:
        """A table for people."""
        shares = ", ".join(f"{100 * share:.1f}" for share in self.level_shares)
        rows = [
            ("coding", self.coding),
            ("wordlines", f"{self.wordlines:,}, of {len(self.kinds)} kinds"),
            ("cells by level (%)", shares),
            ("mean threshold voltage (V)", f"{self.mean_v:.3f}"),
            ("program (us)", ", ".join(f"{us:.0f}" for us in self.program_us)),
            ("erase (us)", f"{self.erase_us:.0f}"),
            ("wear of a cycle", f"{self.cycle_weight:.4f}"),
            ("flag bits of a page", f"{self.flag_bits}"),
            ("rate of the code", f"{self.rate:.4f}"),
        ]
        return "\n".join(f"{name:28} {value}" for name, value in rows)


@names_checked
def content(
    data: bytes | bytearray | memoryview,
    chip: str | PathLike[str] = "wang2014_mlc",
    *,
    coding: str = "plain",
    segment_bytes: int = 64,
    seed: int = 0,
) -> Content:
    """Counts the levels that data need on a chip.

    Args:
        data: at least the pages of one wordline; what does not fill a block's wordline is left out.
        chip: a chip with a cell, preset or file.
        coding: ``plain``, ``scrambled``, ``inverted`` or ``top_free``.
        segment_bytes: of ``inverted`` and ``top_free``: bytes of a page with a flag of their own.
        seed: of ``scrambled``.

    Raises:
        NandlabError: no such chip, one without a cell, too little data, or another coding.
    """
    import numpy as np

    if as_text("content: coding", coding, ", ".join(CODINGS)) not in CODINGS:
        raise refusal("content", f"coding = {coding!r}", CODINGS, given=coding)
    text, place = chip_text(chip)
    tables = parse_toml(text, place)
    geometry = tables["geometry"]
    page_bytes = int(geometry["page_bytes"])
    segment = whole("content: segment_bytes", segment_bytes, 1, page_bytes)
    if page_bytes % segment:
        raise refusal(
            "content", f"segment_bytes = {segment}: not whole in {page_bytes}", "a divisor of it"
        )
    name = str(chip)
    of = cell(name if name.endswith(".toml") else f"chip/{name}")
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise refusal("content", f"data of type {type(data).__name__}", "bytes")
    flat = np.frombuffer(data, dtype=np.uint8)
    pages = len(flat) // page_bytes
    rows = flat[: pages * page_bytes].reshape(pages, page_bytes)
    if coding == "scrambled":
        rows = rows ^ np.random.default_rng(seed).integers(0, 256, rows.shape, dtype=np.uint8)
    sites = _core.page_sites(of.page_order, of.cell_bits, int(geometry["pages_per_block"]))
    flag_bits = page_bytes // segment if coding in ("inverted", "top_free") else 0
    stored = np.unpackbits(rows, axis=1)
    rate = 8 * page_bytes / (8 * page_bytes + flag_bits)
    if coding == "top_free":
        stored, rate = _without_top(np.unpackbits(flat), of, sites, 8 * page_bytes, 8 * segment)
    counts = []
    for lines in _wordlines(len(stored), sites, of.cell_bits):
        counts.append(_counts(stored[lines], of, 8 * segment if coding == "inverted" else 0))
    if not counts:
        raise refusal(
            "content",
            f"{len(flat):,} bytes fill no wordline",
            "the pages of a wordline in the order of a block, such as those of a whole block",
        )
    kinds = _kinds(np.array(counts, dtype=float))
    volts = np.array([level.mean_v for level in of.levels()])
    shares = np.array([[k.share * s for s in k.level_shares] for k in kinds]).sum(axis=0)
    whole_text = _with_content(text, kinds, f"{coding} data")
    given = [(kind.share, list(kind.level_shares)) for kind in kinds]
    program_us, erase_us, wear = of.native.content(given, page_bytes)
    return Content(
        chip=name,
        coding=coding,
        segment_bytes=segment,
        wordlines=len(counts),
        kinds=tuple(kinds),
        mean_v=float(shares @ volts),
        flag_bits=flag_bits,
        rate=rate,
        program_us=tuple(program_us),
        erase_us=erase_us,
        cycle_weight=wear,
        text=whole_text,
    )


def _wordlines(pages: int, sites: list[tuple[int, int, int]], bits: int) -> list[list[int]]:
    """Pages of data on each wordline that they fill, the lower page first."""
    found = []
    for first in range(0, pages, len(sites)):
        lines: dict[tuple[int, int], list[int]] = {}
        for page, (wordline, parity, page_type) in enumerate(sites):
            if first + page < pages:
                lines.setdefault((wordline, parity), [-1] * bits)[page_type] = first + page
        found += [line for line in lines.values() if min(line) >= 0]
    return found


def _without_top(
    data: Bits, of: Cell, sites: list[tuple[int, int, int]], cells: int, segment_bits: int
) -> tuple[Bits, float]:
    """Pages that `data` fill without the highest level, and the rate of the code."""
    import numpy as np

    if of.cell_bits < 2:
        raise refusal(
            "content", "top_free: a cell of one bit has two levels", "a chip of two bits or more"
        )
    rows: list[Bits] = []
    bits_of: list[tuple[int, int]] = []
    taken = 0
    while True:
        at = len(rows) % len(sites)
        if at == 0:
            block = TopFree(of.native.words(), of.cell_bits, segment_bits)
        row, flags, used = block.encode(sites[at], cells, data[taken:])
        if not len(row):
            break
        rows.append(row)
        bits_of.append((used, cells + len(flags)))
        taken += used
    lines = _wordlines(len(rows), sites, of.cell_bits)
    whole_lines = [bits_of[page] for line in lines for page in line]
    data_bits, stored_bits = np.sum(whole_lines, axis=0) if lines else (0, 1)
    return np.array(rows, dtype=np.uint8).reshape(-1, cells), float(data_bits / stored_bits)


def _counts(bits: Bits, of: Cell, segment_bits: int) -> list[int]:
    """Cells of a wordline at each level; `bits` has a row for each page."""
    import numpy as np

    level_of = {word: level for level, word in enumerate(of.native.words())}
    volts = np.array([level.mean_v for level in of.levels()])
    word = np.zeros(bits.shape[1], dtype=np.int64)
    for page, row in enumerate(bits):
        if segment_bits:
            # Mean voltage of the levels that a cell may still become, by the bits known so far.
            known = 2 << page
            rest = np.array(
                [
                    np.mean([volts[level_of[w]] for w in level_of if w % known == part])
                    for part in range(known)
                ]
            )
            plain = rest[word | row.astype(np.int64) << page]
            other = rest[word | (1 - row.astype(np.int64)) << page]
            gain = (plain - other).reshape(-1, segment_bits).sum(axis=1)
            row = row ^ np.repeat((gain > 0).astype(np.uint8), segment_bits)
        word |= row.astype(np.int64) << page
    counted = np.bincount(word, minlength=len(level_of))
    return [int(counted[w]) for w in of.native.words()]


def _kinds(counts: NDArray[np.float64]) -> list[Kind]:
    """Wordlines that need the same levels, together."""
    import numpy as np

    cells = counts.sum(axis=1, keepdims=True)
    _, kind_of = np.unique(counts > 0, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    kinds = []
    for kind in range(kind_of.max() + 1):
        own = (counts / cells)[kind_of == kind]
        kinds.append(Kind(len(own) / len(counts), tuple(float(s) for s in own.mean(axis=0))))
    return kinds


def _with_content(text: str, kinds: list[Kind], what: str) -> str:
    """A chip's text with the content, in front of its first table."""
    if "content" in parse_toml(text, "chip"):
        raise refusal("content", "the chip has content", hint="give the chip without it")
    tables = [{"share": kind.share, "level_shares": list(kind.level_shares)} for kind in kinds]
    lines = ["content = [", *(f"  {_inline(table)}, # measured: {what}" for table in tables), "]"]
    head, table, rest = re.split(r"(^(?:#[^\n]*\n)*\[)", text, maxsplit=1, flags=re.M)
    return head + "\n".join(lines) + "\n\n" + table + rest


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {toml_value(value)}" for key, value in table.items()) + " }"
