"""Retry table of a cell: shifts of all its references that correct most codewords over a life.

A drive reads a page that its code cannot decode again, with all references moved by each shift of
``retry.shifts_v`` in turn, and keeps the best of these reads. The table is looked for on the error
rates of the cell itself, at ages that fill the life evenly, each as likely as the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.cell.model import MOST_READS, Cell
from nandlab.ecc.pages import deviates, failures_of
from nandlab.ecc.uber import Ecc, T
from nandlab.given.arguments import number, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

MOST_SHIFTS = 16

STEP_V = 0.005
"""Distance of the shifts that are tried."""

AGES = 8
"""Counts of cycles, in even steps, and ages of data, at once and in even factors."""

FACTOR = 1000.0
"""Longest retention over the shortest that is not at once."""

BEYOND = 1.25
"""Farthest shift that is tried, over the farthest best reference."""

MOST_TRIED = 120
"""Shifts that are tried at most: with more volts their distance is larger."""


class Age(NamedTuple):
    """Reads of one age: means over the pages of a wordline."""

    pe_cycles: int
    retention_hours: float
    """At the reference temperature of the cell."""
    retries: float
    """Further reads of a codeword."""
    failed_before: float
    """Share of codewords that the first read does not correct."""
    failed: float
    """Share of codewords that no read corrects."""


class RetryTable(NamedTuple):
    """Shifts in the order in which they are tried, and what they do at each age."""

    cell: str
    shifts_v: list[float]
    asked: int
    """Shifts that were asked for; fewer are of use where more correct nothing more."""
    t: int
    codeword_bits: int
    step_v: float
    """Distance of the shifts that were tried."""
    ages: list[Age]

    def __str__(self) -> str:
        """Keys of a drive, and retries by age."""
        t, bits, cycles = self.t, self.codeword_bits, sorted({one.pe_cycles for one in self.ages})
        shown = [cycles[0], cycles[len(cycles) // 2], cycles[-1]] if len(cycles) > 2 else cycles
        lines = [
            f"retry table of {self.cell}: {len(self.shifts_v)} shifts of all references, "
            f"{t} errors of {bits:,} bits",
            *(["(more shifts correct nothing more)"] if len(self.shifts_v) < self.asked else []),
            "",
            *self.keys(),
            "",
            f"{'retries by age':>14}" + "".join(f"{n:>14,} cycles" for n in shown),
        ]
        for hours in sorted({one.retention_hours for one in self.ages}):
            row = [
                one
                for n in shown
                for one in self.ages
                if (one.pe_cycles, one.retention_hours) == (n, hours)
            ]
            lines.append(f"{hours:>12.4g} h" + "".join(f"{one.retries:>21.3f}" for one in row))
        before, after = (
            sum(getattr(one, name) for one in self.ages) / len(self.ages)
            for name in ("failed_before", "failed")
        )
        lines += ["", f"not corrected: {before:.3g} of the first reads, {after:.3g} of all reads"]
        return "\n".join(lines)

    def keys(self) -> list[str]:
        """Keys of a drive that has this table."""
        shifts = ", ".join(f"{shift:g}" for shift in self.shifts_v)
        return ['retry.name = "read_retry"', f"retry.shifts_v = [{shifts}]"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {**self._asdict(), "ages": [one._asdict() for one in self.ages]}


class Life(NamedTuple):
    """Failures of codewords at every age, page type and shift."""

    ages: list[tuple[int, float]]
    shifts_v: list[float]
    failures: Column
    """Ages x page types x shifts."""
    first: Column
    """Ages x page types, at the references as they are."""


@names_checked
def retry_table(
    cell: Cell,
    count: int,
    *,
    pe_cycles: int | tuple[int, int],
    retention_hours: float,
    reads: int = 0,
    temperature_c: float | None = None,
    t: int = T,
    codeword_bits: int = 34560,
    user_bits: int = 32768,
) -> RetryTable:
    """Shifts of all references that correct most codewords over a life.

    Args:
        cell: which one; `lowest_shift` of its chip moves lower references less.
        count: shifts of the table, 1 to 16.
        pe_cycles: at the end of the life; or at its begin and end.
        retention_hours: of the oldest data.
        reads: of the block since they were written.
        temperature_c: at which they are kept; left out, that of the cell's parameters.
        t: errors that a codeword may hold.
        codeword_bits: with parity.
        user_bits: without.

    Raises:
        NandlabError: a value out of range, or a cell whose chip has other error rates.
    """
    if cell.notes:
        raise refusal(
            "cell",
            f"no retry table for {cell.name}: {cell.notes[0]}",
            hint="name the cell itself, or a chip whose array is `cells`, or a `table` of its cell",
        )
    count = whole("cell: retry", count, 1, MOST_SHIFTS)
    most = 2**31
    bits = whole("cell: codeword_bits", codeword_bits, 0, most)
    own = whole("cell: user_bits", user_bits, 0, most)
    ecc = Ecc(whole("cell: t", t, -most, most), bits, own).check()
    ends = pe_cycles if isinstance(pe_cycles, tuple) else (0, pe_cycles)
    found = [whole("cell: pe_cycles", one, 0, 10**8) for one in ends]
    if len(found) != 2 or found[0] > found[1]:
        raise refusal("cell: pe_cycles", f"{pe_cycles!r}", "the last cycle, or the first and last")
    begin, end = found
    hours = number("cell: retention_hours", retention_hours)
    if not hours >= 0:
        raise refusal("cell: retention_hours", f"{hours:g}", "0 or more")
    if temperature_c is not None:
        hours = cell.equivalent_hours(hours, temperature_c)
    reads = whole("cell: reads", reads, 0, MOST_READS)
    life = life_of(cell, ecc, (begin, end), hours, reads)
    picked = _ordered(life, best_of(life, count))
    shifts = [life.shifts_v[i] for i in picked]
    ages = [
        Age(*age, *_reads(life.first[i], life.failures[i][:, picked]))
        for i, age in enumerate(life.ages)
    ]
    step = round(life.shifts_v[1] - life.shifts_v[0], 6)
    return RetryTable(cell.name, shifts, count, ecc.t, ecc.codeword_bits, step, ages)


def life_of(cell: Cell, ecc: Ecc, cycles: tuple[int, int], hours: float, reads: int) -> Life:
    """Failures over a life, at shifts from the lowest to the highest that may be of use."""
    import numpy as np

    begin, end = cycles
    worn = sorted({round(begin + (end - begin) * i / (AGES - 1)) for i in range(AGES)})
    kept = [0.0] + [hours * FACTOR ** (i / (AGES - 2) - 1) for i in range(AGES - 1)]
    ages = [(n, h) for n in worn for h in (kept if hours > 0 else [0.0])]
    states = [(n, h, reads, 0) for n, h in ages]
    native, bits = cell.native, cell.cell_bits
    corners = [states[0], states[-1], (end, 0.0, reads, 0), (begin, hours, reads, 0)]
    best = [
        v for state in corners for page in range(bits) for v in native.best_shifts_v(page, state)
    ]
    low, high = BEYOND * min(*best, 0.0), BEYOND * max(*best, 0.0)
    step = STEP_V * max(1, math.ceil((high - low) / STEP_V / MOST_TRIED))
    tried = range(math.floor(low / step) - 1, math.ceil(high / step) + 2)
    shifts = [round(i * step, 6) for i in tried]
    lowest = float(cell.chip.get("features", {}).get("lowest_shift", 1.0))
    rates = native.rber_by_shift(states, [0.0, *shifts], lowest)
    rates = rates.reshape(len(states), len(shifts) + 1, bits).swapaxes(1, 2)
    # Failures of the code, once for all: each page has a factor of its own.
    grid = np.linspace(-14.0, math.log(0.5), 3000)
    known, z = failures_of(ecc)(np.exp(grid)), deviates()
    found = np.empty_like(rates)
    for i, state in enumerate(states):
        for page in range(bits):
            spread = native.page_spread(page, [], state)
            logs = np.log(np.maximum(rates[i, page], 1e-300))[:, None]
            own = logs + spread * z - spread**2 / 2
            found[i, page] = np.interp(own, grid, known).mean(axis=1)
    return Life(ages, shifts, found[:, :, 1:], found[:, :, 0])


def failed_with(life: Life, picked: Sequence[int]) -> float:
    """Codewords of all ages and pages that a table does not correct: their mean share."""
    import numpy as np

    best = np.minimum(life.first, life.failures[:, :, list(picked)].min(axis=2))
    return float(best.mean())


def best_of(life: Life, count: int) -> list[int]:
    """Numbers of the shifts that correct most codewords.

    Of one or two shifts all are tried. Of more, each two in turn are exchanged for the two that
    serve best beside the others, until no two are.
    """
    if count == 1:
        every = range(len(life.shifts_v))
        return [min(every, key=lambda i: failed_with(life, [i]))]
    picked: list[int] = []
    while len(picked) < count:
        # Of an odd count one is left over, which the exchange places.
        picked = [*picked, *_best_two(life, picked)][:count]
    before = math.inf
    while (now := failed_with(life, picked)) < before:
        before = now
        for two in combinations(range(count), 2):
            others = [picked[i] for i in range(count) if i not in two]
            picked = [*_best_two(life, others), *others]
    return picked


def _best_two(life: Life, others: list[int]) -> list[int]:
    """The two shifts that correct most codewords beside some others."""
    import numpy as np

    under = life.first
    if others:
        under = np.minimum(under, life.failures[:, :, others].min(axis=2))
    left = np.minimum(under[:, :, None], life.failures).reshape(-1, len(life.shifts_v))
    means = np.array(
        [np.minimum(left[:, i, None], left).mean(axis=0) for i in range(left.shape[1])]
    )
    return [int(i) for i in np.unravel_index(means.argmin(), means.shape)]


def _ordered(life: Life, picked: list[int]) -> list[int]:
    """In the order in which most codewords are corrected early."""
    left = sorted({*picked})
    order: list[int] = []
    while left:
        following = min(left, key=lambda i: failed_with(life, [*order, i]))
        order.append(following)
        left.remove(following)
    return order


def _reads(first: Column, failures: Column) -> tuple[float, float, float]:
    """Retries of a codeword, the share that fails at first, and in the end: means over pages.

    A codeword is as lucky in every read: it fails in all of them if it fails in the best.
    """
    import numpy as np

    left = np.minimum.accumulate(np.column_stack([first, failures]), axis=1)
    retries = float(left[:, :-1].sum(axis=1).mean())
    return retries, float(first.mean()), float(left[:, -1].mean())
