"""Power of a Samsung 980 PRO, by size of reads and over the time of writes."""

from __future__ import annotations

from reproduced import Reproduced


class TestPowerSensor3(Reproduced):
    name = "powersensor3"
    witnesses = ("read_1_w", "read_1024_w", "write_200_w", "write_450_w")
    least_met = 22 / 23
