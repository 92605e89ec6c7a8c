"""State of a cell in words: cycles, hours at a temperature, reads."""

from __future__ import annotations

from nandlab.cell.model import State
from nandlab.endurance.chip import duration


def said_end(over: str, value: float) -> str:
    """So many cycles, hours or reads."""
    if over == "hours":
        return duration(value)
    return "fresh" if over == "cycles" and value == 0 else f"{value:,.0f} {over}"


def said(state: State, *, without: str = "", always: str = "") -> str:
    """A state in one line.

    Args:
        state: history of the cells.
        without: parts that are omitted because they vary.
        always: parts that are given even if they are zero.
    """
    parts = []
    if without != "cycles":
        parts.append(said_end("cycles", state.pe_cycles))
    if without != "hours" and (state.retention_hours > 0 or always == "hours"):
        parts.append(said_end("hours", state.retention_hours))
    if state.temperature_c is not None and (
        state.retention_hours > 0 or "hours" in (without, always)
    ):
        parts.append(f"{state.temperature_c:g} °C")
    if without != "reads" and (state.reads > 0 or always == "reads"):
        parts.append(said_end("reads", state.reads))
    if state.reprograms > 0:
        parts.append(f"{state.reprograms:,} extra programs")
    return " · ".join(parts)
