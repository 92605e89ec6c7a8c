"""Error rates of a chip by cycles, hours and reads: of an array model, or of the chip's cell.

Time at a temperature counts by Arrhenius, and an endurance ends where the rate first passes a
limit. A cell is asked at its best read references: a drive that cannot decode a page reads it again
at other references, and the data are lost where the best of these fail.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.cell.pages import MOST_PAGE_TYPES, page_number
from nandlab.ecc.pages import Failures, mean_failure
from nandlab.fit.law.layers import LAYER_FACTORS
from nandlab.given.arguments import number
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from nandlab.cell.model import Cell

MOST_PE_CYCLES = 100_000_000
"""More than any block takes; an endurance that reaches it is not limited by errors."""

TRIED_PER_OCTAVE = 8
"""Cycles that are tried where no measured points say at which: a law bends slowly."""

CELL_TRIED_PER_OCTAVE = 2
"""The same of a cell, whose best references take milliseconds to find."""

CELL_TRIED_FROM = 32
"""Cycles below leave no mark of their own on a cell."""

REFERENCE_C = 30.0
"""Default temperature of error rates."""

LAW_REFERENCE_C = 25.0
"""Default temperature of `retention_law`."""

ACTIVATION_EV = 1.1
"""Default activation energy of charge loss (JESD218)."""


def acceleration(temperature_c: float, reference_c: float, activation_ev: float = 1.1) -> float:
    """How much faster time goes at a temperature than at the reference (Arrhenius).

    Raises:
        NandlabError: a temperature out of range.
    """
    temperature_c = number("temperature_c", temperature_c)
    reference_c = number("reference_c", reference_c)
    activation_ev = number("activation_ev", activation_ev)
    check_celsius("temperature_c", temperature_c)
    check_celsius("reference_c", reference_c)
    return _core.acceleration(activation_ev, reference_c, temperature_c)


def _told(array: Mapping[str, Any]) -> int:
    """Page types that a law tells apart by factors."""
    return 1 + max((i for i in range(1, MOST_PAGE_TYPES) if f"page_factor_{i}" in array), default=0)


def check_celsius(name: str, celsius: float) -> None:
    """The range that array models and cells are written for."""
    if not -100 <= celsius <= 300:
        raise refusal("endurance", f"{name} = {celsius:g}: out of range", "-100 to 300")


PageState = tuple[int, float, int]
"""Page type, hours and reads of a page."""

RberLimit = Callable[[float], float]
"""Highest mean bit error rate that is allowed, by the standard deviation of the logarithm of the
rate over pages."""


class Rates:
    """Error rates of a chip: an array model, with its cell if it has one."""

    def __init__(
        self,
        name: str,
        array: Mapping[str, Any],
        cell: _core.Cell | None = None,
        bits: int = 0,
        source: str = "",
        *,
        is_best: bool = True,
    ) -> None:
        self.name = name
        self.source = source
        """Source of the rates, if there are several."""
        self._cell = cell
        self._is_best = is_best
        self._wear = 1.0
        # Finding the best takes milliseconds; a rate and its spread are asked at the same ones.
        self._shifts: dict[tuple[int, tuple[int, float, int, int]], list[float]] = {}
        points = array.get("points", [])
        # Measured points have a rate for each page type, or one for all of them; so has a law.
        told = len(points[0].get("rber", ())) if points else _told(array)
        self._bits = bits or (told if told > 1 else 0)
        self._measured = [point["pe_cycles"] for point in points]
        self._most_hours = max((point["hours"] for point in points), default=math.inf)
        # Pages of a cell differ by its wordlines, those of measured points as the table has it.
        self._page_spread = float(array.get("page_spread", 0.0))
        # Data of the worst layer are lost first.
        self._layers: Sequence[float] = array.get(LAYER_FACTORS, ())
        worst = max(range(len(self._layers)), key=self._layers.__getitem__, default=0)
        self._worst = (worst, len(self._layers)) if self._layers else None
        if cell is None:
            self._array = _core.Array(json.dumps(array))
        self._reference_c = float(array.get("reference_c", REFERENCE_C))
        self._activation_ev = float(array.get("activation_ev", ACTIVATION_EV))
        if array.get("name") == "retention_law":
            self._reference_c = float(array.get("reference_c", LAW_REFERENCE_C))
            # Time is counted at the reference here: the law must not speed it up once more.
            model = {**array, "temperature_c": self._reference_c}
            self._array = _core.Array(json.dumps(model))

    @classmethod
    def of_cell(cls, cell: Cell, *, is_best: bool) -> Rates:
        """The rates of a cell by itself."""
        return cls(cell.name, {}, cell.native, cell.cell_bits, is_best=is_best)

    @property
    def measured_to(self) -> int | None:
        """Most cycles at which they were measured; None of a law or a cell, which go on."""
        return int(max(self._measured)) if self._measured else None

    def aging(
        self, reference_c: float | None, activation_ev: float | None
    ) -> Callable[[float, float], float]:
        """Hours at some temperature as hours at the one that the rates hold for."""
        if self._cell is not None:
            if reference_c is not None or activation_ev is not None:
                raise refusal(
                    "endurance",
                    f"{self.name}: its cell has its own law of temperature",
                    hint="leave out reference_c and activation_ev, or use another cell",
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
        check_celsius("reference_c", reference_c)

        def aged(hours: float, celsius: float) -> float:
            hours = hours * acceleration(celsius, reference_c, activation_ev)
            if hours > self._most_hours:
                raise refusal(
                    "endurance",
                    f"{self.name}: its rates end at {self._most_hours:g} h",
                    f"fewer hours: these are {hours:.4g} h at {reference_c:g} C",
                )
            return hours

        return aged

    def rest(self, hours: float, celsius: float) -> None:
        """Lets the blocks rest for so long at a temperature after each cycle."""
        hours, celsius = (
            number("endurance: rest_hours", hours),
            number("endurance: rest_c", celsius),
        )
        if not 0 <= hours < math.inf:
            raise refusal("endurance", f"rest_hours = {hours:g}: out of range", "0 or more")
        check_celsius("rest_c", celsius)
        if hours == 0:
            return
        if self._cell is None or not self._cell.recovers():
            raise refusal(
                "endurance",
                f"rest_hours = {hours:g}: {self.name} does not recover from wear in a rest",
                hint="use a chip whose rates are its cell's, with cell.wear.recovery above 0",
            )
        self._wear = self._cell.wear_of_rest(self._cell.equivalent_hours(hours, celsius))

    def pages(self, page_type: int | str | None) -> list[int]:
        """The page types that are asked."""
        if page_type is None:
            return list(range(self._bits or MOST_PAGE_TYPES))
        return [page_number("endurance: page_type", page_type, self._bits)]

    def spread(self, page: PageState, pe_cycles: int) -> float:
        """Standard deviation of the logarithm of the rate over pages, as a drive draws them."""
        page_type, hours, reads = page
        if self._cell is None:
            return self._page_spread
        state = (self._worn(pe_cycles), hours, reads, 0)
        return self._cell.page_spread(page_type, self._shifts_v(page_type, state), state)

    def failure(self, pages: Sequence[PageState], pe_cycles: int, failures: Failures) -> float:
        """Probability that a codeword of the worst of the pages cannot be corrected."""
        return max(
            mean_failure(failures, rate, self.spread(page, pe_cycles))
            for page, rate in zip(pages, self.after(pages, pe_cycles), strict=True)
        )

    def new(self, pages: Sequence[PageState]) -> float:
        """The highest rate of the pages in a block of one cycle."""
        return self.worst(pages, 1)

    def worst(self, pages: Sequence[PageState], pe_cycles: int) -> float:
        """The highest rate of the pages in a block of so many cycles."""
        return max(self.after(pages, pe_cycles))

    def after(self, pages: Sequence[PageState], pe_cycles: int) -> list[float]:
        """The rates of the pages in a block of so many cycles."""
        return self._rber([(page, pe_cycles, hours, reads) for page, hours, reads in pages])

    def mean(self, pages: Sequence[PageState], pe_cycles: int) -> list[float]:
        """The rates of the pages, as the mean over the layers of a block."""
        states = [(page, pe_cycles, hours, reads) for page, hours, reads in pages]
        return self._rber(states) if self._worst is None else self._array.rber(states)

    @property
    def layers(self) -> int:
        """Number of layers with factors of their own; 0 where all are alike."""
        return len(self._layers)

    @property
    def by_layer(self) -> list[str]:
        """A note about layers that differ."""
        if self._worst is None:
            return []
        most, least = max(self._layers), min(self._layers)
        return [
            f"error rates by layer: {least:.3g} (layer {self._layers.index(least)}) to {most:.3g}"
            f" (layer {self._worst[0]}) times the geometric mean of all {len(self._layers)}"
        ]

    def _rber(self, states: Sequence[tuple[int, int, float, int]]) -> list[float]:
        """Rates of pages by type, cycles, hours and reads, in the worst layer.

        A cell is asked itself: the array models that are made of it round cycles and hours, or end
        with their grid.
        """
        if self._cell is None:
            heights = None if self._worst is None else [self._worst] * len(states)
            return self._array.rber(list(states), heights)
        rates = []
        for page, pe_cycles, hours, reads in states:
            state = (self._worn(pe_cycles), hours, reads, 0)
            rber = self._cell.rber(page, self._shifts_v(page, state), [state])
            rates.append(min(float(rber[0]), 0.5))
        return rates

    def _worn(self, pe_cycles: int) -> int:
        """Cycles without a rest that wear as much."""
        return round(pe_cycles * self._wear)

    def _shifts_v(self, page_type: int, state: tuple[int, float, int, int]) -> list[float]:
        """How far the references of a page of the cell are moved."""
        if self._cell is None or not self._is_best:
            return []
        if (page_type, state) not in self._shifts:
            self._shifts[page_type, state] = self._cell.best_shifts_v(page_type, state)
        return self._shifts[page_type, state]

    def last_cycle(
        self, limit: RberLimit, pages: Sequence[PageState], most: int = MOST_PE_CYCLES
    ) -> int:
        """The last cycle before the first at which a page is beyond its limit, up to `most`."""
        if self._cell is not None:
            return self._last_of_cell(limit, pages, most)

        def first_beyond(cycles: Sequence[int]) -> int:
            """Index of the first cycle count beyond the limit; their number if none is."""
            states = [(page, n, hours, reads) for n in cycles for page, hours, reads in pages]
            # Without a cell all pages of a chip scatter alike.
            beyond = [rate > limit(self._page_spread) for rate in self._rber(states)]
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

    def _last_of_cell(self, limit: RberLimit, pages: Sequence[PageState], most: int) -> int:
        """The same of a cell: page by page, the one that failed last first."""
        order = list(pages)

        def lasts(pe_cycles: int) -> bool:
            for i, (page, hours, reads) in enumerate(order):
                [rate] = self._rber([(page, pe_cycles, hours, reads)])
                if rate > limit(self.spread((page, hours, reads), pe_cycles)):
                    order.insert(0, order.pop(i))
                    return False
            return True

        if not lasts(0):
            return 0
        low, high, octaves = 0, CELL_TRIED_FROM, 0.0
        while lasts(high):
            if high >= most:
                return most
            octaves += 1 / CELL_TRIED_PER_OCTAVE
            low, high = high, min(round(CELL_TRIED_FROM * 2**octaves), most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if lasts(middle) else (low, middle)
        return low

    def _tried(self) -> list[int]:
        """Cycles to try, from 0 to the most, so close that the rate is monotonic between two."""
        if self._measured:
            most = int(max(self._measured))
            sides = (side for n in self._measured for side in (math.floor(n), math.ceil(n)))
            return sorted({0, most} | {n for n in sides if n < most})
        powers = range(math.ceil(math.log2(MOST_PE_CYCLES) * TRIED_PER_OCTAVE))
        return sorted({0, MOST_PE_CYCLES} | {round(2 ** (i / TRIED_PER_OCTAVE)) for i in powers})
