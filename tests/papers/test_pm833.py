"""A Samsung PM833 behind SATA: random reads and writes of 4 KiB."""

from __future__ import annotations

from reproduced import Reproduced


class TestPm833(Reproduced):
    name = "pm833"
    witnesses = (
        "randread_1_iops",
        "randread_64_mean_us",
        "randwrite_1_iops",
    )
    least_met = 6 / 7
