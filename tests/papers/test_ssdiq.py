"""Five drives on sale: reads beside random writes at an offered rate."""

from __future__ import annotations

from reproduced import Reproduced


class TestSsdiq(Reproduced):
    name = "ssdiq"
    witnesses = ("wd_40_p50",)
    least_met = 37 / 47
