"""Settings that pairs share: a drive that runs in a blink, aged flash with a decoder, jobs."""

from __future__ import annotations

from typing import Any

DRIVE = "tiny"
"""The drive of every pair."""

SMALL: dict[str, Any] = {"chip.geometry.blocks_per_plane": 64}
"""A quarter of its blocks: 200 MiB."""

AGED: dict[str, Any] = {
    "chip.array.name": "power_law",
    "chip.array.epsilon": 2e-4,
    "chip.array.beta": 6.28e-5,
    "ecc.model": "threshold",
    "ecc.t": 100,
    "ecc.payload_bytes": 4096,
    "ecc.parity_bytes": 224,
    "ecc.t_decode_us": 5.0,
    "retry.name": "soft_decision",
    "age.pe_cycles": 3000,
    "age.retention_hours": 8760.0,
}
"""A year of retention after 3000 cycles, by the law of Kim 2019 with a lower floor, and a decoder
of 100 errors in 4320 bytes."""

OLD: dict[str, Any] = {key: AGED[key] for key in AGED if key.startswith("age.")}
"""The age alone."""

LAW: dict[str, Any] = {key: AGED[key] for key in AGED if key.startswith("chip.array.")}
"""The law alone."""

READS = "[reads]\nrw=randread\nbs=4k\niodepth=8\nnorandommap\nnumber_ios=20000\n"

RANDOM_WRITES = "[writes]\nrw=randwrite\nbs=4k\niodepth=16\nnorandommap\nnumber_ios=40000\n"
