"""Designs of studies: every sampler's points, constraints, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import carries, refused

from nandlab import NandlabError
from nandlab.study.axis import axis
from nandlab.study.given import Given, given_study
from nandlab.study.points import Combination

OP, DEPTH, GC = "ftl.overprovisioning", "job.iodepth", "gc.name"


def study(**tables: Any) -> Given:
    return given_study({"drive": "tiny", **tables}, "s.toml", Path())


def combinations(given: Given) -> list[Combination]:
    return [one.combination for group in given.design.groups() for one in group]


def test_grid_in_its_order():
    given = study(axis={DEPTH: [1, 2], OP: [0.1, 0.2]}, replicates=2)
    groups = [list(group) for group in given.design.groups()]
    # One group for each drive: over-provisioning. Axes keep the order of the study.
    both = [{DEPTH: 1, OP: 0.1}, {DEPTH: 2, OP: 0.1}]
    assert groups[0] == [(replicate, one) for replicate in (0, 1) for one in both]
    assert list(groups[0][0].combination) == [DEPTH, OP]
    assert len(groups) == 2
    assert given.design.count() == 8


def test_groups_can_be_gone_through_side_by_side():
    given = study(axis={OP: [0.1, 0.2], DEPTH: [1, 2, 3]})
    one, two = given.design.groups()
    pairs = [(a.combination, b.combination) for a, b in zip(one, two, strict=True)]
    assert pairs == [({OP: 0.1, DEPTH: n}, {OP: 0.2, DEPTH: n}) for n in (1, 2, 3)]


def test_zip_and_zips_in_a_grid():
    given = study(axis={OP: [0.1, 0.2], DEPTH: [1, 2]}, design="zip")
    assert combinations(given) == [{OP: 0.1, DEPTH: 1}, {OP: 0.2, DEPTH: 2}]
    given = study(axis={OP: [0.1, 0.2], GC: ["fifo", "greedy"], DEPTH: [1, 2]}, zip=[[OP, GC]])
    assert given.design.count() == len(combinations(given)) == 4
    assert {OP: 0.1, GC: "fifo", DEPTH: 2} in combinations(given)
    assert {OP: 0.1, GC: "greedy", DEPTH: 2} not in combinations(given)


@pytest.mark.parametrize("tables", [{"design": "zip"}, {"zip": [[]]}, {}])
def test_a_study_without_axes_has_one_point(tables: dict[str, Any]):
    given = study(**tables)
    assert given.design.count() == 1
    assert combinations(given) == [{}]


def test_constraints():
    given = study(
        axis={OP: [0.1, 0.2], GC: ["fifo", "greedy"], DEPTH: [1, 64]},
        constraints=[f"{DEPTH} <= 8 or {GC} == 'fifo'", f"{OP} < 0.15"],
    )
    found = combinations(given)
    assert given.design.count() == len(found) == 3
    assert all(one[DEPTH] <= 8 or one[GC] == "fifo" for one in found)


def test_ranges():
    values = {
        "linear": ({"from": 0.07, "to": 0.28, "points": 4}, [0.07, 0.14, 0.21, 0.28]),
        "step": ({"from": 0.1, "to": 0.35, "step": 0.1}, [0.1, 0.2, 0.3]),
    }
    for given, expected in values.values():
        assert axis("s", OP, given).values == tuple(expected)
    log = axis("s", DEPTH, {"from": 1, "to": 64, "points": 7, "scale": "log"})
    assert log.values == (1, 2, 4, 8, 16, 32, 64)
    assert all(isinstance(value, int) for value in log.values)
    factor = axis("s", "job.rate_iops", {"from": 100, "to": 10_000, "step": 10, "scale": "log"})
    assert axis("s", "job.rate_iops", {"from": 100, "to": 10_000, "factor": 10}) == factor
    assert factor.values == (100, 1000, 10_000)
    # The key decides whether values are whole; options of jobs go by the ends.
    assert axis("s", OP, {"from": 0, "to": 1, "points": 3}).values == (0.0, 0.5, 1.0)
    assert axis("s", "drive.channels", {"from": 1, "to": 4, "points": 3}).values == (1, 2, 4)


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_draws_fill_the_ranges_and_grow(kind: str):
    axes = {
        OP: {"from": 0.05, "to": 0.45},
        "job.rate_iops": {"from": 10, "to": 100_000, "scale": "log"},
        GC: ["fifo", "greedy"],
    }

    def drawn(points: int, **more: Any) -> list[Combination]:
        return combinations(study(axis=axes, design=kind, points=points, **more))

    many = drawn(256)
    assert len(many) == 256
    assert many[:64] == drawn(64) != drawn(64, design_seed=2)
    assert all(0.05 <= one[OP] <= 0.45 for one in many)
    # Halves of each axis have about half of the points; of the Sobol' sequence exactly.
    off = 0 if kind == "sobol" else 35
    for low in (
        sum(one[OP] < 0.25 for one in many),
        sum(one["job.rate_iops"] < 1000 for one in many),
        sum(one[GC] == "fifo" for one in many),
    ):
        assert abs(low - 128) <= off + 2
    allowed = drawn(100, constraints=[f"{OP} > 0.25"])
    assert len(allowed) == 100
    assert all(one[OP] > 0.25 for one in allowed)


def test_draws_from_few_values_are_different():
    given = study(axis={DEPTH: [1, 2], GC: ["fifo", "greedy"]}, design="random", points=4)
    assert len({tuple(one.values()) for one in combinations(given)}) == 4
    with refused("4 different points"):
        combinations(study(axis={DEPTH: [1, 2], GC: ["fifo", "greedy"]}, design="sobol", points=5))


def test_blocks_of_sensitivity_designs():
    pytest.importorskip("SALib", reason="SALib is not installed (extra `sensitivity`)")
    axes = {OP: {"from": 0.1, "to": 0.4}, DEPTH: {"from": 1, "to": 64}, GC: ["fifo", "greedy"]}
    trajectories = combinations(study(axis=axes, design="morris", points=5))
    assert len(trajectories) == 5 * 4
    for start in range(0, 20, 4):
        block = trajectories[start : start + 4]
        for before, after in pairwise(block):
            assert sum(before[path] != after[path] for path in axes) == 1
    assert len(combinations(study(axis=axes, design="saltelli", points=8))) == 8 * 5


def test_variants():
    policies = {"greedy": {GC: "greedy"}, "two": {"gc": {"name": "d_choices", "d": 2}}}
    one = axis("s", "policy", policies)
    assert one.values == ("greedy", "two")
    assert one.settings("two") == [(GC, "d_choices"), ("gc.d", 2)]


LIST = {"axis": [{"path": OP, "values": [0.1]}]}


@pytest.mark.parametrize(
    ("tables", "parts"),
    [
        ({"axes": {}}, ["s.toml", "`axes`", "`axis`"]),
        ({"axis": {"ftl.overprovisionig": [1]}}, ["s.toml: axis ftl.overprovisionig", OP]),
        ({"axis": {"run.preconditon": ["fill"]}}, ["run.preconditon", "`precondition`"]),
        ({"axis": {"job.": [1]}}, ["`job.`"]),
        ({"axis": {OP: []}}, [f"axis {OP}", "no values"]),
        ({"axis": {OP: [0.1, 0.1]}}, [f"axis {OP}", "0.1", "twice"]),
        ({"axis": {OP: [None]}}, ["None", "numbers"]),
        ({"axis": {OP: [float("nan")]}}, ["nan", "finite"]),
        ({"axis": {OP: 0.1}}, ["0.1", "values", "range"]),
        ({"axis": {OP: {"from": 1}}}, [f"axis {OP}", "`to`"]),
        ({"axis": {OP: {"from": 2, "to": 1, "points": 2}}}, ["from 2 to 1", "lower"]),
        ({"axis": {OP: {"from": 0, "to": 1, "points": 1}}}, ["points", "1"]),
        ({"axis": {OP: {"from": 0, "to": 1, "points": 2, "step": 1}}}, ["points", "step"]),
        ({"axis": {OP: {"from": 0, "to": 1, "step": 0}}}, ["step", "above 0"]),
        ({"axis": {OP: {"from": 0.1, "to": 1, "factor": 1}}}, ["factor", "above 1"]),
        ({"axis": {OP: {"from": 0.1, "to": 1, "factor": 2, "step": 2}}}, ["factor", "step"]),
        ({"axis": {OP: {"from": 0, "to": 1, "factor": 2}}}, ["from above 0"]),
        ({"axis": {OP: {"from": 0, "to": 1, "step": 1e-9}}}, ["step", "at most 1000000"]),
        ({"axis": {OP: {"from": 0, "to": 1, "scale": "log", "points": 2}}}, ["logarithmic"]),
        ({"axis": {OP: {"from": 0, "to": 1, "scale": "lin"}}}, ["'lin'", "`linear`"]),
        ({"axis": {OP: {"from": 0, "to": 1, "pionts": 2}}}, ["`pionts`", "`points`"]),
        ({"axis": {OP: {"from": 0, "to": 1}}}, [f"axis {OP}", "without steps"]),
        ({"axis": {"drive.channels": {"from": 1.5, "to": 4}}}, ["drive.channels", "whole numbers"]),
        ({"axis": {"policy": {"a": {"gc.nam": "x"}}}}, ["axis policy.a", "`gc.nam`", "`gc.name`"]),
        ({"axis": {"policy": {}}}, ["axis policy", "no variants"]),
        ({"axis": [{"values": [1]}]}, ["axis", "`path`"]),
        ({"axis": [{"path": OP}]}, [f"axis {OP}", "no values"]),
        ({"axis": [{"path": OP, "values": [1], "from": 1}]}, [f"axis {OP}", "`from`", "values"]),
        ({"axis": [{"path": OP, "vlaues": [1]}]}, ["`vlaues`"]),
        ({"axis": [{"path": OP, "values": [0.1]}] * 2}, ["two axes", f"`{OP}`"]),
        ({"axis": [{"variants": {"a": {}}}]}, ["axis", "`name`"]),
        ({"axis": 3}, ["s.toml: axis", "[[axis]]"]),
        ({"axis": [3]}, ["s.toml: axis", "3", "[[axis]]"]),
        ({"design": "sobl"}, ["s.toml: design", "'sobl'", "`sobol`"]),
        ({**LIST, "design": "sobol"}, ["s.toml: points", "missing"]),
        ({**LIST, "design": "random", "points": 0}, ["s.toml: points"]),
        ({"design": "random", "points": 4}, ["`random`", "without axes"]),
        ({**LIST, "points": 4}, ["s.toml: points", "not supported"]),
        ({**LIST, "replicates": 0}, ["s.toml: replicates"]),
        ({**LIST, "replicates": 1.5}, ["s.toml: replicates"]),
        ({"axis": {"seed": [1, 2]}, "replicates": 2}, ["s.toml: replicates", "`seed`"]),
        ({**LIST, "seed": -1}, ["seed"]),
        ({"axis": {OP: [0.1], DEPTH: [1, 2]}, "design": "zip"}, ["different lengths"]),
        ({**LIST, "zip": [[OP, DEPTH]]}, ["s.toml: zip", f"`{DEPTH}`"]),
        ({**LIST, "zip": [[OP, OP]]}, ["s.toml: zip", f"`{OP}`", "twice"]),
        ({**LIST, "zip": OP}, ["s.toml: zip"]),
        ({**LIST, "constraints": ["ftl.overprovisionin > 1"]},
         ["s.toml: constraints", "`ftl.overprovisionin`", f"`{OP}`"]),
        ({**LIST, "constraints": "x"}, ["s.toml: constraints"]),
        ({**LIST, "constraints": [1]}, ["s.toml: constraints"]),
        ({"axis": {OP: [1], GC: ["a"]}, "design": "morris", "points": 2, "constraints": ["1"]},
         ["s.toml: constraints", "`morris`"]),
        ({**LIST, "columns": []}, ["s.toml: columns", "no columns"]),
        ({**LIST, "columns": ["a = 1", "a = 2"]}, ["s.toml: columns", "two", "`a`"]),
        ({**LIST, "columns": ["error = 1"]}, ["s.toml: columns", "two", "`error`"]),
        ({**LIST, "columns": ["a = "]}, ["s.toml: columns"]),
        ({**LIST, "columns": "host.iops"}, ["s.toml: columns", "list"]),
        ({**LIST, "objectives": ["iops"]}, ["s.toml: objectives", "max COLUMN"]),
        ({**LIST, "objectives": ["max iosp"]}, ["`iosp`", "`iops`"]),
        ({**LIST, "set": {"gc.nme": 1}}, ["s.toml: set", "`gc.nme`", "`gc.name`"]),
        ({**LIST, "set": ["job.bs=4k"]}, ["s.toml: set", "`job.bs`"]),
        ({**LIST, "run": 3}, ["s.toml: run"]),
        ({**LIST, "reports": "yes"}, ["s.toml: reports"]),
        ({**LIST, "ftl": 3}, ["s.toml: ftl"]),
        ({**LIST, "drive": 3}, ["s.toml: drive"]),
    ],
)  # fmt: skip
def test_what_is_refused(tables: dict[str, Any], parts: list[str]):
    with pytest.raises(NandlabError) as raised:
        study(**tables).design.count()
    assert "\n" not in carries(raised.value, *parts)


def test_a_study_names_its_drive():
    with refused("s.toml", "`drive`"):
        given_study({}, "s.toml", Path())
