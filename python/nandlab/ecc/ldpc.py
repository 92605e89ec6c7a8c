"""Files of LDPC codes: constructed, imported, exported, described."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.catalogue import code_text
from nandlab.given.arguments import MOST_SEED, as_text, flag, listed, named, whole
from nandlab.given.inputs import input_text
from nandlab.given.toml import parse_toml

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FORMS = ("base", "alist")
"""Texts of parity checks: a base matrix of shifts, and MacKay's lists of ones."""

MOST_Z = 2**15
"""Bits of a circulant that is imported, as ``crates/ecc/src/ldpc/text.rs`` has it."""

_MOST = 2**32 - 1
"""Beyond it the core cannot even be asked about bytes, rows and bits."""


def make(
    z: int,
    block_rows: int,
    block_columns: int,
    *,
    column_weight: int = 4,
    seed: int = 1,
    draws: int = 100,
    parity_rows: ArrayLike = (),
    summary: str | None = None,
    payload_bytes: int | None = None,
    metadata_bytes: int | None = None,
    crc_bytes: int | None = None,
) -> str:
    """The file of a new quasi-cyclic code: parity checks of circulants of ``z`` bits.

    Args:
        z: size of a circulant; decoders are fastest with 256, 128 and 64.
        block_rows: circulants of parity in a codeword.
        block_columns: circulants of a codeword.
        column_weight: checks that a data bit is in.
        seed: decides the shifts.
        draws: how often the shifts of a column are drawn; the best are kept.
        parity_rows: block rows of the first parity column; left out, the first three that can be
            encoded.
        summary: one-line description.
        payload_bytes: of a codeword; default: as many sectors of 512 as fit.
        metadata_bytes: of a codeword; default: the rest.
        crc_bytes: 4 for a checksum, or 0; default: 4 if they fit.

    Raises:
        NandlabError: no such code exists; names the parameter at fault.
    """
    recipe: dict[str, Any] = {
        "z": z,
        "block_rows": block_rows,
        "block_columns": block_columns,
        "column_weight": column_weight,
        "draws": draws,
        "seed": seed,
    }
    # What goes together, the core says; it cannot be asked about numbers below 0.
    for key, value in recipe.items():
        recipe[key] = whole(f"recipe.{key}", value, 0, MOST_SEED)
    rows = listed("recipe.parity_rows", parity_rows, "a list of rows")
    recipe["parity_rows"] = [whole("recipe.parity_rows", row, 0, _MOST) for row in rows]
    held = _held(payload_bytes, metadata_bytes, crc_bytes)
    return _core.make_code(json.dumps(recipe), _summary(summary), held)


def import_file(
    path: str | PathLike[str],
    *,
    form: str | None = None,
    z: int | None = None,
    summary: str | None = None,
    payload_bytes: int | None = None,
    metadata_bytes: int | None = None,
    crc_bytes: int | None = None,
) -> str:
    """The code file of parity checks that another tool wrote.

    Columns are moved where the last ones cannot be parity: bits have another order then.

    Args:
        path: the text.
        form: ``base`` or ``alist``; default: ``alist`` for a file ``*.alist``, else ``base``.
        z: size of a circulant; left out, a base matrix says it, and of an alist file it is the
            largest that fits (1 where there are no circulants).
        summary: one-line description.
        payload_bytes: as for :func:`make`, like the two that follow.
        metadata_bytes: as above.
        crc_bytes: as above.

    Raises:
        NandlabError: no such file, a bad line (file, line, what is expected), or no code that can
            be encoded.
    """
    place = named("path", path, "a path")
    if form is None:
        form = "alist" if Path(place).suffix == ".alist" else "base"
    form = as_text("form", form, ", ".join(FORMS))
    held = _held(payload_bytes, metadata_bytes, crc_bytes)
    if z is not None:
        z = whole("z", z, 1, MOST_Z)
    text = input_text(place, "a base matrix or an alist file")
    return _core.import_code(text, form, z, place, _summary(summary), held)


def export(name: str | PathLike[str], form: str = "base") -> str:
    """The parity checks of a code as a text that other tools read.

    Args:
        name: a preset, or the path of a code file.
        form: ``base`` (first line: columns, rows, z) or ``alist``.

    Raises:
        NandlabError: an unknown code, or not a quasi-cyclic one.
    """
    text, place = code_text(named("code", name))
    return _core.export_code(text, place, as_text("form", form, ", ".join(FORMS)))


def facts(
    name: str | PathLike[str], *, absorbing_bits: int = 0, check: bool = False
) -> dict[str, Any]:
    """What there is to know of a code: sizes, rate, weights, girth, short cycles.

    Args:
        name: a preset, or the path of a code file.
        absorbing_bits: counts absorbing sets of at most this many bits (seconds from 5 on).
        check: draws the file's ``[recipe]`` again, which takes as long as making it did;
            ``recipe_holds``: whether the recipe gives the shifts; None without a recipe.

    Raises:
        NandlabError: there is no such code, or its file is wrong.
    """
    absorbing_bits = whole("absorbing_bits", absorbing_bits, 0, _MOST)
    is_checked = flag("check", check)
    text, place = code_text(named("code", name))
    loaded: dict[str, Any] = json.loads(_core.code_facts(text, place, absorbing_bits))
    if is_checked:
        loaded["recipe_holds"] = _recipe_holds(parse_toml(text, place))
    return loaded


def _held(payload: int | None, metadata: int | None, crc: int | None) -> list[int | None]:
    """Bytes of the parts of a codeword, if given."""
    held = {"payload_bytes": payload, "metadata_bytes": metadata, "crc_bytes": crc}
    return [None if n is None else whole(key, n, 0, _MOST) for key, n in held.items()]


def _summary(given: str | None) -> str | None:
    """One line of text, if given."""
    return None if given is None else as_text("summary", given)


def _recipe_holds(tables: Mapping[str, Any]) -> bool | None:
    """Whether the recipe of a code file gives its shifts; None without a recipe."""
    if "recipe" not in tables:
        return None
    held = [tables.get(key) for key in ("payload_bytes", "metadata_bytes", "crc_bytes")]
    try:
        made = parse_toml(_core.make_code(json.dumps(tables["recipe"]), None, held), "recipe")
    except _core.NandlabError:
        return False
    own = tables["code"]

    def rows(code: Mapping[str, Any]) -> list[list[str]]:
        # A code of another kind has no shifts: no recipe makes it.
        return [row.split() for row in code.get("shifts", [])]

    return bool(own.get("z") == made["code"]["z"] and rows(own) == rows(made["code"]))
