"""Model of a cell: its levels, the error rate of each page, the optimal read references.

>>> import nandlab
>>> cell = nandlab.cell("tlc_3d")
>>> [page.name for page in cell.pages]
['lower', 'middle', 'upper']
>>> bool(cell.rber(1, pe_cycles=3000, retention_hours=8760.0) > cell.rber(1))
True

Everything is the closed form of the engine (``crates/nand/src/cell``, ``sense``): levels as
programmed and read, moved by what happened since. Voltages are in volts, hours are hours at a
temperature, or at the cell's own reference temperature where none is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab import _core
from nandlab.cell.pages import PAGE_TYPES, page_number
from nandlab.cell.source import PAGE_ORDERS, Source, find, of_tables
from nandlab.given.arguments import as_text, listed, named, number, path_of, path_or_none, whole
from nandlab.given.assignments import assignments, blaming
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from nandlab.cell.endurance import EnduranceMap
    from nandlab.cell.retry import RetryTable

    Column = NDArray[np.float64]

_PAGES = {**PAGE_TYPES, 1: ("page",)}
"""Names in pictures and tables; the only page of an SLC wordline is not called lower."""

_STEP_V = 1e-4
"""Half the width that a density is taken over: far below any level's width."""

MOST_READS = 10**15
"""Of a block between its erases."""

OVER = ("cycles", "hours", "reads")
"""What pictures go over."""


class Level(NamedTuple):
    """A level, counted from the erased one."""

    level: int
    bits: str
    """What it holds, the lower page first."""
    mean_v: float
    sigma_v: float


class Page(NamedTuple):
    """A page type: one bit of every cell."""

    page_type: int
    name: str
    """The lower page is programmed first."""
    references_v: tuple[float, ...]
    """Where it is read, rising."""


class Soft(NamedTuple):
    """A soft read: several references around each one of a page."""

    offsets_v: tuple[float, ...]
    """Around each reference of the page."""
    shares: list[list[float]]
    """For each region from the lowest, the share of all cells there that hold 0, and 1."""
    llr: list[float]
    """ln P(0) / P(1) of each region, within +-40."""
    information: float
    """Mutual information between bit and region, in bits."""


class State(NamedTuple):
    """What has happened to the cells."""

    pe_cycles: int = 0
    retention_hours: float = 0.0
    """Since they were programmed, at `temperature_c`."""
    reads: int = 0
    """Of the block since then."""
    reprograms: int = 0
    """Programs of the wordline beyond those that its pages need."""
    temperature_c: float | None = None
    """Left out, the temperature that the cell's parameters hold for."""


class Times(NamedTuple):
    """What operations take with random data."""

    read_us: list[float]
    """By page type."""
    program_us: list[float]
    """By page type; of the wordline where it is programmed in one shot."""
    erase_us: float


