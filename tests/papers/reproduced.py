"""Checks of a reproduced paper: its witnesses by default, all its rows with `--full`.

A witness is a row that moves if its mechanism breaks: its figure must be the one that
`docs/validation.md` shows, to the last printed digit, whether the paper is met or not.
"""

from __future__ import annotations

import ast
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

EXPERIMENTS = ROOT / "experiments"


@cache
def section(name: str) -> str:
    """What `docs/validation.md` says of a paper."""
    page = (ROOT / "docs/validation.md").read_text(encoding="utf-8")
    return page.split(f"### {paper(name, EXPERIMENTS).title}\n")[1].split("\n##")[0]


def rows_of(found: Sequence[Outcome]) -> list[str]:
    """Outcomes as they stand in the table of the page."""
    return table(PAPER_COLUMNS, [cells(outcome) for outcome in found])[2:-1]


class Reproduced:
    """The tests of one paper; a subclass names it and its witnesses."""

    name: ClassVar[str]
    witnesses: ClassVar[Sequence[str]]
    """Rows that run by default; with those of traces, where the folder of traces is there."""
    least_met = 0.0
    """Share of rows within their tolerance, at least."""

    def test_witnesses_have_the_figures_of_the_page(self, pytestconfig: pytest.Config):
        found = paper(self.name, EXPERIMENTS)
        assert {row.name for row in found.rows} >= set(self.witnesses)
        if pytestconfig.getoption("--full"):
            # They are among all rows, which the next test runs.
            return
        ran = list(found.run(rows=self.witnesses))
        assert [outcome.row.name for outcome in ran] == list(self.witnesses)
        shown = section(self.name).splitlines()
        assert [row for row in rows_of(ran) if row not in shown] == []

    @pytest.mark.long
    def test_all_rows_have_the_figures_of_the_page(self):
        """With their tally; a row that is not met has a reason.

        One test, for each of two workers that shared it would run all rows.
        """
        found = paper(self.name, EXPERIMENTS)
        ran = list(found.run())
        assert [outcome.row.name for outcome in ran if outcome.verdict == "not met"] == []
        assert sum(outcome.is_met for outcome in ran) >= self.least_met * len(ran)
        self.check(ran)
        made = whole_section(found, ran)
        assert "\n".join(made).rstrip().split("\n", 1)[1] == section(self.name).rstrip()

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
