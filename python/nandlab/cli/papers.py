"""``nandlab papers``: reproduces papers; prints their figures beside ours."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab import papers as reproduced
from nandlab.display.terminal import console, say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.papers import Outcome, Paper

_COLOURS = {"met": "green", "explained": "yellow", "missed": "red"}


def papers(
    paper: Annotated[
        str | None, typer.Argument(help="A folder of experiments/; all where left out.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its picture: .png, .svg or .pdf.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE|-", help="All rows.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the papers are; experiments/ of the checkout.")
    ] = None,
) -> None:
    """Reproduces a paper, side by side; misses are shown and do not change the exit code."""
    from nandlab.display.picture import check_kind, save

    chosen = [reproduced.paper(paper, folder)] if paper else reproduced.papers(folder)
    to_stdout = json == Path("-")
    check_outputs({"--plot": plot, "--json": None if to_stdout else json}, [])
    if plot is not None:
        check_kind(plot)
        if len(chosen) > 1:
            raise refusal("papers", "--plot is one paper's picture", "with a PAPER")
    screen = console(stderr=to_stdout)
    report = []
    for i, found in enumerate(chosen):
        if i:
            screen.print("")
        report.append(_report(found, print_paper(found, screen)))
    if json is not None:
        text = json_text.dumps(report, indent=2) + "\n"
        print(text, end="") if to_stdout else json.write_text(text, encoding="utf-8")
    if plot is not None:
        save(chosen[0].picture(), plot)
        say(f"wrote {plot}")


def print_paper(paper: Paper, screen: Console) -> list[Outcome]:
    """Runs a paper and prints its table; gives back the rows."""
    from rich.table import Table
    from rich.text import Text

    outcomes = list(paper.run())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(paper.name, ratio=1)
    for name in ("paper", "ours"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tolerance", "evidence", "verdict"):
        table.add_column(name, no_wrap=True)
    for outcome in outcomes:
        row, verdict = outcome.row, outcome.verdict
        relation = "" if row.relation == "=" else f"{row.relation} "
        table.add_row(
            row.claim,
            f"{relation}{figure(row.paper)} {row.unit}".rstrip(),
            f"{figure(outcome.ours)} {row.unit}".rstrip(),
            outcome.tolerance,
            outcome.expected.kind,
            Text(verdict, style=_COLOURS[verdict]),
        )
    screen.print(Text(paper.title, style="bold"))
    screen.print(table)
    for outcome in outcomes:
        if outcome.verdict != "met":
            why = outcome.expected.explained or "no explanation yet"
            screen.print(f"{outcome.verdict}: {outcome.row.claim}: {why}", markup=False)
    for printed, why in paper.contradictions:
        screen.print(f"no row, the print against itself: {printed}: {why}", markup=False)
    counts = ", ".join(
        f"{sum(o.verdict == verdict for o in outcomes)} {verdict}" for verdict in _COLOURS
    )
    share = sum(outcome.is_met for outcome in outcomes) / max(len(outcomes), 1)
    counts += f" ({100 * share:.1f} % met)"
    waits = f"; {len(paper.waiting)} wait for {_needs(paper)}" if paper.waiting else ""
    screen.print(f"{len(outcomes)} rows: {counts}{waits}")
    return outcomes


def figure(value: float) -> str:
    """A figure as it is read: five digits at most."""
    whole = value == int(value) and abs(value) < 1e15
    return f"{value:,.0f}" if whole or abs(value) >= 1e5 else f"{value:.5g}"


def _needs(paper: Paper) -> str:
    return " and ".join(sorted({row.needs for row in paper.waiting}))


def _report(paper: Paper, outcomes: list[Outcome]) -> dict[str, Any]:
    return {
        "paper": paper.name,
        "rows": [
            {
                "row": outcome.row.name,
                "claim": outcome.row.claim,
                "relation": outcome.row.relation,
                "paper": outcome.row.paper,
                "ours": outcome.ours,
                "unit": outcome.row.unit,
                "place": outcome.row.place,
                "evidence": outcome.expected.kind,
                "tolerance": outcome.tolerance,
                "verdict": outcome.verdict,
                "explained": outcome.expected.explained,
            }
            for outcome in outcomes
        ],
        "contradictions": [found._asdict() for found in paper.contradictions],
        "waiting": [row._asdict() for row in paper.waiting],
    }
