"""Drive file of a calibration: the drive's own text with the fitted numbers, each marked."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.calibrate.knob import Knob, check_items, knobs_of, own_value, settings
from nandlab.calibrate.table import summary_line
from nandlab.catalogue import load_config, presets
from nandlab.given.inputs import input_text
from nandlab.given.refusal import refusal
from nandlab.given.toml import parse_toml, toml_value

if TYPE_CHECKING:
    from nandlab.calibrate.result import Calibration, Fitted

_FILES = ("drive_preset", "preset", "code", "workload", "trace")
"""Keys whose values may be files, from the folder of the file that they stand in."""


def values_by_path(fitted: Sequence[Fitted], config: Mapping[str, Any]) -> dict[str, Any]:
    """Fitted numbers by their paths; items of a list in the whole list."""
    found: dict[str, Any] = {}
    for one in fitted:
        path, item = _parts(one.key)
        value = int(one.value) if one.is_whole else float(f"{one.value:.6g}")
        if item is None:
            found[path] = value
        else:
            found.setdefault(path, list(_at(config, path)))[item] = value
    return found


def _parts(key: str) -> tuple[str, int | None]:
    path, bracket, item = key.partition("[")
    return path, int(item.rstrip("]")) if bracket else None


def _at(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for part in path.split("."):
        value = value[part]
    return value


def drive_toml(
    found: Calibration, drive: str | Mapping[str, Any], sets: Sequence[str], folder: Path
) -> str:
    """The text of a drive with fitted numbers and assignments in their lines.

    Args:
        found: the calibration.
        drive: preset, file or tables.
        sets: assignments that the calibration had.
        folder: of the new file: files that the text names are from there.

    Raises:
        NandlabError: its text cannot hold them.
    """
    name = found.facts["drive"]
    text = _text(drive, folder)
    today = datetime.date.today().isoformat()
    text = _assigned(text, sets)
    marks: dict[str, list[Fitted]] = {}
    for one in found.fitted:
        marks.setdefault(_parts(one.key)[0], []).append(one)
    for path, value in values_by_path(found.fitted, found._config).items():
        text = with_key(text, path, toml_value(value), _mark(marks[path], found, today))
    data = found.data
    said = str(parse_toml(text, name).get("summary", name))
    text = with_key(text, "summary", toml_value(f"{said}; calibrated on {data}"), "")
    head = [
        f"# {name}, calibrated on {data} by `nandlab calibrate` on {today}.",
        f"# {_sentence(summary_line(found, 'fitted'))} Fitted numbers are not validated by them.",
        f"# {_sentence(summary_line(found, 'held out'))}",
        "#",
    ]
    text = "\n".join(head) + "\n" + text
    values = {one.key: (one.range_low, one.range_high) for one in found.fitted}
    taken = [one.value for one in found.fitted]
    _check(text, list(zip(knobs_of(values), taken, strict=True)), name, folder)
    return text


def _assigned(text: str, sets: Sequence[str]) -> str:
    """A drive's text with assignments."""
    for given in sets:
        path, _, value = given.partition("=")
        path, value = path.strip(), value.strip()
        written = value if _is_toml(value) else toml_value(value)
        text = with_key(text, path, written, "assumed: given to the calibration")
    return text


def _sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}."


def _mark(numbers: Sequence[Fitted], found: Calibration, today: str) -> str:
    """Where a number comes from, or the fitted items of a list."""
    facts = found.facts
    rows = f"{found.data}, {today}, {facts['rows_fitted']} rows"
    if all(one.status == "no effect" for one in numbers):
        return f"assumed: the drive's own; {rows} do not depend on it"
    spans = [_span(one) for one in numbers]
    has_interval = any(one.low is not None for one in numbers)
    level = f"{facts['level'] * 100:g} % " if has_interval else ""
    return f"calibrated: {rows}, {level}{', '.join(spans)}"


def _span(one: Fitted) -> str:
    """The interval of a number, with what is to be said of it."""
    item = _parts(one.key)[1]
    head = "" if item is None else f"[{item}] "
    span = "no interval" if one.low is None else one.interval
    return f"{head}{span}" + ("" if one.status == "fitted" else f" ({one.status})")


def _text(drive: str | Mapping[str, Any], folder: Path) -> str:
    """The text of a drive; files that it names are from `folder`."""
    if isinstance(drive, Mapping):
        return _of_tables(drive)
    if drive in [preset.name for preset in presets("drive")]:
        return _core.show(f"drive/{drive}")
    text = input_text(drive, "a drive file")
    here = Path(drive).resolve().parent
    if here == folder.resolve():
        return text

    def moved(found: re.Match[str]) -> str:
        path = here / found[2]
        if not path.is_file():
            return found[0]
        return f'{found[1]}"{os.path.relpath(path, folder.resolve())}"'

    keys = "|".join(_FILES)
    return re.sub(rf'^(\s*(?:[\w.]+\.)?(?:{keys})\s*=\s*)"([^"\n]+)"', moved, text, flags=re.M)


