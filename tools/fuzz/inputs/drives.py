"""Drives: assignments and drive files, of every key, member, preset and value, allowed or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from fuzz.inputs import features
from fuzz.inputs.dice import Dice
from fuzz.inputs.parameters import PRESETS
from nandlab import NandlabError, catalogue
from nandlab._core import toml_to_json
from nandlab.given.toml import toml_value
from nandlab.keys import keys, resolved

#: Families that a drive chooses from, and the key that chooses.
CHOICES = {
    "ftl": "ftl.name",
    "gc": "gc.name",
    "scheduler": "scheduler.name",
    "retry": "retry.name",
    "recovery": "recovery.name",
    "array": "chip.array.name",
    "model": "ecc.model",
}

#: Cells by bits of a cell, and the pages of a wordline by order of programming.
CELLS = ("slc", "wang2014_mlc", "tlc_3d", "qlc_3d")
ORDERS = {"even_odd": 2, "all_bitline": 1, "one_shot": 1}


#: Refresh and patrol, so often that short runs see them.
UPKEEP = (
    "refresh.after_hours=0.02",
    "refresh.rber=1e-4",
    "refresh.patrol_hours=1e-5",
    "refresh.patrol_pages=0",
    "refresh.at_once=3",
    "age.retention_hours=1000",
)


#: Shares of a drive: most drives have the blocks for the first two.
SCALES = ('"1/2"', "0.7", '"1/5"', '"1/64"')


def assignments(dice: Dice) -> list[str]:
    """Changes of `tiny`, for `--set`."""
    chosen = _choices(dice)
    if dice.chance(0.4):
        chosen += _shape(dice)
    changed = _changes(dice, "tiny", chosen)
    # What is wild is mostly refused: few drives have it.
    if dice.spoils(0.5):
        changed += [f"{_path(dice)}={dice.odd()}" for _ in range(dice.randint(1, 2))]
    if dice.spoils(0.1):
        dice.shuffle(changed)
    return [text.replace("\0", "") for text in changed]


#: Draws of a drive until its features go together. Where none do, it has two that are known to.
_MOST_DRAWS = 8


def small(dice: Dice) -> tuple[str, list[str]]:
    """A preset and assignments; in tame cases features that the table of conflicts lets stand."""
    if dice.is_wild:
        return _scaled(dice, *_small(dice))
    if dice.chance(0.8):
        for _ in range(_MOST_DRAWS):
            name, sets = _scaled(dice, *_small(dice))
            if not features.are_excluded(name, sets):
                return name, sets
    return _scaled(dice, "tiny", features.drive(dice))


def _scaled(dice: Dice, name: str, sets: list[str]) -> tuple[str, list[str]]:
    """The drive, now and then a part of it."""
    if not dice.chance(0.1):
        return name, sets
    return name, [*sets, f"drive.scale={dice.one(SCALES if dice.is_wild else SCALES[:2])}"]


def _small(dice: Dice) -> tuple[str, list[str]]:
    """A preset, with fewer blocks where it would take long, and assignments."""
    if dice.chance(0.75):
        return "tiny", assignments(dice)
    name = dice.one(PRESETS["drive"])
    if name == "tiny":
        return name, []
    blocks = dice.one((16, 24, 40, 64))
    sets = [f"chip.geometry.blocks_per_plane={blocks}", "drive.channels=1"]
    sets += ["drive.dies_per_channel=2", f"gc.start_free_blocks={dice.one((2, 3, 3, 5))}"]
    sets += ["ftl.gc_reserve_blocks=1", "ftl.overprovisioning=0.5", "gc.background_free_blocks=0"]
    if dice.chance(0.8):
        pages = dice.one((24, 48, 96))
        sets.append(f"chip.geometry.pages_per_block={pages}")
    if catalogue.load_config(name, []).config.get("chips"):
        sets += _kinds(dice)
    return name, _changes(dice, name, sets) if dice.chance(0.6) else sets


def _kinds(dice: Dice) -> list[str]:
    """A die of each kind of chips, and now and then a code of its own for the second one."""
    sets = ["drive.channels=2", "drive.dies_per_channel=1", "chips.tlc.channels=1"]
    sets += ["chips.tlc.chip.geometry.blocks_per_plane=40"]
    sets += ["chips.tlc.chip.geometry.spare_bytes=4096"]
    if dice.chance(0.6):
        model = dice.one(_members("model"))
        code = dice.one(PRESETS["code"]) if model in ("profile", "exact") else ""
        sets.append(f"chips.tlc.ecc.code={code}" if code else f"chips.tlc.ecc.model={model}")
        sets.append(f"chips.tlc.ecc.decoders={dice.one((0, 1, 3))}")
        sets.append(f"chips.tlc.ecc.t_decode_us={dice.one((0, 4, 40))}")
    return sets


def file(dice: Dice, sets: list[str], run: dict[str, str]) -> bytes:
    """A drive file with the same assignments in it, and its `run` table."""
    lines = [
        'summary = "drawn"',
        f'drive_preset = "{dice.one(PRESETS["drive"]) if dice.spoils(0.3) else "tiny"}"',
    ]
    # The last assignment of a key holds, as on the command line.
    values = dict(text.partition("=")[::2] for text in sets)
    lines += [f"{path} = {_written(path, value)}" for path, value in values.items()]
    lines += ["[run]", *(f"{key} = {toml_value(value)}" for key, value in run.items())]
    return "\n".join(lines).encode("utf-8", "replace")


def _written(path: str, value: str) -> str:
    """The value as TOML: text gets quotes."""
    try:
        toml_to_json(f"x = {value}\n", path)
    except (NandlabError, UnicodeEncodeError):
        return toml_value(value)
    return value


def _choices(dice: Dice) -> list[str]:
    """Members of the families, all or none of them drawn."""
    sets = []
    for family, key in CHOICES.items():
        if dice.chance(0.4):
            sets.append(f"{key}={dice.one(_members(family))}")
    if "ftl.name=wom" in sets and dice.chance(0.5):
        # Cells that are programmed in one shot, of as many bits as `tiny` has or more.
        bits = dice.randint(2, 4)
        sets += ["ftl.code=wom_v", f"ftl.bits_per_cell={dice.randint(1, bits - 1)}"]
        sets += [f"chip.cell_bits={bits}", f"chip.cell.preset={CELLS[bits - 1]}"]
        sets += ["chip.page_order=one_shot", "chip.timing.t_program_us=2000"]
        sets += ["chip.timing.t_read_us=60", f"chip.geometry.pages_per_block={24 * bits}"]
        sets += ["ftl.overprovisioning=1.0"]
    has_cell = any(text in ("chip.array.name=cells", "chip.array.name=table") for text in sets)
    if not any(text.startswith("chip.cell_bits") for text in sets) and (
        has_cell or dice.chance(0.1)
    ):
        # The cell of the bits that `tiny` has.
        sets.insert(0, "chip.cell.preset=wang2014_mlc")
    model = next((text.partition("=")[2] for text in sets if text.startswith("ecc.model=")), "")
    if model in ("profile", "exact") or dice.chance(0.05):
        codes = ("bch_512_t40", "ldpc_1k_r90") if model == "exact" else PRESETS["code"]
        sets.append(f"ecc.code={dice.one(codes)}")
        sets.append("chip.geometry.spare_bytes=4096")
    if dice.chance(0.2):
        sets += dice.some(UPKEEP, 2)
    if dice.chance(0.15):
        way = dice.one(("unchecked", "checked"))
        sets += ["chip.features.copyback=true", f"gc.copyback={way}"]
        sets.append(f"gc.copyback_most={dice.one((1, 4, 255))}")
    return sets


def _shape(dice: Dice) -> list[str]:
    """Channels, dies, planes, blocks, pages, units of a drive that is quick to fill."""
    bits = dice.randint(1, 4)
    order = dice.one(tuple(ORDERS))
    page = dice.one((512, 2048, 4096, 8192, 16384, 18432))
    planes = dice.one((1, 1, 2, 2, 3, 4, 16))
    pages = bits * ORDERS[order] * dice.one((1, 2, 3, 5, 8, 12))
    return [
        f"drive.channels={dice.randint(1, 4)}",
        f"drive.dies_per_channel={dice.randint(1, 3)}",
        f"chip.cell_bits={bits}",
        f"chip.cell.preset={CELLS[bits - 1]}",
        f"chip.page_order={order}",
        "chip.timing.t_program_us=300.0",
        f"chip.geometry.planes_per_die={planes}",
        f"chip.geometry.pages_per_block={pages}",
        f"chip.geometry.page_bytes={page}",
        f"chip.geometry.blocks_per_plane={dice.one((20, 30, 40, 64))}",
        f"ftl.unit_bytes={min(page, dice.one((512, 4096, 4096, page)))}",
        f"ecc.payload_bytes={min(page, dice.one((512, 1024, 4096, page)))}",
        f"ftl.overprovisioning={dice.one((0.1 if dice.is_wild else 0.5, 0.7, 1.0, 2.5))}",
        f"gc.start_free_blocks={dice.one((2, 3, 5) if dice.is_wild else (2, 3))}",
    ]


def _changes(dice: Dice, name: str, sets: list[str]) -> list[str]:
    """The assignments, and changes of what the drive has with them."""
    try:
        config = catalogue.load_config(name, sets).config
    except NandlabError:
        return sets
    values = dict(_leaves(config))
    changed = list(sets)
    for path in dice.some(sorted(values), dice.one((0, 2, 4, 12))):
        if path.endswith(("code_hash", ".code", ".name", ".model")):
            continue
        if any(text.startswith(f"{path}=") for text in sets):
            continue
        changed.append(f"{path}={_other(dice, path, values[path])}")
    if dice.chance(0.3) and (absent := _absent(config, dice.is_wild)):
        path = dice.one(absent)
        changed.append(f"{path}={_by_schema(dice, path)}")
    return changed


def _absent(config: dict[str, Any], is_wild: bool) -> list[str]:
    """Keys that are not there unless they are given; those of other members in wild cases only."""
    values = dict(_leaves(config))
    tables = {path.rpartition(".")[0] for path in values}
    chosen = {str(value) for path, value in values.items() if path.endswith((".name", ".model"))}
    return [
        key.path
        for key in keys()
        if key.path not in values
        and "." in key.path
        and (is_wild or (key.path.rpartition(".")[0] in tables and _is_of(key.members, chosen)))
    ]


def _is_of(members: tuple[str, ...], chosen: set[str]) -> bool:
    return not members or not chosen.isdisjoint(members)


def _other(dice: Dice, path: str, value: Any) -> str:
    """Another value of this kind."""
    if path in _nodes() and dice.spoils(0.3):
        return _by_schema(dice, path)
    if isinstance(value, bool):
        return toml_value(not value)
    if isinstance(value, int | float):
        return toml_value(dice.near(value))
    if isinstance(value, list):
        numbers = [dice.near(one) if isinstance(one, int | float) else one for one in value]
        return toml_value(numbers[: dice.randint(0, len(numbers))] + numbers[:1])
    return toml_value(value)


def _by_schema(dice: Dice, path: str) -> str:
    """A value that the schema allows, or nearly."""
    if path == "drive.scale":
        return dice.one(SCALES)
    schema = catalogue.schema()
    node = resolved(schema, dice.one(_nodes()[path]))
    options = node.get("oneOf") or node.get("anyOf") or [node]
    node = resolved(schema, dice.one(options))
    if "const" in node:
        return toml_value(node["const"])
    if "enum" in node:
        return toml_value(dice.one(node["enum"]))
    if "properties" in node:
        inner = {
            key: dice.one(("0", "1", "0.5", "100", "1e6")) for key in sorted(node["properties"])
        }
        return "{" + ", ".join(f"{key} = {value}" for key, value in inner.items()) + "}"
    kinds = node.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    low, high = node.get("minimum", 0), node.get("maximum", 2**32 - 1)
    if kind == "integer":
        usual = (0, 1, 2, 3, 5, 10, 100, 1000, 4096, 65536)
        return str(dice.one((low, high, *(n for n in usual if low <= n <= high))))
    if kind == "number":
        return dice.one(("0.0", "1e-6", "0.1", "0.5", "1.0", "10.0", "100.0", "1e4", "1e7"))
    if kind == "boolean":
        return dice.one(("true", "false"))
    if kind == "array":
        return dice.one(("[]", "[0]", "[1.0]", "[0.1, 0.2]", "[3, 2, 1]", "[-0.1, -0.1]", "[{}]"))
    return toml_value(dice.one(("", "x", dice.one(PRESETS["code"]), dice.one(PRESETS["cell"]))))


def _path(dice: Dice) -> str:
    """A key, or one that is nearly right."""
    path = dice.one(sorted(_nodes()))
    how = dice.random()
    if how < 0.8:
        return path
    if how < 0.9:
        return dice.one((path[:-1], path + "x", path + ".x", path.rpartition(".")[0], "." + path))
    return dice.odd()


def _members(family: str) -> list[str]:
    return [member.name for member in catalogue.roster(family)]


def _leaves(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values of a configuration."""
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@cache
def _nodes() -> dict[str, list[dict[str, Any]]]:
    """Schemas of each key, one for each member that has it."""
    schema = catalogue.schema()
    found: dict[str, list[dict[str, Any]]] = {}

    def walk(node: dict[str, Any], prefix: str) -> None:
        for one in (node, *node.get("anyOf", []), *node.get("oneOf", [])):
            for key, value in resolved(schema, one).get("properties", {}).items():
                target = resolved(schema, value)
                if prefix.count(".") < 4 and ("properties" in target or "anyOf" in target):
                    walk(target, f"{prefix}{key}.")
                if "properties" not in target:
                    found.setdefault(f"{prefix}{key}", []).append(value)

    walk(schema, "")
    return found
