"""Tables for papers: a heading with units, numbers with intervals, as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nandlab._core import version
from nandlab.display.label import Label
from nandlab.given.replacement import write_text

KINDS = (".csv", ".tex")
"""Endings of the files that a table for a paper is written to."""

_DIGITS = 4
"""Of a number without an interval."""

_CHOSEN_DIGITS = 6
"""Of a number that was chosen, at most."""

_PLAIN = (1e-3, 1e7)
"""Numbers between these are written without a power of ten."""

_LETTERS = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "µ": r"$\mu$",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "°": r"$^{\circ}$",
}
"""Letters that LaTeX takes for something else, or has no font for."""


class Number(NamedTuple):
    """A number of a table."""

    value: float | None
    """None where there is none."""
    low: float | None = None
    high: float | None = None
    """The ends of its interval."""
    mark: str = ""
    """What refers to a note."""
    is_ratio: bool = False
    """Its interval is written by its ends: it does not lie in the middle."""
    is_given: bool = False
    """It was chosen and not measured, and has the digits that it was given with."""


Cell = str | Number


class Sheet(NamedTuple):
    """A table."""

    columns: Sequence[Label]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    """What marks mean, below the table."""


def write_sheet(
    path: Path, sheet: Sheet, keys: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Writes a table as LaTeX, or the numbers that it is made of as CSV, by the ending of `path`.

    Raises:
        OSError: it cannot be written.
    """
    is_csv = path.suffix.lower() == ".csv"
    write_text(path, csv_text(keys, rows) if is_csv else latex(sheet))


def csv_text(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows below one line with their keys: all digits of numbers, nothing for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows([_plain(row[key]) for key in keys] for row in rows)
    return out.getvalue()


def _plain(value: Any) -> Any:
    is_json = isinstance(value, bool | list | Mapping)
    return json.dumps(value) if is_json else value


def latex(sheet: Sheet) -> str:
    """The table as LaTeX, for the package `booktabs`."""
    sides = "".join("r" if _is_of_numbers(sheet, index) else "l" for index in _indices(sheet))
    lines = [
        f"% nandlab {version()}; \\usepackage{{booktabs}}; intervals of 95 %",
        f"\\begin{{tabular}}{{{sides}}}",
        "\\toprule",
        _line(escaped(str(one)) for one in sheet.columns),
        "\\midrule",
        *(_line(map(_cell, row)) for row in sheet.rows),
        "\\bottomrule",
        *(
            _line([f"\\multicolumn{{{len(sides)}}}{{l}}{{\\footnotesize {escaped(note)}}}"])
            for note in sheet.notes
        ),
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_LETTERS.get(letter, letter) for letter in " ".join(text.split()))


def _indices(sheet: Sheet) -> range:
    return range(len(sheet.columns))


def _is_of_numbers(sheet: Sheet, index: int) -> bool:
    return all(isinstance(row[index], Number) for row in sheet.rows)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escaped(cell)
    if cell.value is None:
        return "--"
    mark = f"^{{{cell.mark}}}" if cell.mark else ""
    if cell.low is None or cell.high is None or cell.low == cell.high:
        return f"${_chosen(cell.value) if cell.is_given else _figure(cell.value)}{mark}$"
    if cell.is_ratio:
        low, high = _figure(cell.low), _figure(cell.high)
        return f"${_figure(cell.value)}{mark}$ (${low}$ to ${high}$)"
    return f"${_spread(cell.value, cell.value - cell.low)}{mark}$"


def _chosen(value: float) -> str:
    """A number that was given: without zeros behind it."""
    is_plain = not _power(value) and not float(value).is_integer()
    return _grouped(f"{value:.{_CHOSEN_DIGITS}g}") if is_plain else _figure(value)


def _figure(value: float) -> str:
    """A number without an interval: four digits, or all of a whole number."""
    power = _power(value)
    if power:
        return f"{value / 10.0**power:.{_DIGITS - 1}f} \\times 10^{{{power}}}"
    places = max(_DIGITS - 1 - _exponent(value), 0)
    return _grouped(f"{value:.{0 if float(value).is_integer() else places}f}")


def _spread(value: float, half: float) -> str:
    """A mean and half of its interval, which has one digit, or two where the first is a 1."""
    power = _power(value)
    scaled, spread = value / 10.0**power, half / 10.0**power
    first = _exponent(spread)
    # 0.98 rounds to 1.0.
    first += spread / 10.0**first >= 9.5
    places = -first + (spread / 10.0**first < 1.95)
    texts = [_grouped(f"{round(one, places):.{max(places, 0)}f}") for one in (scaled, spread)]
    said = " \\pm ".join(texts)
    return f"({said}) \\times 10^{{{power}}}" if power else said


def _power(value: float) -> int:
    """The power of ten that a number is written with; 0 for none."""
    least, most = _PLAIN
    return 0 if value == 0 or least <= abs(value) < most else _exponent(value)


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _grouped(text: str) -> str:
    """Digits before the point in threes, where there are five or more."""
    whole, point, rest = text.partition(".")
    if len(whole.lstrip("-")) < 5:
        return text
    return f"{int(whole):,}".replace(",", "\\,") + point + rest
