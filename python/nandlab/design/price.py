"""Price of a drive: flash, controller, DRAM, and the power of its years.

A target gives prices. Others are those of the chip (`chip.cost_per_gb`) or of
`params/prices/assumed.toml`, which are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nandlab.catalogue import show
from nandlab.design.bounds import raw_bytes
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml

_FILE = "price/assumed"

_CELLS = ("slc_gb", "mlc_gb", "tlc_gb", "qlc_gb")

_HOURS_PER_YEAR = 8760.0


@cache
def assumed_prices() -> Mapping[str, float]:
    """Prices that hold where a target gives none, by their keys."""
    tables = parse_toml(show(_FILE), _FILE)
    return {key: float(value) for key, value in tables.items() if isinstance(value, int | float)}


@dataclass(frozen=True)
class Prices:
    """Prices of a target."""

    given: Mapping[str, float]
    """Prices that the target gives."""

    def __getitem__(self, key: str) -> float:
        """A price, given or assumed."""
        return self.given.get(key, assumed_prices()[key])

    def of_flash(self, chip: Mapping[str, Any]) -> tuple[float, str]:
        """Price of 10^9 bytes of a chip, and where it comes from."""
        key = _CELLS[int(chip["cell_bits"]) - 1]
        own = chip.get("cost_per_gb")
        if key in self.given or own is None:
            return self[key], key
        return float(own), "chip.cost_per_gb"

    def assumed(self, config: Mapping[str, Any], parts: Mapping[str, float]) -> dict[str, float]:
        """Prices that a drive's price rests on and that the target does not give."""
        price, flash = self.of_flash(config["chip"])
        keys = ["die", "controller", "channel", "dram_gb", *(["kwh"] if "power" in parts else [])]
        every = {flash: price, **{key: self[key] for key in keys}}
        return {key: value for key, value in every.items() if key not in self.given}


def parts_of(
    config: Mapping[str, Any],
    prices: Prices,
    map_bytes: int | None = None,
    years: float | None = None,
) -> dict[str, float]:
    """Price of each part of a drive: ``flash``, ``controller``, ``dram``, and ``power``.

    Args:
        config: the whole configuration of the drive.
        prices: of the target.
        map_bytes: memory of the FTL; None where it is not known yet: then it has no price.
        years: of its life, for the least price of its power, where it has an energy report.

    Raises:
        NandlabError: the drive has chips of several kinds.
    """
    if config.get("chips"):
        problem = "not supported: a price of a drive with chips of several kinds"
        raise refusal("chips", problem, hint="leave them out of the space")
    drive = config["drive"]
    dies = drive["channels"] * drive["dies_per_channel"]
    cache = config.get("read_cache", {}).get("bytes", 0)
    memory = config["buffer"]["bytes"] + cache + (map_bytes or 0)
    of_gb, _ = prices.of_flash(config["chip"])
    power_w = least_power_w(config)
    known = years is not None and power_w is not None
    power = {"power": price_of_power(power_w or 0.0, years or 0.0, prices)} if known else {}
    return {
        "flash": raw_bytes(config) / 1e9 * of_gb + dies * prices["die"],
        "controller": prices["controller"] + drive["channels"] * prices["channel"],
        "dram": memory / 1e9 * prices["dram_gb"],
        **power,
    }


def least_power_w(config: Mapping[str, Any]) -> float | None:
    """Least power of a drive: of its deepest power state, or awake and idle, without its flash.

    None of a drive without an energy report.
    """
    power = config.get("power")
    if power is None:
        return None
    awake = sum(power[key] for key in ("controller_mw", "dram_mw", "link_mw"))
    asleep = [state["power_mw"] for state in power.get("states", {}).values()]
    return float(min([awake, *asleep])) / 1e3


def price_of_power(power_w: float, years: float, prices: Prices) -> float:
    """Price of the power that a drive takes in some years, if it always ran as in its run."""
    return power_w / 1e3 * years * _HOURS_PER_YEAR * prices["kwh"]
