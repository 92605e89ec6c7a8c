"""Table of a life, for the terminal and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.life.result import ENDS

if TYPE_CHECKING:
    from nandlab.life.result import Life, Window

_LEAST = 1e-20

_HEADS = (
    f"{'years':>7} {'TB written':>11} {'cycles':>8} {'most':>7} {'failed':>7} {'WA':>6} "
    f"{'UBER':>8} {'read p99':>9} {'p99.99':>9} {'write p99':>10} {'soft reads':>11}"
)


def text_of(life: Life) -> str:
    """Facts, a line for each window, and notes."""
    amplification = life.write_amplification
    lines = [
        f"life of {life.facts.drive} under {life.facts.workload}",
        "",
        f"end        {life.end}: {ENDS[life.end]}",
        f"TBW        {life.tbw:,.4g} TB, {life.tbw * 1e12 / life.capacity_bytes:,.4g} drive writes",
        f"years      {life.years:.4g}" + ("" if life.dwpd is None else f" at {life.dwpd:.4g} DWPD"),
        "WA         " + ("-" if amplification is None else f"{amplification:.3f}"),
        f"energy     {life.energy_kwh:.4g} kWh of flash and decoders",
        f"exact      {_accelerated(life.facts.acceleration)}",
        *_replicates(life),
        "",
        _HEADS,
        *(_line(window) for window in life.windows),
    ]
    return "\n".join([*lines, *(f"\nnote: {note}" for note in life.notes)])


def _replicates(life: Life) -> list[str]:
    """Lines about the lives of other seeds; none of one life."""
    if life.replicates is None:
        return []
    _, seeds, ends, figures = life.replicates.values()
    told = ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
    lines = [f"replicates {len(seeds)} with seeds {seeds[0]} to {seeds[-1]}, ends: {told}"]
    for name, figure in figures.items():
        mean, low, high, _ = figure.values()
        known = "" if low is None else f" ({low:.4g} to {high:.4g}, 95 %)"
        lines.append(f"           mean {name} {mean:.4g}{known}")
    return lines


def _accelerated(times: float) -> str:
    if times <= 1:
        return "every write is carried out"
    return f"one cycle in {times:,.4g} is carried out"


def _line(window: Window) -> str:
    amplification = window.write_amplification
    return (
        f"{window.years:>7.3f} {window.tb_written:>11,.5g} {window.pe_cycles_mean:>8,.1f} "
        f"{window.pe_cycles_max:>7,} {window.failed_blocks:>7,} "
        f"{'-' if amplification is None else f'{amplification:.3f}':>6} {_small(window.uber):>8} "
        f"{_us(window.read_us_p99):>9} {_us(window.read_us_p99_99):>9} "
        f"{_us(window.write_us_p99):>10} "
        f"{'-' if window.soft_reads is None else f'{window.soft_reads:,}':>11}"
    )


def _small(value: float | None) -> str:
    if value is None:
        return "-"
    # Below it nobody has measured a code.
    return f"{value:.0e}" if value >= _LEAST else f"< {_LEAST:.0e}"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} us"
