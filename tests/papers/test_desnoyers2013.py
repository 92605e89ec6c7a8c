"""Desnoyers (HotStorage'13): endurance, scans at start-up, alignment, random writes."""

from __future__ import annotations

from reproduced import Reproduced

import nandlab


class TestDesnoyers2013(Reproduced):
    name = "desnoyers2013"
    witnesses = (
        "erase_share_today_percent",
        "ten_years_share",
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


def test_merges_ahead_leave_no_long_silence():
    """FAST's host waits for single copies, and not until a log block has been emptied."""

    def silence_ms(*, is_ahead: bool) -> float:
        small = {"chip.geometry.blocks_per_plane": 128, "buffer.bytes": 2 << 20}
        drive = nandlab.Drive("ssd_2010_fast", set={**small, "ftl.merges_ahead": is_ahead})
        job = "[job]\nrw=randwrite\nbs=32k\nnorandommap=1\ntime_based=1\nruntime=30\n"
        result = drive.precondition("fill").run(job)
        assert result.checks.ok
        return result.report.host.longest_silence_ms

    assert silence_ms(is_ahead=True) < 1000 < 0.1 * silence_ms(is_ahead=False)
