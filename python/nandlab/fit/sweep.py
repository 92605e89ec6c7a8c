"""Reference sweep of the test board as a histogram to fit: docs/formats/board.md, fit.md.

`vth_sweep` counts, by level, the cells that one read has below its reference and the read before
had not. Sensing is noisy: a cell near the reference may go back, so a step may hold fewer cells
than none. Such a step is joined with the next ones until they hold none or more: their sum is what
the reads at their ends have seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nandlab._core import NandlabError
from nandlab.cell.model import cell
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

NEEDED = ("shift_v", "level", "cells_found")

UNEVEN = 1e-6
"""Of a step: more is no rounding."""


class Sweep(NamedTuple):
    """Bins between reads, with the cells of all levels."""

    edges_v: Column
    cells: Column
    levels: int
    """Of the chip's cells."""
    joined: int
    """Steps of the sweep without a separate bin."""
    origin: str
    """What the voltages count from, for people."""


def is_sweep(columns: Mapping[str, Sequence[object]]) -> bool:
    """Whether a board wrote them when it moved a reference: it stamps every row with the run."""
    return "run_hash" in columns and all(name in columns for name in NEEDED)


def summed(name: str, shift_v: Column, level: Column, found: Column, zero_v: float | None) -> Sweep:
    """The histogram of a sweep.

    Args:
        name: what messages call the data.
        shift_v: middle of a step, in volts above the reference that was moved; of each row.
        level: of the cells that were counted; of each row.
        found: how many more of them lie below the end of the step than below its beginning.
        zero_v: voltage of that reference; None where nobody knows it.

    Raises:
        NandlabError: steps that are missing, or without a row for each level.
    """
    import numpy as np

    steps_v, step, rows = np.unique(shift_v, return_inverse=True, return_counts=True)
    levels = len(np.unique(level))
    if (rows % levels).any():
        i = int(np.argmax(rows % levels > 0))
        raise refusal(
            name,
            f"shift_v = {steps_v[i]:g} has {rows[i]} rows",
            f"one for each of the {levels} levels",
        )
    wide = np.diff(steps_v)
    if not len(wide) or np.ptp(wide) > UNEVEN + UNEVEN * wide.min():
        raise refusal(
            name,
            "shift_v does not rise in even steps",
            "all rows of a sweep with at least two steps",
        )
    half = float(wide.mean()) / 2
    ends_v = np.append(steps_v - half, steps_v[-1] + half) + (zero_v or 0.0)
    edges, cells = [float(ends_v[0])], [0.0]
    for count, end in zip(np.bincount(step, found), ends_v[1:], strict=True):
        # The bin that is open takes what is found until it holds none or more.
        cells[-1] += float(count)
        if cells[-1] >= 0:
            edges.append(float(end))
            cells.append(0.0)
    left = cells.pop()
    while left < 0 and cells:
        left += cells.pop()
        edges.pop()
        if left >= 0:
            edges.append(float(ends_v[-1]))
            cells.append(left)
    origin = (
        "voltages are relative to the moved reference; reference_v gives its voltage"
        if zero_v is None
        else f"the moved reference is at {zero_v:.4g} V"
    )
    joined = len(steps_v) - len(cells)
    return Sweep(np.array(edges), np.array(cells), levels, joined, origin)


def moved_reference_v(facts: Mapping[bytes, bytes]) -> float | None:
    """Where the lowest reference of the lower page is, of the chip that a Parquet file names.

    None if the file does not name it, or its chip does not exist.
    """
    if b"chip" not in facts:
        return None
    sets = json.loads(facts.get(b"set", b"[]"))
    own = [text for text in sets if text.startswith("chip.cell")]
    try:
        return min(cell(facts[b"chip"].decode(), set=own).pages[0].references_v)
    except NandlabError:
        return None
