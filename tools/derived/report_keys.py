"""`python/nandlab/explained/report_keys.json`: keys of the report, from `docs/formats/report.md`.

Sections name the tables of the report, rows their keys. `*.latency_us.p50` is a key of every
`latency_us`, and `NAME` stands for any name. The names that stand in a meaning are keys below it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from derived import ROOT

_SECTION = re.compile(r"## ((?:`\w+`(?:, )?)+)(?:: (.*))?")
_NAME = re.compile(r"`([^`]+)`")
_SHAPE = re.compile(r"\| key of `(\w+)` \|")


def report_keys() -> str:
    """Rows of keys with their meaning, as JSON."""
    rows: list[dict[str, object]] = []
    page = (ROOT / "docs/formats/report.md").read_text(encoding="utf-8")
    page = page.partition("\n## Examples")[0]
    for part in re.split(r"\n(?=## )", page)[1:]:
        heading, _, text = part.partition("\n")
        said = _SECTION.fullmatch(heading)
        assert said is not None, heading
        tables = _NAME.findall(said[1])
        first = text.strip().split("\n\n")[0]
        about = [said[2], "" if first.startswith("|") else _plain(first)]
        rows.append({"keys": tables, "meaning": ". ".join(filter(None, about))})
        rows += _rows(text, tables)
    return json.dumps(rows, indent=0, ensure_ascii=False) + "\n"


def _rows(text: str, tables: list[str]) -> Iterator[dict[str, object]]:
    """The tables of a section, row by row."""
    prefix: str | None = None
    for line in text.splitlines():
        if not line.startswith("|"):
            prefix = None
        elif prefix is None:
            shape = _SHAPE.match(line)
            prefix = f"*.{shape[1]}" if shape else tables[0] if line.startswith("| key") else ""
        elif prefix and not line.startswith("|---"):
            names, meaning = line.strip("| ").split(" | ", 1)
            keys, under = [], prefix
            for name in _NAME.findall(names):
                # The table that the first key of a row names is that of the others too.
                is_whole = name.partition(".")[0] in tables and "." in name
                path = name if is_whole else f"{under}.{name}"
                under = path.rpartition(".")[0]
                keys.append(path)
            yield {"keys": keys, "meaning": _plain(meaning)}


def _plain(text: str) -> str:
    """Text without links and line breaks."""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())
