"""Labels of columns and axes: names of figures and keys as people read them, with their units."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNITS = {
    "mb_s": "MB/s",
    "gb_s": "GB/s",
    "mib_s": "MiB/s",
    "gib_s": "GiB/s",
    "per_s": "1/s",
    "usd_per_gb": "USD/GB",
    "usd": "USD",
    "ns": "ns",
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "hours": "h",
    "days": "days",
    "years": "years",
    "bytes": "bytes",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "tib": "TiB",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
    "uj": "µJ",
    "mj": "mJ",
    "j": "J",
    "w": "W",
    "mw": "mW",
    "percent": "%",
}
"""Units by the endings of names."""

_LONGEST_FIRST = "|".join(sorted(_UNITS, key=len, reverse=True))

_NAME = re.compile(
    rf"(?P<before>\w[\w.]*?)[_.](?P<unit>{_LONGEST_FIRST})"
    r"(?P<behind>(?:[_.](?:p\d+(?:_\d+)?|mean|min|max|total))?)"
)
"""A name or path with a unit at its end, or before a percentile."""

_WORDS = {"iops": "IOPS", "kiops": "kIOPS", "miops": "MIOPS"}


class Label(NamedTuple):
    """What stands above a column or beside an axis."""

    text: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.unit})" if self.unit else self.text


def label_of(name: str) -> Label:
    """The label of a figure or key, whose unit its name ends with.

    >>> str(label_of("read_us_p99_9")), str(label_of("chip.timing.t_read_us"))
    ('read p99.9 (µs)', 'chip.timing.t_read (µs)')
    """
    found = _NAME.fullmatch(name)
    text = f"{found['before']}{found['behind']}" if found else name
    unit = _UNITS[found["unit"]] if found else ""
    text = re.sub(r"p(\d+)_(\d+)$", r"p\1.\2", text)
    if name.isidentifier():
        text = " ".join(_WORDS.get(word, word) for word in text.split("_"))
    return Label(text, unit)
