"""SSD-iq (VLDB'25): its simulator of write amplification, side by side."""

from __future__ import annotations

from reproduced import Reproduced


class TestSsdiqSimulator(Reproduced):
    name = "ssdiq_simulator"
    witnesses = ("uniform_50",)
    least_met = 11 / 11
