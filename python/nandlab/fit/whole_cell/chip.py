"""Chip file of a fit of a cell: the chip's own text with the fitted keys, each marked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.calibrate.drive_file import with_key
from nandlab.catalogue import chip_text
from nandlab.fit.chip import with_times, without_table
from nandlab.fit.whole_cell.keys import LEVEL_MEAN, assignments
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml, toml_value

if TYPE_CHECKING:
    from nandlab.cell.retry import RetryTable
    from nandlab.fit.whole_cell.found import CellFit


def chip_toml(found: CellFit, retry: RetryTable | None = None) -> str:
    """The text of the chip with the fitted cell, whose rates are those of its array.

    Raises:
        NandlabError: a chip whose text has its cell in a form that no key can be set in.
    """
    text, place = chip_text(found.chip)
    tables = parse_toml(text, place)
    summary = f"{tables.get('summary', found.chip)}; cell fitted to {_files(found)}"
    text = re.sub(
        r"^summary\s*=.*$", lambda _: f"summary = {toml_value(summary)}", text, count=1, flags=re.M
    )
    text = without_table(text, "fit", found.chip)
    if any(name.startswith(LEVEL_MEAN) for name in found.values):
        # Pulses to other voltages would take another time than the chip's own.
        text = with_times(text, found.unfitted)
    array = tables.get("array", {})
    if array.get("name") not in ("table", "cells") or "points" in array:
        text = without_table(text, "array", found.chip)
        text += '\n[array]\nname = "table"                    # derived: of the fitted cell\n'
    for key, value in assignments(found.values, found.descent.model.tables).items():
        # Levels of which only a common factor was fitted have their ratios, and more digits.
        short = [float(f"{one:.10g}") for one in value] if isinstance(value, list) else value
        text = with_key(text, f"cell.{key}", toml_value(short), _source(found, key))
    if parse_toml(text, place).get("cell") is None:
        raise refusal(found.chip, "its cell is not a table `[cell]`", "a header [cell]")
    head = [
        f"# {found.chip} with its cell fitted to {found.data.name} by `nandlab fit`.",
        f"# {found.method}.",
        *(f"# {note}" for note in (*found.apart, *found.notes)),
        *(f"# Of a drive with this chip: {key}" for key in (retry.keys() if retry else [])),
        "#",
        "# Comments of the chip's original file:",
    ]
    own = ["", "[fit]", *found.facts().lines()]
    return "\n".join([*head, text.rstrip(), *own]) + "\n"


def _files(found: CellFit) -> str:
    return ", ".join(Path(name).name for name in found.data.name.split(", "))


def _source(found: CellFit, key: str) -> str:
    """Origin of a value, for the comment behind its key."""
    own = [one for one in found.parameters if one.name.partition("[")[0] == key]
    spans = ", ".join(f"{one.low:.4g} to {one.high:.4g}" for one in own)
    if not own:
        return "measured: the data bound it from one side only"
    return f"measured: {found.confidence} {spans}"
