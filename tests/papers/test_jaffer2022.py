"""Jaffer et al. (FAST'22): WOM-v codes on QLC."""

from __future__ import annotations

from reproduced import Reproduced


class TestJaffer2022(Reproduced):
    name = "jaffer2022"
    witnesses = ("fewer_erases_most",)