class Cell:
    """A cell, in closed form. Of `rber`, numbers of stress may be numpy arrays, all of them.

    It can be pickled, and so be sent to the processes of `multiprocessing`.
    """

    def __init__(
        self, source: Source, sets: Iterable[str] = (), page_order: str | None = None
    ) -> None:
        self._source = source
        self.name = source.name
        self.summary = source.summary
        self.changed = [_within_cell(each) for each in sets]
        self.chip = source.chip
        self.page_order = source.page_order
        if page_order is not None:
            self.page_order = as_text("cell: page_order", page_order, ", ".join(PAGE_ORDERS))
        if self.page_order not in PAGE_ORDERS:
            raise refusal("cell", f"unknown page_order `{self.page_order}`", PAGE_ORDERS)
        given = [*source.sets, *self.changed]
        bits, order = source.cell_bits, self.page_order
        with blaming(source.place, self.changed, "cell."):
            self._core = _core.Cell(source.text, source.place, given, bits, order)
        self.cell_bits = source.cell_bits
        self.native = self._core
        self.notes = source.notes
        """What a reader of its rates must know: a drive of the chip may have others."""
        self.gray = self._core.gray()
        self.mechanisms = self._core.mechanisms()
        self.read_v = tuple(self._core.read_v())
        words = self._core.words()
        self.bits = ["".join(str(word >> p & 1) for p in range(self.cell_bits)) for word in words]
        self.pages = [
            Page(page_type, name, tuple(self._core.references_v(page_type)))
            for page_type, name in enumerate(_PAGES[self.cell_bits])
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the parameters of the native part."""
        return Cell, (self._source, self.changed, self.page_order)

    def __repr__(self) -> str:
        return f"<cell {self.name}: {self.cell_bits} bits, Gray map {self.gray}>"

    @property
    def rated_pe_cycles(self) -> int | None:
        """Rated cycles of the cell's chip, if known."""
        rated = self.chip.get("rated_pe_cycles")
        return None if rated is None else int(rated)

    def equivalent_hours(self, hours: float, temperature_c: float) -> float:
        """Hours at the cell's reference temperature that leave the same mark (Arrhenius)."""
        _within("temperature_c", temperature_c, -100, 300)
        state = _checked(State(retention_hours=hours, temperature_c=temperature_c))
        return self._core.equivalent_hours(state.retention_hours, float(temperature_c))

    def equivalent_reads(self, reads: int, temperature_c: float) -> float:
        """Reads at the temperature of the cell's rate of disturb that disturb as much."""
        _within("temperature_c", temperature_c, -100, 300)
        state = _checked(State(reads=reads, temperature_c=temperature_c))
        return self._core.equivalent_reads(state.reads, float(temperature_c))

    def levels(self, state: State | Mapping[str, Any] | None = None, **stress: Any) -> list[Level]:
        """Mean and standard deviation of each level after the given stress."""
        moments = self._core.moments_v(self._state(state, stress))
        if not all(math.isfinite(value) for pair in moments for value in pair):
            raise refusal(
                "cell",
                f"{self.name}: after this much stress the levels have no finite mean and width",
                hint="use less stress, or other parameters",
            )
        rows = zip(self.bits, moments, strict=True)
        return [Level(i, bits, mean, sigma) for i, (bits, (mean, sigma)) in enumerate(rows)]

    def sides(
        self, voltages_v: ArrayLike, state: State | Mapping[str, Any] | None = None, **stress: Any
    ) -> tuple[Column, Column]:
        """Shares of the cells of each level above and below voltages: levels x voltages.

        Small shares keep all of their digits: ask for the side that is small.
        """
        import numpy as np

        volts = _volts(voltages_v)
        if volts.ndim != 1 or not np.isfinite(volts).all() or (abs(volts) > 1e3).any():
            raise refusal(
                "cell", "voltages_v: out of range", "a list of numbers from -1000 to 1000"
            )
        above, below = self._core.sides(self._state(state, stress), volts)
        shape = (len(self.bits), len(volts))
        return above.reshape(shape), below.reshape(shape)

    def density(
        self,
        voltages_v: ArrayLike,
        level: int | None = None,
        state: State | Mapping[str, Any] | None = None,
        **stress: Any,
    ) -> Column:
        """Share of a level's cells per volt, at voltages: each level's area is one.

        Args:
            voltages_v: a row of voltages.
            level: one level; by default all: levels x voltages.
            state: history of the cells; or, by name, any of
            stress: `pe_cycles`, `retention_hours`, `reads`, `reprograms`, `temperature_c`.

        Raises:
            NandlabError: a level or a stress that cannot be.
        """
        import numpy as np

        if level is not None:
            level = whole("cell: level", level, 0, len(self.bits) - 1)
        volts = _volts(voltages_v)
        above_low, below_low = self.sides(volts - _STEP_V, state, **stress)
        above_high, below_high = self.sides(volts + _STEP_V, state, **stress)
        # The difference of the tails that are small there.
        is_upper = above_low < 0.5
        share = np.where(is_upper, above_low - above_high, below_high - below_low)
        every: Column = np.maximum(share, 0.0) / (2 * _STEP_V)
        return every if level is None else every[level]

    @names_checked
    def rber(
        self,
        page_type: int | str,
        *,
        shifts_v: ArrayLike = (),
        pe_cycles: ArrayLike = 0,
        retention_hours: ArrayLike = 0.0,
        reads: ArrayLike = 0,
        reprograms: ArrayLike = 0,
        temperature_c: ArrayLike | None = None,
    ) -> Column | np.float64:
        """Raw bit error rate of a page type; arrays of stress give an array of rates.

        Args:
            page_type: 0 is the lower page; its name too: ``lower``, ``middle``, ``upper``, ``top``.
            shifts_v: of the page's references from the lowest, in volts; missing ones stay.
            pe_cycles: rounded to whole ones.
            retention_hours: since programming.
            reads: of the block since then.
            reprograms: programs on top of those needed.
            temperature_c: at which the hours passed.

        Raises:
            NandlabError: a page or a stress that cannot be.
        """
        import numpy as np

        kept_at = () if temperature_c is None else (temperature_c,)
        stress = (pe_cycles, retention_hours, reads, reprograms, *kept_at)
        try:
            columns = [np.asarray(column) for column in stress]
        except ValueError as error:
            raise refusal(
                "cell",
                "an array whose rows have different lengths",
                "arrays of one shape, or single numbers",
            ) from error
        try:
            given = np.broadcast_arrays(*columns)
        except ValueError as error:
            shapes = ", ".join(str(column.shape) for column in columns)
            raise refusal(
                "cell",
                f"arrays of the shapes {shapes} do not match",
                "arrays of one shape, or single numbers",
            ) from error
        rows = zip(*(column.ravel().tolist() for column in given), strict=True)
        states = [self._core_state(State(*row)) for row in rows]
        page_type, shifts = self._shifts(page_type, shifts_v)
        rates = self._core.rber(page_type, shifts, states).reshape(given[0].shape)
        return rates if rates.ndim else np.float64(rates[()])

    def best_shifts_v(
        self, page_type: int | str, state: State | Mapping[str, Any] | None = None, **stress: Any
    ) -> tuple[float, ...]:
        """Shifts of the references of a page type to the optimal references."""
        page_type = self._page(page_type)
        return tuple(self._core.best_shifts_v(page_type, self._state(state, stress)))

    def soft(
        self,
        page_type: int | str,
        count: int | None = None,
        *,
        offsets_v: ArrayLike | None = None,
        shifts_v: ArrayLike = (),
        state: State | Mapping[str, Any] | None = None,
        **stress: Any,
    ) -> Soft:
        """A soft read of a page type: regions, their log-likelihood ratios, their information.

        Regions are told apart around each reference of the page by itself. A drive's soft read
        cannot: of several references it sees whether a cell is near one, not which.

        Args:
            page_type: 0 is the lower page; its name too: ``lower``, ``middle``, ``upper``, ``top``.
            count: references around each one of the page, 1 to 7, placed to keep the most
                information (Wang, JSAC 2014); 3 where left out.
            offsets_v: or these, without a count.
            shifts_v: of the page's references.
            state: history of the cells; or, by name, any of
            stress: `pe_cycles`, `retention_hours`, `reads`, `reprograms`, `temperature_c`.

        Raises:
            NandlabError: a page, a count or a stress that cannot be.
        """
        page_type, shifts = self._shifts(page_type, shifts_v)
        if count is not None and offsets_v is not None:
            raise refusal(
                "cell", f"count = {count!r} and offsets_v are both given", hint="give one of them"
            )
        count = 3 if count is None else whole("cell: count", count, 1, 7)
        now = self._state(state, stress)
        if offsets_v is None:
            offsets = self._core.best_offsets_v(page_type, shifts, count, now)
        else:
            offsets = _volts_list("offsets_v", offsets_v)
        shares, llr, information = self._core.soft(page_type, shifts, offsets, now)
        return Soft(tuple(offsets), [list(pair) for pair in shares], llr, information)

    @names_checked
    def times(self, pe_cycles: int = 0) -> Times:
        """Times of operations; zero where the cell gives none."""
        state = _checked(State(pe_cycles=pe_cycles))
        return Times(*self._core.times_us(state.pe_cycles))

    def endurance(self, **given: Any) -> EnduranceMap:
        """Allowed cycles over retention and temperature; see `nandlab.cell.endurance.cell_map`."""
        from nandlab.cell.endurance import cell_map

        return cell_map(self, **given)

    def retry_table(self, count: int, **given: Any) -> RetryTable:
        """Shifts that correct most codewords over a life; see `nandlab.cell.retry.retry_table`."""
        from nandlab.cell.retry import retry_table

        return retry_table(self, count, **given)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        state: State | Mapping[str, Any] | None = None,
        **stress: Any,
    ) -> Figure:
        """Distributions of threshold voltages with references and errors, also into `path`."""
        from nandlab.cell.plot import plot_levels

        return plot_levels(self, _merged(state, stress), path_or_none("plot", path))

    def plot_rber(
        self,
        path: str | PathLike[str] | None = None,
        over: str = "cycles",
        state: State | Mapping[str, Any] | None = None,
        **stress: Any,
    ) -> Figure:
        """Error rates of the pages over cycles, hours or reads, also into `path`."""
        from nandlab.cell.plot import plot_rber

        return plot_rber(self, over, _merged(state, stress), path_or_none("plot", path))

    def plot_program(self, path: str | PathLike[str] | None = None, pe_cycles: int = 0) -> Figure:
        """Program time by page number, also into `path`."""
        from nandlab.cell.plot import plot_program

        return plot_program(self, pe_cycles, path_or_none("plot", path))

    def animate(
        self,
        path: str | PathLike[str],
        over: str = "cycles",
        state: State | Mapping[str, Any] | None = None,
        *,
        frames: int = 40,
        **stress: Any,
    ) -> None:
        """A moving picture into `path` (.gif or .html): from a fresh cell to the given state."""
        from nandlab.cell.motion import animate

        animate(self, path_of("animate", path), over, _merged(state, stress), frames)

    def _page(self, page_type: int | str) -> int:
        return page_number("cell: page_type", page_type, self.cell_bits)

    def _shifts(self, page_type: int | str, values: ArrayLike) -> tuple[int, list[float]]:
        """A page type, and shifts of its references, no more than it has."""
        page_type = self._page(page_type)
        shifts, most = _volts_list("shifts_v", values), len(self.pages[page_type].references_v)
        if len(shifts) > most:
            raise refusal(
                "cell",
                f"shifts_v: {len(shifts)} for the {self.pages[page_type].name} page",
                f"at most {most}, one for each of its references",
            )
        return page_type, shifts

    def _state(
        self, state: State | Mapping[str, Any] | None, stress: Mapping[str, Any]
    ) -> tuple[int, float, int, int]:
        return self._core_state(_merged(state, stress))

    def _core_state(self, state: State) -> tuple[int, float, int, int]:
        checked = _checked(state)
        hours, reads = checked.retention_hours, checked.reads
        if checked.temperature_c is not None:
            hours = self._core.equivalent_hours(hours, checked.temperature_c)
            reads = reads_at(self._core, reads, checked.temperature_c)
        return checked.pe_cycles, hours, reads, checked.reprograms


