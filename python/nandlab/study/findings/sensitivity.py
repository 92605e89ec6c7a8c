"""Sensitivity of a column to each axis: elementary effects of Morris, indices of Sobol'.

Designs and estimators are SALib's. Morris, Technometrics 33, 1991; Campolongo et al., Environmental
Modelling & Software 22, 2007 (mean of absolute effects); Sobol', Math. Comput. Simul. 55, 2001;
Saltelli et al., Comput. Phys. Commun. 181, 2010 (samples and total index).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nandlab.drive.trust.figures import is_number
from nandlab.given.refusal import refusal
from nandlab.study.points import BLOCKED
from nandlab.study.task import canonical

if TYPE_CHECKING:
    from nandlab.study.given import Given
    from nandlab.study.points import Design

_LEVELS = 4
"""Of a Morris design: values of each axis."""

_LEAST_BLOCKS = 2


def _salib(name: str) -> Any:
    try:
        return importlib.import_module(f"SALib.{name}")
    except ImportError as error:
        raise refusal(
            "design", "SALib is not installed", hint="pip install 'nandlab[sensitivity]'"
        ) from error


def _problem(design: Design) -> dict[str, Any]:
    names = [axis.path for axis in design.axes]
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}


def sample(design: Design) -> Iterator[Sequence[float]]:
    """The samples of a design, as shares of the way along each axis.

    Raises:
        NandlabError: SALib is not installed, or the design is refused.
    """
    if len(design.axes) < 2:
        raise refusal("axis", f"{len(design.axes)}, with design `{design.kind}`", "two or more")
    if design.kind == "morris":
        morris = _salib("sample.morris")
        yield from morris.sample(
            _problem(design), design.points, num_levels=_LEVELS, seed=design.seed
        )
        return
    if design.points & (design.points - 1):
        raise refusal("points", f"{design.points}", "a power of two, with design `saltelli`")
    sobol = _salib("sample.sobol")
    yield from sobol.sample(
        _problem(design), design.points, calc_second_order=False, seed=design.seed
    )


def block_length(design: Design) -> int:
    """Points of a block, which is of use only as a whole."""
    return len(design.axes) + (1 if design.kind == "morris" else 2)


def sensitivity(
    given: Given, rows: Iterable[Mapping[str, Any]], column: str
) -> list[dict[str, Any]]:
    """How much each axis matters, most first.

    Of ``morris``: `mu_star`, the mean absolute effect of an axis over its whole range, with
    `mu_star_interval` (half of 95 %), `mu` and `sigma`. Of ``saltelli``: `first`, the share of the
    variance that the axis alone makes, and `total`, with all that it takes part in; half intervals.
    Blocks with a failed point are left out.

    Raises:
        NandlabError: another design; too few blocks are complete; the column is constant.
    """
    import numpy as np

    design = given.design
    if design.kind not in BLOCKED:
        raise refusal("sensitivity", f"the design is `{design.kind}`", BLOCKED)
    paths = [axis.path for axis in design.axes]
    found = {
        canonical([row[path] for path in paths]): row[column]
        for row in rows
        if is_number(row[column])
    }
    samples = np.array(list(sample(design)))
    values = np.array(
        [
            found.get(
                canonical(
                    [axis.at(float(share)) for axis, share in zip(design.axes, shares, strict=True)]
                ),
                math.nan,
            )
            for shares in samples
        ]
    )
    length = block_length(design)
    whole = np.isfinite(values.reshape(-1, length)).all(axis=1)
    if whole.sum() < _LEAST_BLOCKS:
        problem = f"{whole.sum()} of {len(whole)} blocks of {length} points are complete"
        raise refusal("sensitivity", problem, f"at least {_LEAST_BLOCKS}")
    kept = np.repeat(whole, length)
    samples, values = samples[kept], values[kept]
    if np.ptp(values) == 0:
        raise refusal(
            "sensitivity", f"`{column}` is {values[0]:g} at all points", "a column that varies"
        )
    if design.kind == "morris":
        result = _salib("analyze.morris").analyze(
            _problem(design), samples, values, num_levels=_LEVELS, seed=design.seed
        )
        keys = {
            "mu_star": "mu_star",
            "mu_star_interval": "mu_star_conf",
            "mu": "mu",
            "sigma": "sigma",
        }
    else:
        result = _salib("analyze.sobol").analyze(
            _problem(design), values, calc_second_order=False, seed=design.seed
        )
        keys = {
            "total": "ST",
            "total_interval": "ST_conf",
            "first": "S1",
            "first_interval": "S1_conf",
        }
    first = next(iter(keys))
    every = [
        {
            "axis": path,
            **{name: float(result[key][index]) for name, key in keys.items()},
            "blocks": int(whole.sum()),
        }
        for index, path in enumerate(paths)
    ]
    return sorted(every, key=lambda row: -row[first])