def _of_tables(tables: Mapping[str, Any]) -> str:
    """Tables as a drive file: values at the top, then a section for each table."""
    lines = [
        f"{key} = {toml_value(value)}"
        for key, value in tables.items()
        if not isinstance(value, Mapping)
    ]
    for key, value in tables.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{key}]", *(f"{k} = {toml_value(v)}" for k, v in value.items())]
    return "\n".join(lines) + "\n"


# --- A key of a text -----------------------------------------------------------------------------


def with_key(text: str, path: str, value: str, comment: str) -> str:
    """A drive's text with a key changed in its line, or added to its table."""
    lines = text.rstrip("\n").split("\n")
    behind = f"  # {comment}" if comment else ""
    table = ""
    tables: dict[str, int] = {"": -1}
    last: dict[str, int] = {"": -1}
    number = 0
    while number < len(lines):
        line = lines[number]
        header = re.match(r"\s*\[([\w.-]+)\]", line)
        key = re.match(r"\s*([\w.-]+)\s*=", line)
        if header:
            table = header[1]
            tables.setdefault(table, number)
            last[table] = number
        elif re.match(r"\s*\[\[", line):
            table = "\0"
        elif key:
            end = _end(lines, number)
            if ".".join(filter(None, (table, key[1]))) == path:
                kept = behind or _comment(lines[end])
                lines[number : end + 1] = [f"{key[1]} = {value}{kept}"]
                return "\n".join(lines) + "\n"
            number = end
            last[table] = end
        number += 1
    # The innermost table that is there takes it.
    parts = path.split(".")
    for count in range(len(parts) - 1, -1, -1):
        outer = ".".join(parts[:count])
        if outer in tables and (outer or len(parts) == 1):
            inner = ".".join(parts[count:])
            lines.insert(last[outer] + 1 if outer else _top(lines), f"{inner} = {value}{behind}")
            return "\n".join(lines) + "\n"
    lines += ["", f"[{parts[0]}]", f"{'.'.join(parts[1:])} = {value}{behind}"]
    return "\n".join(lines) + "\n"


def _top(lines: Sequence[str]) -> int:
    """The first line behind the comment that a file opens with."""
    number = 0
    while number < len(lines) and lines[number].startswith("#"):
        number += 1
    return number


def _end(lines: Sequence[str], first: int) -> int:
    """The last line of a value, which may be a list over several lines."""
    depth, number = 0, first
    while number < len(lines):
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", lines[number]).partition("#")[0]
        depth += sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
        if depth <= 0:
            return number
        number += 1
    return first


def _comment(line: str) -> str:
    """The comment behind a value, with the space before it."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", lambda found: "_" * len(found[0]), line)
    at = bare.find("#")
    return "" if at < 0 else f"  {line[at:]}"


def _is_toml(value: str) -> bool:
    try:
        parse_toml(f"x = {value}", "")
    except NandlabError:
        return False
    return True


def check_writable(
    drive: str | Mapping[str, Any],
    sets: Sequence[str],
    fit: str | Sequence[str],
    folder: Path,
) -> None:
    """Refuses a drive whose text cannot take fitted numbers, before they are fitted.

    Raises:
        NandlabError: so.
    """
    knobs = knobs_of(fit)
    config = load_config(drive, sets).config
    check_items(knobs, config)
    name = drive if isinstance(drive, str) else "drive"
    text = _assigned(_text(drive, folder), sets)
    middle = {knob.name: knob.at(0.5) for knob in knobs}
    for path, value in settings(knobs, list(middle.values()), config).items():
        text = with_key(text, path, toml_value(value), "")
    _check(text, list(zip(knobs, middle.values(), strict=True)), name, folder)


def _check(text: str, values: Sequence[tuple[Knob, float]], name: str, folder: Path) -> None:
    """Makes sure that the text is the fitted drive.

    Raises:
        NandlabError: it is not, as where a table of the drive is written in one line.
    """
    tables = parse_toml(text, name)
    for knob, value in values:
        has = own_value(knob, tables)
        if has is None or abs(has - value) > 1e-4 * max(abs(value), 1e-12):
            problem = f"its text cannot take `{knob.name}`"
            raise refusal(name, problem, hint="write its tables with headers, as [chip]")
    load_config(_from(tables, folder))


def _from(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Tables whose files are named from the working folder."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            found[key] = _from(value, folder)
        elif key in _FILES and isinstance(value, str) and (folder / value).is_file():
            found[key] = str(folder / value)
        else:
            found[key] = value
    return found
