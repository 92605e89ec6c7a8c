"""Options for what is kept of a run's requests and of its course, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nandlab.cli.files import output
from nandlab.given.outputs import check_kind

if TYPE_CHECKING:
    from nandlab.drive.result import Result

Series = Annotated[Path | None, output("Rates over time: .parquet or .csv.")]
Explain = Annotated[
    float | None,
    output("Says what requests from this percentile on waited for, as 99.9.", "PERCENT"),
]
ExplainPlot = Annotated[Path | None, output("Picture of that.")]


def check_kinds(requests: Path | None, series: Path | None) -> None:
    """Refuses files of a kind that is not written.

    Raises:
        NandlabError: another kind.
    """
    if requests is not None:
        check_kind("--requests", requests, [".parquet"])
    if series is not None:
        from nandlab.board.rows import KINDS

        check_kind("--series", series, KINDS)


def write_rows(result: Result, path: Path) -> None:
    """Writes the series of a result."""
    from nandlab.board.rows import write

    write(result.series(), path)
