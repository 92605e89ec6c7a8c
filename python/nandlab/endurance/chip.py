"""Endurance of a chip: cycles that data last, by retention, temperature, ECC and UBER.

Desnoyers (HotStorage'13): an endurance is no count after which cells die. It says how often a block
can be erased so that data kept for so long have an uncorrectable bit error rate of at most so much
with such an ECC. Here it is worked out from a chip's error rate; time at a temperature counts by
Arrhenius: with the activation energy of the chip's cell or of its array model `retention_law`, of
others with 1.1 eV, as JESD218 has it.

An endurance ends where the rate first passes what ECC and UBER allow: a block that has once failed
the target has failed, even if rates come back within it later, as those of a noisy measured table
may.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab.catalogue import chip as chip_tables
from nandlab.cell.source import find
from nandlab.display.notebook import InNotebook
from nandlab.ecc.uber import Ecc, rber_limit, uber
from nandlab.fit.fitting import Fit
from nandlab.given.arguments import number, numbers, path_or_none, several, to_json, whole
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

HOURS_PER_YEAR = 8760.0

RETENTION_HOURS = (24.0, 168.0, 730.0, 2190.0, HOURS_PER_YEAR, 10 * HOURS_PER_YEAR)
"""A day, a week, a month, three months, a year, ten years."""

DRAWS = 200
"""Array models drawn from a fit for an interval."""

MOST_PE_CYCLES = 100_000_000
"""More than any block takes; an endurance that reaches it is not limited by errors."""


TRIED_PER_OCTAVE = 8
"""Cycles that are tried where no measured points say at which: a law and a cell bend slowly."""

REFERENCE_C = 30.0
"""What error rates hold for where nothing says it."""

LAW_REFERENCE_C = 25.0
"""What `retention_law` holds for where its table does not say it."""

ACTIVATION_EV = 1.1
"""Of the loss of charge where nothing says it (JESD218)."""

MOST_PAGE_TYPES = 4
"""Of cells that nothing says the bits of: a law has one rate for all page types."""

OF_THE_CELL = ("cells", "table")
"""Array models whose rates are those of the chip's cell."""


class Profile(NamedTuple):
    """Where a drive rests without power, and what it must keep (JESD218)."""

    retention_hours: float
    temperature_c: float
    uber: float


PROFILES = {
    name: Profile(hours, celsius, target)
    for name, hours, celsius, target in _core.retention_profiles()
    if target is not None
}
"""JESD218's classes: those of its requirements that ask for an error rate."""


class Point(NamedTuple):
    """One endurance and all that it holds for."""

    retention_hours: float
    temperature_c: float
    t: int
    uber: float
    rber_spread: float
    rber_limit: float
    """Highest bit error rate that ECC and UBER allow."""
    rber_new: float
    """Bit error rate of the worst page at that age, in a block of one cycle."""
    pe_cycles: int
    """Cycles up to which data of that age have always been within it: to its first crossing."""
    pe_cycles_low: int | None = None
    """Of the interval, where the rates were fitted."""
    pe_cycles_high: int | None = None


