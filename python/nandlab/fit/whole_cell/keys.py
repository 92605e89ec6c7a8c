"""Keys of a cell that measurements may determine, and their coordinates."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab.given.toml import toml_value

if TYPE_CHECKING:
    from nandlab.fit.whole_cell.observed import Observed

WIDE = math.log(1000.0)
"""Factor to each side of its start, as a logarithm, within which a positive key is looked for."""


class Key(NamedTuple):
    """A key of a cell that a fit may find."""

    name: str
    varies: tuple[str, ...] = ()
    """Columns that must vary for the data to bear on it."""
    is_log: bool = True
    most: float = math.inf
    """End of the range that the cell allows."""
    of_histograms: bool = False
    """Whether error counts alone do not tell it."""
    is_first: bool = False
    """Whether it is the size of an effect, and not its form, which is given up before."""


_N, _T, _C, _R = "pe_cycles", "retention_hours", "temperature_c", "reads"

KEYS = (
    Key("wear.erased_shift_v", (_N,), most=5.0, is_first=True),
    Key("wear.erased_widen_v", (_N,), most=5.0, is_first=True),
    Key("wear.shift_v", (_N,), most=5.0, is_first=True),
    Key("wear.widen_v", (_N,), most=5.0, is_first=True),
    Key("wear.power", (_N,), most=4.0),
    Key("read_disturb.rate_uv", (_R,), most=1e6, is_first=True),
    Key("read_disturb.field_per_v", (_R,), most=20.0),
    Key("read_disturb.worn", (_R, _N), most=1e3),
    Key("read_disturb.spread", (_R,), most=2.0),
    Key("retention.neutral_v", (_T,), is_log=False, of_histograms=True),
    Key("retention.share", (_T,), most=1.0, is_first=True),
    Key("retention.early_share", (_T,), most=1.0),
    Key("retention.worn", (_T, _N), most=1e3),
    Key("retention.spread", (_T,), most=1.0),
    Key("retention.activation_ev", (_T, _C), is_log=False, most=3.0, is_first=True),
)
"""What wear, reads and time do. Levels come besides: of histograms each mean and width, of counts
the width of the erased level and one for all others."""

LEVEL_MEAN, LEVEL_WIDTH = "levels.vth_mean_v", "levels.vth_sigma_v"

PAGE_SPREAD = "variation.page_spread"
"""Key that the scatter of rows tells: see `pages`."""

PROGRAMMED = f"{LEVEL_WIDTH}[1:]"
"""Width of the first programmed level, of which the others keep the ratio that they have."""


class Free(NamedTuple):
    """A parameter that is fitted."""

    name: str
    start: float
    is_log: bool
    scale: float
    """Size of one step of a coordinate that is no logarithm."""
    low: float
    high: float
    """Ends of its coordinate."""

    def coordinate(self, value: float) -> float:
        """Coordinate of a value."""
        return math.log(value) if self.is_log else value / self.scale

    def begun_at(self, value: float) -> Free:
        """Parameter like this one, looked for around another value."""
        by = self.coordinate(value) - self.coordinate(self.start)
        return self._replace(low=self.low + by, high=self.high + by)

    def value(self, coordinate: float) -> float:
        """Value at a coordinate."""
        return math.exp(coordinate) if self.is_log else coordinate * self.scale


def free_keys(
    tables: Mapping[str, Any], data: Observed, without: Sequence[str]
) -> tuple[list[Free], list[str]]:
    """Parameters that the data may determine, and notes about those that stay off.

    Args:
        tables: of the cell, whose values are the start.
        data: the measurements.
        without: keys that stay as they are.
    """
    levels = tables["levels"]
    means, widths = levels["vth_mean_v"], levels["vth_sigma_v"]
    gap = (means[-1] - means[0]) / max(len(means) - 1, 1)
    program = tables.get("program", {})
    # A level is no narrower than a step of its program; room for slopes is left.
    least = 1.001 * program.get("beta", 1.0) * program.get("step_v", 0.0) / math.sqrt(12)
    found, off, has_histograms = [], [], bool(data.histograms)
    if has_histograms:
        for i, mean in enumerate(means):
            ends = (mean / gap - 1.0, mean / gap + 1.0)
            found.append(Free(f"{LEVEL_MEAN}[{i}]", mean, False, gap, *ends))
        found += [
            _positive(f"{LEVEL_WIDTH}[{i}]", one, math.inf, least) for i, one in enumerate(widths)
        ]
    else:
        found.append(_positive(f"{LEVEL_WIDTH}[0]", widths[0], math.inf, least))
        # The narrowest of them must not be too narrow.
        ratio = widths[1] / min(widths[1:])
        found.append(_positive(PROGRAMMED, widths[1], math.inf, ratio * least))
    for key in KEYS:
        if not all(map(data.varies, key.varies)) or (key.of_histograms and not has_histograms):
            continue
        table, _, name = key.name.partition(".")
        value = tables.get(table, {}).get(name, _DEFAULTS.get(key.name, 0.0))
        if table not in tables or (key.is_log and value <= 0):
            off.append(key.name)
        elif key.is_log:
            found.append(_positive(key.name, value, key.most))
        elif name == "neutral_v":
            # No cell may leak at all if this were above the highest level.
            ends = (value / gap - 3.0, means[-1] / gap - 1.0)
            found.append(Free(key.name, value, False, gap, *ends))
        else:
            found.append(Free(key.name, value, False, 1.0, 0.0, key.most))
    notes = []
    if off:
        notes.append(f"off in the cell of this chip, and so not fitted: {', '.join(off)}")
    return [one for one in found if not is_named(one.name, without)], notes


_DEFAULTS = {
    "wear.power": 0.5,
    "read_disturb.field_per_v": 1.0,
    "retention.activation_ev": 1.1,
}
"""Values of keys that a cell does not name and that are not 0 by default."""


def _positive(name: str, value: float, most: float, least: float = 0.0) -> Free:
    middle = math.log(value)
    low = max(middle - WIDE, math.log(least)) if least > 0 else middle - WIDE
    return Free(name, value, True, 1.0, low, min(middle + WIDE, math.log(most)))


FORMS = tuple(key.name for key in KEYS if not key.is_first)
"""Keys that are the form of an effect."""

EVERY_NAME = (LEVEL_MEAN, LEVEL_WIDTH, *(key.name for key in KEYS), PAGE_SPREAD)
"""Keys that a fit may leave as they are."""


def is_named(name: str, given: Sequence[str]) -> bool:
    """Whether a parameter is one of those given, or an item of one."""
    return name.partition("[")[0] in given


def assignments(values: Mapping[str, float], tables: Mapping[str, Any]) -> dict[str, object]:
    """Keys of the cell with their new values: lists of levels as a whole."""
    found: dict[str, object] = {}
    for name, value in values.items():
        key, _, item = name.partition("[")
        if not item:
            found[key] = value
            continue
        table, _, last = key.partition(".")
        own = found.setdefault(key, [float(one) for one in tables[table][last]])
        assert isinstance(own, list)
        if item == "1:]":
            own[1:] = [one * value / own[1] for one in own[1:]]
        else:
            own[int(re.sub(r"\D", "", item))] = value
    return found


def sets(values: Mapping[str, float], tables: Mapping[str, Any]) -> list[str]:
    """Assignments of the values as text."""
    return [f"{key}={toml_value(value)}" for key, value in assignments(values, tables).items()]
