"""Replicates of a run: the same whatever the threads, told together, with intervals."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, refused

import nandlab
from nandlab.drive.trust.replicates import reports_of
from nandlab.ftl import PageHooks

JOB = "[mix]\nrw=randrw\niodepth=16\nnumber_ios=2000\nnorandommap=1\n"
SEQUENTIAL = "[seq]\nrw=write\nbs=16k\nnumber_ios=300\n"

STUDENT = {2: 12.7062, 3: 4.30265, 4: 3.18245}
"""Quantiles of 95 % by the number of replicates, as printed tables have them."""


def run(**given: Any) -> nandlab.Result:
    return nandlab.run("tiny", JOB, **{"precondition": "fill", "replicates": 3, **given})


def text(result: nandlab.Result) -> str:
    """The report without what depends on the machine."""
    report = result.to_dict()
    for key in ("wall_s", "precondition_wall_s", "requests_per_wall_s", "peak_rss_mb"):
        del report["sim"][key]
    return json.dumps(report)


def rows(result: nandlab.Result) -> str:
    """The time series as text, in which rates of nothing equal each other."""
    return repr(result.series().to_pydict())


@pytest.mark.parametrize("precondition", ["fill", "steady"])
def test_threads_change_nothing(precondition: str):
    one = run(precondition=precondition, workers=1, requests=True, explain=True)
    for workers in (2, 3):
        same = run(precondition=precondition, workers=workers, requests=True, explain=True)
        assert text(same) == text(one)
        assert rows(same) == rows(one)
        assert same.requests().equals(one.requests())
        assert same.blame.facts() == one.blame.facts()


def test_they_are_the_runs_of_their_seeds_together():
    """Filling draws nothing: replicates are the runs of a drive with their seeds."""
    runs = [run(replicates=1, seed=seed) for seed in (7, 8, 9)]
    found = run(seed=7)
    replicates = found.report.replicates
    assert (replicates.count, replicates.seeds) == (3, [7, 8, 9])
    counts = [one.report.host.read.requests for one in runs]
    assert found.report.host.read.requests == found.read.count == sum(counts)
    assert found.report.sim.simulated_s == pytest.approx(
        sum(one.report.sim.simulated_s for one in runs)
    )
    # Percentiles are of all requests together.
    each = [one.read.p99 for one in runs]
    assert min(each) <= found.read.p99 <= max(each)
    assert found.read.p99 == pytest.approx(found.report.host.read.latency_us.p99)
    assert found.read.max_us == max(one.read.max_us for one in runs)
    # Figures are those of each run, with Student's interval.
    values = [one.iops for one in runs]
    iops = replicates.figures["host.iops"]
    mean = sum(values) / 3
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / 2)
    assert iops.each == values
    assert iops.mean == pytest.approx(mean)
    assert iops.half_width == pytest.approx(STUDENT[3] * deviation / sqrt(3), rel=1e-5)
    assert found.checks.ok


def test_what_is_kept_of_single_requests_is_of_the_first():
    alone = run(replicates=1, requests=True, timeline=True)
    found = run(requests=True, timeline=True)
    assert found.requests().equals(alone.requests())
    assert rows(found) == rows(alone)
    assert found.report.nand.peak_power_w == alone.report.nand.peak_power_w
    assert found.kept_timeline.spans["end_ns"].tolist() == (
        alone.kept_timeline.spans["end_ns"].tolist()
    )


def test_one_replicate_is_the_run_as_it_always_was():
    assert text(run(replicates=1)) == text(nandlab.run("tiny", JOB, precondition="fill"))
    assert run(replicates=1).report.replicates is None


def test_skipped_beginning_end_and_exchange():
    found = run(skip="500", until="1000", workers=2)
    assert found.report.replicates.figures["host.requests_completed"].each == (
        pytest.approx([1000] * 3, rel=0.1)
    )
    spare = {"ftl.overprovisioning": 0.6}
    exchanged = run(exchange="1@0.001", set=spare)
    assert exchanged.report.exchange.asked_s == 0.001
    assert exchanged.report.replicates.figures["exchange.asked_s"].each == [0.001] * 3


def test_a_drive_is_left_as_its_first_replicate_leaves_it():
    drive = nandlab.Drive("tiny").precondition("steady")
    alone, several = drive.clone(), drive.clone()
    alone.run(JOB)
    found = several.run(JOB, replicates=3)
    assert found.report.replicates.count == 3
    assert several.run(JOB).to_dict()["host"] == alone.run(JOB).to_dict()["host"]


class Plain(PageHooks):
    """An FTL in Python that changes nothing."""


def test_an_ftl_in_python_has_replicates_on_threads():
    one = run(ftl=Plain, workers=1)
    assert text(run(ftl=Plain, workers=2)) == text(one)
    assert one.report.replicates.count == 3


def test_replicates_that_are_alike_have_no_interval():
    found = nandlab.run("tiny", SEQUENTIAL, replicates=3)
    assert any("replicates" in notice for notice in found.notices)
    assert found.report.replicates.figures["host.iops"].half_width is None
    assert "±" not in found._repr_html_()
    (one,) = reports_of(found.to_dict())
    assert one["host"] == nandlab.run("tiny", SEQUENTIAL).to_dict()["host"]
    assert not any("replicates" in notice for notice in run().notices)


def test_each_replicate_has_its_report():
    found = run(seed=7)
    reports = reports_of(found.to_dict())
    for seed, report in zip((7, 8, 9), reports, strict=True):
        alone = run(replicates=1, seed=seed).to_dict()
        assert report["nandlab"]["config"] == alone["nandlab"]["config"]
        for key in ("host", "ftl", "jobs", "dies", "ecc"):
            assert report[key] == alone[key], key


def test_compare_decides_by_the_intervals():
    slow = {"chip.timing.t_read_us": 150.0}
    fast_one, slow_one = run(seed=7), run(seed=7, set=slow)
    by_run = [run(replicates=1, seed=seed, set=sets) for sets in ({}, slow) for seed in (7, 8, 9)]
    found, expected = nandlab.compare([fast_one, slow_one]), nandlab.compare(by_run)
    assert found.rows() == expected.rows()
    assert {row["replicates"] for row in found.rows()} == {3}
    assert found.to_dict()["groups"][0]["files"] == [f"{fast_one.title} (1)"]
    each = nandlab.compare([fast_one, fast_one], each=True)
    assert {row["verdict"] for row in each.rows()} == {"same"}


def test_an_interrupted_run_keeps_what_has_ended():
    def stop(progress: nandlab.Progress) -> None:
        if progress.phase == "run" and progress.done > 100_000:
            raise KeyboardInterrupt

    job = JOB.replace("2000", "30000")
    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", job, replicates=1000, workers=2, progress=stop)
    report = stopped.value.result.report
    assert report.sim.interrupted
    count = report.replicates.count
    assert 1 < count < 1000
    assert len(report.replicates.figures["host.iops"].each) == count
    assert report.host.requests_completed == 30_000 * count
    assert stopped.value.result.checks.ok


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"replicates": 0}, ("replicates", "0", "1 to")),
        ({"replicates": 2.5}, ("replicates", "2.5")),
        ({"replicates": 3, "workers": 0}, ("workers", "0", "1 to")),
        ({"replicates": 1, "workers": 2}, ("workers", "replicates")),
        ({"replicates": 2, "cut_at": 0.1}, ("cut_at", "replicates")),
    ],
)
def test_what_is_refused(given: dict[str, Any], parts: tuple[str, ...]):
    with refused(*parts):
        run(**given)


def test_command(nandlab: Callable[..., Ended], folder: Path):
    (folder / "job.fio").write_text(JOB)
    line = ["run", "--drive", "tiny", "--workload", "job.fio", "--precondition", "fill"]
    table = nandlab(*line, "--replicates", "3", "--workers", "2").succeeded().out
    (row,) = (row for row in table.splitlines() if row.startswith("replicates"))
    assert "seeds 1 to 3" in row
    assert table.count("±") > 10
    report = json.loads(nandlab(*line, "--replicates", "3", "--json", "-", "--quiet").out)
    assert report["replicates"]["count"] == 3
    nandlab(*line, "--replicates", "0").refused("replicates", "0")
