"""``nandlab papers``: reproduces papers; prints their figures beside ours."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab import papers as reproduced
from nandlab.cli.files import Files, Style, check_pictures, json_file
from nandlab.display.terminal import console, say
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text

if TYPE_CHECKING:
    from rich.console import Console

    from nandlab.papers import Outcome, Paper, Row

_COLOURS = {"met": "green", "undecided": "yellow", "not met": "red", "does not hold": "red"}
"""Rows that do not count have none while they hold."""


def papers(
    paper: Annotated[
        str | None, typer.Argument(help="Folder of experiments/ (default: all).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Picture of the paper: .png, .svg or .pdf.")
    ] = None,
    style: Style = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE|-", help="All rows as JSON.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder of the papers (default: experiments/ of the checkout)."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            envvar="NANDLAB_TRACES",
            show_envvar=False,
            help="Folder of real traces, for rows that need one (default: NANDLAB_TRACES).",
        ),
    ] = None,
) -> None:
    """Reproduces a paper's results side by side; rows that are not met keep the exit code at 0."""
    from nandlab.display.picture import save

    chosen = [reproduced.paper(paper, folder)] if paper else reproduced.papers(folder)
    to_stdout = json == Path("-")
    outputs = {"--plot": plot, "--json": json_file(json)}
    check_outputs(outputs, [file for found in chosen for file in found.folder.rglob("*")])
    check_pictures(style, plot)
    if plot is not None and len(chosen) > 1:
        raise refusal("papers", "--plot draws the picture of one paper", hint="name the PAPER")
    screen = console(stderr=to_stdout)
    report, group = [], ""
    for i, found in enumerate(chosen):
        if i:
            screen.print("")
        if len(chosen) > 1 and found.group != group:
            group = found.group
            screen.print(f"{group.capitalize()}\n", style="bold underline")
        report.append(_report(found, print_paper(found, screen, traces), traces))
    text = json_text.dumps(report, indent=2) + "\n"
    with Files() as files:
        files.write(outputs["--json"], lambda path: write_text(path, text))
        if files.draw(plot, lambda path: save(chosen[0].picture(), path), style):
            say(f"wrote {plot}")
        if to_stdout:
            print(text, end="")


def print_paper(paper: Paper, screen: Console, traces: Path | None = None) -> list[Outcome]:
    """Runs a paper and prints its table; returns the rows."""
    from rich.table import Table
    from rich.text import Text

    outcomes = list(paper.run(traces))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(paper.name, ratio=1)
    for name in ("paper", "ours"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tolerance", "kind", "verdict"):
        table.add_column(name, no_wrap=True)
    for outcome in outcomes:
        row, verdict = outcome.row, outcome.verdict
        relation = "" if row.relation == "=" else f"{row.relation} "
        table.add_row(
            row.claim,
            f"{relation}{figure(row.paper)} {row.unit}".rstrip(),
            f"{ours(outcome)} {row.unit}".rstrip(),
            outcome.tolerance,
            outcome.expected.kind,
            Text(verdict, style=_COLOURS.get(verdict, "bright_black")),
        )
    screen.print(Text(paper.title, style="bold"))
    screen.print(table)
    for outcome in outcomes:
        if outcome.is_met is False:
            screen.print(f"{outcome.verdict}: {outcome.row.claim}: {reason(outcome)}")
    for line in reproduced.gains(outcomes):
        screen.print(line)
    for printed, why in paper.contradictions:
        screen.print(f"not a row; the paper contradicts itself: {printed}: {why}")
    waits = f"; {len(paper.waiting)} wait for {_names(paper.waiting)}" if paper.waiting else ""
    absent = paper.absent(traces)
    if absent:
        waits += f"; {len(absent)} need {_names(absent)}, which `--traces` does not have"
    screen.print(f"{reproduced.tally(outcomes)}{waits}")
    return outcomes


def figure(value: float) -> str:
    """A figure with at most five digits."""
    whole = value == int(value) and abs(value) < 1e15
    return f"{value:,.0f}" if whole or abs(value) >= 1e5 else f"{value:.5g}"


def ours(outcome: Outcome) -> str:
    """Our figure, with half of its interval where several seeds were run."""
    mean = figure(outcome.ours)
    return f"{mean} ± {outcome.half_width:.2g}" if len(outcome.figures) > 1 else mean


def reason(outcome: Outcome) -> str:
    """Why ours differs from what is printed, and where this reason ends."""
    if not outcome.expected.explained:
        return "no reason is known"
    least, most = outcome.expected.explained_range
    within = f"{least:g} to {most:g} {outcome.row.unit}".rstrip()
    place = "" if outcome.is_explained else ", and ours is outside"
    return f"{outcome.expected.explained} (this holds for {within}{place})"


def _names(rows: list[Row]) -> str:
    return " and ".join(sorted({row.needs for row in rows}))


def _report(paper: Paper, outcomes: list[Outcome], traces: Path | None) -> dict[str, Any]:
    return {
        "paper": paper.name,
        "group": paper.group,
        "rows": [
            {
                "row": outcome.row.name,
                "claim": outcome.row.claim,
                "relation": outcome.row.relation,
                "paper": outcome.row.paper,
                "ours": outcome.ours,
                "half_width_95": outcome.half_width,
                "by_seed": list(outcome.figures) if outcome.expected.seeds else [],
                "unit": outcome.row.unit,
                "place": outcome.row.place,
                "kind": outcome.expected.kind,
                "tolerance": outcome.tolerance,
                "verdict": outcome.verdict,
                "explained": outcome.expected.explained,
                "is_explained": outcome.is_explained,
            }
            for outcome in outcomes
        ],
        "contradictions": [found._asdict() for found in paper.contradictions],
        "waiting": [row._asdict() for row in [*paper.waiting, *paper.absent(traces)]],
    }
