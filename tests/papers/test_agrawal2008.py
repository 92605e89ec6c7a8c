"""Agrawal et al. (ATC'08): the SSD extension of DiskSim, side by side."""

from __future__ import annotations

from reproduced import Reproduced


class TestAgrawal2008(Reproduced):
    name = "agrawal2008"
    witnesses = (
        "sequential_read_us",
        "fixed_random_write_us",
    )
    least_met = 2 / 3
