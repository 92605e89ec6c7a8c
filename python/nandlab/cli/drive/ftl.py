"""``nandlab ftl``: the FTLs, and the memory that each needs for a drive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.cli.files import Json, check_json, tell
from nandlab.cli.options import takes
from nandlab.display import quantity
from nandlab.ftl.needs import ftls
from nandlab.given.completion import preset_of
from nandlab.options.run import SetOptions

if TYPE_CHECKING:
    from rich.console import Console


@takes(SetOptions, but=("seed",))
def ftl(
    drive: Annotated[
        str, typer.Option(help="Preset or drive file.", autocompletion=preset_of("drive"))
    ] = "tiny",
    json: Json = None,
    **given: Any,
) -> None:
    """Lists the FTLs with the controller memory and spare bytes that each needs for a drive."""
    from rich.table import Table

    check_json(json, [drive])
    rows = ftls(drive, **given)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("FTL", no_wrap=True)
    for title in ("memory", "per GiB", "spare of a page"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("memory by use")
    for row in rows:
        if row.refused:
            table.add_row(row.name, "", "", "", row.refused)
            continue
        parts = sorted(row.ram_bytes.items(), key=lambda part: -part[1])
        uses = ", ".join(f"{quantity.size(size)} {name}" for name, size in parts)
        total, per_gib = quantity.size(row.total_bytes), quantity.size(row.bytes_per_gib)
        table.add_row(row.name, total, per_gib, f"{row.spare_bytes} bytes", uses)

    def show(out: Console) -> None:
        out.print(table, highlight=False)

    facts = [
        {**row._asdict(), "total_bytes": row.total_bytes, "bytes_per_gib": row.bytes_per_gib}
        for row in rows
    ]
    tell(json, facts, show)
