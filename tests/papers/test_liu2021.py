"""Drives that are only read: tails, percentiles and the pace of read reclaim of seven."""

from __future__ import annotations

from runpy import run_path

import pytest
from reproduced import EXPERIMENTS, Reproduced


class TestLiu2021(Reproduced):
    name = "liu2021"
    witnesses = ("b_slow_passes", "e_passes")
    least_met = 26 / 58

    def test_laws_are_those_that_fit_the_first_half(self):
        """The script of the fits sees no later figure, and gives the constants of the rows."""
        folder = EXPERIMENTS / self.name
        fit, drives = (run_path(str(folder / f"{file}.py")) for file in ("fit", "drives"))
        ends = {"I": 1136, "B": 936}
        for drive, end in ends.items():
            passes, _ = fit["first_half"](drive)
            assert len(passes) > 10
            assert max(passes) <= end
        of_b = fit["drive_b"]()
        assert of_b.growth == pytest.approx(drives["B_POWER"], abs=0.01)
        first, chosen = (fit["drive_i"](power) for power in (1.0, drives["POWER"]))
        assert first.growth == pytest.approx(0.212, abs=0.001)
        # All rows of the first half gave the chosen law, a tenth of them give nearly the same.
        assert chosen.growth == pytest.approx(drives["GROWTH"], rel=0.1)
        assert chosen.deviates == pytest.approx(drives["DEVIATES"], rel=0.01)
        # The first half alone prefers the first power.
        assert first.error < chosen.error

    def test_rules_of_reclaim_write_at_different_paces(self):
        """None writes nothing, a count as much in each third, errors more and more."""
        life = run_path(str(EXPERIMENTS / self.name / "reclaim.py"))["life"]
        none, count, errors = (
            life(rule, 1, third=386, reads=10_000)
            for rule in ("none", "193 passes, as E", "errors above 0.0075")
        )
        assert set(none.rewrites) == {0.0}
        assert count.rewrites == (2.0, 2.0, 2.0)
        assert 0.0 < errors.rewrites[0] < errors.rewrites[1] < errors.rewrites[2]
        assert none.slow_ppm > max(count.slow_ppm, errors.slow_ppm)
