"""Endurance of a chip: P/E cycles that data survive, by retention, temperature, ECC and UBER.

Desnoyers (HotStorage'13): endurance is not a count after which cells fail. It is how often a block
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
from nandlab.cell.source import Source, find, is_of_the_cell, of_tables
from nandlab.display.notebook import InNotebook
from nandlab.ecc.pages import check_spreads, failures_of, lognormal, mean_failure
from nandlab.ecc.stripe import Stripe
from nandlab.ecc.uber import Ecc
from nandlab.endurance.limits import Target, by_code, by_errors
from nandlab.endurance.of_drive import drive_named, read_of
from nandlab.endurance.rates import MOST_PE_CYCLES, Rates, check_celsius
from nandlab.endurance.uncertain import Drawn, Uncertain, cells_along_axes, is_unchanged
from nandlab.fit.facts import WHOLE_CELL, FitFacts
from nandlab.fit.fitting import Fit
from nandlab.fit.whole_cell import CellFit
from nandlab.given.arguments import flag, number, numbers, path_or_none, to_json, whole
from nandlab.given.names import names_checked
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

HOURS_PER_YEAR = 8760.0

RETENTION_HOURS = (24.0, 168.0, 730.0, 2190.0, HOURS_PER_YEAR, 10 * HOURS_PER_YEAR)
"""A day, a week, a month, three months, a year, ten years."""

DRAWS = 400
"""Array models drawn from a fit for an interval."""


class Profile(NamedTuple):
    """Storage temperature and retention of a drive without power (JESD218)."""

    retention_hours: float
    temperature_c: float
    uber: float


PROFILES = {
    name: Profile(hours, celsius, target)
    for name, hours, celsius, target in _core.retention_profiles()
    if target is not None
}
"""JESD218's classes: those of its requirements that ask for an error rate."""

PROFILE = "client"
"""Class of JESD218 that a drive is evaluated for by default."""


class Point(NamedTuple):
    """One endurance and all that it holds for."""

    retention_hours: float
    temperature_c: float
    t: int | None
    """None where a code corrects no certain number of errors."""
    uber: float
    rber_spread: float
    """Standard deviation of the bit error rate over pages, over its mean: as given, or as a drive
    draws the pages of the chip after these cycles."""
    rber_limit: float
    """Highest mean bit error rate of such pages that ECC and UBER allow."""
    rber_new: float
    """Bit error rate of the worst page at that age, in a block of one cycle."""
    pe_cycles: int
    """Cycles up to which data of that age have always been within it: to its first crossing."""
    pe_cycles_low: int | None = None
    """Of the interval, where the rates were fitted, or the failures of a code measured."""
    pe_cycles_high: int | None = None
    code: str = ""
    """The code, where one was named."""
    levels: int = 0
    """Extra references of its soft reads."""
    pe_cycles_measured: int | None = None
    """Most cycles at which the chip's rates were measured; None of a law or a cell."""
    parity_pages: int = 0
    """Pages of parity in a stripe that gives back what the code gives up; 0 of the code alone."""
    stripe_dies: int = 0
    """Pages of the stripe, each on a die of its own; 0 of the code alone."""

    @property
    def is_at_the_last_measurement(self) -> bool:
        """Whether the measurements end within the limit: `pe_cycles` is a lower bound."""
        return self.pe_cycles_measured is not None and self.pe_cycles >= self.pe_cycles_measured


