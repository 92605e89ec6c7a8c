"""A WD Ultrastar DC ZN540: reads, writes and zones of a drive on sale."""

from __future__ import annotations

from reproduced import Reproduced


class TestWdZn540(Reproduced):
    name = "wd_zn540"
    witnesses = (
        "read_4096_1_iops",
        "write_4096_us",
        "writes_8192_8_mb_s",
        "append_8192_us",
        "finish_68928_ms",
        "close_us",
    )
    least_met = 24 / 26