def reads_at(core: _core.Cell, reads: int, temperature_c: float) -> int:
    """Reads at the cell's reference temperature that disturb as much."""
    return round(min(core.equivalent_reads(reads, temperature_c), 2.0**63))


@names_checked
def cell(
    name: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, object] | Iterable[str] = (),
    page_order: str | None = None,
) -> Cell:
    """A cell: a preset (cell, or a chip or a drive with one), or a TOML file of one of these.

    Args:
        name: what `nandlab presets cell` lists, the path of a file that ends with .toml, or a
            mapping of the tables of such a file.
        set: parameters to change: ``{"retention.share": 0.002}``, or as the command line has
            them: ``["retention.share=0.002"]``.
        page_order: order of its pages on the wordlines; default: that of its chip.

    Raises:
        NandlabError: no such cell, or parameters that no cell can have.
    """
    source = of_tables(name) if isinstance(name, Mapping) else find(named("cell", name))
    return Cell(source, assignments(set), page_order)


def _within_cell(assignment: str) -> str:
    """An assignment as a path below the cell: `chip.cell.` or `cell.` at its start is cut off."""
    for start in ("chip.cell.", "cell."):
        if assignment.startswith(start):
            return assignment[len(start) :]
    return assignment


def _volts(values: ArrayLike) -> Column:
    import numpy as np

    try:
        return np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise refusal(
            "cell",
            f"voltages_v = {values!r}: not all numbers",
            "a list of numbers from -1000 to 1000",
        ) from None


