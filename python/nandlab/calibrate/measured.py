"""Measurements of a drive: CSV files and fio's JSON in, checked rows out."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.calibrate.fio_json import rows_of_fio
from nandlab.calibrate.metric import METRICS
from nandlab.calibrate.row import (
    OPERATIONS,
    STATES,
    Measured,
    Row,
    direction_of,
    job_of,
    name_of,
    series_of,
)
from nandlab.given.arguments import named, several
from nandlab.given.inputs import input_text
from nandlab.given.refusal import nearest, refusal
from nandlab.study.jobs import job_text

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}

USUAL_TOLERANCE = 0.05
"""A row with this tolerance weighs 1."""


class _Refused(Exception):
    """A field that is refused: what was expected."""


class Kind(NamedTuple):
    """What a column may hold."""

    meaning: str
    read: Callable[[str], Any]


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = _number(text, least, most)
        if value != int(value):
            raise _Refused(f"a whole number from {least} to {most}")
        return int(value)

    return read


def _positive(text: str) -> float:
    value = _number(text, 0.0, math.inf)
    if not value > 0:
        raise _Refused("a number above 0")
    return value


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (least <= value <= most and math.isfinite(value)):
        raise _Refused(f"a number from {least:g}" + (f" to {most:g}" if most < math.inf else ""))
    return value


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.lower())
    size = int(found[1]) * _SIZES.get(found[2], 1) if found else 0
    if not 512 <= size <= 2**30 or size % 512:
        raise _Refused("bytes from 512 to 1g, a multiple of 512, as 4096 or 4k")
    return size


def _one_of(names: Iterable[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise _Refused(", ".join(names) + nearest(text, names))
        return text

    return read


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise _Refused(", ".join(_TRUTHS))
    return _TRUTHS[text.lower()]


def _line(text: str) -> str:
    return text


COLUMNS: dict[str, Kind] = {
    "operation": Kind("what requests do, by fio's names", _one_of(OPERATIONS)),
    "block_bytes": Kind("bytes of a request; 4096 or 4k", _bytes),
    "depth": Kind("requests of a job in flight (1)", _whole(1, 65536)),
    "jobs": Kind("jobs at the same time (1)", _whole(1, 4096)),
    "read_percent": Kind("reads of a mix (50)", _whole(0, 100)),
    "rate_iops": Kind("requests offered a second in all, as a Poisson process", _positive),
    "distribution": Kind("of random addresses, as fio's random_distribution", _line),
    "job": Kind("fio job file, instead of the columns above", _line),
    "state": Kind("of the drive before: none, fill, steady, rested", _one_of(STATES)),
    "requests": Kind("that are simulated and measured", _whole(100, 10**9)),
    "weight": Kind("of the row (1)", _positive),
    "tolerance": Kind("relative error that is accepted; instead of weight", _positive),
    "holdout": Kind("true: not fitted", _truth),
    "name": Kind("of the row", _line),
    "series": Kind("curve in the picture that the row belongs to", _line),
}
"""Columns beside the metrics."""

_OF_WORKLOAD = (
    *("operation", "block_bytes", "depth", "jobs", "read_percent"),
    *("rate_iops", "distribution"),
)


def read_measured(
    data: object,
    *,
    rename: Mapping[str, str] | None = None,
    columns: Mapping[str, object] | None = None,
) -> Measured:
    """The rows of one file or several.

    Args:
        data: paths: CSV files, results of fio (``.json``), and folders of both.
        rename: names of columns in CSV files, and their names here.
        columns: values for all rows of columns that CSV files do not have.

    Raises:
        NandlabError: a file, a column or a value is refused; names the row.
    """
    result = Measured([], [])
    given = [
        Path(named("measured", one, "a CSV file, or fio's JSON"))
        for one in several("measured", data)
    ]
    for path in _files(given):
        text = input_text(path, "measurements: CSV, or fio's JSON")
        result.names.append(str(path))
        is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
        if is_json:
            rows, notes = rows_of_fio(text, str(path))
        else:
            rows, notes = _rows_of_csv(text, path, rename or {}, columns or {})
        result.rows += rows
        result.notes += [note for note in notes if note not in result.notes]
    return result


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """Files, those of folders by their names; numbers in these count as numbers."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = [one for one in path.iterdir() if one.suffix.lower() in (".csv", ".json")]
        if not found:
            raise refusal(path, "a folder without measurements", "files .csv or .json in it")
        yield from sorted(found, key=_by_number)


def _by_number(path: Path) -> list[tuple[int, str]]:
    parts = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _rows_of_csv(
    text: str, path: Path, rename: Mapping[str, str], constants: Mapping[str, object]
) -> tuple[list[Row], list[str]]:
    """The rows of a CSV file; lines that begin with # are comments."""
    numbered = [
        (number, line)
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.startswith("#")
    ]
    try:
        lines = list(csv.reader((line for _, line in numbered), strict=True))
    except csv.Error as error:
        raise refusal(path, str(error), "commas between fields, and every quote closed") from None
    if len(lines) < 2 or len(lines) != len(numbered):
        problem = "no rows" if len(lines) < 2 else "a field over several lines"
        raise refusal(path, problem, "a line of column names, then a line for each row")
    names = _names(path, [name.strip() for name in lines[0]], rename, constants)
    unused = sorted(name for name in names if name not in COLUMNS and name not in METRICS)
    rows = []
    for (number, _), fields in zip(numbered[1:], lines[1:], strict=True):
        place = f"{path}: row {number}"
        if len(fields) != len(names):
            expected = f"{len(names)}, one for each column name"
            raise refusal(place, f"{len(fields)} fields", expected)
        texts = {name: value.strip() for name, value in zip(names, fields, strict=True)}
        texts |= {name: str(value) for name, value in constants.items()}
        rows.append(_row(place, path, texts))
    said = f"columns that are not used: {', '.join(unused)}"
    return rows, [f"{path}: {said}"] if unused else []


