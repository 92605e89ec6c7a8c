"""Tables of a study: one row a point, or means over replicates with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.drive.trust.doubts import DOUBTS
from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
from nandlab.study.given import OWN_COLUMNS, Given
from nandlab.study.points import LISTING
from nandlab.study.rows import Rows, row_values
from nandlab.study.task import Batch, canonical
from nandlab.study.work import Values

if TYPE_CHECKING:
    import pyarrow as pa

CONFIDENCE = 0.95
"""Of every interval."""

_CHUNK = 5000
"""Rows that are in memory while a file is written."""


def records(given: Given, rows: Rows, batches: Iterable[Batch]) -> Iterator[dict[str, Any]]:
    """The rows of the points of a study, in the order of its design; points without a row not.

    A failed point has its axes and its error, and None in all other columns.
    """
    seen: set[str] = set()

    def identities() -> Iterator[str]:
        for batch in batches:
            for task in batch.tasks:
                if task.id not in seen:
                    seen.add(task.id)
                    shown.append(task.axes)
                    yield task.id

    shown: list[dict[str, Any]] = []
    for row in rows.get(identities()):
        axes = shown.pop()
        if row is None:
            continue
        found = row_values(row, given.wants) or Values({})
        few = [one.name for one in given.columns if one.expression.text in found.few_beyond]
        yield {
            "id": row["id"],
            "replicate": row["replicate"],
            **axes,
            **{one.name: found.of.get(one.expression.text) for one in given.columns},
            "doubts": _said(row.get("doubts") or ()),
            "few_beyond": _said(few),
            "error": row.get("error"),
            "wall_s": row.get("wall_s"),
        }


def _said(names: Iterable[str]) -> str | None:
    """Names of doubts or columns as a table has them; None for none."""
    return ", ".join(names) or None


def names(given: Given) -> list[str]:
    """Columns of the table of a study."""
    first, second, *last = OWN_COLUMNS
    axes = [one.path for one in given.axes]
    return [first, second, *axes, *(one.name for one in given.columns), *last]


def table(given: Given, make: Callable[[], Iterator[dict[str, Any]]]) -> pa.Table:
    """All records as an Arrow table."""
    import pyarrow as pa

    found = list(make())
    schema = _schema(given, found)
    return pa.Table.from_pylist([_typed(row, schema) for row in found], schema=schema)


def write_table(path: Path, given: Given, make: Callable[[], Iterator[dict[str, Any]]]) -> None:
    """Writes all records to a Parquet file, a part at a time.

    Raises:
        OSError: it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nandlab.given.replacement import replacing

    first = list(islice(make(), _CHUNK))
    # Of a longer table the kinds of all values are looked at before the first is written.
    is_long = len(first) == _CHUNK
    schema = _schema(given, make() if is_long else first)
    rows = make() if is_long else iter(first)
    with replacing(path) as file, pq.ParquetWriter(file, schema) as writer:
        while part := [_typed(row, schema) for row in islice(rows, _CHUNK)]:
            writer.write_table(pa.Table.from_pylist(part, schema=schema))


def _schema(given: Given, found: Iterable[Mapping[str, Any]]) -> pa.Schema:
    """Types of the columns, from their values: whole and other numbers, truth values, text."""
    import pyarrow as pa

    kinds: dict[str, set[str]] = {name: set() for name in names(given)}
    for row in found:
        for name, value in row.items():
            if value is not None:
                kinds[name].add(_kind(value))
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    fixed = {"id": "text", "replicate": "int", "doubts": "text", "few_beyond": "text"}
    fixed |= {"error": "text", "wall_s": "float"}

    def of(name: str, seen: set[str]) -> Any:
        if name in fixed:
            return types[fixed[name]]
        if seen <= {"int", "float"}:
            # An axis is whole where its values are; other columns may meet a fraction later.
            is_axis = name in [one.path for one in given.axes]
            return types["int" if seen == {"int"} and is_axis else "float"]
        return types["bool" if seen == {"bool"} else "text"]

    metadata = {"nandlab_study": given.summary or given.place}
    return pa.schema([(name, of(name, seen)) for name, seen in kinds.items()], metadata=metadata)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "float"
    return "float" if isinstance(value, float) else "text"


def _typed(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """A record with the types of the columns; lists and mixed kinds are JSON."""
    typed: dict[str, Any] = {}
    for entry in schema:
        value = row[entry.name]
        if value is not None:
            kind = str(entry.type)
            if kind == "double":
                value = float(value)
            elif kind == "string" and not isinstance(value, str):
                value = canonical(value)
        typed[entry.name] = value
    return typed


def means(given: Given, found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means over replicates: a row for each combination, with `replicates` and intervals.

    The interval is Student's, of 95 %, for the mean; None of fewer than two values. `doubts` and
    `few_beyond` are those of any replicate. Rows of a grid come in the order of the axes and of
    their values, as they were given.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in found:
        if row["error"] is None:
            key = canonical([row[one.path] for one in given.axes])
            groups.setdefault(key, []).append(row)
    result = []
    for rows in _as_given(given, list(groups.values())):
        one: dict[str, Any] = {axis.path: rows[0][axis.path] for axis in given.axes}
        one["replicates"] = len(rows)
        one["doubts"] = _said(name for name in DOUBTS if name in _had(rows, "doubts"))
        few = _had(rows, "few_beyond")
        one["few_beyond"] = _said(column.name for column in given.columns if column.name in few)
        for column in given.columns:
            every = [row[column.name] for row in rows]
            # Of truth values the share.
            seen = [float(one) for one in every if is_number(one) or isinstance(one, bool)]
            mean, low, high = interval(seen)
            one |= {column.name: mean, f"{column.name}_low": low, f"{column.name}_high": high}
        result.append(one)
    return result


def _had(rows: Iterable[Mapping[str, Any]], key: str) -> set[str]:
    """The names that any of the rows has in a column of names."""
    return {name for row in rows for name in (row[key] or "").split(", ")}


def _as_given(given: Given, groups: list[list[Mapping[str, Any]]]) -> list[list[Mapping[str, Any]]]:
    """Combinations in the order of the axes and their values; drawn ones as they were drawn."""
    if given.design.kind not in LISTING:
        return groups
    places = [
        (axis.path, {canonical(value): place for place, value in enumerate(axis.values)})
        for axis in given.axes
    ]
    return sorted(groups, key=lambda rows: [of[canonical(rows[0][path])] for path, of in places])


def mean_names(given: Given) -> list[str]:
    """Keys of the rows of `means`."""
    axes = [axis.path for axis in given.axes]
    ends = ("", "_low", "_high")
    columns = [f"{column.name}{end}" for column in given.columns for end in ends]
    return [*axes, "replicates", "doubts", "few_beyond", *columns]


def interval(
    seen: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float | None, float | None, float | None]:
    """The mean of values and Student's interval for it."""
    if not seen:
        return None, None, None
    count, mean = len(seen), math.fsum(seen) / len(seen)
    if count < 2:
        return mean, None, None
    from scipy.special import stdtrit

    variance = math.fsum((value - mean) ** 2 for value in seen) / (count - 1)
    half = float(stdtrit(count - 1, (1 + confidence) / 2)) * math.sqrt(variance / count)
    return mean, mean - half, mean + half


def check_column(given: Given, name: str, place: str = "column") -> None:
    """Refuses a column that a study does not have.

    Raises:
        NandlabError: so; names the nearest one.
    """
    known = [one.name for one in given.columns]
    if name not in known:
        raise refusal(place, f"no column `{name}`", known, given=name)