class Endurance(InNotebook):
    """Endurances of a chip: a table and a picture."""

    def __init__(
        self,
        chip: str,
        points: Sequence[Point],
        ecc: Ecc,
        level: float = 0.95,
        sources: Sequence[str] = (),
    ) -> None:
        self.chip = chip
        self.sources = list(sources)
        """Sources of rates and limits, if not obvious."""
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
            f"{'RBER limit':>11} {'cycles':>12}{self._interval()}{self._parity('parity')}",
        ]
        for point in self.points:
            lines.append(
                f"{duration(point.retention_hours):>10} {point.temperature_c:>5.3g} C "
                f"{_errors(point):>5} {point.uber:>7.0e} {point.rber_spread:>7.2g} "
                f"{point.rber_limit:>11.3e} {_cycles(point, point.pe_cycles):>12}{_span(point)}"
                f"{self._parity(_stripe(point))}"
            )
        return "\n".join([*lines, *(f"\nnote: {note}" for note in self.notes())])

    def notes(self) -> list[str]:
        """Sources of the rates; why an endurance is zero, and what to change."""
        notes = list(self.sources)
        if bounds := {p.pe_cycles_measured for p in self.points if p.is_at_the_last_measurement}:
            [most] = bounds
            notes.append(
                f"the chip was measured up to {most:,} cycles and keeps data there: "
                f">= {most:,} is a lower bound"
            )
        none = [point for point in self.points if point.pe_cycles == 0]
        if not none:
            return notes
        least = min(none, key=lambda point: point.rber_new)
        t = self._least_t(least)
        given = f"{duration(least.retention_hours)} at {least.temperature_c:g} C"
        has_parity = any(point.parity_pages for point in self.points)
        of = " of the code alone" if has_parity and not least.parity_pages else ""
        why = f"0 cycles: the RBER of a fresh chip is above the limit{of}"
        change = "a higher UBER, a shorter retention time or a better chip may help"
        if t is not None:
            change = f"t = {t} or more changes that, {change} too"
        return [*notes, f"{why}: {least.rber_new:.3e} after {given}; {change}"]

    def _least_t(self, point: Point) -> int | None:
        """The fewest errors to correct that leave a cycle at least; None where none do."""
        rber, spread = point.rber_new, point.rber_spread
        if point.t is None:
            return None
        low, high = point.t, self.ecc.codeword_bits - 1
        while high - low > 1:
            t = (low + high) // 2
            ecc = self.ecc._replace(t=t)
            failed = mean_failure(failures_of(ecc), rber, lognormal(spread))
            is_enough = failed / ecc.user_bits <= point.uber
            low, high = (low, t) if is_enough else (t, high)
        return high

    def _interval(self) -> str:
        """The heading of the confidence intervals, if any."""
        if not any(point.pe_cycles_low is not None for point in self.points):
            return ""
        return f"{f'{100 * self.level:g} % interval':>22}"

    def _parity(self, text: str) -> str:
        """A cell of the column of parity, if any point has some."""
        return f" {text:>10}" if any(point.parity_pages for point in self.points) else ""

    def to_pandas(self) -> Any:
        """All points as a ``pandas.DataFrame``; ``pip install 'nandlab[pandas]'``.

        Raises:
            NandlabError: pandas is not installed.
        """
        from nandlab.display.frames import data_frame

        return data_frame(self.to_arrow())

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Cycles over retention, a curve for each of the rest, also written to `path`."""
        from nandlab.endurance.plot import plot_endurance

        return plot_endurance(self, path_or_none("plot", path))


@names_checked
def endurance(
    chip: str | PathLike[str] | Mapping[str, Any] | Fit | CellFit,
    *,
    retention_hours: ArrayLike | None = None,
    temperature_c: ArrayLike | None = None,
    reference_c: float | None = None,
    activation_ev: float | None = None,
    t: ArrayLike | None = None,
    codeword_bits: int | None = None,
    user_bits: int | None = None,
    code: str | PathLike[str] | None = None,
    levels: int | None = None,
    is_best: bool | None = None,
    uber: ArrayLike | None = None,
    rber_spread: ArrayLike | None = None,
    reads: int = 0,
    rest_hours: float = 0.0,
    rest_c: float = 30.0,
    page_type: int | str | None = None,
    level: float | None = None,
    stripe: Stripe | None = None,
) -> Endurance:
    """Endurance for every combination of the given values.

    Each is the count of cycles before the first at which a page errs more often than ECC and UBER
    allow. Of measured points every one is tried, so that no crossing is missed; of a law, which is
    smooth, eight counts of cycles in each doubling, of a cell two.

    Args:
        chip: a preset, a chip file or a mapping of its tables (one of which is ``array``, ``cell``
            or ``preset``); the table of an array model, as ``[array]`` has it; or a
            fit. The uncertainty of a fit, or of the one that a chip file keeps, gives every
            endurance an interval. Keys that a table leaves
            out have their defaults, as in a chip file: of `power_law` those of Kim et al. 2019,
            with wear, retention and reads. A term goes with its scale at 0: ``"alpha": 0``,
            ``"beta": 0``, ``"gamma": 0``. Or a drive, preset, file or tables (``drive/NAME``
            where a chip has the same name): its chip as it reads it, which is what the limit of
            `nandlab.life` goes by.
        retention_hours: how long data are kept: a day to ten years of a chip, of a drive a year, as
            JESD218 asks of clients.
        temperature_c: at which temperature they are kept (30).
        reference_c: the temperature that the chip's error rates hold for. Where left out, what
            `retention_law` says, fitted or not; 30 of other array models, which do not say it. A
            cell knows its own.
        activation_ev: of Arrhenius' law. Where left out, what `retention_law` says, of a fit each
            draw for itself; 1.1 of other array models. A cell knows its own.
        t: errors that a codeword may hold (300; of a drive those of its code).
        codeword_bits: with parity (34,560, or as the drive has it).
        user_bits: without (32,768, or as the drive has it).
        code: or a code, preset or file: its t, or where it has none its measured profile. With a
            code or a size given, the defaults of the others are those of a chip, also for a drive.
        levels: extra references of its soft reads: 0 is a hard read, 2 one soft read. Default: none
            of a chip, of a drive as many as its retry takes.
        is_best: references stand where each page errs least (the default of a chip), as those of a
            drive that looks for them; or where the cell's parameters have them. A drive moves them
            if its retry is `read_retry`. Only a chip whose rates are its cell's has references.
        uber: uncorrectable bit error rate that is accepted at most (1e-15).
        rber_spread: standard deviation of the error rate from page to page over its mean; 0 takes
            pages as alike. Default: that of the chip, which a drive draws: by the width of the
            wordlines of its cell, by `chip.array.page_spread` of measured points, none of a law.
        reads: of the block since it was erased.
        rest_hours: rest of the block after each cycle, in which its cells recover from wear; only
            of a chip whose rates are its cell's, with ``cell.wear.recovery`` above 0.
        rest_c: at which temperature it rests.
        page_type: page type by name, as ``upper``, or as a number from 0, the lower page; default:
            the worst one.
        level: of the intervals, where `chip` is a fit or keeps one (0.95).
        stripe: pages with parity, `nandlab.ecc.stripe.Stripe`: each combination has the endurance
            of the code alone, and that of a drive whose UBER counts only what parity does not give
            back. Default: the stripes of a drive with `parity.pages`, and else none. The UBER holds
            for pages of a stripe that fail independently; those that fail together lose more.

    Raises:
        NandlabError: no such chip, one without errors, or a value out of range.
    """
    sizes: dict[str, Any] = {"t": t, "codeword_bits": codeword_bits, "user_bits": user_bits}
    usual, name = PROFILES[PROFILE], ""
    kept_for: Sequence[float] = RETENTION_HOURS
    if not isinstance(chip, Fit | CellFit) and (drive := drive_named(chip)) is not None:
        name = "the drive" if isinstance(chip, Mapping) else fspath(chip)
        read = read_of(drive.config, f"endurance: {name}")
        chip, kept_for = drive.with_facts()["chip"], (usual.retention_hours,)
        is_best = read.is_best if is_best is None else is_best
        stripe = read.stripe if stripe is None else stripe
        if code is None and all(size is None for size in sizes.values()):
            code, levels, sizes = read.coded(levels)
    levels = 0 if levels is None else levels
    kept_hours = _numbers("retention_hours", retention_hours, kept_for)
    at_c = _numbers("temperature_c", temperature_c, (usual.temperature_c,))
    ubers = _numbers("uber", uber, (usual.uber,))
    targets = [Target(one, of) for of in _stripes(stripe) for one in ubers]
    rates, uncertain, fitted = _rates(chip, is_best)
    drawn = uncertain.rates
    for one in (rates, *drawn):
        one.rest(rest_hours, rest_c)
    if level is not None and not drawn:
        raise refusal(
            "endurance",
            f"level = {level!r}: only a fit has confidence intervals",
            hint="use level with a fit, or with a chip file that keeps one ([fit] covariance)",
        )
    level = 0.95 if level is None else number("endurance: level", level)
    if not 0.5 <= level < 1:
        raise refusal("endurance", f"level = {level:g}: out of range", "0.5 to below 1")
    ages = [one.aging(reference_c, activation_ev) for one in (rates, *drawn)]
    pages = rates.pages(page_type)
    reads = whole("endurance: reads", reads, 0, 2**32 - 1)
    spreads: Sequence[float | None] = [None]
    if rber_spread is not None:
        spreads = numbers("endurance: rber_spread", rber_spread)
        check_spreads(spreads)
    if code is None:
        if levels:
            raise refusal(
                "endurance", f"levels = {levels!r} without a code", hint="give a code with it"
            )
        ecc, limits = by_errors(sizes, targets, spreads)
    else:
        ecc, limits = by_code(code, levels, sizes, targets, spreads)
    points, notes = [], [*([rates.source] if rates.source else []), *rates.by_layer]
    for limit in limits:
        code_found = limit.found
        notes += [limit.note] if limit.note else []
        for celsius in at_c:
            check_celsius("temperature_c", celsius)
            for hours in kept_hours:
                if not 0 <= hours < math.inf:
                    problem = f"retention_hours = {hours:g}: out of range"
                    raise refusal("endurance", problem, "0 or more")
                # Each draw of a fit has an activation energy of its own.
                states = [[(page, aged(hours, celsius), reads) for page in pages] for aged in ages]
                cycles = rates.last_cycle(limit.of, states[0])
                ends = uncertain.ends(limit.of, (rates, states[0]), states[1:], cycles, level)
                if (of_limits := limit.ends()) and not drawn:
                    low, high = (rates.last_cycle(end, states[0]) for end in of_limits)
                    ends = (low, high)
                new = rates.new(states[0])
                spread, allowed = limit.at(rates, states[0], cycles)
                asked = (hours, celsius, code_found.t, limit.target.uber, spread)
                of = limit.target.stripe
                points.append(
                    Point(
                        *(*asked, allowed, new, cycles, *ends, code_found.code, code_found.levels),
                        pe_cycles_measured=rates.measured_to,
                        parity_pages=of.parity if of else 0,
                        stripe_dies=of.dies if of else 0,
                    )
                )
    if stripe is not None:
        notes.append(_independent(stripe))
    if fitted is not None:
        notes += fitted.layers_beyond(rates.layers)
        notes += _beyond(fitted, points, reads, ages[0])
    return Endurance(name or rates.name, points, ecc, level, notes)


def _stripes(stripe: Stripe | None) -> tuple[Stripe | None, ...]:
    """The code alone, and the stripe if there is one."""
    if stripe is None:
        return (None,)
    if not isinstance(stripe, Stripe):
        raise refusal("endurance", f"stripe: {stripe!r}", "nandlab.ecc.stripe.Stripe")
    return None, stripe.check()


def _independent(stripe: Stripe) -> str:
    """A note on what the UBER of a drive with parity rests on."""
    return (
        f"with {stripe.said}, the UBER counts what parity does not give back, for pages of a"
        " stripe that fail independently; pages that fail together lose more"
    )


def _numbers(name: str, given: ArrayLike | None, usual: Sequence[float]) -> Sequence[float]:
    """The numbers of an argument, or the usual ones."""
    return usual if given is None else numbers(f"endurance: {name}", given)


def _beyond(
    fitted: FitFacts,
    points: Sequence[Point],
    reads: int,
    aged: Callable[[float, float], float],
) -> list[str]:
    """A note where a law is asked for more than the data that it was fitted to hold."""
    beyond = 0
    for point in points:
        hours = aged(point.retention_hours, point.temperature_c)
        beyond += fitted.is_beyond(point.pe_cycles, hours, reads, point.temperature_c)
    if not beyond:
        return []
    return [
        f"{beyond} of {len(points)} endurances are extrapolations of {fitted.title}: "
        f"{fitted.ends()}"
    ]


def rates_of(
    chip: str | PathLike[str] | Mapping[str, Any] | Fit | CellFit, is_best: bool | None = None
) -> Rates:
    """Error rates of a chip, as `endurance` takes them.

    Raises:
        NandlabError: no such chip, or one without errors.
    """
    return _rates(chip, is_best)[0]


def duration(hours: float) -> str:
    """Hours as text in a suitable unit."""
    if hours == 0:
        return "at once"
    for size, unit in ((HOURS_PER_YEAR, "year"), (730, "month"), (168, "week"), (24, "day")):
        if hours >= size * 0.999:
            count = hours / size
            return f"{count:.3g} {unit}{'' if round(count, 2) == 1 else 's'}"
    return f"{hours:.3g} h"


def _rates(
    chip: str | PathLike[str] | Mapping[str, Any] | Fit | CellFit, is_best: bool | None
) -> tuple[Rates, Uncertain, FitFacts | None]:
    """The error rates of a chip, with their uncertainty where it is of a fit."""
    if is_best is not None:
        flag("is_best", is_best)
    if isinstance(chip, CellFit):
        chip = parse_toml(chip.chip_toml(), repr(chip))
    if isinstance(chip, Fit):
        _no_references(chip.law, is_best)
        name = f"{chip.law} of {Path(chip.data.name).name}"
        facts = FitFacts.of(chip)
        # A table has rates and no law: each is drawn for itself, as the fit knows them.
        drawn = _drawn(name, facts, chip.array) if facts.covariance else chip.draws(DRAWS)
        return Rates(name, chip.array), Drawn([Rates(name, array) for array in drawn]), facts
    bits, source = 0, ""
    chip = fspath(chip) if isinstance(chip, PathLike) else chip
    is_chip = isinstance(chip, str) or (
        isinstance(chip, Mapping) and any(key in chip for key in ("array", "cell", "preset"))
    )
    tables: dict[str, Any] = {}
    if is_chip:
        tables = chip_tables(chip)
        name = chip if isinstance(chip, str) else str(tables.get("summary", "chip"))
        array, bits = tables.get("array", {}), int(tables.get("cell_bits", 0))
    elif not isinstance(chip, Mapping):
        raise refusal(
            "endurance",
            f"{type(chip).__name__} is not a chip",
            "a preset, a chip file, the table of an array model, or a fit",
        )
    else:
        name, array = str(chip.get("name", "")), json.loads(to_json("array", dict(chip)))
    array = json.loads(_core.array_with_numbers(json.dumps(array)))
    is_ideal = array.get("name", "ideal") == "ideal"
    if is_ideal and "cell" not in tables:
        raise refusal(
            "endurance",
            f"{name or 'the chip'} has no bit errors (array `ideal`)",
            hint="use a chip with another array model, or with a cell",
        )
    if is_ideal:
        source = f"by the cell of {name}; drives have no bit errors (array `ideal`)"
    if is_chip:
        if is_ideal or is_of_the_cell(array):
            about = _with_cell(chip)
            bits, order = about.cell_bits, about.page_order
            cell = _core.Cell(about.text, about.place, about.sets, bits, order)
            is_best = is_best is not False
            rates = Rates(name, array, cell, bits, source, is_best=is_best)
            return (rates, *_of_cell(rates, about, tables, is_best=is_best))
        if "cell" in tables:
            source = f"by array `{array['name']}` of {name}; its cell is not used"
    _no_references(str(array["name"]), is_best)
    rates = Rates(name, array, bits=bits, source=source)
    if "fit" not in tables:
        return rates, Drawn([]), None
    facts = FitFacts.read(tables["fit"], f"{name}: fit")
    if not facts.covariance:
        return rates, Drawn([]), facts
    if not facts.is_of(array):
        changed = f"the array of {name} was changed since it was fitted: no intervals"
        rates.source = f"{source}; {changed}" if source else changed
        return rates, Drawn([]), None
    drawn = _drawn(name, facts, array)
    return rates, Drawn([Rates(name, array, bits=bits) for array in drawn]), facts


def _of_cell(
    rates: Rates, about: Source, tables: Mapping[str, Any], *, is_best: bool
) -> tuple[Uncertain, FitFacts | None]:
    """The uncertainty of a chip's cell, and the facts of its fit, if it was fitted."""
    if tables.get("fit", {}).get("law") != WHOLE_CELL:
        return Drawn([]), None
    facts = FitFacts.read(tables["fit"], f"{rates.name}: fit")
    if not is_unchanged(facts, about.effective):
        changed = f"the cell of {rates.name} was changed since it was fitted: no intervals"
        rates.source = f"{rates.source}; {changed}" if rates.source else changed
        return Drawn([]), None
    if not facts.covariance:
        return Drawn([]), facts
    return cells_along_axes(about, facts, is_best=is_best), facts


