"""Price of a whole drive: flash by the kind of its cells, controller, and DRAM.

All defaults are assumed, in no currency: a cell costs the same whatever its bits, so a gigabyte of
SLC costs three times one of TLC. A target file replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.given.refusal import refusal

PRICES = {
    "slc_gb": 0.18,
    "mlc_gb": 0.09,
    "tlc_gb": 0.06,
    "qlc_gb": 0.045,
    "die": 0.5,
    "channel": 1.0,
    "controller": 5.0,
    "dram_gb": 3.0,
}
"""Assumed prices: of 10^9 raw bytes of flash by its cells, of a die's package, of a channel, of a
controller without channels, and of 10^9 bytes of DRAM.
"""

_CELLS = ("slc_gb", "mlc_gb", "tlc_gb", "qlc_gb")

_ENTRY_BYTES = 4
"""Bytes of an entry of the map; assumed."""


def parts_of(config: Mapping[str, Any], prices: Mapping[str, float]) -> dict[str, float]:
    """Price of each part of a drive: ``flash``, ``controller`` and ``dram``.

    Args:
        config: the whole configuration of the drive.
        prices: all of `PRICES`.

    Raises:
        NandlabError: the drive has chips of several kinds.
    """
    if config.get("chips"):
        problem = "not supported: a price of a drive with chips of several kinds"
        raise refusal("chips", problem, hint="leave them out of the space")
    drive, chip, ftl = config["drive"], config["chip"], config["ftl"]
    geometry = chip["geometry"]
    page = geometry["page_bytes"]
    pages = geometry["planes_per_die"] * geometry["blocks_per_plane"] * geometry["pages_per_block"]
    dies = drive["channels"] * drive["dies_per_channel"]
    raw = dies * pages * page
    of_map = raw / (ftl.get("unit_bytes") or min(4096, page)) * _ENTRY_BYTES
    of_gb = prices[_CELLS[int(chip["cell_bits"]) - 1]]
    return {
        "flash": raw / 1e9 * of_gb + dies * prices["die"],
        "controller": prices["controller"] + drive["channels"] * prices["channel"],
        "dram": (of_map + config["buffer"]["bytes"]) / 1e9 * prices["dram_gb"],
    }
