"""Sets of dies of a drive, each with an FTL of its own: a row for each in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.display import quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nandlab.report.tables import Report


def set_parts(report: Report) -> list[RenderableType]:
    """A row for each set of dies; empty for a drive without."""
    from rich.table import Table

    if not report.sets:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bright_black")
    table.add_column("set of dies", style="bold")
    table.add_column("FTL")
    for name in ("capacity", "WAF", "collected", "free units", "cycles", "energy", "idle"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in report.sets:
        owner = "shared" if one.namespace is None else f"namespace {one.namespace}"
        last = one.first_die + one.dies - 1
        dies = f"{one.first_die}" if one.dies == 1 else f"{one.first_die}-{last}"
        table.add_row(
            f"{owner}, {dies}",
            one.ftl,
            quantity.size(one.bytes),
            f"{one.write_amplification:.3g}" if one.host_units else "",
            f"{one.gc_runs:,}",
            f"{one.free_units:,}",
            f"{one.pe_cycles.mean:.3g}",
            quantity.energy(one.energy_uj),
            f"{one.busy.idle:.1%}",
        )
    return ["", table]