def _drawn(name: str, facts: FitFacts, array: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Array models by the uncertainty of a law."""
    drawn = facts.draws(array, DRAWS)
    if len(drawn) < DRAWS // 2:
        raise refusal(
            "endurance",
            f"{name}: in {DRAWS - len(drawn)} of {DRAWS} draws, errors fall with stress",
            hint="fit more data",
        )
    return drawn


def _with_cell(chip: str | Mapping[str, Any]) -> Source:
    if isinstance(chip, str):
        return find(chip if chip.endswith(".toml") else f"chip/{chip}")
    return of_tables(chip)


def _no_references(array: str, is_best: bool | None) -> None:
    if is_best is not None:
        raise refusal(
            "endurance",
            f"is_best = {is_best}: `{array}` has no references to move",
            hint="use a chip whose array is `cells`, or a `table` of its cell",
        )


def _span(point: Point) -> str:
    if point.pe_cycles_low is None or point.pe_cycles_high is None:
        return ""
    low, high = (_cycles(point, end) for end in (point.pe_cycles_low, point.pe_cycles_high))
    return f"{low} .. {high}".rjust(22)


def _stripe(point: Point) -> str:
    return f"{point.parity_pages} of {point.stripe_dies}" if point.parity_pages else "none"


def _errors(point: Point) -> str:
    return "" if point.t is None else str(point.t)


def _cycles(point: Point, cycles: int) -> str:
    """Cycles with a sign where they are a lower bound."""
    if point.pe_cycles_measured is not None and cycles >= point.pe_cycles_measured:
        return f">= {cycles:,}"
    return f"> {cycles:,}" if cycles >= MOST_PE_CYCLES else f"{cycles:,}"
