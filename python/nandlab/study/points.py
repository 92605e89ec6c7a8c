"""Designs of a study: which combinations of its axes are points, in groups that share a drive.

A group holds the combinations of axes of the workload under one combination of axes of the drive,
with all replicates: its points can share a preconditioned drive. Combinations are generated, never
listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, product
from typing import Any, NamedTuple

from nandlab.given.refusal import refusal
from nandlab.study.axis import Axis
from nandlab.study.expression import Expression, Path

DESIGNS = {
    "grid": "every combination of all values",
    "zip": "the first values of all axes, the second ones, ...",
    "random": "independent draws",
    "sobol": "a scrambled Sobol' sequence, which fills the space evenly",
    "morris": "trajectories for elementary effects, by SALib",
    "saltelli": "samples for sensitivity indices of Sobol', by SALib",
}
"""Designs with their meaning."""

LISTED = "listed"
"""The design of points that something else has chosen, as a search."""

DRAWN = ("random", "sobol", "morris", "saltelli")
"""Designs of which `points` says the size."""

LISTING = ("grid", "zip")
"""Designs that go through the values of the axes, and draw nothing."""

BLOCKED = ("morris", "saltelli")
"""Designs for a sensitivity analysis: their points come in blocks, and none may be left out."""

_DRAWS = 1000
"""Draws for each point at most, where constraints refuse some."""

_BLOCK = 64
"""Draws at once: a power of two, as the sequence wants it."""

Combination = dict[str, Any]
"""A value for each axis, by its path."""


class Point(NamedTuple):
    """A combination, and which replicate of it."""

    replicate: int
    combination: Combination


@dataclass(frozen=True)
class Design:
    """A design."""

    kind: str
    axes: Sequence[Axis]
    zips: Sequence[Sequence[str]] = ()
    """Axes of a grid that go together."""
    constraints: Sequence[Expression] = ()
    points: int = 0
    seed: int = 1
    replicates: int = 1
    place: str = ""
    """Of the study, for messages."""
    listed: Sequence[Combination] = ()
    """Points of the design `LISTED`."""

    def is_allowed(self, combination: Combination) -> bool:
        """Whether all constraints hold."""

        def find(path: Path) -> Any:
            return combination.get(".".join(map(str, path)))

        return all(constraint.value(find) for constraint in self.constraints)

    def groups(self) -> Iterator[Iterator[Point]]:
        """All points, in groups of points that have one drive.

        Raises:
            NandlabError: constraints leave too few points.
        """
        if self.kind in LISTING:
            dimensions = self._dimensions()
            of_drive = [one for one in dimensions if not all(map(_is_of_workload, one))]
            of_workload = [one for one in dimensions if one not in of_drive]
            for outer in _product(of_drive):
                yield self._replicated(partial(self._inner, outer, of_workload))
        elif all(map(_is_of_workload, self.axes)):
            yield self._replicated(self.drawn)
        else:
            for combination in self.drawn():
                yield self._replicated(partial(list, [combination]))

    def filled(self) -> Iterator[Iterator[Point]]:
        """The groups that have points: constraints may leave a group without any.

        Raises:
            NandlabError: as `groups`.
        """
        for group in self.groups():
            first = next(group, None)
            if first is not None:
                yield chain((first,), group)

    def _replicated(self, combinations: Callable[[], Iterable[Combination]]) -> Iterator[Point]:
        """The replicates of combinations, one after another."""
        for replicate in range(self.replicates):
            for combination in combinations():
                yield Point(replicate, combination)

    def _inner(self, outer: Combination, of_workload: list[list[Axis]]) -> Iterator[Combination]:
        """The combinations of one drive. Groups may be gone through side by side."""
        for one in _product(of_workload):
            combination = self._ordered(outer | one)
            if self.is_allowed(combination):
                yield combination

    def count(self) -> int:
        """How many points there are, replicates counted.

        Raises:
            NandlabError: constraints leave too few points.
        """
        if self.kind == LISTED:
            return len(self.listed) * self.replicates
        if not self.constraints and self.kind not in DRAWN:
            lengths = [len(one[0].values) for one in self._dimensions()]
            return math.prod(lengths) * self.replicates
        return sum(1 for group in self.groups() for _ in group)

    def _ordered(self, combination: Combination) -> Combination:
        """In the order of the axes."""
        return {axis.path: combination[axis.path] for axis in self.axes}

    def _dimensions(self) -> list[list[Axis]]:
        """Axes that go together.

        Raises:
            NandlabError: a range has no steps; a search takes it, and designs that draw.
        """
        for axis in self.axes:
            if not axis.values:
                expected = f"points or step, or another design: {', '.join(DRAWN)}"
                raise refusal(f"{self.place}: axis {axis.path}", "a range without steps", expected)
        if self.kind == "zip":
            # Without axes there is one point, as of a grid.
            return [list(self.axes)] if self.axes else []
        named = {axis.path: axis for axis in self.axes}
        together = [[named[path] for path in paths] for paths in self.zips if paths]
        zipped = {path for paths in self.zips for path in paths}
        alone = [[axis] for axis in self.axes if axis.path not in zipped]
        return [*together, *alone]

    def drawn(self) -> Iterator[Combination]:
        """Combinations of a design that draws.

        Raises:
            NandlabError: constraints leave too few, or the axes have too few values.
        """
        if self.kind == LISTED:
            yield from self.listed
            return
        if self.kind in BLOCKED:
            from nandlab.study.findings.sensitivity import sample

            for shares in sample(self):
                yield self._at(shares)
            return
        seen = set()
        for shares in islice(self._shares(), _DRAWS * self.points):
            combination = self._at(shares)
            key = repr(combination)
            if key in seen or not self.is_allowed(combination):
                continue
            seen.add(key)
            yield combination
            if len(seen) == self.points:
                return
        raise refusal(
            "points",
            f"{len(seen)} different points that the constraints allow"
            f" in {_DRAWS * self.points:,} draws, of {self.points}",
            hint="ask for fewer points, or loosen the constraints",
        )

    def _at(self, shares: Sequence[float]) -> Combination:
        pairs = zip(self.axes, shares, strict=True)
        return {axis.path: axis.at(float(share)) for axis, share in pairs}

    def _shares(self) -> Iterator[Sequence[float]]:
        import numpy as np

        if self.kind == "random":
            generator = np.random.Generator(np.random.PCG64(self.seed))
            while True:
                yield from generator.random((_BLOCK, len(self.axes)))
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(self.axes), scramble=True, seed=np.random.default_rng(self.seed))
        while True:
            yield from sequence.random(_BLOCK)


def _product(dimensions: list[list[Axis]]) -> Iterator[Combination]:
    """All combinations of dimensions; axes of one dimension go together."""
    steps = [
        [
            {axis.path: value for axis, value in zip(axes, values, strict=True)}
            for values in zip(*(axis.values for axis in axes), strict=True)
        ]
        for axes in dimensions
    ]
    for parts in product(*steps):
        yield {path: value for part in parts for path, value in part.items()}


def _is_of_workload(axis: Axis) -> bool:
    """Whether it changes what is run, and leaves the drive before the run as it is."""
    paths = [axis.path]
    if axis.variants is not None:
        paths = [path for sets in axis.variants.values() for path in sets]
    return all(is_of_workload(path) for path in paths)


def is_of_workload(path: str) -> bool:
    """Whether a path changes what is run, and leaves the drive before the run as it is."""
    return path.startswith(("job.", "run.")) and path != "run.precondition"