def _volts_list(name: str, values: ArrayLike) -> list[float]:
    place = f"cell: {name}"
    each = listed(place, values, "a list of numbers from -1e6 to 1e6 V, such as [0.1]")
    volts = [number(place, value) for value in each]
    for volt in volts:
        if not abs(volt) <= 1e6:
            raise refusal("cell", f"{name} = {volt:g}: out of range", "-1e6 to 1e6 V")
    return volts


def _merged(state: State | Mapping[str, Any] | None, stress: Mapping[str, Any]) -> State:
    for name in stress:
        if name not in State._fields:
            raise refusal("cell", f"unknown stress `{name}`", State._fields, given=name)
    if isinstance(state, Mapping):
        return _merged(None, {**state, **stress})
    if not isinstance(state, State | None):
        raise refusal(
            "cell", f"state = {state!r}: not a state", "nandlab.State, or a mapping with its fields"
        )
    return (state or State())._replace(**stress)


def _checked(state: State) -> State:
    """The state, with whole numbers as int and every value within its range.

    Raises:
        NandlabError: what cannot be.
    """
    whole = {"pe_cycles": 10**8, "reads": MOST_READS, "reprograms": 10**6}
    for name, most in whole.items():
        _within(name, getattr(state, name), 0, most)
    _within("retention_hours", state.retention_hours, 0, 1e9)
    if state.temperature_c is not None:
        _within("temperature_c", state.temperature_c, -100, 300)
    return State(
        pe_cycles=round(state.pe_cycles),
        retention_hours=float(state.retention_hours),
        reads=round(state.reads),
        reprograms=round(state.reprograms),
        temperature_c=state.temperature_c,
    )


def _within(name: str, value: Any, low: float, high: float) -> None:
    given = number(f"cell: {name}", value)
    if not low <= given <= high:
        raise refusal("cell", f"{name} = {given:g}: out of range", f"{low:g} to {high:g}")
