"""Source of a cell's parameters: a cell file, or a chip or drive that names a cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from nandlab import _core
from nandlab.catalogue import load_config, presets
from nandlab.given.inputs import input_text
from nandlab.given.refusal import nearest, refusal
from nandlab.given.toml import parse_toml, toml_value

KINDS = ("cell", "chip", "drive")
"""Where a name is looked for, in this order; ``chip/NAME`` says which."""

PAGE_ORDERS = ("even_odd", "all_bitline", "one_shot")

_FACTS = ("summary", "cite", "preset")


class Source(NamedTuple):
    """A cell's parameters, as text, and what the chip around it says."""

    name: str
    text: str
    place: str
    """What errors call it."""
    tables: dict[str, Any]
    """Of the cell."""
    sets: list[str]
    """What a chip's file changes of its cell."""
    chip: dict[str, Any]
    """Tables of the chip; nothing where none is known."""

    @property
    def levels(self) -> int:
        """Number of levels, which is the number of means."""
        levels = self.tables.get("levels")
        means = levels.get("vth_mean_v") if isinstance(levels, dict) else None
        if not isinstance(means, list):
            raise refusal(self.place, "no levels", "a table [levels] with a list `vth_mean_v`")
        return len(means)

    @property
    def summary(self) -> str:
        """What it is, in one line; empty where the file gives none."""
        return str(self.tables.get("summary") or self.chip.get("summary") or "")

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


def find(name: str) -> Source:
    """The cell that a name or a file stands for.

    Raises:
        NandlabError: there is none, or none in it; names the nearest.
    """
    if name.endswith(".toml"):
        allowed = "a cell that `nandlab presets cell` lists, or the path of a TOML file"
        text = input_text(name, allowed)
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
    """A cell by itself; where a chip of ours names it, that chip is taken for the rest."""
    chip: dict[str, Any] = {}
    for preset in presets("chip"):
        place_of_chip = f"params/chips/{preset.name}.toml"
        around = parse_toml(_core.show(f"chip/{preset.name}"), place_of_chip)
        if around.get("cell", {}).get("preset") == name:
            chip = around
            break
    return Source(name, text, place, tables, [], chip)


def _of_chip(name: str, chip: dict[str, Any], place: str, folder: Path) -> Source:
    own = chip.get("cell")
    if not isinstance(own, dict):
        with_cell = ", ".join(preset.name for preset in presets("cell"))
        raise refusal(
            place, "this chip names no cell", f"a chip with [cell], or one of {with_cell}"
        )
    preset = own.get("preset")
    if preset is None:
        return Source(name, _written(own), f"{place}: chip", own, [], chip)
    preset = str(preset)
    under = find(str(folder / preset) if preset.endswith(".toml") else f"cell/{preset}")
    sets = _assignments({key: value for key, value in own.items() if key not in _FACTS})
    return under._replace(name=name, sets=sets, chip=chip)


def _of_drive(name: str, place: str) -> Source:
    chip = load_config(name).config["chip"]
    cell = chip.get("cell")
    if cell is None:
        raise refusal(
            place, "the chip of this drive names no cell", "a drive whose chip has [cell]"
        )
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
