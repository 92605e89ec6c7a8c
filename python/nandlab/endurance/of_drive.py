"""The last read of a drive before it gives data up: chip, code, soft reads, references, parity.

The limit of `nandlab life` is of these reads, and so is the endurance of a drive.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.catalogue import Config, load_config, presets
from nandlab.cell.source import is_of_the_cell
from nandlab.ecc.code_limit import levels_of
from nandlab.ecc.codec import codec
from nandlab.ecc.stripe import Stripe, stripe_of
from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml

_MARKS = ("drive_preset", "drive", "chip")
"""Keys of a drive file that a chip file does not have."""


class DriveRead(NamedTuple):
    """The last read of a page before a drive gives its data up."""

    is_best: bool | None
    """Whether its references are moved to where it errs least; None of a chip without any."""
    code: dict[str, Any]
    """``code`` and ``levels``, or ``t``, ``codeword_bits`` and ``user_bits``."""
    stripe: Stripe | None
    """Stripes that give back what the code gives up; None without parity."""

    def coded(self, levels: int | None) -> tuple[str | None, int | None, dict[str, Any]]:
        """Code, levels and sizes as arguments of `nandlab.endurance`; other levels go before."""
        sizes = {key: self.code.get(key) for key in ("t", "codeword_bits", "user_bits")}
        return self.code.get("code"), self.code.get("levels") if levels is None else levels, sizes


def drive_named(given: object) -> Config | None:
    """The drive that is meant by a preset, a path or tables; None where they are of a chip.

    ``drive/NAME`` is the drive where a chip has the same name.
    """
    if isinstance(given, Mapping):
        return load_config(given) if any(key in given for key in _MARKS) else None
    if not isinstance(given, str | PathLike):
        return None
    name = fspath(given)
    if name.startswith("drive/"):
        return load_config(name.removeprefix("drive/"))
    if name in [one.name for one in presets("chip")]:
        return None
    is_preset = name in [one.name for one in presets("drive")]
    if not is_preset and name.endswith(".toml") and Path(name).is_file():
        tables = parse_toml(input_text(name, "a chip or a drive file"), name)
        is_preset = any(key in tables for key in _MARKS)
    return load_config(name) if is_preset else None


def codes_by_age(config: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The drive with each of its codes alone, and the cycles from which on a block has this code.

    Soft reads of a later code gain as much as those of the first one, as in the drive.
    """
    first = {key: value for key, value in config["ecc"].items() if key != "stages"}
    found: list[tuple[int, dict[str, Any]]] = [(0, {**config, "ecc": first})]
    for stage in config["ecc"].get("stages", []):
        soft = [errors * stage["t"] // first["t"] for errors in first.get("t_soft", [])]
        own = {"t": stage["t"], "parity_bytes": stage["parity_bytes"], "t_soft": soft}
        found.append((stage["from_cycles"], {**config, "ecc": {**first, **own}}))
    return found


def why_without_limit(config: Mapping[str, Any]) -> str:
    """Why bit errors do not decide about the data of a drive; empty where they do."""
    if config["chip"].get("array", {}).get("name", "ideal") == "ideal":
        return "its chip has no bit errors (chip.array.name `ideal`)"
    model = config["ecc"]["model"]
    if model in ("ideal", "shares"):
        return f"its ECC does not go by bit errors (ecc.model `{model}`)"
    return ""


def read_of(config: Mapping[str, Any], place: str) -> DriveRead:
    """The last read of a page by a drive of this configuration, with its strongest code.

    Raises:
        NandlabError: bit errors do not decide about its data.
    """
    if why := why_without_limit(config):
        raise refusal(place, why, hint="use a drive whose chip errs and whose code has a limit")
    _, config = codes_by_age(config)[-1]
    chip, retry = config["chip"], config["retry"]["name"]
    # References that a drive never moves stand where the cell has them.
    is_best = retry == "read_retry" if is_of_the_cell(chip["array"]) else None
    return DriveRead(is_best, _coded(config), stripe_of(config))


def _coded(config: Mapping[str, Any]) -> dict[str, Any]:
    """The code of a drive, as `endurance` takes it."""
    ecc, retry = config["ecc"], config["retry"]
    soft_reads = 0 if retry["name"] == "none" else int(retry.get("max_levels", 0))
    if ecc["code"]:
        one = codec(ecc["code"])
        if one.certain_errors is None and ecc["model"] != "threshold":
            # Each soft read has two references more.
            known = [level for level in levels_of(ecc["code"]) if level <= 2 * soft_reads]
            return {"code": ecc["code"], "levels": max(known)}
    t, soft = int(ecc.get("t", 0)), ecc.get("t_soft") or []
    if soft and soft_reads:
        t = int(soft[min(soft_reads, len(soft)) - 1])
    payload = int(ecc["payload_bytes"])
    bits = 8 * (payload + int(ecc["parity_bytes"]))
    return {"t": t, "codeword_bits": bits, "user_bits": 8 * payload}
