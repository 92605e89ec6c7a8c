"""Sources of the reference: the bibliography in one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from derived import ROOT


def sources() -> Iterator[tuple[str, str]]:
    """The bibliography, short."""
    text = (ROOT / "params/CITATIONS.bib").read_text(encoding="utf-8")
    for entry in re.findall(r"^@\w+\{(.*?)^\}", text, re.M | re.S):
        key, fields = entry.split(",", 1)
        value = {
            name: bib_field(fields, name) for name in ("author", "organization", "title", "year")
        }
        names = re.split(r"\s+and\s+", value["author"]) if value["author"] else []
        who = names[0].split(",")[0] if names else value["organization"]
        who += " et al." if len(names) > 1 else ""
        year = f" ({value['year']})" if value["year"] else ""
        yield key.strip(), f"{who}{year}: {value['title']}"


def bib_field(fields: str, name: str) -> str:
    """A field of a BibTeX entry, without its braces."""
    found = re.search(
        rf"\b{name}\s*=\s*\{{((?:[^{{}}]|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})*)\}}", fields
    )
    text = found[1] if found else ""
    for accent, letter in {r"{\'o}": "ó", r"{\"o}": "ö", r"{\o}": "ø"}.items():
        text = text.replace(accent, letter)
    return " ".join(text.replace("{", "").replace("}", "").split())
