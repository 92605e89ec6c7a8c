"""Endurance: cycles after which data still last, by retention, temperature, ECC and UBER.

Desnoyers (HotStorage'13): an endurance is no count after which cells die. It says how often a block
can be erased so that data kept for so long have an uncorrectable bit error rate of at most so much
with such an ECC. Here it is worked out from a chip's error rate; time at a temperature counts by
Arrhenius with 1.1 eV, as JESD218 has it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.catalogue import chip as chip_tables
from nandlab.fit import Fit
from nandlab.uber import Ecc, rber_limit

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

BOLTZMANN_EV_K = 8.617333e-5
CELSIUS_K = 273.15

HOURS_PER_YEAR = 8760.0

RETENTION_HOURS = (24.0, 168.0, 730.0, 2190.0, HOURS_PER_YEAR, 10 * HOURS_PER_YEAR)
"""A day, a week, a month, three months, a year, ten years."""

DRAWS = 200
"""Array models drawn from a fit for an interval."""

MOST_PE_CYCLES = 100_000_000
"""More than any block takes; an endurance that reaches it is not limited by errors."""


class Profile(NamedTuple):
    """Where a drive rests without power, and what it must keep (JESD218)."""

    retention_hours: float
    temperature_c: float
    uber: float


PROFILES = {
    "client": Profile(HOURS_PER_YEAR, 30.0, 1e-15),
    "enterprise": Profile(2190.0, 40.0, 1e-16),
}
"""JESD218. The client's was read in a source that quotes it; the enterprise's is recalled."""


class Point(NamedTuple):
    """One endurance and all that it holds for."""

    retention_hours: float
    temperature_c: float
    t: int
    uber: float
    rber_spread: float
    rber_limit: float
    """Highest bit error rate that ECC and UBER allow."""
    pe_cycles: int
    """Cycles after which data of that age are still within it."""
    pe_cycles_low: int | None = None
    """Of the interval, where the rates were fitted."""
    pe_cycles_high: int | None = None


class Endurance:
    """Endurances of a chip: a table and a picture."""

    def __init__(self, chip: str, points: Sequence[Point], ecc: Ecc, level: float = 0.95) -> None:
        self.chip = chip
        self.level = level
        self.points = list(points)
        self.ecc = ecc

    def to_arrow(self) -> pa.Table:
        """A row for each point."""
        import pyarrow as pa

        columns = zip(*self.points, strict=True) if self.points else [[] for _ in Point._fields]
        return pa.table(dict(zip(Point._fields, map(list, columns), strict=True)))

    def __str__(self) -> str:
        """A table for people."""
        lines = [
            f"endurance of {self.chip}",
            "",
            f"{'retention':>10} {'at':>7} {'t':>5} {'UBER':>7} {'spread':>7} "
            f"{'RBER limit':>11} {'cycles':>12}{self._interval()}",
        ]
        for point in self.points:
            lines.append(
                f"{duration(point.retention_hours):>10} {point.temperature_c:>5.3g} C "
                f"{point.t:>5} {point.uber:>7.0e} {point.rber_spread:>7.2g} "
                f"{point.rber_limit:>11.3e} {_cycles(point.pe_cycles):>12}{_span(point)}"
            )
        return "\n".join(lines)

    def _interval(self) -> str:
        """The heading of the intervals, where there are any."""
        if not any(point.pe_cycles_low is not None for point in self.points):
            return ""
        return f"{f'{100 * self.level:g} % interval':>22}"

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Cycles over retention, a curve for each of the rest, also written to `path`."""
        from nandlab.endurance_plot import plot_endurance

        return plot_endurance(self, None if path is None else Path(path))


def endurance(
    chip: str | Mapping[str, Any] | Fit,
    *,
    retention_hours: float | Iterable[float] = RETENTION_HOURS,
    temperature_c: float | Iterable[float] = 30.0,
    reference_c: float = 30.0,
    activation_ev: float = 1.1,
    t: int | Iterable[int] = 100,
    codeword_bits: int = 34560,
    user_bits: int = 32768,
    uber: float | Iterable[float] = 1e-15,
    rber_spread: float | Iterable[float] = 0.0,
    reads: int = 0,
    page_type: int = 0,
    level: float = 0.95,
) -> Endurance:
    """Endurances for every combination of what is given.

    Args:
        chip: a preset or a chip file; the table of an array model, as ``[array]`` has it; or a
            fit, whose uncertainty then gives every endurance an interval.
        retention_hours: how long data are kept.
        temperature_c: at which temperature they are kept.
        reference_c: the temperature that the chip's error rates hold for. No array model but
            `retention_law` says it: 30 is assumed.
        activation_ev: of Arrhenius' law.
        t: errors that a codeword may hold.
        codeword_bits: with parity.
        user_bits: without.
        uber: uncorrectable bit error rate that is still allowed.
        rber_spread: deviation of the error rate from page to page over its mean: 0 is a binomial
            tail, more a beta-binomial one.
        reads: of the block since it was erased.
        page_type: which bit of the cell, from the lower page.
        level: of the intervals, where `chip` is a fit.

    Raises:
        NandlabError: no such chip, one without errors, or a value out of range.
    """
    name, array, drawn = _array(chip)
    _check(activation_ev, reference_c, reads, page_type)
    points = []
    for bits in _each(t, "t"):
        ecc = Ecc(int(bits), codeword_bits, user_bits).check()
        for target in _each(uber, "uber"):
            for spread in _each(rber_spread, "rber_spread"):
                limit = rber_limit(target, ecc, spread)
                for celsius in _each(temperature_c, "temperature_c"):
                    faster = acceleration(celsius, reference_c, activation_ev)
                    for hours in _each(retention_hours, "retention_hours"):
                        if not 0 <= hours < math.inf:
                            problem = f"endurance: retention_hours = {hours:g}: out of range"
                            raise NandlabError(f"{problem}; allowed: 0 or more")
                        state = (page_type, hours * faster, reads)
                        cycles = _last_cycle(array, limit, state)
                        span = _spread_of(drawn, limit, state, level)
                        given = (hours, celsius, ecc.t, target, spread, limit, cycles)
                        points.append(Point(*given, *span))
    every = Ecc(codeword_bits=codeword_bits, user_bits=user_bits)
    return Endurance(name, points, every, level)


