"""Keys of a drive that bear on what a request waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SUSPENDS = ("scheduler.suspend", "chip.timing.suspends_max", "chip.timing.t_erase_us")
_COLLECTION = ("ftl.overprovisioning", "gc.name", "gc.start_free_blocks", "gc.paced")
_DIES = ("drive.channels", "drive.dies_per_channel")

KEYS = {
    "host queue": ("drive.queue_depth",),
    "link": ("host.link_mb_s", "host.link_latency_us"),
    "map": ("ftl.map_cache_bytes", "ftl.host_memory_bytes"),
    "host memory": ("host.memory_latency_us", "host.link_mb_s"),
    "dram": ("controller.dram_mb_s",),
    "read cache": ("controller.dram_mb_s", "read_cache.dram_mb_s", "read_cache.latency_us"),
    "program": ("chip.timing.t_program_us",),
    "die: host reads": _DIES,
    "die: host programs": (*_DIES, "scheduler.suspend", "chip.timing.t_program_us"),
    "die: garbage collection": (*_COLLECTION, "scheduler.suspend"),
    "die: wear levelling": ("ftl.static_wear_delta",),
    "die: erase": _SUSPENDS,
    "die: erase, suspends used up": ("chip.timing.suspends_max", "chip.timing.t_erase_us"),
    "die: suspend": ("chip.timing.t_erase_suspend_us", "chip.timing.t_program_suspend_us"),
    "bus": ("drive.channels", "chip.timing.bus_mt_s", "chip.timing.bus_bits"),
    "array read": ("chip.timing.t_read_us",),
    "transfer": ("chip.timing.bus_mt_s", "chip.timing.bus_bits"),
    "decoder wait": ("ecc.decoders",),
    "decode": ("ecc.code", "ecc.t_decode_us"),
    "retry": ("ecc.code",),
    "rebuild": ("ecc.code", "parity.pages", "parity.read_around", "ftl.superblock_dies"),
    "buffer full: host reads": ("buffer.bytes", *_DIES),
    "buffer full: host programs": ("buffer.bytes", *_DIES, "chip.timing.t_program_us"),
    "buffer full: garbage collection": ("buffer.bytes", *_COLLECTION),
    "buffer full: erase": ("buffer.bytes", "chip.timing.t_erase_us"),
    "buffer full: pacing": ("gc.paced", "ftl.overprovisioning"),
}
"""Keys by cause; other causes have none that bears on them in most drives."""


def keys_of(cause: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that bear on a cause, with their values in a drive, without those it does not have."""
    found = {}
    for path in KEYS.get(cause, ()):
        value: Any = config
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None and not isinstance(value, Mapping | list):
            found[path] = value
    return found


def keys_said(cause: str, config: Mapping[str, Any]) -> str:
    """A line with the keys that bear on a cause; empty where there are none."""
    found = keys_of(cause, config)
    return ", ".join(f"{path}={value}" for path, value in found.items())
