"""Files of a paper: `reference.csv` with its printed figures, `expected.toml` with their terms."""

from __future__ import annotations

import csv
import fnmatch
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nandlab.given.refusal import refusal
from nandlab.papers.verdict import CONTRADICTION, KINDS, PREDICTED, Contradiction, Expected, Row

COLUMNS = ("row", "claim", "relation", "paper", "unit", "place", "needs")
RELATIONS = ("=", "<=", ">=")

GROUPS = ("papers", "real drives", "simulators")
"""Groups of the outcome tables, named by key `group` of `expected.toml`; the first by default."""


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of a `reference.csv`.

    Raises:
        NandlabError: one is not what it should be; names its line.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise refusal(f"{file}:1", f"columns {', '.join(reader.fieldnames or ())}", COLUMNS)
        seen: set[str] = set()
        for given in reader:
            place = f"{file}:{reader.line_num}"
            name = given["row"]
            if None in given or None in given.values():
                raise refusal(
                    place, f"{len(given)} fields do not fit the heading", f"{len(COLUMNS)} fields"
                )
            if name in seen or not name.isidentifier():
                raise refusal(place, f"row `{name}`", "the name of a function, once")
            seen.add(name)
            if given["relation"] not in RELATIONS:
                raise refusal(place, f"relation `{given['relation']}`", " ".join(RELATIONS))
            yield Row(
                name,
                given["claim"],
                given["relation"],
                _number(place, "paper", given["paper"]),
                given["unit"],
                given["place"],
                given["needs"],
            )


def _number(place: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refusal(place, f"{column} `{text}`: not a number", "a finite number")
    return value


def read_expected(
    file: Path, rows: Sequence[Row]
) -> tuple[str, dict[str, Expected], list[Contradiction]]:
    """Its group, expectations of every row that runs, and contradictions within the paper.

    Raises:
        NandlabError: it is said of no row, or is not what it should be.
    """
    from nandlab.given.toml import read_toml

    tables = read_toml(file)
    contradictions = _contradictions(file, tables.pop("contradictions", []))
    group = tables.pop("group", GROUPS[0])
    if group not in GROUPS:
        raise refusal(file, f"group = {group!r}", GROUPS, given=str(group), names=GROUPS)
    seeds = _seeds(file, "seeds", tables.pop("seeds", 0))
    runs = [row for row in rows if not row.waits]
    names = [row.name for row in runs]
    for name in tables:
        if not fnmatch.filter(names, name):
            raise refusal(
                file,
                f"no row `{name}` that runs in reference.csv",
                "its rows",
                given=name,
                names=names,
            )
    found = {}
    for row in runs:
        patterns = [key for key in tables if fnmatch.fnmatchcase(row.name, key)]
        table = tables.get(row.name, tables.get(max(patterns, key=len, default=row.name)))
        if not isinstance(table, dict):
            raise refusal(file, f"no [{row.name}]", "a table for each row that runs")
        found[row.name] = _terms(file, row, {"seeds": seeds, **table})
    return group, found, contradictions


def _terms(file: Path, row: Row, table: dict[str, Any]) -> Expected:
    """Checks the table of a row, and returns its terms."""
    for key in table:
        if key not in Expected._fields:
            raise refusal(
                file,
                f"[{row.name}]: unknown key `{key}`",
                Expected._fields,
                given=key,
                names=Expected._fields,
            )
    kind, gain = table.get("kind", ""), str(table.get("gain", ""))
    if kind not in KINDS:
        raise refusal(file, f"[{row.name}]: kind `{kind}`", KINDS, given=kind)
    if kind == PREDICTED and row.relation != "=":
        raise refusal(file, f"[{row.name}]: predicted, with a bound", "relation =, or kind bound")
    slacks = [table.get(key, 0.0) for key in ("relative", "absolute")]
    for slack in slacks:
        if not isinstance(slack, (int, float)) or not slack >= 0:
            raise refusal(file, f"[{row.name}]: a tolerance of {slack}", "a number, 0 or more")
    if gain and row.unit != "%":
        raise refusal(file, f"[{row.name}]: a gain in `{row.unit}`", "%")
    explained, between = str(table.get("explained", "")), table.get("explained_range", ())
    if bool(explained) != bool(between):
        raise refusal(
            file,
            f"[{row.name}]: a reason without its range, or a range without a reason",
            "both `explained` and `explained_range`",
        )
    if between and not _is_range(between):
        raise refusal(file, f"[{row.name}]: explained_range = {between}", "[least, most]")
    if kind == CONTRADICTION and not explained:
        raise refusal(file, f"[{row.name}]: a contradiction", "`explained`, with its arithmetic")
    found = Expected(kind, float(slacks[0]), float(slacks[1]), gain)
    found = found._replace(seeds=_seeds(file, f"[{row.name}]: seeds", table["seeds"]))
    if between:
        ends = float(between[0]), float(between[1])
        found = found._replace(explained=explained, explained_range=ends)
    return found


def _is_range(given: object) -> bool:
    return (
        isinstance(given, list)
        and len(given) == 2
        and all(isinstance(end, (int, float)) for end in given)
        and given[0] <= given[1]
    )


def _seeds(file: Path, key: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0 or given == 1:
        # One seed is not a result.
        raise refusal(file, f"{key} = {given}", "2 or more; 0 where nothing is random")
    return given


def _contradictions(file: Path, given: object) -> list[Contradiction]:
    keys = Contradiction._fields
    found = []
    for table in given if isinstance(given, list) else [given]:
        if not isinstance(table, dict) or set(table) != set(keys):
            raise refusal(file, f"contradictions: {table!r:.60}", f"tables of {' and '.join(keys)}")
        found.append(Contradiction(*(str(table[key]) for key in keys)))
    return found
