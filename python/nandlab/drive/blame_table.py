"""Table of what the slowest requests waited for, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.display import quantity
from nandlab.drive.blame import plural
from nandlab.explained.causes import keys_said

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.drive.result import Result


def print_blame(result: Result, percent: float, console: Console) -> None:
    """Prints a table for each operation: mean time by cause, of the slowest and of all requests."""
    from rich.table import Table

    for op in result.blame.operations():
        found = result.explain(percent, op)
        title = f"{plural(op)}: slowest {100 - percent:.6g} % ({found.requests:,.0f})"
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        table.add_column("waited for")
        for name in ("mean", "share", "all requests"):
            table.add_column(name, justify="right")
        for cause, time_us in found.causes_us.items():
            table.add_row(
                cause,
                quantity.latency(time_us),
                f"{time_us / found.mean_us:.1%}",
                quantity.latency(found.all_us[cause]),
            )
        table.add_row("latency", quantity.latency(found.mean_us), "100.0%", "", style="bold")
        console.print()
        console.print(table)
        # Trims of units without data wait for nothing.
        largest = next(iter(found.causes_us), None)
        if largest and (said := keys_said(largest, result.report.nandlab.config)):
            console.print(f"keys of {largest}: {said}", highlight=False, soft_wrap=True)