def acceleration(temperature_c: float, reference_c: float, activation_ev: float = 1.1) -> float:
    """How much faster time goes at a temperature than at the reference (Arrhenius).

    Raises:
        NandlabError: a temperature out of range.
    """
    for celsius in (temperature_c, reference_c):
        if not -100 <= celsius <= 300:
            problem = f"endurance: temperature_c = {celsius:g}: out of range"
            raise NandlabError(f"{problem}; allowed: -100 to 300")
    difference = 1 / (reference_c + CELSIUS_K) - 1 / (temperature_c + CELSIUS_K)
    return math.exp(activation_ev / BOLTZMANN_EV_K * difference)


def duration(hours: float) -> str:
    """Hours as a person says them."""
    if hours == 0:
        return "at once"
    for size, unit in ((HOURS_PER_YEAR, "year"), (730, "month"), (168, "week"), (24, "day")):
        if hours >= size * 0.999:
            count = hours / size
            return f"{count:.3g} {unit}{'' if round(count, 2) == 1 else 's'}"
    return f"{hours:.3g} h"


def _array(
    chip: str | Mapping[str, Any] | Fit,
) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """Name and array model of a chip; more of them where it is a fit, by its uncertainty."""
    drawn = []
    if isinstance(chip, Fit):
        name, array = f"{chip.law} of {Path(chip.data.name).name}", chip.array
        drawn = chip.draws(DRAWS)
        if len(drawn) < DRAWS // 2:
            problem = f"endurance: {name}: {DRAWS - len(drawn)} of {DRAWS} draws heal with stress"
            raise NandlabError(f"{problem}; allowed: a fit that is surer of itself: more data")
    elif isinstance(chip, str):
        name, array = chip, chip_tables(chip).get("array", {})
    else:
        name, array = str(chip.get("name", "")), dict(chip)
    if array.get("name", "ideal") == "ideal":
        problem = f"endurance: {name or 'the chip'} has no error rates (array `ideal`)"
        raise NandlabError(f"{problem}; allowed: a chip with another array model")
    return name, dict(array), drawn


def _spread_of(
    drawn: list[dict[str, Any]], limit: float, state: tuple[int, float, int], level: float
) -> tuple[int | None, int | None]:
    """Ends of the interval over the draws of a fit."""
    if not drawn:
        return None, None
    cycles = sorted(_last_cycle(array, limit, state) for array in drawn)
    out = round((1 - level) / 2 * (len(cycles) - 1))
    return cycles[out], cycles[-1 - out]


def _check(activation_ev: float, reference_c: float, reads: int, page_type: int) -> None:
    if not 0 <= activation_ev < 10:
        problem = f"endurance: activation_ev = {activation_ev:g}: out of range"
        raise NandlabError(f"{problem}; allowed: 0 to 10")
    acceleration(reference_c, reference_c)
    if not 0 <= reads < 2**32 or not 0 <= page_type < 4:
        problem = f"endurance: reads = {reads}, page_type = {page_type}: out of range"
        raise NandlabError(f"{problem}; allowed: reads from 0, page_type 0 to 3")


def _each(value: Any, name: str) -> list[Any]:
    """One value or many, as many."""
    values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for one in values:
        if isinstance(one, bool) or not hasattr(one, "__float__"):
            problem = f"endurance: {name} = {one!r}: no number"
            raise NandlabError(f"{problem}; allowed: a number, or several")
    return values


def _last_cycle(array: dict[str, Any], limit: float, state: tuple[int, float, int]) -> int:
    """The last cycle at which the rate is within the limit: it never falls with cycles."""
    page_type, hours, reads = state
    model = json.dumps(array)

    def is_within(cycles: list[int]) -> list[bool]:
        states = [(page_type, cycle, hours, reads) for cycle in cycles]
        return [rber <= limit for rber in _core.array_rber(model, states)]

    low, high = 0, MOST_PE_CYCLES
    fresh, last = is_within([low, high])
    if not fresh:
        return 0
    if last:
        return MOST_PE_CYCLES
    # Sixteen at a time: seven calls.
    while high - low > 1:
        step = max((high - low) // 16, 1)
        tried = [low + step * i for i in range(1, 16) if low + step * i < high] or [low + 1]
        good = [cycle for cycle, within in zip(tried, is_within(tried), strict=True) if within]
        low, high = (max(good, default=low), min((c for c in tried if c not in good), default=high))
    return low


def _span(point: Point) -> str:
    if point.pe_cycles_low is None or point.pe_cycles_high is None:
        return ""
    return f"{_cycles(point.pe_cycles_low)} .. {_cycles(point.pe_cycles_high)}".rjust(22)


def _cycles(cycles: int) -> str:
    return f"> {cycles:,}" if cycles >= MOST_PE_CYCLES else f"{cycles:,}"
