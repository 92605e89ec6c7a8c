"""Grupp et al. (MICRO'09): chips, paging on fast pages, write-once codes."""

from __future__ import annotations

from reproduced import Reproduced


class TestGrupp2009(Reproduced):
    name = "grupp2009"
    witnesses = (
        "fast_share_percent",
        "wom_slc_gain_percent",
        "busy_die_power_mw",
        "slow_over_fast_program",
        "worn_programs_mlc",
        "mlc_wom_safe_share_percent",
        "mlc_wom_fast_first_share_percent",
        "swap_latency_wang_percent",
        "swap_wear_wang_percent",
    )
    least_met = 3 / 15
