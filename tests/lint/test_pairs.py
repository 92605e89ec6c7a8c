"""Pairs of the linter's checks: both settings run, and the figures that are shown differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.compare.comparison import MEASURES
from nandlab.lint.check import Check
from nandlab.lint.picture import plot_pair
from nandlab.lint.roster import ROSTER, check_of
from nandlab.lint.show import show

LEAST = 0.03
"""Difference that the first figure of a pair shows at least."""

SAME = {"L003": "IOPS", "L016": "IOPS"}
"""Figures that a pair holds the same, to show another one."""


@pytest.mark.parametrize("check", ROSTER, ids=[one.code for one in ROSTER])
def test_a_pair_differs(check: Check):
    rows = {row["figure"]: row for row in show(check).rows()}
    pair = check.pair
    assert set(pair.figures) <= {one.name for one in MEASURES}
    for figure in pair.figures:
        low, high = sorted((rows[figure]["base"], rows[figure]["value"]))
        if figure == SAME.get(check.code):
            assert high / low < 1 + LEAST
        else:
            assert high / low > 1 + LEAST, figure


def test_the_first_setting_has_what_the_check_finds():
    """Expensive erases, little spare flash, a scan of pages: the worse figures."""
    for code, figure, is_high_worse in (
        ("L002", "write p99.9 (us)", True),
        ("L007", "start-up (s)", True),
        ("L010", "write amplification", True),
        ("L012", "write amplification", False),
        ("L016", "read p99.9 (us)", False),
    ):
        [row] = [row for row in show(check_of(code)).rows() if row["figure"] == figure]
        assert (row["base"] > row["value"]) == is_high_worse


def test_picture(tmp_path: Path):
    check = check_of("L010")
    figure = plot_pair(check, show(check), tmp_path / "p.png")
    assert len(figure.axes) == len(check.pair.figures)
    assert (tmp_path / "p.png").stat().st_size > 5000
