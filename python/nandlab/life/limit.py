"""Cycles that the code of a drive bears: those up to which data are kept with the UBER asked for.

They are the endurance of `nandlab.endurance` (Desnoyers, HotStorage'13) for the drive's chip and
code: its most worn block, its worst page type, after a retention time at a temperature. Pages of
one type scatter as a timed run draws them. Of a drive with parity they are cycles up to which
parity gives back enough of what the code gives up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nandlab.ecc.code_limit import failures_of_code
from nandlab.ecc.pages import failures_of
from nandlab.ecc.uber import Ecc
from nandlab.endurance.chip import PROFILE, PROFILES, endurance, rates_of
from nandlab.endurance.of_drive import codes_by_age, read_of, why_without_limit
from nandlab.endurance.rates import MOST_PE_CYCLES
from nandlab.given.arguments import number
from nandlab.given.refusal import refusal


class Demand(NamedTuple):
    """What is asked of data that a drive stores."""

    uber: float
    retention_hours: float
    temperature_c: float


def demand(
    profile: str | None,
    uber: float | None,
    retention_hours: float | None,
    temperature_c: float | None,
) -> Demand:
    """The demand of a class of JESD218, where values of one's own do not go before it.

    Raises:
        NandlabError: no such class, or a value out of range.
    """
    profile = PROFILE if profile is None else profile
    if profile not in PROFILES:
        raise refusal("life", f"unknown profile `{profile}`", PROFILES, given=profile)
    usual = PROFILES[profile]
    own = {"uber": uber, "retention_hours": retention_hours, "temperature_c": temperature_c}
    given = Demand(
        **{
            name: getattr(usual, name) if value is None else number(f"life: {name}", value)
            for name, value in own.items()
        }
    )
    if not 0 < given.uber < 1:
        raise refusal("life", f"uber = {given.uber:g}: out of range", "above 0, below 1")
    return given


class Uber(NamedTuple):
    """Uncorrectable bit error rate of a drive; None without a code that goes by bit errors."""

    drive: float | None
    """Rate of what parity does not give back."""
    code: float | None
    """Rate of the code alone; the same without parity."""


class Limit(NamedTuple):
    """The most cycles of a block."""

    pe_cycles: int | None
    """None where errors set no limit."""
    uber: Callable[[int], Uber]
    """UBER of a block of so many cycles, after the retention time."""
    end: str
    """End of a life there: ``measured`` where the chip's rates were measured to no more cycles and
    data are kept, and else ``uber``."""
    notes: list[str]
    """Why there is no limit, or what its figure rests on."""


def limit_of(config: Mapping[str, Any], asked: Demand) -> Limit:
    """The limit of a drive by its configuration.

    Of codes by age it is the limit of the last one, or of an earlier one that does not bear the
    cycles at which the next begins.

    Raises:
        NandlabError: its rates do not reach so far, or a value is out of range.
    """
    by_age = [(begin, _limit_of_code(one, asked)) for begin, one in codes_by_age(config)]
    if len(by_age) == 1:
        return by_age[0][1]
    begins = [begin for begin, _ in by_age]
    limits = [limit for _, limit in by_age]
    bears = [
        limit.pe_cycles is None or limit.pe_cycles >= begin
        for limit, begin in zip(limits, begins[1:], strict=False)
    ]
    last = bears.index(False) if False in bears else len(bears)

    def of_cycles(pe_cycles: int) -> Uber:
        return limits[min(bisect_right(begins, pe_cycles) - 1, last)].uber(pe_cycles)

    ends = ["none" if limit.pe_cycles is None else limit.pe_cycles for limit in limits]
    said = ", ".join(f"from {begin}: {end}" for begin, end in zip(begins, ends, strict=True))
    note = f"limits of the codes by age, by cycles at which they begin: {said}"
    return limits[last]._replace(uber=of_cycles, notes=[*limits[last].notes, note])


def _limit_of_code(config: Mapping[str, Any], asked: Demand) -> Limit:
    """The limit of a drive with one code."""
    if why := why_without_limit(config):
        return _without(why)
    read, chip = read_of(config, "life"), config["chip"]
    is_best, coded, stripe = read
    if "fit" in chip:
        # A life shows no intervals, whose draws take seconds.
        chip = {**chip, "fit": {**chip["fit"], "covariance": []}}
    found = endurance(
        chip,
        retention_hours=asked.retention_hours,
        temperature_c=asked.temperature_c,
        uber=asked.uber,
        is_best=is_best,
        stripe=stripe,
        **coded,
    )
    # The last is of the drive, after that of its code alone.
    point = found.points[-1]
    rates = rates_of(chip, is_best)
    hours = rates.aging(None, None)(asked.retention_hours, asked.temperature_c)
    pages = [(page, hours, 0) for page in rates.pages(None)]
    if "code" in coded:
        failures, user_bits = failures_of_code(coded["code"], levels=coded["levels"])
    else:
        ecc = Ecc(coded["t"], coded["codeword_bits"], coded["user_bits"])
        failures, user_bits = failures_of(ecc), ecc.user_bits

    def of_cycles(pe_cycles: int) -> Uber:
        failure = rates.failure(pages, pe_cycles, failures)
        lost = failure if stripe is None else stripe.lost(failure)
        return Uber(lost / user_bits, failure / user_bits)

    most = None if point.pe_cycles >= MOST_PE_CYCLES else point.pe_cycles
    notes = [*found.notes(), _read_as(is_best, coded, config["retry"]["name"])]
    end = "measured" if point.is_at_the_last_measurement else "uber"
    return Limit(most, of_cycles, end, notes)


def _read_as(is_best: bool | None, coded: Mapping[str, Any], retry: str) -> str:
    """How a drive reads its oldest data, with the options of `nandlab endurance` that say so."""
    options = [] if is_best is None else ["--best" if is_best else "--fixed"]
    for key, value in coded.items():
        if key != "levels" or value:
            options.append(f"--{key.replace('_', '-')} {value}")
    return (
        f"the UBER limit is for the reads of this drive (retry.name `{retry}`):"
        f" `nandlab endurance CHIP {' '.join(options)}`"
    )


def _without(why: str) -> Limit:
    return Limit(None, lambda _: Uber(None, None), "uber", [f"no limit by UBER: {why}"])
