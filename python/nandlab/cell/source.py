"""Source of a cell's parameters: the file of a cell, or of a chip or drive with a cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from nandlab import _core
from nandlab.catalogue import chip as chip_tables
from nandlab.catalogue import load_config, presets
from nandlab.given.inputs import input_text
from nandlab.given.refusal import nearest, refusal
from nandlab.given.tables import merged, tables_json
from nandlab.given.toml import parse_toml, toml_value

KINDS = ("cell", "chip", "drive")
"""Search order of a name; ``chip/NAME`` selects one."""

PAGE_ORDERS = ("even_odd", "all_bitline", "one_shot")

OF_THE_CELL = ("cells", "table")
"""Array models whose rates are those of the chip's cell, unless they have points of their own."""

_FACTS = ("summary", "cite", "preset")


class Source(NamedTuple):
    """A cell's parameters as text, and those of the chip around it."""

    name: str
    text: str
    place: str
    """What errors call it."""
    tables: dict[str, Any]
    """Of the cell."""
    sets: list[str]
    """What a chip's file changes of its cell."""
    chip: dict[str, Any]
    """Tables of the chip; empty if it is unknown."""

    @property
    def levels(self) -> int:
        """Number of levels, which is the number of means."""
        levels = self.tables.get("levels")
        means = levels.get("vth_mean_v") if isinstance(levels, dict) else None
        if not isinstance(means, list):
            raise refusal(self.place, "no levels", "a table [levels] with a list `vth_mean_v`")
        return len(means)

    @property
    def effective(self) -> dict[str, Any]:
        """Tables of the cell with what its chip changes, without facts."""
        own = self.chip.get("cell", {}) if self.sets else {}
        under, over = (
            {key: value for key, value in tables.items() if key not in _FACTS}
            for tables in (self.tables, own)
        )
        return merged(under, over)

    @property
    def summary(self) -> str:
        """What it is, in one line; empty where the file gives none."""
        return str(self.tables.get("summary") or self.chip.get("summary") or "")

    @property
    def notes(self) -> list[str]:
        """A note if the chip's error rates are not those of its cell."""
        array = self.chip.get("array")
        if not isinstance(array, Mapping) or is_of_the_cell(array):
            return []
        name, points = array.get("name", ""), array.get("points")
        of = f"`{name}`, {len(points)} measured points" if points else f"`{name}`"
        return [
            f"a drive of {self.name} has the error rates of chip.array {of}, not of this "
            "cell; they may differ by any factor"
        ]

    @property
    def cell_bits(self) -> int:
        """As the chip says, or by the levels."""
        if "cell_bits" in self.chip:
            return int(self.chip["cell_bits"])
        bits = self.levels.bit_length() - 1
        if self.levels != 2**bits or not 1 <= bits <= 4:
            raise refusal(
                self.place,
                f"cell.levels.vth_mean_v: {self.levels} values",
                "2, 4, 8 or 16, from the erased level",
            )
        return bits

    @property
    def page_order(self) -> str:
        """As the chip says; or page by page where states that are not final have a margin."""
        if "page_order" in self.chip:
            return str(self.chip["page_order"])
        by_page = self.levels and "coarse_margin_v" in self.tables["levels"]
        return "even_odd" if by_page else "one_shot"


def is_of_the_cell(array: Mapping[str, Any]) -> bool:
    """Whether the rates of a chip's array are those of its cell."""
    return array.get("name") in OF_THE_CELL and not array.get("points")


def find(name: str) -> Source:
    """The cell of a name or a file.

    Raises:
        NandlabError: an unknown name (the nearest is suggested), or a file without a cell.
    """
    if name.endswith(".toml"):
        expected = "a cell (see `nandlab presets cell`) or the path of a TOML file"
        text = input_text(name, expected)
        tables = parse_toml(text, name)
        kind = _kind(tables)
        if kind == "cell":
            return _alone(name, text, name, tables)
        if kind == "chip":
            return _of_chip(name, tables, name, Path(name).parent)
        if kind == "drive":
            return _of_drive(name, name)
        raise refusal(
            name, "no cell in it", "a cell ([levels]), a chip ([cell]) or a drive ([drive], [chip])"
        )
    kind, slash, bare = name.partition("/")
    if slash and kind not in KINDS:
        _unknown(name)
    bare = bare if slash else name
    for each in (kind,) if slash else KINDS:
        if bare in [preset.name for preset in presets(each)]:
            return _preset(each, bare)
    _unknown(name)


