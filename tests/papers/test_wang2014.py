"""Wang, Xie, Zhou (ICS'14): threshold voltages reduced for less retention."""

from __future__ import annotations

from reproduced import Reproduced


class TestWang2014(Reproduced):
    name = "wang2014"
    witnesses = (
        "delta_2_v",
        "reduced_lsb_steps",
        "program_time_change_percent",
        "rber_at_end_of_life",
        "page_11_us",
        "msb_11_us",
        "program_drop_late_percent",
    )
    least_met = 0.0
