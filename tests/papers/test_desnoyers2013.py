"""Desnoyers (HotStorage'13): endurance, scans at start-up, alignment, random writes."""

from __future__ import annotations

from reproduced import Reproduced


class TestDesnoyers2013(Reproduced):
    name = "desnoyers2013"
    witnesses = (
        "erase_share_today_percent",
        "ten_years_share_power_law",
        "three_months_over_a_year",
        "stronger_ecc_gain",
        "page_scan_s",
        "block_scan_s",
        "slc_program_speeds_up",
        "bast_slowdown",
        "effective_block_8_channels",
        "effective_block_10_channels",
        "emmc_read_ms",
    )
    least_met = 3 / 7