def _names(
    path: Path, names: list[str], rename: Mapping[str, str], constants: Mapping[str, object]
) -> list[str]:
    """The columns of a file under their names here, checked."""
    for theirs in rename:
        if theirs not in names:
            raise refusal(path, f"rename: no column `{theirs}`", names, given=theirs)
    names = [rename.get(name, name) for name in names]
    known = [*COLUMNS, *METRICS]
    for name in constants:
        if name not in COLUMNS:
            raise refusal("column", f"unknown column `{name}`", COLUMNS, given=name)
        if name in names:
            raise refusal("column", f"{path} has a column `{name}`", hint="leave one of them out")
    for name in names:
        if names.count(name) > 1:
            raise refusal(path, f"the column `{name}` occurs twice", hint="keep one of them")
        # What is near to a name that is not there is a mistake; all else is a remark.
        absent = [one for one in known if one not in names]
        if name not in known and (near := nearest(name, absent, 0.8)):
            hint = f"write it as `nandlab calibrate` has it, or --rename {name}=..."
            raise refusal(path, f"unknown column `{name}`{near}", hint=hint)
    has = {*names, *constants}
    if "job" not in has:
        for needed in ("operation", "block_bytes"):
            if needed not in has:
                problem = f"no column `{needed}` ({COLUMNS[needed].meaning})"
                hint = f"--rename THEIRS={needed}, or --column {needed}=VALUE"
                raise refusal(path, problem, list(COLUMNS), hint=hint)
    if "weight" in has and "tolerance" in has:
        raise refusal(path, "columns `weight` and `tolerance`", "one of the two")
    if not has & set(METRICS):
        hint = "rename a column, as --rename mean=mean_us"
        raise refusal(path, "no column with a metric", METRICS, hint=hint)
    return names


def _row(place: str, path: Path, texts: Mapping[str, str]) -> Row:
    columns: dict[str, Any] = {}
    measured: dict[str, float] = {}
    for name, text in texts.items():
        if not text:
            continue
        try:
            if name in METRICS:
                measured[name] = _positive(text)
            elif name in COLUMNS:
                columns[name] = COLUMNS[name].read(text)
            else:
                columns[name] = _remark(text)
        except _Refused as refused:
            raise refusal(f"{place}, column {name}", f"`{text}`", str(refused)) from None
    if not measured:
        raise refusal(place, "no metric has a value", "at least one")
    _check_goes_together(place, columns)
    if "job" in columns:
        job = job_text(str(path.parent / columns["job"]))
        direction = _direction_of_text(job)
        columns.setdefault("name", columns["job"])
    else:
        job = job_of(columns, place)
        direction = direction_of(columns["operation"], columns.get("read_percent"))
        columns.setdefault("name", name_of(columns))
        columns.setdefault("series", series_of(columns))
    tolerance = columns.get("tolerance", USUAL_TOLERANCE)
    return Row(
        place=place,
        name=str(columns["name"]),
        job=job,
        direction=direction,
        measured=measured,
        columns=columns,
        state=columns.get("state"),
        requests=columns.get("requests"),
        ends_itself="job" in columns and "requests" not in columns,
        weight=columns.get("weight", (USUAL_TOLERANCE / tolerance) ** 2),
        is_held_out=columns.get("holdout", False),
    )


def _check_goes_together(place: str, columns: Mapping[str, Any]) -> None:
    """Refuses columns that say nothing together, and a workload that is not whole."""
    if "job" in columns:
        for name in _OF_WORKLOAD:
            if name in columns:
                raise refusal(place, f"`{name}` beside `job`", "the job file says it alone")
        return
    for name in ("operation", "block_bytes"):
        if name not in columns:
            raise refusal(f"{place}, column {name}", "empty", COLUMNS[name].meaning)
    operation = columns["operation"]
    if "read_percent" in columns and operation not in ("randrw", "rw"):
        problem = f"`read_percent` with `{operation}`"
        raise refusal(f"{place}, column read_percent", problem, "randrw or rw, or an empty field")
    if "distribution" in columns and not operation.startswith("rand"):
        problem = f"`distribution` with `{operation}`"
        raise refusal(f"{place}, column distribution", problem, "a random operation")
    text = columns.get("distribution", "")
    if any(sign in text for sign in ";#\n"):
        raise refusal(f"{place}, column distribution", f"`{text}`", "as zipf:1.2")


def _remark(text: str) -> Any:
    """A field of a column that only expressions read: a number where it is one."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _direction_of_text(job: str) -> str:
    """``read`` or ``write`` where all jobs of a text do only that; empty otherwise."""
    found = set(re.findall(r"^\s*(?:rw|readwrite)\s*=\s*(\w+)", job, re.M)) or {"read"}
    kinds = {"read" if one in ("read", "randread") else one for one in found}
    kinds = {"write" if one in ("write", "randwrite") else one for one in kinds}
    return kinds.pop() if len(kinds) == 1 and kinds <= {"read", "write"} else ""
