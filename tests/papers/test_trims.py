"""Trims: what users have measured."""

from __future__ import annotations

from reproduced import Reproduced


class TestTrims(Reproduced):
    name = "trims"
    witnesses = ("trim_74_gib_s", "trim_1_gib_ms", "trim_4_kib_us")
    least_met = 0
