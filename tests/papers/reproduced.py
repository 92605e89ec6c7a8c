"""Checks of a reproduced paper: its witnesses by default, all its rows with `--full`.

A witness is a row that moves if its mechanism breaks: its figure must be the one that
`docs/validation.md` shows, to a unit of the last printed digit, whether the paper is met or not.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import ROOT, TRACES
from derived.markdown import table
from derived.validation import PAPER_COLUMNS, cells
from derived.validation import section as whole_section

from nandlab.papers import Outcome, paper
from nandlab.papers.verdict import MET, PREDICTED

EXPERIMENTS = ROOT / "experiments"


@cache
def section(name: str) -> str:
    """What `docs/validation.md` says of a paper."""
    page = (ROOT / "docs/validation.md").read_text(encoding="utf-8")
    return page.split(f"### {paper(name, EXPERIMENTS).title}\n")[1].split("\n##")[0]


@cache
def counted(name: str, kind: str = PREDICTED) -> Counter[str]:
    """Verdicts of the rows of a kind on the page, with their counts."""
    rows = [line.strip("| ").split(" | ") for line in section(name).splitlines()]
    return Counter(row[-1] for row in rows if len(row) == len(PAPER_COLUMNS) and row[-2] == kind)


FIGURE = re.compile(r"-?\d[\d,]*(?:\.(\d+))?(?:e([-+]\d+))?")


def agree(made: str, shown: str) -> bool:
    """Whether two lines are the same but for a unit of the last digit of a figure."""
    if FIGURE.sub("#", made) != FIGURE.sub("#", shown):
        return False
    for one, other in zip(FIGURE.finditer(made), FIGURE.finditer(shown), strict=True):
        values = [float(found[0].replace(",", "")) for found in (one, other)]
        decimals = min(len(found[1] or "") - int(found[2] or 0) for found in (one, other))
        if abs(values[0] - values[1]) > 1.01 * 10.0**-decimals:
            return False
    return True


def rows_of(found: Sequence[Outcome]) -> list[str]:
    """Outcomes as they stand in the table of the page."""
    return table(PAPER_COLUMNS, [cells(outcome) for outcome in found])[2:-1]


class Reproduced:
    """The tests of one paper; a subclass names it and its witnesses."""

    name: ClassVar[str]
    witnesses: ClassVar[Sequence[str]]
    """Rows that run by default; with those of traces, where the folder of traces is there."""
    least_met: ClassVar[float]
    """Share of its predicted rows that are met, at least: that of today."""

    def test_witnesses_have_the_figures_of_the_page(self, pytestconfig: pytest.Config):
        found = paper(self.name, EXPERIMENTS)
        assert {row.name for row in found.rows} >= set(self.witnesses)
        if pytestconfig.getoption("--full"):
            # They are among all rows, which the next test runs.
            return
        ran = list(found.run(rows=self.witnesses))
        assert [outcome.row.name for outcome in ran] == list(self.witnesses)
        shown = section(self.name).splitlines()
        assert [row for row in rows_of(ran) if not any(agree(row, line) for line in shown)] == []

    def test_predicted_rows_are_met_as_often_as_before(self):
        """By the page, whose figures are tested apart; other kinds of rows do not count."""
        count = counted(self.name)
        assert count.total() > 0
        assert count[MET] >= self.least_met * count.total() - 1e-9

    @pytest.mark.long
    def test_all_rows_have_the_figures_of_the_page(self):
        """With their tally; a row that is not met has a reason, and is where the reason holds.

        One test, for each of two workers that shared it would run all rows.
        """
        found = paper(self.name, EXPERIMENTS)
        ran = list(found.run())
        assert [outcome.row.name for outcome in ran if outcome.fails] == []
        self.check(ran)
        made = "\n".join(whole_section(found, ran)).rstrip().split("\n")[1:]
        shown = section(self.name).rstrip().split("\n")
        assert len(made) == len(shown)
        assert [pair for pair in zip(made, shown, strict=True) if not agree(*pair)] == []

    def check(self, ran: Sequence[Outcome]) -> None:
        """Asserts more of all rows of the paper; a subclass says what."""

    def test_rows_and_functions_are_the_same(self):
        """A row runs where its function stands, and nothing pretends to run one that waits."""
        found = paper(self.name, EXPERIMENTS)
        script = ast.parse((found.folder / "run.py").read_text(encoding="utf-8"))
        functions = {node.name for node in script.body if isinstance(node, ast.FunctionDef)}
        for row in found.rows:
            # Rows of large tables may come from the script's `__getattr__`.
            assert row.waits or row.name in functions or callable(getattr(found.load(), row.name))
        assert functions.isdisjoint(row.name for row in found.waiting)
        assert "picture" in functions

    def test_folder_is_whole(self):
        folder = EXPERIMENTS / self.name
        assert (folder / "picture.png").stat().st_size > 10_000
        assert f"nandlab papers {self.name}" in (folder / "README.md").read_text(encoding="utf-8")
        for row in paper(self.name, EXPERIMENTS).rows:
            assert row.place, row.name


def on_traces(name: str, traces: Path = TRACES) -> dict[str, Outcome]:
    """Rows of a paper that run on real traces; skips the test where the folder is absent."""
    if not traces.is_dir():
        pytest.skip(f"no folder {traces} (NANDLAB_TRACES names it)")
    found = paper(name, EXPERIMENTS)
    traced = [row.name for row in found.rows if row.trace]
    return {outcome.row.name: outcome for outcome in found.run(traces, traced)}
