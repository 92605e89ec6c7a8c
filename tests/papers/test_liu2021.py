"""Drives that are only read: the tail of one, and the pace of read reclaim of three."""

from __future__ import annotations

from reproduced import Reproduced


class TestLiu2021(Reproduced):
    name = "liu2021"
    witnesses = ("b_slow_passes", "e_passes")
    least_met = 1 / 3
