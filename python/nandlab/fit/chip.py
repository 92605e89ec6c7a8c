"""Chip file of a fit: a chip's own text with the fitted numbers, each marked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.catalogue import chip_text, presets
from nandlab.cell.model import Cell, cell
from nandlab.fit.cell import cell_levels
from nandlab.fit.facts import ARRAY_KEYS, FitFacts
from nandlab.fit.law.layers import LAYER_FACTORS, group_named
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml, toml_value

if TYPE_CHECKING:
    from nandlab.fit.fitting import Fit
    from nandlab.fit.parameters import Parameter


def chip_toml(fitted: Fit, chip: str) -> str:
    """The text of `chip` (preset or file) with the fitted array, or the fitted levels as its cell.

    Raises:
        NandlabError: no such chip, or rates that the array model refuses.
    """
    text, place = chip_text(chip)
    tables = parse_toml(text, place)
    falling = [
        name
        for name in ("epsilon", "alpha", "k", "beta", "m", "n", "gamma", "p", "q")
        if fitted.array["name"] == "power_law" and fitted.array[name] < 0
    ]
    if falling:
        low = ", ".join(f"{name} = {fitted.array[name]:.3g}" for name in falling)
        raise refusal(
            "fit",
            f"errors of the fitted law fall with stress ({low})",
            "parameters of 0 or more",
            hint="use more data or fewer terms",
        )
    _as_many_page_types(fitted, int(tables.get("cell_bits", 0)), chip)
    _no_more_layers(fitted, tables, chip)
    _core.Array(json.dumps(fitted.array))
    what = "error rates" if fitted.bins is None else "levels"
    summary = f"{tables.get('summary', chip)}; {what} fitted to {Path(fitted.data.name).name}"
    text = re.sub(
        r"^summary\s*=.*$", lambda _: f"summary = {toml_value(summary)}", text, count=1, flags=re.M
    )
    own = [*_array(fitted, int(tables.get("cell_bits", 1)))]
    kept = without_table(without_table(text, "fit", chip), "array", chip)
    if fitted.bins is not None:
        # The cell that was measured takes the place of the chip's own.
        had = _own_cell(tables, chip)
        kept = without_table(with_times(kept, had), "cell", chip)
        gray = None if had is None else had.gray
        own += ["", "[cell.levels]", *cell_levels(fitted, tables, chip, gray)]
    else:
        own += ["", "[fit]", *FitFacts.of(fitted).lines()]
    lines = [
        f"# {chip} with {what} fitted to {fitted.data.name} by `nandlab fit`.",
        f"# {fitted.law}: {fitted._trials()}.",
        f"# {fitted.method}.",
        *(f"# {note}" for note in fitted.notes),
        "#",
        "# Comments of the chip's original file:",
        *kept.rstrip().split("\n"),
        "",
        "[array]",
        *own,
    ]
    return "\n".join(lines) + "\n"


def _as_many_page_types(fitted: Fit, cell_bits: int, chip: str) -> None:
    """Rates of a fit are those of the chip's page types, or one for all of them."""
    points = fitted.array.get("points")
    if points and "page_type" in fitted.data.labels:
        types = len(points[0]["rber"])
    else:
        types = max(fitted.page_types()) + 1
        if types == 1:
            return
    if types != cell_bits:
        raise refusal(
            "fit",
            f"{types} page types for {chip}, whose cells have {cell_bits} bits",
            hint=f"use rows of {cell_bits} page types, no column page_type, or another chip",
        )


def _no_more_layers(fitted: Fit, tables: Mapping[str, Any], chip: str) -> None:
    """Refuses factors of more layers than the blocks of a chip have wordlines."""
    layers = len(fitted.array.get(LAYER_FACTORS, ()))
    if not layers:
        return
    order, bits = str(tables["page_order"]), int(tables["cell_bits"])
    sites = _core.page_sites(order, bits, int(tables["geometry"]["pages_per_block"]))
    wordlines = 1 + max(wordline for wordline, _, _ in sites)
    if layers > wordlines:
        raise refusal(
            "fit",
            f"{layers} layers for {chip}, whose blocks have {wordlines} wordlines",
            hint="use another chip, or count the layers and not the wordlines of all strings",
        )


