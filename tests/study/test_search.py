"""Searches: a seed repeats, a stop changes nothing, what is found is good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, Ended, carries, refused
from waiting import until

from nandlab import Study
from nandlab.study.findings.limits import excess
from nandlab.study.given import given_study
from nandlab.study.search import SAMPLERS
from tests.study.test_sweep import InThisProcess
from tests.study.test_workers import wait_for_end

optuna = pytest.importorskip("optuna", reason="optuna is not installed (extra `search`)")

JOB = "[w]\nrw=randwrite\nnorandommap\nnumber_ios=500\niodepth=8\n"
AXES: dict[str, Any] = {
    "ftl.overprovisioning": {"from": 0.25, "to": 0.7},
    "gc.name": ["greedy", "fifo"],
    "job.iodepth": {"from": 1, "to": 64, "scale": "log"},
}
COLUMNS = [
    "cap = nandlab.capacity_bytes / 2**20",
    "iops = host.iops",
    "wa = ftl.write_amplification",
]


def study(out: Path | None = None, **changes: Any) -> Study:
    given: dict[str, Any] = {
        "axes": AXES,
        "columns": COLUMNS,
        "precondition": "steady",
        "objectives": ["max cap", "min wa"],
        "set": {"chip.geometry.blocks_per_plane": 32},
        "out": out,
    }
    return Study("tiny", JOB, **(given | changes))


def quick(given: Study, trials: int, **more: Any) -> Any:
    return given.search(trials, executor=InThisProcess(), workers=1, **more)


def points(found: Any) -> list[dict[str, Any]]:
    """What was tried, in its order, with its results."""
    return [
        {key: value for key, value in row.items() if key != "wall_s"}
        for row in found.study.records()
    ]


@pytest.mark.long
def test_a_seed_repeats_whatever_the_workers(tmp_path: Path):
    one = quick(study(tmp_path / "1"), 16)
    two = study(tmp_path / "2").search(16, workers=2)
    assert points(one) == points(two)
    assert len(points(one)) == 16
    other = quick(study(tmp_path / "3"), 16, seed=2)
    assert points(other) != points(one)


def test_a_search_goes_on(tmp_path: Path):
    whole = quick(study(tmp_path / "1"), 24)
    quick(study(tmp_path / "2"), 10)
    more = quick(study(tmp_path / "2"), 24)
    # 10 trials are two batches of 8.
    assert more.tally.done == 8
    assert points(more) == points(whole)
    again = quick(study(tmp_path / "2"), 24)
    assert again.tally.done == 0
    # Another search has the rows of the first: the journal keeps both.
    quick(study(tmp_path / "2", objectives=["min wa"]), 8)
    assert points(quick(study(tmp_path / "2"), 24)) == points(whole)


def test_front_within_constraints_and_limits(tmp_path: Path):
    given = study(tmp_path, constraints=["job.iodepth >= 4"], limits=["wa <= 4", "iops >= 100"])
    found = quick(given, 40)
    assert all(row["job.iodepth"] >= 4 for row in points(found))
    best = found.best()
    assert len(best) > 1
    assert all(row["wa"] <= 4 for row in best)
    for row in best:
        assert not any(
            other["cap"] >= row["cap"] and other["wa"] <= row["wa"] and other != row
            for other in best
        )
    # Capacity and write amplification are at odds: more spare flash, less of both.
    assert [row["cap"] for row in best] == sorted((row["cap"] for row in best), reverse=True)
    assert [row["wa"] for row in best] == sorted((row["wa"] for row in best), reverse=True)
    figure = found.study.plot(tmp_path / "front.png")
    assert (tmp_path / "front.png").is_file()
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert any("Pareto front" in label for label in labels)
    with refused("no point", "wa <= 0.5"):
        quick(study(tmp_path, limits=["wa <= 0.5"]), 8).best()


@pytest.mark.long
def test_one_objective_finds_the_best_corner(tmp_path: Path):
    found = quick(study(tmp_path, objectives=["min wa"]), 40)
    (best,) = found.best()[:1]
    assert best["ftl.overprovisioning"] > 0.6
    drawn = [row["wa"] for row in points(found)]
    # Later trials are better than the first ones, which are random.
    assert sum(drawn[-10:]) / 10 < sum(drawn[:10]) / 10


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers(sampler: str, tmp_path: Path):
    for package in {"gp": ["torch"], "cmaes": ["cmaes"]}.get(sampler, []):
        pytest.importorskip(package, reason=f"{package} is not installed")
    several = {} if sampler != "cmaes" else {"objectives": ["min wa"]}
    found = quick(study(tmp_path, **several), 16, sampler=sampler)
    assert len(points(found)) >= 12
    assert found.best()


def test_points_that_fail_are_told(tmp_path: Path):
    axes = {"job.iodepth": [1, 2, 0, 4], "ftl.overprovisioning": AXES["ftl.overprovisioning"]}
    found = quick(study(tmp_path, axes=axes), 16, sampler="random")
    assert found.failed == sum(row["error"] is not None for row in points(found)) > 0
    assert all(row["job.iodepth"] > 0 for row in found.best())


STUDY = """
drive = "tiny"
columns = ["cap = nandlab.capacity_bytes / 2**20", "wa = ftl.write_amplification"]
objectives = ["max cap", "min wa"]
[run]
workload = "job.fio"
precondition = "steady"
[[axis]]
path = "ftl.overprovisioning"
from = 0.1
to = 0.5
[[axis]]
path = "job.iodepth"
values = [1, 4, 16]
"""


@pytest.mark.long
def test_kill_9_changes_nothing(folder: Path):
    (folder / "study.toml").write_text(STUDY)
    (folder / "job.fio").write_text(JOB.replace("500", "30000"))
    command = [COMMAND, "search", "study.toml", "--trials", "24", "--workers", "2", "--out"]
    process = subprocess.Popen(
        [*command, "cut"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    cut = Study.load("study.toml", out="cut")

    def has_rows() -> bool:
        assert process.poll() is None
        return len(cut.rows()) >= 10

    until(has_rows, 60, "ten rows")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_end(process.pid)
    resumed = quick(Study.load("study.toml", out="cut"), 24)
    whole = quick(Study.load("study.toml", out="whole"), 24)
    assert points(resumed) == points(whole)
    assert 8 <= resumed.tally.done < 24


def test_command(nandlab: Callable[..., Ended], folder: Path):
    (folder / "study.toml").write_text(STUDY)
    (folder / "job.fio").write_text(JOB)
    line = ["search", "study.toml", "--trials", "8", "--workers", "1"]
    ended = nandlab(*line, "--plot", "front.png").succeeded()
    assert ended.out.splitlines()[0].split() == [
        *("ftl.overprovisioning", "job.iodepth", "cap", "wa", "doubts")
    ]
    carries(ended.err, "8 points")
    assert (folder / "front.png").stat().st_size > 5000
    both = "max cap, min max(ftl.write_amplification, 1)"
    told = nandlab(*line, "--objectives", both, "--json", "-").succeeded()
    assert all(
        row["max(ftl.write_amplification, 1)"] == max(row["wa"], 1) for row in json.loads(told.out)
    )
    for arguments, parts in [
        (["--sampler", "tp"], ["`tp`", "`tpe`"]),
        (["--trials", "0"], ["trials", "0"]),
        (["--batch", "0"], ["batch", "0"]),
        (["--objectives", "cap"], ["max COLUMN"]),
        (["--objectives", "min wb"], ["no column", "`wb`"]),
        (["--limits", "wa"], ["limits", "`wa`"]),
        (["--limits", "wb <= 1"], ["no column", "`wb`"]),
        (["--picture", "pareto"], ["--picture", "--plot"]),
        (["--plot", "p.png", "--picture", "parto"], ["`pareto`"]),
        (["--sampler", "cmaes"], ["2 objectives", "`cmaes`"]),
    ]:
        nandlab("search", "study.toml", *arguments).refused(*parts)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with refused("objectives", "none"):
        quick(study(objectives=[]), 8)
    with refused("axis", "none"):
        quick(study(axes={}), 8)
    with refused("constraints"):
        quick(study(constraints=["job.iodepth > 64"]), 8)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with refused("nandlab[search]"):
        quick(study(), 8)


def test_limits():
    given = given_study(
        {"drive": "tiny", "columns": ["a = host.iops", "b = sim.events"],
         "limits": ["a <= 2 * b", "b >= 3"]}, "s", Path()
    )  # fmt: skip
    row = {"a": 10.0, "b": 4.0}
    assert [excess(one, row) for one in given.limits] == [2.0, -1.0]
    assert excess(given.limits[0], {"a": 1.0}) is None
    for wrong in ("a < 3", "a", "1 <= a <= 2", "c <= 1", "a <= ", 3):
        with refused("s: limits"):
            given_study(
                {"drive": "tiny", "columns": ["a = host.iops"], "limits": [wrong]}, "s", Path()
            )
