"""A Toshiba RC100: the rates of three models of a drive without DRAM."""

from __future__ import annotations

from reproduced import Reproduced


class TestRc100(Reproduced):
    name = "rc100"
    witnesses = ("m120_read_iops",)
    least_met = 1 / 2