class Endurance(InNotebook):
    """Endurances of a chip: a table and a picture."""

    def __init__(
        self, chip: str, points: Sequence[Point], ecc: Ecc, level: float = 0.95, source: str = ""
    ) -> None:
        self.chip = chip
        self.source = source
        """By what the rates go, where there is more than one thing that says them."""
        self.level = level
        self.points = list(points)
        self.ecc = ecc

    def to_arrow(self) -> pa.Table:
        """A row for each point."""
        import pyarrow as pa

        columns = zip(*self.points, strict=True) if self.points else [[] for _ in Point._fields]
        return pa.table(dict(zip(Point._fields, map(list, columns), strict=True)))

    def __repr__(self) -> str:
        return f"<endurance of {self.chip}: points: {len(self.points)}>"

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
        return "\n".join([*lines, *(f"\nnote: {note}" for note in self.notes())])

    def notes(self) -> list[str]:
        """Which of two sources of rates was used; why an endurance is zero, and what to change."""
        notes = [self.source] if self.source else []
        none = [point for point in self.points if point.pe_cycles == 0]
        if not none:
            return notes
        least = min(none, key=lambda point: point.rber_new)
        t = self._least_t(least)
        given = f"{duration(least.retention_hours)} at {least.temperature_c:g} C"
        why = "0 cycles where a new chip errs more often than the RBER limit"
        change = "a higher UBER, younger data or a chip that errs less may"
        if t is not None:
            change = f"t = {t} or more changes that, {change} too"
        return [*notes, f"{why}: {least.rber_new:.3e} after {given}; {change}"]

    def _least_t(self, point: Point) -> int | None:
        """The fewest errors to correct that leave a cycle at least; None where none do."""
        rber, spread = point.rber_new, point.rber_spread
        if rber * (1 + spread**2) >= 1:
            return None
        low, high = point.t, self.ecc.codeword_bits - 1
        while high - low > 1:
            t = (low + high) // 2
            is_enough = uber(rber, self.ecc._replace(t=t), spread) <= point.uber
            low, high = (low, t) if is_enough else (t, high)
        return high

    def _interval(self) -> str:
        """The heading of the intervals, where there are any."""
        if not any(point.pe_cycles_low is not None for point in self.points):
            return ""
        return f"{f'{100 * self.level:g} % interval':>22}"

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Cycles over retention, a curve for each of the rest, also written to `path`."""
        from nandlab.endurance.plot import plot_endurance

        return plot_endurance(self, path_or_none("plot", path))


def endurance(
    chip: str | PathLike[str] | Mapping[str, Any] | Fit,
    *,
    retention_hours: ArrayLike = RETENTION_HOURS,
    temperature_c: ArrayLike = 30.0,
    reference_c: float | None = None,
    activation_ev: float | None = None,
    t: ArrayLike = 100,
    codeword_bits: int = 34560,
    user_bits: int = 32768,
    uber: ArrayLike = 1e-15,
    rber_spread: ArrayLike = 0.0,
    reads: int = 0,
    page_type: int | None = None,
    level: float | None = None,
) -> Endurance:
    """Endurances for every combination of what is given.

    Each is the count of cycles before the first at which a page errs more often than ECC and UBER
    allow. Of measured points every one is tried, so that no crossing is missed; of a law or a cell,
    which are smooth, eight counts of cycles in each doubling.

    Args:
        chip: a preset or a chip file; the table of an array model, as ``[array]`` has it; or a
            fit, whose uncertainty then gives every endurance an interval. Keys that a table leaves
            out have their defaults, as in a chip file: of `power_law` those of Kim et al. 2019,
            with wear, retention and reads. A term goes with its scale at 0: ``"alpha": 0``,
            ``"beta": 0``, ``"gamma": 0``.
        retention_hours: how long data are kept.
        temperature_c: at which temperature they are kept.
        reference_c: the temperature that the chip's error rates hold for. Where left out, what
            `retention_law` says, fitted or not; 30 of other array models, which do not say it. A
            cell knows its own.
        activation_ev: of Arrhenius' law. Where left out, what `retention_law` says, of a fit each
            draw for itself; 1.1 of other array models. A cell knows its own.
        t: errors that a codeword may hold.
        codeword_bits: with parity.
        user_bits: without.
        uber: uncorrectable bit error rate that is still allowed.
        rber_spread: deviation of the error rate from page to page over its mean: 0 is a binomial
            tail, more a beta-binomial one.
        reads: of the block since it was erased.
        page_type: which bit of the cell, from the lower page; the worst one where left out.
        level: of the intervals, where `chip` is a fit (0.95).

    Raises:
        NandlabError: no such chip, one without errors, or a value out of range.
    """
    if level is not None and not isinstance(chip, Fit):
        raise refusal(
            "endurance", f"level = {level!r}: only a fit has intervals", "level with a fit"
        )
    level = 0.95 if level is None else number("endurance: level", level)
    if not 0.5 <= level < 1:
        raise refusal("endurance", f"level = {level:g}: out of range", "0.5 to below 1")
    rates, drawn = _rates(chip)
    ages = [one.aging(reference_c, activation_ev) for one in (rates, *drawn)]
    pages = rates.pages(page_type)
    reads = whole("endurance: reads", reads, 0, 2**32 - 1)
    most = 2**31
    codeword_bits = whole("endurance: codeword_bits", codeword_bits, 1, most)
    user_bits = whole("endurance: user_bits", user_bits, 1, most)
    points = []
    at_c = numbers("endurance: temperature_c", temperature_c)
    kept_hours = numbers("endurance: retention_hours", retention_hours)
    for bits in several("endurance: t", t):
        # Of its range the code itself speaks.
        ecc = Ecc(whole("endurance: t", bits, -most, most), codeword_bits, user_bits).check()
        for target in numbers("endurance: uber", uber):
            for spread in numbers("endurance: rber_spread", rber_spread):
                limit = rber_limit(target, ecc, spread)
                for celsius in at_c:
                    _check_celsius("temperature_c", celsius)
                    for hours in kept_hours:
                        if not 0 <= hours < math.inf:
                            raise refusal(
                                "endurance",
                                f"retention_hours = {hours:g}: out of range",
                                "0 or more",
                            )
                        # Each draw of a fit has an activation energy of its own.
                        states = [
                            [(page, aged(hours, celsius), reads) for page in pages] for aged in ages
                        ]
                        cycles, *others = (
                            one.last_cycle(limit, of)
                            for one, of in zip((rates, *drawn), states, strict=True)
                        )
                        new = rates.new(states[0])
                        given = (hours, celsius, ecc.t, target, spread, limit, new, cycles)
                        points.append(Point(*given, *_spread_of(others, level)))
    every = Ecc(codeword_bits=codeword_bits, user_bits=user_bits)
    return Endurance(rates.name, points, every, level, rates.source)


def acceleration(temperature_c: float, reference_c: float, activation_ev: float = 1.1) -> float:
    """How much faster time goes at a temperature than at the reference (Arrhenius).

    Raises:
        NandlabError: a temperature out of range.
    """
    temperature_c = number("temperature_c", temperature_c)
    reference_c = number("reference_c", reference_c)
    activation_ev = number("activation_ev", activation_ev)
    _check_celsius("temperature_c", temperature_c)
    _check_celsius("reference_c", reference_c)
    return _core.acceleration(activation_ev, reference_c, temperature_c)


def _check_celsius(name: str, celsius: float) -> None:
    """The range that array models and cells are written for."""
    if not -100 <= celsius <= 300:
        raise refusal("endurance", f"{name} = {celsius:g}: out of range", "-100 to 300")


def duration(hours: float) -> str:
    """Hours as a person says them."""
    if hours == 0:
        return "at once"
    for size, unit in ((HOURS_PER_YEAR, "year"), (730, "month"), (168, "week"), (24, "day")):
        if hours >= size * 0.999:
            count = hours / size
            return f"{count:.3g} {unit}{'' if round(count, 2) == 1 else 's'}"
    return f"{hours:.3g} h"


_State = tuple[int, float, int]
"""Page type, hours and reads of a page."""


class _Rates:
    """Error rates of a chip: an array model, with the cell where it is made of one."""

    def __init__(
        self,
        name: str,
        array: Mapping[str, Any],
        cell: _core.Cell | None = None,
        bits: int = 0,
        source: str = "",
    ) -> None:
        self.name = name
        self.source = source
        self._cell = cell
        points = array.get("points", [])
        # Measured points have a rate for each page type, or one for all of them.
        told = len(points[0].get("rber", ())) if points else 1
        self._bits = bits or (told if told > 1 else 0)
        self._measured = [point["pe_cycles"] for point in points]
        self._most_hours = max((point["hours"] for point in points), default=math.inf)
        if cell is None:
            self._array = _core.Array(json.dumps(array))
        self._reference_c = float(array.get("reference_c", REFERENCE_C))
        self._activation_ev = ACTIVATION_EV
        if array.get("name") == "retention_law":
            self._reference_c = float(array.get("reference_c", LAW_REFERENCE_C))
            self._activation_ev = float(array.get("activation_ev", ACTIVATION_EV))
            # Time is counted at the reference here: the law must not speed it up once more.
            model = {**array, "temperature_c": self._reference_c}
            self._array = _core.Array(json.dumps(model))

    def aging(
        self, reference_c: float | None, activation_ev: float | None
    ) -> Callable[[float, float], float]:
        """Hours at some temperature as hours at the one that the rates hold for."""
        if self._cell is not None:
            if reference_c is not None or activation_ev is not None:
                raise refusal(
                    "endurance",
                    f"{self.name}: its cell knows how temperature acts",
                    "no reference_c and no activation_ev, or another cell",
                )
            return self._cell.equivalent_hours
        own = (self._activation_ev, self._reference_c)
        activation_ev = own[0] if activation_ev is None else activation_ev
        reference_c = own[1] if reference_c is None else reference_c
        activation_ev = number("endurance: activation_ev", activation_ev)
        reference_c = number("endurance: reference_c", reference_c)
        if not 0 <= activation_ev < 10:
            raise refusal(
                "endurance", f"activation_ev = {activation_ev:g}: out of range", "0 to 10"
            )
        _check_celsius("reference_c", reference_c)

        def aged(hours: float, celsius: float) -> float:
            hours = hours * acceleration(celsius, reference_c, activation_ev)
            if hours > self._most_hours:
                raise refusal(
                    "endurance",
                    f"{self.name}: rates were measured up to {self._most_hours:g} h",
                    f"less than the {hours:.4g} h that this is at {reference_c:g} C",
                )
            return hours

        return aged

    def pages(self, page_type: int | None) -> list[int]:
        """The page types that are asked."""
        most = self._bits or MOST_PAGE_TYPES
        if page_type is None:
            return list(range(most))
        return [whole("endurance: page_type", page_type, 0, most - 1, ", from the lower page")]

    def new(self, pages: Sequence[_State]) -> float:
        """The highest rate of the pages in a block of one cycle."""
        return max(self._rber([(page, 1, hours, reads) for page, hours, reads in pages]))

    def _rber(self, states: Sequence[tuple[int, int, float, int]]) -> list[float]:
        """Rates of pages by type, cycles, hours and reads.

        A cell is asked itself: the array models that are made of it round cycles and hours, or end
        with their grid.
        """
        if self._cell is None:
            return self._array.rber(list(states))
        return [
            min(float(self._cell.rber(page, [], [(pe_cycles, hours, reads, 0)])[0]), 0.5)
            for page, pe_cycles, hours, reads in states
        ]

    def last_cycle(self, limit: float, pages: Sequence[_State]) -> int:
        """The last cycle before the first at which a page is beyond the limit."""

        def first_beyond(cycles: Sequence[int]) -> int:
            """Index of the first cycle beyond the limit; the number of cycles where none is."""
            states = [(page, n, hours, reads) for n in cycles for page, hours, reads in pages]
            beyond = [rate > limit for rate in self._rber(states)]
            return beyond.index(True) // len(pages) if True in beyond else len(cycles)

        low, high = 0, 0
        every = self._tried()
        for begin in range(0, len(every), 2 * TRIED_PER_OCTAVE):
            tried = every[begin : begin + 2 * TRIED_PER_OCTAVE]
            i = first_beyond(tried)
            if i < len(tried):
                low, high = (tried[i - 1] if i else low), tried[i]
                break
            low = tried[-1]
        # Within one step there is one crossing: pages whose rates are straight lines between
        # measured points have their highest rate at an end of it.
        while high - low > 1:
            step = max((high - low) // 16, 1)
            inner = range(low + step, high, step)
            i = first_beyond(inner)
            low, high = (inner[i - 1] if i else low), (inner[i] if i < len(inner) else high)
        return low

    def _tried(self) -> list[int]:
        """Cycles to try, from 0 to the most, so close that the rate is monotonic between two."""
        if self._measured:
            most = int(max(self._measured))
            sides = (side for n in self._measured for side in (math.floor(n), math.ceil(n)))
            return sorted({0, most} | {n for n in sides if n < most})
        powers = range(math.ceil(math.log2(MOST_PE_CYCLES) * TRIED_PER_OCTAVE))
        return sorted({0, MOST_PE_CYCLES} | {round(2 ** (i / TRIED_PER_OCTAVE)) for i in powers})


def _rates(chip: str | PathLike[str] | Mapping[str, Any] | Fit) -> tuple[_Rates, list[_Rates]]:
    """The error rates of a chip; more of them where it is a fit, by its uncertainty."""
    if isinstance(chip, Fit):
        name = f"{chip.law} of {Path(chip.data.name).name}"
        drawn = chip.draws(DRAWS)
        if len(drawn) < DRAWS // 2:
            raise refusal(
                "endurance",
                f"{name}: {DRAWS - len(drawn)} of {DRAWS} draws heal with stress",
                "a fit that is surer of itself: more data",
            )
        return _Rates(name, chip.array), [_Rates(name, array) for array in drawn]
    bits, source = 0, ""
    chip = fspath(chip) if isinstance(chip, PathLike) else chip
    if isinstance(chip, str):
        tables = chip_tables(chip)
        name, array, bits = chip, tables.get("array", {}), int(tables.get("cell_bits", 0))
    elif not isinstance(chip, Mapping):
        raise refusal(
            "endurance",
            f"{type(chip).__name__} is no chip",
            "a preset, a chip file, the table of an array model, a fit",
        )
    else:
        name, array = str(chip.get("name", "")), json.loads(to_json("array", dict(chip)))
    if array.get("name", "ideal") == "ideal":
        raise refusal(
            "endurance",
            f"{name or 'the chip'} has no error rates (array `ideal`)",
            "a chip with another array model",
        )
    if isinstance(chip, str):
        of_cell = chip if chip.endswith(".toml") else f"chip/{chip}"
        if array["name"] in OF_THE_CELL and not array.get("points"):
            about = find(of_cell)
            bits, order = about.cell_bits, about.page_order
            cell = _core.Cell(about.text, about.place, about.sets, bits, order)
            return _Rates(name, array, cell, bits), []
        if "cell" in tables:
            source = (
                f"by array `{array['name']}` of {name}, its cell may say otherwise: "
                f"`nandlab cell {of_cell} --picture endurance`, in Python "
                f'nandlab.cell("{of_cell}").endurance()'
            )
    return _Rates(name, array, bits=bits, source=source), []


def _spread_of(cycles: list[int], level: float) -> tuple[int | None, int | None]:
    """Ends of the interval over the draws of a fit."""
    if not cycles:
        return None, None
    cycles = sorted(cycles)
    out = round((1 - level) / 2 * (len(cycles) - 1))
    return cycles[out], cycles[-1 - out]


def _span(point: Point) -> str:
    if point.pe_cycles_low is None or point.pe_cycles_high is None:
        return ""
    return f"{_cycles(point.pe_cycles_low)} .. {_cycles(point.pe_cycles_high)}".rjust(22)


def _cycles(cycles: int) -> str:
    return f"> {cycles:,}" if cycles >= MOST_PE_CYCLES else f"{cycles:,}"
