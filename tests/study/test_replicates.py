"""Searches and fronts with replicates: what is noise is said to be noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, refused
from matplotlib.container import ErrorbarContainer
from scipy.stats import ttest_ind

from nandlab import Study
from nandlab.study import sweep
from nandlab.study.findings.certainty import Mean, is_below
from nandlab.study.findings.frame import means
from nandlab.study.findings.pareto import front
from nandlab.study.given import Given, given_study
from nandlab.study.task import Task
from nandlab.study.work import failed, run_task
from tests.study.test_search import JOB, STUDY, points, quick, study
from tests.study.test_sweep import swept

# --- Which points are surely better ---------------------------------------------------------------


def test_a_mean_is_surely_lower_as_by_welch():
    generator = np.random.default_rng(1)
    verdicts = []
    for _ in range(200):
        one = generator.normal(0.0, 1.0, generator.integers(2, 8))
        other = generator.normal(generator.uniform(0, 3), 2.0, generator.integers(2, 8))
        expected = (
            ttest_ind(one, other, equal_var=False).pvalue < 0.05 and one.mean() < other.mean()
        )
        verdicts.append(is_below(Mean.of(list(one)), Mean.of(list(other))))
        assert verdicts[-1] == expected
    assert 20 < sum(verdicts) < 180
    # Without any noise, what is lower is surely so; by one value nothing is known.
    exact, higher = Mean.of([1.0, 1.0]), Mean.of([1.5, 1.5])
    assert is_below(exact, higher)
    assert not is_below(exact, exact)
    assert not is_below(higher, exact)


TABLES = {
    "drive": "tiny",
    "columns": ["size = host.iops", "wear = sim.events"],
    "objectives": ["max size", "min wear"],
    "axis": {"job.iodepth": [1, 2, 3, 4, 5]},
    "replicates": 3,
}


def shown(**values: tuple[float, list[float]]) -> tuple[Given, list[dict[str, Any]]]:
    """The front of points by their names, with a size and the wear of each replicate."""
    given = given_study({**TABLES, "axis": {"job.rw": list(values)}}, "s", Path())
    records = [
        {"job.rw": name, "replicate": replicate, "size": size, "wear": wear, "doubts": None,
         "few_beyond": None, "error": None}
        for name, (size, wears) in values.items()
        for replicate, wear in enumerate(wears)
    ]  # fmt: skip
    return given, front(given, means(given, records), records)


def test_a_front_says_which_of_its_points_are_noise():
    _, rows = shown(
        large=(100, [3.0, 3.1, 2.9]),
        # Smaller, and less worn by luck alone.
        lucky=(90, [2.9, 3.1, 2.9]),
        # Beaten by its mean, but not surely: as large as the first one.
        alike=(100, [3.0, 3.2, 3.0]),
        small=(80, [1.0, 1.1, 0.9]),
        # Surely beaten by all others.
        bad=(70, [5.0, 5.1, 4.9]),
    )
    named = {row["job.rw"]: row for row in rows}
    assert [row["job.rw"] for row in rows] == ["large", "alike", "lucky", "small"]
    assert [row["number"] for row in rows] == [1, 2, 3, 4]
    assert [row["is_on_front"] for row in rows] == [True, False, True, True]
    assert named["large"]["no_sure_advantage_over"] == [2]
    assert named["alike"]["no_sure_advantage_over"] == [1]
    assert named["lucky"]["no_sure_advantage_over"] == [1, 2]
    assert named["small"]["no_sure_advantage_over"] == []


def test_one_replicate_says_nothing_of_noise():
    given = given_study({**TABLES, "replicates": 1}, "s", Path())
    rows = [{"size": 1, "wear": 1, "doubts": None}, {"size": 2, "wear": 2, "doubts": None}]
    assert front(given, rows) == rows[::-1]


def test_a_front_of_a_sweep(tmp_path: Path):
    given = Study(
        "tiny", JOB.replace("500", "20000"), precondition="steady", replicates=3,
        set={"chip.geometry.blocks_per_plane": 32},
        axes={"ftl.overprovisioning": [0.3, 0.5], "job.iodepth": [4, 8]},
        columns=["cap = nandlab.capacity_bytes", "wa = ftl.write_amplification"],
        objectives=["max cap", "min wa"],
    )  # fmt: skip
    rows = swept(given).pareto()
    # Less spare flash is surely better in one, and surely worse in the other.
    caps = {row["number"]: row["cap"] for row in rows}
    assert len(set(caps.values())) == 2
    for row in rows:
        assert all(caps[other] == row["cap"] for other in row["no_sure_advantage_over"])
    figure = given.plot(tmp_path / "front.png", kind="pareto")
    crosses = [one for one in figure.axes[0].containers if isinstance(one, ErrorbarContainer)]
    assert len(crosses) == 1 + any(not row["is_on_front"] for row in rows)


# --- Searches -------------------------------------------------------------------------------------


def test_each_candidate_has_its_replicates(tmp_path: Path):
    found = quick(study(tmp_path / "1"), 8, replicates=3)
    assert found.tally.done == 24
    assert {row["replicate"] for row in points(found)} == {0, 1, 2}
    assert all(row["replicates"] == 3 for row in found.best())
    assert all(row["wa_low"] <= row["wa"] <= row["wa_high"] for row in found.best())
    assert {"number", "is_on_front", "no_sure_advantage_over"} <= found.best()[0].keys()
    # The same as in the study's definition, which goes on where this one ended.
    again = quick(study(tmp_path / "1", replicates=3), 8)
    assert again.tally.done == 0
    assert again.best() == found.best()
    # One replicate: the rows are there, and the front is as it always was.
    one = quick(study(tmp_path / "1", replicates=3), 8, replicates=1)
    assert one.best()[0].keys().isdisjoint({"number", "is_on_front", "no_sure_advantage_over"})
    with refused("replicates", "0"):
        quick(study(), 8, replicates=0)


def test_a_limit_is_judged_on_the_mean(tmp_path: Path):
    found = quick(study(tmp_path, objectives=["min wa"]), 8, replicates=2)
    rows = found.study.means()
    (one,) = [row for row in rows if row["wa"] == sorted(row["wa"] for row in rows)[3]]
    worst = max(row["wa"] for row in points(found) if row["job.iodepth"] == one["job.iodepth"])
    assert worst > one["wa"]
    limited = study(tmp_path, objectives=["max wa"], limits=[f"wa <= {one['wa']}"])
    best = quick(limited, 8, replicates=2).best()
    assert max(row["wa"] for row in best) <= one["wa"]


def test_a_candidate_that_fails_with_one_seed_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def run(task: Task) -> Any:
        if task.replicate == 1 and task.axes["gc.name"] == "fifo":
            return failed(task, "refused by a test", is_final=True)
        return run_task(task)

    monkeypatch.setattr(sweep, "run_task", run)
    found = quick(study(tmp_path), 16, replicates=2, sampler="random")
    fifo = [row for row in found.study.means() if row["gc.name"] == "fifo"]
    assert found.failed == len(fifo) > 0
    assert all(row["gc.name"] == "greedy" for row in found.best())


def test_command(nandlab: Callable[..., Ended], folder: Path):
    pytest.importorskip("optuna", reason="optuna is not installed (extra `search`)")
    (folder / "study.toml").write_text(STUDY)
    (folder / "job.fio").write_text(JOB)
    line = ["search", "study.toml", "--trials", "8", "--workers", "1", "--replicates", "2"]
    rows = json.loads(nandlab(*line, "--quiet", "--json", "-").succeeded().out)
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    table = nandlab(*line).succeeded().out.splitlines()
    assert [line.split()[0] for line in table[1:]] == [str(row["number"]) for row in rows]
    assert any("±" in line for line in table[1:])
    nandlab("search", "study.toml", "--replicates", "0").refused("replicates", "0")
