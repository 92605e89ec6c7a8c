"""Comparison of runs: groups, ratios with intervals, what is refused."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, carries, refused

import nandlab
from nandlab import Result, compare
from nandlab.compare.comparison import MEASURES, Estimate, estimate, ratio
from nandlab.report import Report
from nandlab.study.expression import check_path

JOB = "[mix]\nrw=randrw\nrwmixread=50\niodepth=8\nnorandommap\nnumber_ios=3000\n"


def run(seed: int = 1, **sets: Any) -> Result:
    return nandlab.run("tiny", JOB, precondition="steady", seed=seed, set=sets)


@pytest.fixture(scope="module")
def results() -> list[Result]:
    slow = {"chip.timing.t_read_us": 150.0}
    return [run(seed, **sets) for sets in ({}, slow) for seed in (1, 2, 3)]


def test_measures_are_in_reports(results: list[Result]):
    for measure in MEASURES:
        check_path("x", results[0].to_dict(), tuple(measure.path.split(".")))


def test_replicates_are_groups(results: list[Result]):
    found = compare(results)
    assert found.names == ["chip.timing.t_read_us = 75.0", "chip.timing.t_read_us = 150.0"]
    rows = {row["figure"]: row for row in found.rows()}
    p50 = rows["read p50 (us)"]
    of_runs = [result.read.p50 for result in results]
    assert p50["base"] == pytest.approx(sum(of_runs[:3]) / 3, rel=1e-3)
    assert p50["ratio"] == pytest.approx(sum(of_runs[3:]) / sum(of_runs[:3]), rel=1e-3)
    assert 1 < p50["ratio_low"] < p50["ratio"] < p50["ratio_high"]
    assert p50["verdict"] == "worse"
    assert rows["IOPS"]["verdict"] == "worse"
    assert rows["capacity (bytes)"]["verdict"] == "same"
    # 1,500 reads have no percentile 99.99 that any of them exceeds.
    assert rows.get("read p99.99 (us)", {}).get("value") is None
    text = str(found)
    assert "(3 runs)" in text
    assert "read p50 (us)" in text


def test_single_reports_have_no_intervals(results: list[Result]):
    found = compare([results[0], results[3]])
    assert {row["verdict"] for row in found.rows()} == {""}
    assert all(row["ratio_low"] is None for row in found.rows())
    by_itself = compare(results[:2], each=True)
    assert len(by_itself.groups) == 2
    assert by_itself.names[0] != by_itself.names[1]


def test_interval_covers_the_ratio():
    """In 95 of 100 cases, within what 2,000 cases tell."""
    draw, held, cases = random.Random(1), 0, 2000
    for _ in range(cases):
        one = [draw.gauss(10, 1) for _ in range(4)]
        two = [draw.gauss(12, 2) for _ in range(6)]
        reports = [[Report.of({"host": {"iops": x}}) for x in values] for values in (one, two)]
        first, second = (estimate(each, MEASURES[0].key) for each in reports)
        found = ratio(first, second)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.2 <= found.high
    assert abs(held / cases - 0.95) < 4 * math.sqrt(0.95 * 0.05 / cases)


def test_ratios_of_nothing():
    assert ratio(Estimate(0, 1, None), Estimate(1, 1, None)).value is None
    assert ratio(None, Estimate(1, 1, None)).value is None
    assert tuple(ratio(Estimate(2, 2, 0.0), Estimate(2, 2, 0.0))) == (1, 1, 1)


def test_picture(results: list[Result], tmp_path: Path):
    figure = compare(results).plot(tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 5000
    assert len(figure.axes) == 2
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == compare(results).names


def test_command(nandlab: Callable[..., Ended], folder: Path, results: list[Result]):
    for index, result in enumerate(results):
        result.to_json(folder / f"r{index}.json")
    files = [f"r{index}.json" for index in range(6)]
    ended = nandlab("compare", *files, "--plot", "c.png").succeeded()
    assert "write amplification" in ended.out
    # What each report says against itself is repeated.
    for index, result in enumerate(results):
        for notice in result.notices:
            carries(ended.err, f"r{index}.json", notice)
    assert len(ended.err.splitlines()) == sum(len(result.notices) for result in results)
    assert (folder / "c.png").is_file()
    told = nandlab("compare", *files, "--json", "-").succeeded()
    assert told.json["groups"][1]["files"] == files[3:]
    assert told.json["rows"] == compare([folder / file for file in files]).rows()

    (folder / "bad.json").write_text("{")
    (folder / "other.json").write_text('{"nandlab": {}}')
    (folder / "list.json").write_text("[]")
    half = json.loads((folder / "r0.json").read_text())
    del half["nandlab"]["config"]
    (folder / "half.json").write_text(json.dumps(half))
    for arguments, parts in [
        (["r0.json"], ["two or more"]),
        (["r0.json", "r1.json"], ["--each"]),
        (["r0.json", "none.json"], ["none.json"]),
        (["r0.json", "bad.json"], ["bad.json", "not JSON"]),
        (["r0.json", "other.json"], ["other.json", "`host`"]),
        (["r0.json", "list.json"], ["list.json", "JSON", "list"]),
        (["r0.json", "half.json"], ["`nandlab.config`"]),
        (["r0.json", "r3.json", "--plot", "c.gif"], ["c.gif", ".png"]),
        (["r0.json", "r3.json", "--table", "t.parquet"], ["t.parquet", ".csv", ".tex"]),
        (["r0.json", "r3.json", "--label", "one"], ["label", "1", "2"]),
        (["r0.json", "r3.json", "--label", "a", "--label", "a"], ["label", "`a`"]),
        (["r0.json", "r3.json", "--json", "r0.json"], ["--json", "r0.json", "input"]),
    ]:
        nandlab("compare", *arguments).refused(*parts)


def test_figures_that_a_run_lacks_are_empty(results: list[Result]):
    """Reads of a run without reads are neither quick nor compared."""
    writes = "[w]\nrw=randwrite\niodepth=8\nnumber_ios=500\n"
    found = compare([results[0], nandlab.run("tiny", writes)])
    rows = {row["figure"]: row for row in found.rows()}
    for name in ("read mean (us)", "read p50 (us)", "read p99 (us)"):
        assert (rows[name]["value"], rows[name]["ratio"]) == (None, None)
    # 15 of 1,500 writes lie beyond the one percentile, 5 of 500 beyond the other.
    few = rows["write p99 (us)"]
    assert (few["base_few_beyond"], few["value_few_beyond"]) == (False, True)
    assert rows["write p99.9 (us)"]["value"] is None


def test_notices_are_repeated(results: list[Result]):
    """Those of each report, and its failed checks."""
    young = nandlab.run("tiny", JOB)
    assert young.notices
    broken = results[0].to_dict()
    broken["checks"]["conservation"]["ok"] = False
    found = compare([broken, young], each=True)
    said = found.notices()
    assert found.to_dict()["groups"][1]["notices"] == said[-len(young.notices) :]
    for notice in young.notices:
        assert any(notice in one for one in said)
    assert "report 1" in said[0]
    assert all(one in str(found) for one in said)


def test_tables(results: list[Result], tmp_path: Path):
    found = compare(results, labels=["as it was", "slow & dear"])
    assert found.names == ["as it was", "slow & dear"]
    found.write(tmp_path / "t.csv")
    first, *_ = rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == len(found.rows())
    assert list(first) == list(found.rows()[0])
    assert float(first["ratio_low"]) == found.rows()[0]["ratio_low"]
    assert float(first["base_low"]) < float(first["base"]) < float(first["base_high"])
    found.write(tmp_path / "t.tex")
    text = (tmp_path / "t.tex").read_text()
    assert r"slow \& dear (3 runs)" in text
    assert r"read p50 ($\mu$s)" in text
    with refused("t.md", ".csv", ".tex"):
        found.write(tmp_path / "t.md")


def test_what_python_may_give():
    for wrong in ([1, 2], "a.json", [None, None]):
        with refused("compare"):
            compare(wrong)  # type: ignore[arg-type]
