"""Exchange of a die in a run: its chip is replaced while the drive is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nandlab.display import quantity
from nandlab.given.arguments import number, whole
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from nandlab.report import tables

WAYS = ("in_service", "suspended")


@dataclass(frozen=True)
class Exchange:
    """A die that is given a new chip.

    >>> nandlab.run("tiny", jobs, exchange=nandlab.Exchange(die=2, at_s=0.5))
    """

    die: int
    """Number of the die: 0 is the first one of channel 0, 1 that of channel 1, and so on."""
    at_s: float
    """Simulated time at which it begins, in seconds."""
    way: Literal["in_service", "suspended"] = "in_service"
    """Beside the host, or with the drive suspended while the data are copied."""
    pe_cycles: int = 0
    """Program/erase cycles of the new chip."""

    def text(self) -> str:
        """As the engine and the command line take it: ``2@0.5,suspended``."""
        die = whole("exchange.die", self.die, 0, 2**32 - 1)
        at_s = number("exchange.at_s", self.at_s)
        if self.way not in WAYS:
            raise refusal("exchange.way", repr(self.way), " or ".join(WAYS))
        cycles = whole("exchange.pe_cycles", self.pe_cycles, 0, 2**32 - 1)
        return f"{die}@{at_s!r},{self.way},pe_cycles={cycles}"


def text_of(exchange: Exchange | str | None) -> str | None:
    """The text of an exchange that is given as such or as text."""
    if exchange is None or isinstance(exchange, str):
        return exchange
    if isinstance(exchange, Exchange):
        return exchange.text()
    raise refusal("exchange", repr(exchange), 'nandlab.Exchange(...), or "DIE@SECONDS"')


def told(report: tables.Report) -> str:
    """The exchange of a run in a line, or each of a served drive; empty without one."""
    served = report.device.exchanges if "device" in report else []
    each = served or ([report.exchange] if report.exchange else [])
    return "\n".join(map(line, each))


def line(exchange: tables.Exchange, *, is_over: bool = True) -> str:
    """An exchange as the report has it, in a line; that of a run which is over, or goes on."""
    name = f"die {exchange.die} {exchange.way.replace('_', ' ')}"
    if exchange.asked_s is None:
        return f"{name}: the run ended before {quantity.mean(exchange.planned_s)} s"
    lost = f", {exchange.lost_units:,} lost" if exchange.lost_units else ""
    moved = f"{exchange.moved_units:,} units moved{lost}"
    longest = f"{quantity.mean(exchange.longest_without_service_ms)} ms without service"
    if exchange.replaced_s is None:
        state = "not empty when the run ended" if is_over else "under way"
        return f"{name}: {moved}, {state}; up to {longest}"
    took = exchange.replaced_s - exchange.asked_s
    return f"{name}: replaced after {quantity.mean(took)} s, {moved}; up to {longest}"