def of_tables(given: Mapping[str, Any]) -> Source:
    """The cell of the tables of a cell, a chip or a drive.

    Raises:
        NandlabError: there is none in them.
    """
    tables: dict[str, Any] = json.loads(tables_json("cell", given))
    kind, name = _kind(tables), str(tables.get("summary", "cell"))
    if kind == "cell":
        own = {key: value for key, value in tables.items() if key not in _FACTS}
        return _alone(name, _written(own), "cell", tables)
    if kind == "chip" or "preset" in tables:
        return _of_chip(name, chip_tables(tables), "cell", Path())
    if kind == "drive":
        return _of_drive(name, "cell", tables)
    raise refusal(
        "cell", "no cell in it", "a cell (levels), a chip (cell) or a drive (drive, chip)"
    )


def _preset(kind: str, name: str) -> Source:
    if kind == "drive":
        return _of_drive(name, f"params/drives/{name}.toml")
    place = f"params/{kind}s/{name}.toml"
    text = _core.show(f"{kind}/{name}")
    tables = parse_toml(text, place)
    if kind == "chip":
        return _of_chip(name, tables, place, Path())
    return _alone(name, text, place, tables)


def _unknown(name: str) -> NoReturn:
    names = [preset.name for kind in KINDS for preset in presets(kind)]
    cells = [preset.name for preset in presets("cell")]
    bare = name.rpartition("/")[2]
    hint = nearest(bare, cells) or nearest(bare, names)
    raise refusal(
        "",
        f"unknown cell `{name}`",
        f"{', '.join(cells)}, a chip or a drive with a cell, or the path of a TOML file{hint}",
    )


def _kind(tables: Mapping[str, Any]) -> str:
    if "levels" in tables:
        return "cell"
    if "drive_preset" in tables or "drive" in tables or "chip" in tables:
        return "drive"
    return "chip" if "cell" in tables or "cell_bits" in tables else ""


def _alone(name: str, text: str, place: str, tables: dict[str, Any]) -> Source:
    """A cell by itself; a preset chip that uses it, with errors, gives the rest."""
    chip: dict[str, Any] = {}
    for preset in presets("chip"):
        place_of_chip = f"params/chips/{preset.name}.toml"
        around = parse_toml(_core.show(f"chip/{preset.name}"), place_of_chip)
        # Chips without errors stand for no cell: they only have one assumed.
        is_ideal = around.get("array", {}).get("name") == "ideal"
        if around.get("cell", {}).get("preset") == name and not is_ideal:
            chip = around
            break
    return Source(name, text, place, tables, [], chip)


def _of_chip(name: str, chip: dict[str, Any], place: str, folder: Path) -> Source:
    own = chip.get("cell")
    if not isinstance(own, dict):
        with_cell = ", ".join(preset.name for preset in presets("cell"))
        raise refusal(place, "this chip has no cell", f"a chip with [cell], or one of {with_cell}")
    preset = own.get("preset")
    if preset is None:
        return Source(name, _written(own), f"{place}: chip", own, [], chip)
    preset = str(preset)
    under = _cell(str(folder / preset) if preset.endswith(".toml") else f"cell/{preset}", place)
    sets = _assignments({key: value for key, value in own.items() if key not in _FACTS})
    return under._replace(name=name, sets=sets, chip=chip)


def _cell(name: str, place: str) -> Source:
    """The cell that the chip at `place` names: no chip, which might lead back to this one."""
    if name.endswith(".toml"):
        expected = "a cell (see `nandlab presets cell`) or the path of a TOML file"
        kind = _kind(parse_toml(input_text(name, expected), name))
        if kind != "cell":
            problem = f"cell.preset: {name} is {f'a {kind}' if kind else 'no cell'}"
            raise refusal(place, problem, "a cell file ([levels])")
    return find(name)


def _of_drive(name: str, place: str, tables: Mapping[str, Any] | None = None) -> Source:
    chip = load_config(tables or name, place=place).config["chip"]
    cell = chip.get("cell")
    if cell is None:
        raise refusal(place, "the chip of this drive has no cell", "a drive whose chip has [cell]")
    return Source(name, _written(cell), f"{place}: chip", cell, [], chip)


def _written(tables: Mapping[str, Any]) -> str:
    return "\n".join(f"{key} = {toml_value(value)}" for key, value in tables.items())


def _assignments(tables: Mapping[str, Any], path: str = "") -> list[str]:
    """Every value of nested tables as ``path.to.key=value``."""
    found = []
    for key, value in tables.items():
        if isinstance(value, Mapping):
            found += _assignments(value, f"{path}{key}.")
        else:
            found.append(f"{path}{key}={toml_value(value)}")
    return found
