"""A Micron 7450 MAX: write amplification and throughput by fill, skew and zones."""

from __future__ import annotations

from reproduced import Reproduced


class TestMicron7450(Reproduced):
    name = "micron_7450"
    witnesses = (
        "fill_mib",
        "wa_372",
        "zns_2172_1_wa",
    )
    least_met = 41 / 43
