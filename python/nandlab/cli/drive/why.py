"""``nandlab why``: where the time of slow lines of a log went, on a drive that was served."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.display import quantity

if TYPE_CHECKING:
    from rich.console import Console

_MOST_CAUSES = 3


def why(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Lines start,end[,name]: seconds since 1970 or ISO 8601, on the server's clock.",
        ),
    ],
    requests: Annotated[
        Path, typer.Option(metavar="FILE", help="Requests of `nandlab nbd --requests`.")
    ],
    slowest: Annotated[int, typer.Option(metavar="N", help="Lines that the table has.")] = 10,
    json: Json = None,
) -> None:
    """Tells for slow lines of a log whether the drive, this program or the host took the time."""
    from nandlab.served.why import why as joined

    check_json(json, [log, requests])
    found = joined(log, requests)
    slow = found.slow(slowest)

    def show(out: Console) -> None:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("line")
        for name in ("took", "requests", "drive", "program", "host"):
            table.add_column(name, justify="right")
        table.add_column("most in")
        table.add_column("waits in the drive")
        for line in slow:
            total = sum(line.waits_ms.values())
            waits = list(line.waits_ms.items())[:_MOST_CAUSES]
            table.add_row(
                line.name,
                quantity.latency(line.took_ms * 1e3),
                f"{line.requests:,}",
                *(quantity.latency(part * 1e3) for part in line.parts_ms.values()),
                line.slowest,
                ", ".join(f"{cause} {wait / total:.0%}" for cause, wait in waits),
            )
        out.print(table)
        out.print(found.answer(slowest))
        if found.unanswered:
            out.print(f"{found.unanswered:,} requests were never answered, and are left out")

    tell(json, {**found.to_dict(), "answer": found.answer(slowest)}, show)
