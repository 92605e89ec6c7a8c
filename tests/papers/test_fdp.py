"""Placement handles (FDP): flash caches on Samsung's PM9D3."""

from __future__ import annotations

from reproduced import Reproduced


class TestFdp(Reproduced):
    name = "fdp"
    witnesses = (
        "random_wa",
        "soc_4_apart",
        "three_zipf12_apart",
    )
    least_met = 22 / 36
