"""Space of a design: its drives with their prices, and what closed forms say of each.

A drive is priced without its map first, which is quick. The map of a drive of terabytes takes
seconds to size: drives that the walk does not come to are never sized.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from pathlib import Path
from typing import Any

from nandlab._core import NandlabError
from nandlab.catalogue import Config, load_config
from nandlab.design.bounds import SLACK, bounds_of, least_cycles
from nandlab.design.life import begin_of
from nandlab.design.price import parts_of
from nandlab.design.race import FAILED, HOLDS, MISSES, Candidate, Figure
from nandlab.design.target import METRICS, Target
from nandlab.design.workload import uniform_of
from nandlab.drive.workload import Plan
from nandlab.ecc.stripe import stripe_of
from nandlab.given.refusal import refusal
from nandlab.life.limit import Limit, demand, limit_of
from nandlab.lint.jobs import jobs_of
from nandlab.process.memory import memory_limit_bytes
from nandlab.study.task import Task, Tasks, digest
from nandlab.trace.info import trace_info

MOST_CANDIDATES = 100_000
"""Largest space whose drives are priced."""

ALIKE = 1.001
"""Factor up to which prices are alike: drives that differ by a little memory go together."""

_NOT_OF_THE_MAP = (
    "ecc",
    "buffer",
    "read_cache",
    "retry",
    "scheduler",
    "host",
    "controller",
    "age",
)
"""Tables of a drive that leave the map and the capacity as they are."""

_OF_THE_LIMIT = ("chip", "ecc", "retry")
"""Tables of a drive that decide which cycles its code bears, beside its stripes of parity."""

_DAYS_PER_YEAR = 365.0


@dataclass
class Space:
    """Drives of a target that can be built."""

    target: Target
    candidates: list[Candidate]
    tasks: dict[int, Task]
    """The first run of each drive."""
    refused: list[str]
    """Why the other drives of the space cannot be built."""
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    _limits: dict[str, Limit | None] = field(default_factory=dict)

    @classmethod
    def of(cls, target: Target, folder: Path) -> Space:
        """All drives of a target.

        Raises:
            NandlabError: none can be built, there are too many, or a target that has no answer.
        """
        made = Tasks(target.given, str(folder.resolve()))
        space = (one for group in target.given.design.groups() for one in group)
        points = list(islice(space, MOST_CANDIDATES + 1))
        if not points:
            raise refusal(f"{target.path}: constraints", "they leave no drive", hint="loosen them")
        if len(points) > MOST_CANDIDATES:
            most = f"{MOST_CANDIDATES:,} drives at most"
            raise refusal(str(target.path), "a larger space", most)
        found = cls(target, [], {}, [])
        checked: list[Plan] = []
        for point in points:
            task = made.task(point.combination, 0)
            if task.error:
                found.refused.append(task.error)
                continue
            if target.life and task.plan not in checked:
                _check_life(task.plan)
                checked.append(task.plan)
            found._add(Candidate(point.combination, {}), task)
        if not found.candidates:
            raise NandlabError(found.refused[0])
        return found

    def _add(self, one: Candidate, task: Task) -> None:
        loaded = _loaded(task)
        if any(said.startswith("drive.scale") for said in loaded.notices):
            problem = "a share of a drive has neither the price nor the capacity of the whole one"
            raise refusal("drive.scale", problem, hint="leave it out of the space")
        one.parts = self._parts(loaded, None)
        self.candidates.append(one)
        self.tasks[id(one)] = task

    def _parts(self, loaded: Config, map_bytes: int | None) -> dict[str, float]:
        target = self.target
        return parts_of(loaded.config, target.prices, map_bytes, target.life.get("years"))

    def groups(self) -> Iterator[list[Candidate]]:
        """Drives of like prices together, the cheapest first; those out by closed forms say so."""
        waiting = [(one.price, at, False) for at, one in enumerate(self.candidates)]
        heapify(waiting)
        group: list[Candidate] = []
        while waiting:
            price, at, is_sized = heappop(waiting)
            one = self.candidates[at]
            if group and price > group[0].price * ALIKE:
                yield group
                group = []
            if is_sized:
                group.append(one)
            else:
                self._screen(one)
                heappush(waiting, (one.price, at, True))
        yield group

    def _screen(self, one: Candidate) -> None:
        """Prices the map of a drive, and puts it out where it cannot hold."""
        task = self.tasks[id(one)]
        loaded = _loaded(task)
        try:
            capacity, map_bytes = self._size(loaded)
        except NandlabError as error:
            one.verdict, one.stage, one.why = FAILED, "capacity", str(error)
            return
        one.parts = self._parts(loaded, map_bytes)
        limits = self.target.limits
        if (least := limits.get("capacity_gb")) is not None:
            size = capacity / 1e9
            one.figures["capacity_gb"] = Figure(size, size, size, least, is_least=True)
            if one.missed:
                one.verdict, one.stage = MISSES, "capacity"
                return
        load = uniform_of(task.plan, capacity)
        found = {}
        for name, bound in bounds_of(loaded.config, capacity, task.plan, load).items():
            if name in limits:
                is_least = METRICS[name].is_least
                bound *= SLACK if is_least else 1 / SLACK
                found[name] = Figure(bound, bound, bound, limits[name], is_least)
        if self.target.life and (limit := self._limit(loaded)) is not None:
            most = limit.pe_cycles
            if most is not None:
                written = self._written(capacity)
                cycles = least_cycles(loaded.config, capacity, load, written) / SLACK
                cycles += loaded.config["age"]["pe_cycles"]
                found["pe_cycles"] = Figure(cycles, cycles, cycles, most, is_least=False)
        beyond = {name: figure for name, figure in found.items() if figure.verdict != HOLDS}
        if beyond:
            one.figures |= beyond
            one.verdict, one.stage = MISSES, "closed form"

    def _written(self, capacity: int) -> float:
        """Bytes that the host writes over the demanded life."""
        life = self.target.life
        per_day = life["dwpd"] * capacity if "dwpd" in life else life["writes_gb_per_day"] * 1e9
        return per_day * life["years"] * _DAYS_PER_YEAR

    def _size(self, loaded: Config) -> tuple[int, int]:
        """Capacity of a drive, and the memory of its FTL."""
        key = digest({k: v for k, v in loaded.config.items() if k not in _NOT_OF_THE_MAP})
        if key not in self._sizes:
            capacity, memory, _ = loaded.native.ftl_needs(memory_limit_bytes())
            self._sizes[key] = capacity, sum(size for _, size in memory)
        return self._sizes[key]

    def _limit(self, loaded: Config) -> Limit | None:
        """Cycles that the code of a drive bears; None where that cannot be told."""
        config = loaded.config
        key = digest([stripe_of(config), *(config[table] for table in _OF_THE_LIMIT)])
        if key not in self._limits:
            asked = demand(None, self.target.life.get("uber"), None, None)
            try:
                self._limits[key] = limit_of(loaded.with_facts(), asked)
            except NandlabError:
                # The life says so, if the walk comes to it.
                self._limits[key] = None
        return self._limits[key]


def _loaded(task: Task) -> Config:
    return load_config(task.drive, task.sets)


def _check_life(plan: Plan) -> None:
    """Refuses a workload that no life can be made of.

    Raises:
        NandlabError: it writes nothing, or its state is none that a life begins from.
    """
    begin_of(plan)
    if plan.kind == "trace":
        options: Any = dict(plan.options) or None
        has_writes = trace_info(plan.source, format=plan.format, options=options)["by_op"]["write"]
        writes = has_writes["requests"] > 0
    else:
        writes = any(job.writes or job.is_replay for job in jobs_of(plan.source))
    if not writes:
        place = "run.trace" if plan.kind == "trace" else "run.workload"
        problem = "the workload writes nothing, and a life is of what it writes"
        raise refusal(place, problem, hint="use one that writes, or leave out the life")
