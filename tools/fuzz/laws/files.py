"""Laws of files: each output is whole, and what it holds keeps the laws of its kind."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from fuzz.laws import report as report_laws
from fuzz.laws import rows as row_laws
from fuzz.running import Outcome
from nandlab import NandlabError
from nandlab._core import toml_to_json
from nandlab.report import Report

#: First and last bytes of a picture.
_ENDS = {
    ".png": (b"\x89PNG\r\n", b"IEND\xaeB`\x82"),
    ".pdf": (b"%PDF-", b"%%EOF"),
    ".gif": (b"GIF8", b";"),
}


#: Errors of a file that is not what its name says.
_UNREADABLE = (ValueError, LookupError, AttributeError, pa.ArrowException, ElementTree.ParseError)


def broken(outcome: Outcome) -> Iterator[str]:
    """What is broken in the files that a command has written, and in JSON that it has printed."""
    if outcome.code not in (0, 130):
        return
    report: Report | None = None
    written = outcome.written
    if "--json" in outcome.command.arguments and outcome.out.startswith("{"):
        written = {"standard output.json": outcome.out.encode(), **written}
    for name, data in sorted(written.items(), key=lambda pair: not pair[0].endswith(".json")):
        try:
            if name.endswith(".json"):
                loaded = _json(data)
                problems, is_report = _of_json(loaded), "checks" in loaded
                report = Report.of(loaded) if is_report else report
            else:
                problems = _of_file(name, data, report)
            yield from (f"{name}: {problem}" for problem in problems)
        except _UNREADABLE as error:
            yield f"{name}: cannot be read: {type(error).__name__}: {str(error)[:200]}"


def _json(data: bytes) -> Any:
    """JSON without the numbers that JSON does not have."""

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is no number of JSON")

    return json.loads(data, parse_constant=refuse)


def _of_json(loaded: Any) -> Iterator[str]:
    """Laws of a report, a timeline, a summary."""
    if isinstance(loaded, dict) and "checks" in loaded and "host" in loaded:
        for law in report_laws.LAWS:
            yield from (f"{law.__name__}: {problem}" for problem in law(Report.of(loaded)))
    elif isinstance(loaded, dict) and "traceEvents" in loaded:
        yield from _timeline(loaded)
    else:
        for path, value in report_laws.numbers(loaded):
            last = re.sub(r"\[\d+\]", "", path).split(".")[-1]
            if not math.isfinite(value):
                yield f"{path} is {value}"
            if ("share" in last or last in ("rber", "fer", "ber")) and not 0 <= value <= 1:
                yield f"{path} is {value}"


def _timeline(loaded: dict[str, Any]) -> Iterator[str]:
    """Spans begin and last at least no time, and those of one line do not overlap."""
    ends: dict[tuple[int, int], float] = {}
    spans = [event for event in loaded["traceEvents"] if event["ph"] == "X"]
    for event in sorted(spans, key=lambda event: (event["ts"], event["dur"])):
        at, length = event["ts"], event["dur"]
        if not (at >= 0 and length >= 0):
            yield f"a span at {at} of {length} us"
        line = (event["pid"], event["tid"])
        if at < ends.get(line, 0.0) - 0.002:
            yield f"{event['name']} at {at} us begins before {ends[line]}, on line {line}"
            return
        ends[line] = max(ends.get(line, 0.0), at + length)


def _latex(text: str) -> Iterator[str]:
    """Tables are closed, and each of their rows has as many cells as the first."""
    begins, closes = (text.count(rf"\{word}{{tabular}}") for word in ("begin", "end"))
    if begins == 0 or begins != closes:
        yield f"{begins} tables begin, {closes} end"
    for table in text.split(r"\begin{tabular}")[1:]:
        rows = [line for line in table.splitlines() if line.rstrip().endswith(r"\\")]
        cells = {len(re.findall(r"(?<!\\)&", row)) for row in rows if "multicolumn" not in row}
        if len(cells) > 1:
            yield f"rows of {sorted(cells)} cells"


def _of_file(name: str, data: bytes, report: Report | None) -> Iterator[str]:
    """A file is whole; a table keeps its laws."""
    suffix = f".{name.rpartition('.')[2]}"
    if suffix == ".parquet":
        yield from row_laws.broken(pq.read_table(io.BytesIO(data)), report)
    elif suffix == ".csv":
        if data.strip():
            yield from row_laws.broken(pcsv.read_csv(io.BytesIO(data)), report)
    elif suffix == ".toml":
        try:
            toml_to_json(data.decode(), name)
        except NandlabError as error:
            yield f"no TOML: {error}"
    elif suffix == ".tex":
        yield from _latex(data.decode())
    elif suffix == ".svg":
        ElementTree.fromstring(data)
    elif suffix in _ENDS:
        first, last = _ENDS[suffix]
        if not data.startswith(first) or not data.rstrip().endswith(last):
            yield "is not whole"
    elif not data:
        yield "is empty"


#: Keys of a report that no two runs share.
_CLOCKS = ("wall_s", "precondition_wall_s", "requests_per_wall_s", "peak_rss_mb")


def differences(one: list[Outcome], other: list[Outcome]) -> Iterator[str]:
    """What differs between two runs of a case: pictures and clocks aside nothing."""
    for number, (first, second) in enumerate(zip(one, other, strict=True)):
        if first.is_interrupted or second.is_interrupted:
            return
        where = f" of step {number}"
        if first.code != second.code:
            yield f"exit code {first.code}, then {second.code}{where}"
            return
        if _said(first) != _said(second):
            yield f"other output{where}"
        if _untimed(first.err) != _untimed(second.err):
            yield f"other messages{where}: {first.err[:150]!r}, then {second.err[:150]!r}"
        if sorted(first.after) != sorted(second.after):
            yield f"other files{where}"
            continue
        for name, data in first.after.items():
            if not _is_same(name, data, second.after[name]):
                yield f"another {name}{where}"


def _said(outcome: Outcome) -> str:
    """Standard output without what the clock says."""
    if outcome.out.startswith("{") and '"wall_s"' in outcome.out:
        return json.dumps(_timeless(json.loads(outcome.out)))
    return _untimed(outcome.out)


def _untimed(said: str) -> str:
    """The table of a run without its last lines, which say how long it took.

    Nor does the width of the table count: the longest line may be one of those.
    """
    table = re.split(r"^time  ", said, maxsplit=1, flags=re.M)[0]
    return "\n".join(line.rstrip() for line in table.splitlines())


def _is_same(name: str, one: bytes, other: bytes) -> bool:
    if one == other or name.endswith((".png", ".svg", ".pdf", ".gif", ".html")):
        return True
    if name.endswith(".json"):
        try:
            return bool(_timeless(json.loads(one)) == _timeless(json.loads(other)))
        except ValueError:
            # A damaged report: its clocks are no longer told from the rest.
            return True
    if name.endswith(".parquet"):
        tables = (pq.read_table(io.BytesIO(data)) for data in (one, other))
        return bool(next(tables).equals(next(tables), check_metadata=False))
    return False


def _timeless(loaded: Any) -> Any:
    """A report without its clocks."""
    if isinstance(loaded, dict) and isinstance(loaded.get("sim"), dict):
        loaded["sim"] = {key: v for key, v in loaded["sim"].items() if key not in _CLOCKS}
    return loaded
