"""One line about a drive as it is built: that of its file, unless parameters were changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from nandlab._core import NandlabError
from nandlab.catalogue import Config, load_config, presets

_CELLS = ("SLC", "MLC", "TLC", "QLC", "PLC")


def summary_of(name: str, sets: Sequence[str], loaded: Config) -> str:
    """The summary of a drive file where it is true of this drive, or else one of its parameters.

    Args:
        name: of the preset or file that the drive was made from.
        sets: assignments that have changed it.
        loaded: the drive.
    """
    told = loaded.summary
    preset = next((one.name for one in presets("drive") if one.summary == told), None)
    is_changed = bool(sets) or "own" in loaded.config["ftl"]
    if not is_changed and preset in (name, None):
        return told
    file: dict[str, Any] | None = None
    with suppress(NandlabError):
        file = _preset(preset) if preset is not None else load_config(name).config
    is_same = file is not None and _without_seed(file) == _without_seed(loaded.config)
    return told if is_same else built(loaded.config)


def built(config: Mapping[str, Any]) -> str:
    """Dies, cells and FTL of a configuration, in one line."""
    drive, ftl = config["drive"], config["ftl"]
    kinds = [_chip(config["chip"]), *map(_chip_of_kind, config.get("chips", {}).values())]
    return ", ".join(
        [
            f"{drive['channels']} x {drive['dies_per_channel']} dies",
            " and ".join(kinds),
            *(["one bit a cell"] if drive.get("single_level") else []),
            f"FTL {ftl['name']}",
            f"over-provisioning {ftl['overprovisioning']:g}",
        ]
    )


def _chip(chip: Mapping[str, Any]) -> str:
    bits, geometry = int(chip["cell_bits"]), chip["geometry"]
    cells = _CELLS[bits - 1] if bits <= len(_CELLS) else f"{bits} bits a cell"
    planes = geometry["planes_per_die"]
    return (
        f"{cells} of {planes} plane{'s' * (planes != 1)} x {geometry['blocks_per_plane']:,} blocks"
    )


def _chip_of_kind(kind: Mapping[str, Any]) -> str:
    chip = _chip(kind["chip"])
    if "channels" in kind:
        channels = kind["channels"]
        return f"{chip} on {channels} channel{'s' * (channels != 1)}"
    dies = kind["dies_per_channel"]
    return f"{chip} on {dies} {'dies' if dies != 1 else 'die'} of each channel"


@cache
def _preset(name: str) -> dict[str, Any]:
    return load_config(name).config


def _without_seed(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "seed"}
