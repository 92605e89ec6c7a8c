"""Layers of a 3D block: groups that data tell apart, and where an array model has their factors.

A factor of a single layer needs rows of several conditions, whose scatter shows how well it is
known, and errors enough to know it to a tenth by counting. Layers with fewer are joined with the
next ones: the profile over layers is smooth but for the ends of a block, so that neighbours err
alike. Layers that were not measured have the factor of the nearest group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from nandlab._core import MOST_LAYERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Places = NDArray[np.int64]

LAYER_FACTORS = "layer_factors"
"""Key of an array model with the factors of all layers."""

_NAME = re.compile(r"layer_factor_(\d{1,4})(?:_(\d{1,4}))?")

LEAST_ROWS, LEAST_ERRORS = 4, 100
"""Rows and errors of a group."""


class Group(NamedTuple):
    """Neighbouring layers with one factor."""

    layers: range

    @property
    def name(self) -> str:
        """Name of its factor: that of the layer, or of the first and the last."""
        last = f"_{self.layers[-1]}" if len(self.layers) > 1 else ""
        return f"layer_factor_{self.layers[0]}{last}"

    @staticmethod
    def needs(of: str) -> str:
        """Requirement of a group, in words."""
        return " ".join(f"rows or errors {of} ({LEAST_ROWS} and {LEAST_ERRORS} or more)".split())


def groups_of(at: Places, errors: Column | None, count: int) -> list[Group]:
    """The finest groups that have rows and errors enough, over all layers of a block.

    Args:
        at: layer of each row.
        errors: bit errors of each row; None for rates without counts.
        count: layers of the block.
    """
    import numpy as np

    rows = np.bincount(at, minlength=count)
    known = rows * LEAST_ERRORS if errors is None else np.bincount(at, errors, count)
    ends, begun, has_rows, has_errors = list[tuple[int, int]](), -1, 0, 0.0
    for layer in np.flatnonzero(rows).tolist():
        begun = layer if begun < 0 else begun
        has_rows, has_errors = has_rows + int(rows[layer]), has_errors + float(known[layer])
        if has_rows >= LEAST_ROWS and has_errors >= LEAST_ERRORS:
            ends.append((begun, layer))
            begun, has_rows, has_errors = -1, 0, 0.0
    if begun >= 0 and ends:
        # What is left of the last layers is no group by itself.
        ends[-1] = (ends[-1][0], int(at.max()))
    # Layers between two groups belong to the nearer one.
    begins = [(end + begin + 1) // 2 for (_, end), (begin, _) in pairwise(ends)]
    edges = [0, *begins, count]
    return [Group(range(*pair)) for pair in pairwise(edges)]


def unmeasured(at: Places, count: int) -> list[str]:
    """A note where layers at the ends of a block, or between others, were not measured."""
    seen = set(at.tolist())
    missing = count - len(seen)
    if not missing:
        return []
    first, last = min(seen), max(seen)
    outside = first + count - 1 - last
    beyond = f"; {outside} of them lie outside of the data: an extrapolation" if outside else ""
    return [
        f"{missing} of {count} layers were not measured, and have the factor of the nearest group"
        f"{beyond}"
    ]


def group_named(name: str) -> range | None:
    """The layers of a factor by its name; None of another one, and of layers beyond all models."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return range(first, last + 1) if first <= last < MOST_LAYERS else None


def value_in(array: Mapping[str, Any], name: str) -> float | None:
    """The value that an array model has of a parameter; None if it has none, or several."""
    if (layers := group_named(name)) is None:
        value = array.get(name)
        return None if value is None else float(value)
    factors = array.get(LAYER_FACTORS, ())
    own = {float(one) for one in factors[layers.start : layers.stop]}
    return own.pop() if len(own) == 1 and layers.stop <= len(factors) else None


def with_values(
    array: Mapping[str, Any], keys: Sequence[str], values: Sequence[float]
) -> dict[str, Any]:
    """An array model with other values of its parameters."""
    changed = dict(array)
    if LAYER_FACTORS in changed:
        changed[LAYER_FACTORS] = list(changed[LAYER_FACTORS])
    for key, value in zip(keys, values, strict=True):
        if (layers := group_named(key)) is None:
            changed[key] = value
        else:
            changed[LAYER_FACTORS][layers.start : layers.stop] = [value] * len(layers)
    return changed