def _own_cell(tables: Mapping[str, Any], chip: str) -> Cell | None:
    """The cell of a chip before the fit; None without one."""
    if "cell" not in tables:
        return None
    is_preset = any(preset.name == chip for preset in presets("chip"))
    return cell(f"chip/{chip}" if is_preset else chip)


def with_times(text: str, had: Cell | None) -> str:
    """A chip's text with times as numbers where they came from the cell that the fit replaces."""
    if had is None or not re.search(r'^t_\w+_us\s*=\s*"cell"', text, flags=re.M):
        return text
    times = had.times(0)
    for key, value in (
        ("t_read_us", times.read_us),
        ("t_program_us", times.program_us),
        ("t_erase_us", times.erase_us),
    ):
        number = f"{key} = {toml_value(value)} # derived: the original cell of this chip, fresh"
        text = re.sub(rf'^{key}\s*=\s*"cell".*$', number, text, flags=re.M)
    return text


def without_table(text: str, table: str, chip: str) -> str:
    """A chip's text without a table, the tables below it and arrays of them."""
    header = rf"^\[\[?{table}(\.[^\]]*)?\][^\n]*\n.*?(?=^\[|\Z)"
    kept = re.sub(header, "", text, flags=re.M | re.S)
    if table in parse_toml(kept, chip):
        raise refusal(
            chip,
            f"its {table} is not a table `[{table}]`",
            f"a header [{table}] with the keys below",
        )
    return kept


def _array(fitted: Fit, cell_bits: int) -> list[str]:
    """The keys with their sources, for a chip of so many page types."""
    if fitted.bins is not None:
        return ['name = "table"                               # derived: of the levels below']
    by_name = {parameter.name: parameter for parameter in fitted.parameters}
    lines = []
    for key, value in fitted.array.items():
        written = f"{key} = {toml_value(value)}"
        parameter = by_name.get(key) or by_name.get(ARRAY_KEYS.get(key, ""))
        if isinstance(value, str):
            lines.append(written)
        elif key == LAYER_FACTORS:
            lines += _layers(fitted, value)
        elif isinstance(value, list):
            lines += _points(fitted, value, cell_bits)
        elif parameter is not None:
            lines.append(f"{written:44} # {_measured(fitted, parameter)}")
        else:
            lines.append(f"{written:44} # assumed: not fitted; given, or without effect")
    return lines


def _layers(fitted: Fit, factors: list[float]) -> list[str]:
    """Factors of all layers; those of a group have the interval of the group."""
    named = [(group_named(parameter.name), parameter) for parameter in fitted.parameters]
    measured = {layer: parameter for layers, parameter in named for layer in layers or ()}
    written = [
        f"{f'    {factor},':44} # {_measured(fitted, measured[layer])}"
        for layer, factor in enumerate(factors)
    ]
    return [f"{LAYER_FACTORS} = [", *written, "]"]


def _points(fitted: Fit, points: list[dict[str, Any]], cell_bits: int) -> list[str]:
    """The points of a table; their rates are the first parameters, in the same order.

    A rate for all page types stands there for each of them: a drive asks for that of a page.
    """
    rates = iter(fitted.parameters)
    lines = []
    for point in points:
        lines += ["", "[[array.points]]"]
        for key, value in point.items():
            if key != "rber":
                lines.append(f"{f'{key} = {value}':44} # measured: at this point")
        lines.append("rber = [")
        for value in point["rber"]:
            copies = cell_bits if len(point["rber"]) == 1 else 1
            line = f"{f'    {value},':44} # {_measured(fitted, next(rates))}"
            lines += [line] * copies
        lines.append("]")
    return lines


def _measured(fitted: Fit, parameter: Parameter) -> str:
    """Where a number comes from."""
    span = f"{parameter.low:.5g} to {parameter.high:.5g}"
    trials = f", {parameter.trials}" if parameter.trials else ""
    return f"measured: {fitted.confidence} {span}{trials}"
