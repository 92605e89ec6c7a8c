"""A fit as a chip file: a chip's own text with the fitted error rates, each number marked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.catalogue import chip_text
from nandlab.toml_file import parse_toml
from nandlab.toml_value import toml_value

if TYPE_CHECKING:
    from nandlab.fit import Fit, Parameter

#: Fitted parameters by the names that they have in the array model, where they differ.
_NAMES = {"beta_1": "a", "beta_2": "b"}


def chip_toml(fitted: Fit, chip: str) -> str:
    """The text of `chip` (preset or file) with the fitted array.

    Raises:
        NandlabError: no such chip, or rates that the array model refuses.
        OSError: the file cannot be read.
    """
    is_file = chip.endswith(".toml")
    text = Path(chip).read_text(encoding="utf-8") if is_file else chip_text(chip)
    tables = parse_toml(text, chip)
    falling = [
        name
        for name in ("epsilon", "alpha", "k", "beta", "m", "n", "gamma", "p", "q")
        if fitted.array["name"] == "power_law" and fitted.array[name] < 0
    ]
    if falling:
        low = ", ".join(f"{name} = {fitted.array[name]:.3g}" for name in falling)
        problem = f"fit: the fitted law heals with stress ({low})"
        raise NandlabError(f"{problem}; allowed: parameters of 0 or more; more data, or --without")
    _core.array_rber(json.dumps(fitted.array), [])
    summary = f"{tables.get('summary', chip)}; error rates fitted to {Path(fitted.data.name).name}"
    text = re.sub(
        r"^summary\s*=.*$", lambda _: f"summary = {toml_value(summary)}", text, count=1, flags=re.M
    )
    kept = re.sub(r"^\[array\][^\n]*\n.*?(?=^\[|\Z)", "", text, count=1, flags=re.M | re.S)
    if "array" in parse_toml(kept, chip):
        problem = f"{chip}: its array is not one table `[array]`"
        raise NandlabError(f"{problem}; allowed: a header [array] with its keys below")
    lines = [
        f"# {chip} with error rates fitted to {fitted.data.name} by `nandlab fit`.",
        f"# {fitted.law}: {fitted._trials()}.",
        f"# {fitted.method}.",
        *(f"# {note}" for note in fitted.notes),
        *(f"# {p.name} = {p.value:.6g} ({p.low:.5g} to {p.high:.5g})" for p in _states(fitted)),
        "#",
        "# What the chip's own file says:",
        *kept.rstrip().split("\n"),
        "",
        "[array]",
        *_array(fitted),
    ]
    return "\n".join(lines) + "\n"


def _states(fitted: Fit) -> list[Parameter]:
    """Parameters of a histogram, which no array model takes: they stand as comments."""
    return list(fitted.parameters) if fitted.bins is not None else []


def _array(fitted: Fit) -> list[str]:
    """The keys, with what they come from."""
    by_name = {parameter.name: parameter for parameter in fitted.parameters}
    lines = []
    for key, value in fitted.array.items():
        written = f"{key} = {toml_value(value)}"
        if isinstance(value, str):
            lines.append(written)
            continue
        parameter = by_name.get(key) or by_name.get(_NAMES.get(key, ""))
        if parameter is not None:
            span = f"{parameter.low:.5g} to {parameter.high:.5g}"
            source = f"measured: {100 * fitted.level:g} % {span}"
        elif fitted.bins is not None and key == "epsilon":
            source = "derived: least overlap of the fitted states"
        else:
            source = "assumed: not fitted; given, or without effect"
        lines.append(f"{written:44} # {source}")
    return lines
