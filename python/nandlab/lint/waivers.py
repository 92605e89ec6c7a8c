"""Waivers: comments that say why an assumption is meant, ``# lint: L003 because ...``.

A waiver holds for all that is found in its file, and in a preset for all that drives take from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nandlab import catalogue

_WAIVER = re.compile(r"[#;]\s*lint:\s*(.*)$")
_FORM = re.compile(r"(L\d{3}(?:\s*,\s*L\d{3})*)\s+because\s+(\S.*)")
_CODES = re.compile(r"\bL\d{3}\b")

EXPECTED = "`# lint: L003 because REASON`"


class Waiver(NamedTuple):
    """A comment about some checks."""

    line: int
    codes: tuple[str, ...]
    reason: str
    """Empty where the comment gives none: it then waives nothing."""
    text: str
    """Of the comment."""


def waivers(text: str) -> Iterator[Waiver]:
    """The waivers of a file; a reason goes on in comment lines that follow it."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        found = _WAIVER.search(line)
        if found is None:
            continue
        said = " ".join([found[1].strip(), *_rest(lines[index + 1 :])]).strip()
        form = _FORM.fullmatch(said)
        codes = tuple(_CODES.findall(form[1] if form else said))
        yield Waiver(index + 1, codes, form[2].strip() if form else "", found[1].strip())


def _rest(lines: list[str]) -> Iterator[str]:
    """The comment lines that continue a reason: indented behind their ``#``."""
    for line in lines:
        more = re.fullmatch(r"\s*[#;]\s{2,}(\S.*)", line)
        if more is None:
            return
        yield more[1].strip()


def reasons(text: str) -> dict[str, str]:
    """Reasons of a file by the code of the check."""
    return {code: one.reason for one in waivers(text) if one.reason for code in one.codes}


@lru_cache(maxsize=256)
def reasons_at(place: str) -> dict[str, str]:
    """Reasons of the file or preset that a place names, as ``params/chips/mqsim_mlc.toml:21``."""
    name = re.sub(r":\d+$", "", place)
    path = Path(name)
    if path.parts[:1] == ("params",) and len(path.parts) == 3:
        preset = f"{path.parts[1].removesuffix('s')}/{path.stem}"
        names = {f"{one.kind}/{one.name}" for one in catalogue.presets()}
        return reasons(catalogue.show(preset)) if preset in names else {}
    try:
        return reasons(path.read_text("utf-8-sig")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, ValueError):
        return {}
