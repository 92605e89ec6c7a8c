"""Factors of page types and of layers: each the whole law of the others times a number.

The law is that of the first page type in the geometric mean of the layers of a block, so that a
factor and a coefficient cannot stand for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nandlab._core import NandlabError
from nandlab.fit.estimate import Law, from_counts, from_rates
from nandlab.fit.law.columns import observed
from nandlab.fit.law.contract import NOTHING, Fitted
from nandlab.fit.law.layers import LAYER_FACTORS, Group, groups_of, unmeasured
from nandlab.given.refusal import refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nandlab.fit.data import Measurements

    Column = NDArray[np.float64]

PAGE_FACTOR = "page_factor_"
"""Begin of the names of factors of page types after the first."""

FACTORS = ("page_type", "layer")
"""Columns that have factors."""


def differ(data: Measurements, label: str) -> bool:
    """Whether rows differ in a column that has factors."""
    if label not in data.labels:
        return False
    return len(set(data.layers() if label == "layer" else data.labels[label])) > 1


def by_page_type(made: Fitted, data: Measurements) -> Fitted:
    """The law of the first page type, and factors of the others as the last coordinates."""
    import numpy as np

    (types, at), law, rates = data.page_types(), made.law, np.log(observed(data))
    place, more = np.array(at), len(types) - 1
    names = [f"{PAGE_FACTOR}{i}" for i in range(1, len(types))]
    means = np.array([rates[place == i].mean() for i in range(len(types))])
    factors = means[1:] - means[0]

    def mean(u: Column) -> Column:
        factor = np.exp(np.clip(np.append(0.0, u[-more:]), NOTHING, 100.0))
        rate: Column = np.minimum(law.mean(u[:-more]) * factor[place], 0.5)
        return rate

    def natural(u: Column) -> Column:
        return np.concatenate([law.natural(u[:-more]), u[-more:]])

    def cure(left_open: Sequence[str]) -> str:
        own = [name for name in left_open if name not in names]
        return law.cure(own) if own else "use more rows of each page type"

    def array(values: dict[str, float]) -> dict[str, Any]:
        return made.array(values) | {name: values[name] for name in names}

    ratios = [
        f"{name}: rate of {of} pages over that of {types[0]} pages"
        for name, of in zip(names, types[1:], strict=True)
    ]
    together = law._replace(
        start=[np.append(start, factors) for start in law.start],
        mean=mean,
        natural=natural,
        names=[*law.names, *names],
        is_log=[*law.is_log, *[True] * more],
        cure=cure,
    )
    return Fitted(together, array, [*made.notes, *ratios])


def by_layer(
    of_mean: Callable[[Measurements], Fitted], data: Measurements, layers: int | None
) -> Fitted:
    """The law of the geometric mean of all layers, and factors of groups of layers.

    Coordinates are the logarithms of the factors over that of the first group. The factors
    themselves are one more than those: the last one follows from the others and the mean.

    Args:
        of_mean: the law of some rows, whatever their layers.
        data: all rows.
        layers: of a block; by default up to the last one in the data.

    Raises:
        NandlabError: the block has fewer layers than the data.
    """
    import numpy as np

    at, made = np.array(data.layers()), of_mean(data)
    law, count = made.law, int(at.max()) + 1 if layers is None else layers
    if count <= at.max():
        problem = f"layers = {count}: the data have a layer {at.max()}, counted from 0"
        raise refusal("fit", problem, f"{at.max() + 1} or more")
    groups = groups_of(at, data.columns.get("bit_errors"), count)
    if len(groups) < 2:
        note = f"no layer factors: too few {Group.needs('of each layer')}"
        return made._replace(notes=[*made.notes, note])
    share = np.array([len(group.layers) for group in groups]) / count
    ends = np.array([group.layers.stop for group in groups])
    place, more = np.searchsorted(ends, at, side="right"), len(groups) - 1
    names = [group.name for group in groups]
    starts = []
    for start in _starts(of_mean, law, data):
        over = np.log(observed(data)) - np.log(np.maximum(law.mean(start), 1e-30))
        means = np.array([over[place == i].mean() for i in range(len(groups))])
        starts.append(np.append(start, means[1:] - means[0]))

    def over_mean(u: Column) -> Column:
        over_first = np.append(0.0, u[-more:])
        factors: Column = over_first - share @ over_first
        return factors

    def mean(u: Column) -> Column:
        factor = np.exp(np.clip(over_mean(u), NOTHING, 100.0))
        rate: Column = np.minimum(law.mean(u[:-more]) * factor[place], 0.5)
        return rate

    def natural(u: Column) -> Column:
        return np.concatenate([law.natural(u[:-more]), over_mean(u)])

    def cure(left_open: Sequence[str]) -> str:
        own = [name for name in left_open if name not in names]
        return law.cure(own) if own else "use more rows of each layer"

    def array(values: dict[str, float]) -> dict[str, Any]:
        factors = [values[group.name] for group in groups for _ in group.layers]
        return made.array(values) | {LAYER_FACTORS: factors}

    notes = [
        f"layer factors: rate over the geometric mean of all {count} layers, of which the law is",
        *(
            [f"{len(groups)} groups of layers: each has {Group.needs('')}"]
            if len(groups) < len(set(at.tolist()))
            else []
        ),
        *unmeasured(at, count),
    ]
    together = law._replace(
        start=starts,
        mean=mean,
        natural=natural,
        names=[*law.names, *names],
        is_log=[*law.is_log, *[True] * len(names)],
        cure=cure,
        dependent=1,
    )
    return Fitted(together, array, [*made.notes, *notes])


def _starts(
    of_mean: Callable[[Measurements], Fitted], law: Law, data: Measurements
) -> Sequence[Column]:
    """Starting points of a law with layers: the law fitted to the sums over all layers.

    The sums have one row for each condition, and their fit has few local minima. If they do not
    determine the law, its own starting points are returned.
    """
    import numpy as np

    rows = _pooled(data)
    pooled = of_mean(rows).law
    try:
        if "rber" in rows.columns:
            found = from_rates(pooled, rows.columns["rber"], 0.95)
        else:
            errors, bits = rows.need("bit_errors", "bits_read")
            found = from_counts(pooled, errors, bits, 0.95)
    except NandlabError:
        return law.start
    # The same parameters, in coordinates that are centred in all rows; they are linear.
    zero = np.zeros(len(found.coordinates))
    slopes = [law.natural(unit) - law.natural(zero) for unit in np.eye(len(zero))]
    target = pooled.natural(found.coordinates) - law.natural(zero)
    return [np.linalg.solve(np.stack(slopes, axis=-1), target).astype(float)]


def _pooled(data: Measurements) -> Measurements:
    """The rows of each condition and page type as one: their sum, or the mean of their rates."""
    import numpy as np

    measured = ("bit_errors", "bits_read", "rber")
    names = [name for name in data.columns if name not in measured]
    types = data.labels.get("page_type", [""] * data.rows)
    keys = list(zip(*(data.columns[name].tolist() for name in names), types, strict=True))
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    place = np.array([number[key] for key in keys])
    first = np.isin(np.arange(data.rows), np.unique(place, return_index=True)[1])
    rows = data.only(first)
    sums: dict[str, Column] = {
        name: np.bincount(place, data.columns[name]).astype(float)
        for name in ("bit_errors", "bits_read")
        if name in data.columns
    }
    if "rber" in data.columns:
        logs = np.bincount(place, np.log(data.columns["rber"])) / np.bincount(place)
        sums["rber"] = np.exp(logs)
    return rows._replace(columns={**rows.columns, **sums})
