"""Target of a design: limits of what is measured, the demanded life, prices, and the space."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.design.price import Prices, assumed_prices
from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
from nandlab.given.toml import read_toml
from nandlab.life import result as life_result
from nandlab.study.given import KEYS, Given, given_study
from nandlab.study.own_ftl import PATH as OWN_FTL
from nandlab.study.points import LISTING


class Metric(NamedTuple):
    """A figure of a report that a target can limit."""

    expression: str
    is_least: bool
    """Whether the target is a minimum."""
    is_count: bool = False
    """Whether it counts rare events of a run."""


_PERCENTILES = ("p50", "p90", "p99", "p99_9", "p99_99", "p99_999")

METRICS = {
    "capacity_gb": Metric("nandlab.capacity_bytes / 1e9", True),
    "iops": Metric("host.iops", True),
    "read_iops": Metric("host.read.iops", True),
    "write_iops": Metric("host.write.iops", True),
    "bandwidth_mb_s": Metric("host.bandwidth_mb_s", True),
    **{
        f"{way}_us_{rank}": Metric(f"host.{way}.latency_us.{rank}", False)
        for way in ("read", "write")
        for rank in ("mean", *_PERCENTILES)
    },
    "write_amplification": Metric("ftl.write_amplification", False),
    "power_w": Metric("energy.power_w", False),
    "uncorrectable": Metric("ecc.uncorrectable", False, is_count=True),
}
"""Figures of a run that a target can limit, by their keys."""

_PACES = ("dwpd", "writes_gb_per_day")
"""Keys of a target about the host's writes in a day."""

LIFE = ("years", *_PACES, "uber")
"""Keys of a target about the whole life."""

POWER = "power_w"

_LIVED = tuple(
    name for name in METRICS if name == "capacity_gb" or name in life_result.Window._fields
)
"""Figures that the timed runs of a life measure, and the capacity, which no age changes."""

_END = re.compile(r"[1-9][0-9]*|[0-9.]+(us|ms|s|x)")
"""End of a short run."""

_REFUSED = ("objectives", "limits", "columns", "reports", "replicates", "ftl")
"""Keys of a study that a target has in another form or not at all."""


@dataclass(frozen=True)
class Target:
    """A target file, checked."""

    path: Path
    given: Given
    """The study of the space, with a column for each limit."""
    limits: Mapping[str, float]
    """Limit of each metric."""
    life: Mapping[str, float]
    """Demand of a life; empty where there is none."""
    prices: Prices
    short_until: str | None
    """End of a short run; None without short runs."""


def target_of(path: Path) -> Target:
    """Reads a target file.

    Raises:
        NandlabError: it cannot be read, or a key or a value is refused.
    """
    tables = read_toml(path, "a target's TOML file")
    place = str(path)
    names = [key for key in KEYS if key not in _REFUSED] + ["target", "price", "short_until"]
    for key in tables:
        if key not in names:
            raise refusal(place, f"unknown key `{key}`", names, given=key)
    wanted = _numbers(f"{place}: target", tables.get("target", {}), [*METRICS, *LIFE])
    life = {key: wanted.pop(key) for key in LIFE if key in wanted}
    if life and not ("years" in life and len(life.keys() & {*_PACES}) == 1):
        expected = "`years`, and one of " + ", ".join(f"`{key}`" for key in _PACES)
        raise refusal(f"{place}: target", "half of a life, or two", expected)
    for key, value in life.items():
        if value == 0:
            raise refusal(f"{place}: target.{key}", "0", "more than 0, or no life")
    if not wanted:
        raise refusal(f"{place}: target", "no limit", METRICS)
    own = _numbers(f"{place}: price", tables.get("price", {}), assumed_prices())
    rest = {key: tables[key] for key in tables if key in KEYS}
    # The power of a drive has a price over its years.
    columns = dict.fromkeys([*wanted, *([POWER] if life else [])])
    rest["columns"] = [f"{name} = {METRICS[name].expression}" for name in columns]
    given = given_study(rest, place, path.parent)
    if not isinstance(given.drive, str):
        raise refusal(f"{place}: drive", f"{given.drive!r}", "a preset's name, or a path")
    unknown = [key for key in wanted if life and key not in _LIVED]
    if unknown:
        problem = f"no timed run of a life measures `{unknown[0]}`"
        raise refusal(f"{place}: target", problem, _LIVED, hint="leave it out, or the life")
    if not given.axes:
        raise refusal(f"{place}: axis", "none", "one or more, with the values to choose from")
    if given.design.kind not in LISTING:
        raise refusal(f"{place}: design", f"`{given.design.kind}`", LISTING)
    for one in given.axes:
        if one.path.startswith(("job.", "run.")):
            raise refusal(f"{place}: axis", f"`{one.path}` is no key of a drive", "a drive's key")
        if one.path == "drive.scale":
            raise refusal(f"{place}: axis", "`drive.scale` is no choice: it simulates a share")
        if not one.values:
            problem = "a range without steps has no list of drives"
            raise refusal(f"{place}: axis {one.path}", problem, "step, factor or points")
    if given.own_ftls:
        problem = "not supported: an FTL in Python, whose memory has no price"
        raise refusal(f"{place}: axis {OWN_FTL}", problem, hint="leave it out of the space")
    short = tables.get("short_until")
    if short is not None and not (isinstance(short, str) and _END.fullmatch(short)):
        raise refusal(
            f"{place}: short_until", f"{short!r}", 'requests or a time in quotes, as "5000" or "2s"'
        )
    if short is not None and not given.run:
        raise refusal(f"{place}: short_until", "no `run` that it could end", "a table `run`")
    return Target(path, given, wanted, life, Prices(own), short)


def _numbers(place: str, given: Any, names: Any) -> dict[str, float]:
    """A table of numbers by known names."""
    if not isinstance(given, Mapping):
        raise refusal(place, f"{given!r}", "a table of numbers")
    for key, value in given.items():
        if key not in names:
            raise refusal(place, f"unknown key `{key}`", names, given=key)
        if not is_number(value) or isinstance(value, bool) or value < 0:
            raise refusal(f"{place}.{key}", f"{value!r}", "a number, 0 or more")
        if value == 0 and key in METRICS and METRICS[key].is_least:
            raise refusal(f"{place}.{key}", "0", "more than 0: every drive has that")
    return {key: float(value) for key, value in given.items()}
