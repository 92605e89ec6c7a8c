"""Hachiya et al. (SSDM'13): frozen data of an MLC array move to TLC chips."""

from __future__ import annotations

from reproduced import Reproduced


class TestHachiya2013(Reproduced):
    name = "hachiya2013"
    witnesses = (
        "cold_throughput",
        "proxy_cost",
        "exchange_longest_without_service_ms",
    )
    least_met = 0.0
