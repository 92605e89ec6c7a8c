"""Jaffer et al. (FAST'22): WOM-v codes on QLC."""

from __future__ import annotations

import re

import pytest
from reproduced import EXPERIMENTS, Reproduced

from nandlab.papers import paper


class TestJaffer2022(Reproduced):
    name = "jaffer2022"
    witnesses = ("fewer_erases_most",)
    least_met = 0.0

    @pytest.mark.long
    def test_witnesses_have_the_figures_of_the_page(self, pytestconfig: pytest.Config):
        """Long: each row looks for the most or the least over all codes and workloads."""
        super().test_witnesses_have_the_figures_of_the_page(pytestconfig)


def test_the_code_with_the_fewest_generations_saves_erases_as_the_table_says():
    found = paper("jaffer2022", EXPERIMENTS)
    page = (found.folder / "README.md").read_text(encoding="utf-8")
    row = re.search(r"^\| 3 \| 2 \| uniform \| ([\d.]+) ± [\d.]+ \|", page, re.M)
    assert row
    assert found.load().fewer_erases(3, "uniform") == pytest.approx(float(row[1]), abs=0.02)
