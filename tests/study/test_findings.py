"""What a study finds: fronts, sensitivities, pictures."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

from nandlab import Study
from nandlab.study.findings.pareto import front
from nandlab.study.findings.sensitivity import sensitivity
from nandlab.study.given import given_study
from tests.study.test_sweep import JOB, swept

OP, DEPTH, GC = "ftl.overprovisioning", "job.iodepth", "gc.name"


def test_front():
    given = given_study(
        {"drive": "tiny", "columns": ["a = host.iops", "b = sim.events"],
         "objectives": ["max a", "min b"]}, "s", Path()
    )  # fmt: skip
    pairs = [(1, 1), (2, 2), (3, 3), (3, 4), (2, 3), (0, 1), (None, 0), (3, 3)]
    rows = [{"a": a, "b": b, "doubts": None} for a, b in pairs]
    best = [(row["a"], row["b"]) for row in front(given, rows)]
    assert best == [(3, 3), (3, 3), (2, 2), (1, 1)]
    with refused("no point", "objectives"):
        front(given, rows[6:7])
    with refused("s: objectives", "two or more"):
        front(given_study({"drive": "tiny"}, "s", Path()), rows)


def test_points_beyond_a_limit_are_not_on_the_front():
    given = given_study(
        {"drive": "tiny", "columns": ["a = host.iops", "b = sim.events"],
         "objectives": ["max a", "min b"], "limits": ["a <= 2"]}, "s", Path()
    )  # fmt: skip
    one, two, beyond = ({"a": n, "b": b, "doubts": None} for n, b in ((1, 1), (2, 2), (3, 0)))
    assert front(given, [one, two, beyond]) == [two, one]
    with refused("pareto", "limits", "a <= 2"):
        front(given, [beyond])


@pytest.mark.parametrize("limit", [["iops <= {middle}"], []])
def test_the_picture_of_a_front_bars_what_its_table_bars(limit: list[str]):
    axes = {OP: [0.2, 0.3], DEPTH: [1, 8]}
    objectives = ["max iops", "min write_us_p99"]
    plain = swept(Study("tiny", JOB, axes=axes, objectives=objectives))
    fastest = sorted(row["iops"] for row in plain.means())
    limits = [text.format(middle=fastest[1]) for text in limit]
    study = swept(Study("tiny", JOB, axes=axes, objectives=objectives, limits=limits))
    within, *beyond = (
        [row[0] for row in part.get_offsets().tolist()]
        for part in study.plot(kind="pareto").axes[0].collections
        if not str(part.get_label()).startswith("doubt")
    )
    assert sorted(within) == (fastest[:2] if limit else fastest)
    if limit:
        assert sorted(beyond[0]) == fastest[2:]
    assert {row["iops"] for row in study.pareto()} <= set(within)


def test_rows_with_doubts_are_not_the_best_of_others():
    given = given_study(
        {"drive": "tiny", "columns": ["a = host.iops", "b = sim.events"],
         "objectives": ["max a", "min b"]}, "s", Path()
    )  # fmt: skip
    best, sound = {"a": 9, "b": 0, "doubts": "checks"}, {"a": 1, "b": 1, "doubts": None}
    assert front(given, [best, sound]) == [sound]
    # Where all have doubts, each says so.
    worse = {"a": 8, "b": 1, "doubts": "unsettled"}
    assert front(given, [worse, best]) == [best]


def ishigami(x: float, y: float, z: float) -> float:
    """Ishigami and Homma 1990, with a = 7 and b = 0.1; its indices are known in closed form."""
    from math import pi, sin

    x, y, z = (pi * (2 * one - 1) for one in (x, y, z))
    return sin(x) + 7 * sin(y) ** 2 + 0.1 * z**4 * sin(x)


@pytest.mark.parametrize("kind", ["morris", "saltelli"])
def test_sensitivity_of_a_known_function(kind: str):
    pytest.importorskip("SALib", reason="SALib is not installed (extra `sensitivity`)")
    paths = ["job.rwmixread", OP, "chip.timing.t_read_us"]
    unit: dict[str, Any] = {path: {"from": 0.0, "to": 1.0} for path in paths}
    tables = {"drive": "tiny", "design": kind, "points": 1024, "axis": unit}
    given = given_study({**tables, "columns": ["y = host.iops"]}, "s", Path())
    rows = [
        {**one.combination, "y": ishigami(*one.combination.values())}
        for group in given.design.groups()
        for one in group
    ]
    found = {row["axis"]: row for row in sensitivity(given, rows, "y")}
    if kind == "saltelli":
        # Homma and Saltelli 1996: total 0.557, 0.442, 0.244; first order 0.314, 0.442, 0.
        for path, total, first in zip(paths, (0.557, 0.442, 0.244), (0.314, 0.442, 0), strict=True):
            assert found[path]["total"] == pytest.approx(total, abs=0.06)
            assert found[path]["first"] == pytest.approx(first, abs=0.06)
    else:
        assert all(row["mu_star"] > 1 for row in found.values())
        # The effect of z is one of interaction alone: its sign changes.
        assert abs(found[paths[2]]["mu"]) < 0.2 * found[paths[2]]["sigma"]
    # Blocks with a failed point are left out. In 1024 short trajectories a point comes twice.
    failed = list(rows[11].values())
    for row in rows:
        if list(row.values()) == failed:
            row["y"] = None
    assert sensitivity(given, rows, "y")[0]["blocks"] in (
        range(900, 1024) if kind == "morris" else [1023]
    )
    with refused("1024 blocks"):
        sensitivity(given, rows[:1], "y")
    flat = [{**row, "y": 1.0} for row in rows]
    with refused("`y`", "varies"):
        sensitivity(given, flat, "y")


def test_sensitivity_of_a_drive():
    pytest.importorskip("SALib", reason="SALib is not installed (extra `sensitivity`)")
    job = "[w]\nrw=randwrite\nnorandommap\nnumber_ios=4000\niodepth=8\n"
    axes = {
        OP: {"from": 0.1, "to": 0.5},
        "host.link_latency_us": {"from": 0.4, "to": 0.6},
    }
    study = Study(
        *("tiny", job),
        precondition="steady",
        axes=axes,
        design="morris",
        points=4,
        columns=["wa = ftl.write_amplification"],
    )
    first, second = swept(study).sensitivity()
    assert first["axis"] == OP
    assert first["mu_star"] > 1 > second["mu_star"]
    assert first["mu"] < 0
    with refused("`wb`"):
        study.sensitivity("wb")


@pytest.mark.parametrize(
    ("axes", "kind", "panels"),
    [
        ({OP: [0.2, 0.3]}, None, 1),
        ({GC: ["greedy", "fifo"]}, None, 1),
        ({OP: [0.2, 0.3], GC: ["greedy", "fifo"]}, "lines", 1),
        ({OP: [0.2, 0.3], DEPTH: [1, 8], GC: ["greedy", "fifo"]}, "lines", 2),
        ({OP: [0.2, 0.3], DEPTH: [1, 8]}, "heatmap", 1),
        ({OP: [0.2, 0.3], DEPTH: [1, 8]}, "scatter", 2),
        ({OP: [0.2, 0.3], DEPTH: [1, 8]}, "pareto", 1),
    ],
)
def test_pictures(axes: dict[str, Any], kind: str | None, panels: int, tmp_path: Path):
    study = swept(
        Study(
            *("tiny", JOB),
            axes=axes,
            replicates=2,
            objectives=["max iops", "min write_us_p99"],
            summary="a study",
        )
    )
    figure = study.plot(tmp_path / "p.png", kind=kind)
    assert (tmp_path / "p.png").stat().st_size > 5000
    drawn = [axes for axes in figure.axes if axes.get_xlabel()]
    assert len(drawn) == panels
    assert figure.get_suptitle() == "a study"
    if kind in ("lines", None):
        assert {axes.get_ylabel() for axes in drawn} == {"IOPS"}
        two = study.plot(kind=kind, columns=["iops", "read_us_p99"])
        assert len(two.axes) >= 2 * panels
        # Replicates have intervals.
        assert any(axes.collections for axes in drawn)


def test_a_mark_of_doubt_leaves_the_value_of_a_field_free():
    study = swept(Study("tiny", JOB, axes={OP: [0.2, 0.3], DEPTH: [1, 8]}))
    assert all(row["doubts"] for row in study.means())
    axes = study.plot(kind="heatmap").axes[0]
    values = [text.get_position() for text in axes.texts]
    marks = [mark for part in axes.collections for mark in part.get_offsets().tolist()]
    assert len(marks) == len(values) == 4
    pairs = zip(sorted(marks), sorted(values), strict=True)
    assert all(abs(x - at) > 0.3 for (x, _), (at, _) in pairs)


def test_pictures_of_designs_that_draw():
    axes = {OP: {"from": 0.1, "to": 0.4}, GC: ["greedy", "fifo"]}
    study = swept(Study("tiny", JOB, axes=axes, design="sobol", points=6))
    assert len(study.plot().axes) == 2
    # A heat map has fields for what was drawn.
    study.plot(kind="heatmap")


def test_pictures_of_values_that_no_point_has():
    """Points with doubts whose column is empty have no line, and no legend."""
    study = swept(
        Study("tiny", JOB, axes={GC: ["greedy", "fifo"]}, columns=["t = host.trim.latency_us.p99"])
    )
    assert all(row["doubts"] and row["t"] is None for row in study.means())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert study.plot(columns=["t"]).axes[0].get_legend() is None


def test_pictures_that_are_refused():
    study = Study("tiny", JOB, axes={OP: [0.2, 0.3]})
    with refused("no point", "result"):
        study.plot()
    swept(study)
    for given, parts in [
        ({"kind": "line"}, ["`line`", "`lines`"]),
        ({"kind": "heatmap"}, ["one axis"]),
        ({"kind": "pareto"}, ["objectives"]),
        ({"kind": "sensitivity"}, ["`grid`"]),
        ({"columns": ["ipos"]}, ["`ipos`", "`iops`"]),
        ({"path": "x.gif"}, ["x.gif", ".png"]),
    ]:
        with refused(*parts):
            study.plot(**given)  # type: ignore[arg-type]
    with refused("without axes"):
        Study("tiny", JOB).run(workers=1).plot()
