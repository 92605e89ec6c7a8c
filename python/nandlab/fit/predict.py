"""Error rates of a fitted law for any rows, including rows that were not fitted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nandlab import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

OF_THE_ARRAY = ("temperature_c", "vth_v")
"""Columns that are parameters of the array model, not of a block's history."""


def predict(
    array: Mapping[str, Any],
    columns: Mapping[str, Column],
    rows: int,
    page_types: Sequence[int] | None = None,
    heights: Sequence[tuple[int, int]] | None = None,
) -> Column:
    """The rate of each row by the table of an array model.

    Args:
        array: the table, as a fit has it.
        columns: of measurements; a column that is missing is 0 everywhere.
        rows: their length.
        page_types: the number of the page type of each row; left out, that of the lower page.
        heights: layer of each row and layers of its block; left out, the mean of all layers.

    Raises:
        NandlabError: a law that no drive could have, because it heals with stress.
    """
    import numpy as np

    none = np.zeros(rows)
    pages = np.zeros(rows, int) if page_types is None else np.asarray(page_types)
    cycles, hours, reads = (
        columns.get(name, none) for name in ("pe_cycles", "retention_hours", "reads")
    )
    own = [name for name in OF_THE_ARRAY if name in columns]
    keys = np.stack([columns[name] for name in own], axis=-1) if own else np.zeros((rows, 0))
    found = np.empty(rows)
    for key in np.unique(keys, axis=0):
        among = (keys == key).all(axis=1)
        law, there, pace = dict(array), dict(zip(own, key.tolist(), strict=True)), 1.0
        law |= {name: value for name, value in there.items() if name in law}
        # A power law has no temperature of its own: its hours are hours at the reference.
        if "temperature_c" in there and "temperature_c" not in law and "activation_ev" in law:
            known = (law["activation_ev"], law["reference_c"])
            pace = _core.acceleration(*known, there["temperature_c"])
        lives = zip(
            pages[among].tolist(),
            np.rint(cycles[among]).astype(int).tolist(),
            (hours[among] * pace).tolist(),
            np.rint(reads[among]).astype(int).tolist(),
            strict=True,
        )
        of = None if heights is None else [heights[i] for i in np.flatnonzero(among).tolist()]
        found[among] = _core.Array(json.dumps(law)).rber(list(lives), of)
    return found
