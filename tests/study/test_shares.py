"""Shares of a sweep: several processes do each point once into one folder, whatever ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, carries, refused
from waiting import until

from nandlab import Study
from nandlab.study.rows import Rows, Writer
from nandlab.study.share import Share
from tests.study.test_sweep import JOB, InThisProcess, ids, lines, small

STUDY = """
drive = "tiny"
run.workload = "job.fio"
run.precondition = "fill"
axis = [{ path = "ftl.overprovisioning", values = [0.2, 0.3] },
        { path = "job.iodepth", from = 1, to = 10, step = 1 }]
"""


@pytest.fixture
def study(folder: Path) -> Study:
    """A study of 20 points, of some seconds."""
    (folder / "job.fio").write_text(JOB.replace("2000", "8000"))
    (folder / "study.toml").write_text(STUDY)
    return Study.load("study.toml", out="out")


def started(share: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "sweep", "study.toml", "--out", "out", "--workers", "1", "--share", share],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"replicates": 3},
        {"axes": {"gc.name": ["greedy", "fifo"], "job.iodepth": [1, 2, 3, 4, 5]}},
        {"axes": {"job.iodepth": [1, 2, 3, 4, 5, 6, 7]}},
        {"constraints": ["ftl.overprovisioning > 0.2"]},
        {
            "axes": {"ftl.overprovisioning": {"from": 0.1, "to": 0.3}},
            "design": "random",
            "points": 11,
        },
    ],
)
def test_shares_are_the_points_of_the_study(changes: dict[str, Any]):
    design = small(**changes).given.design
    every = [[repr(point) for point in group] for group in design.filled()]
    for of in (1, 2, 3, 5, 40):
        dealt = [
            [[repr(point) for point in group] for group in Share(number, of).groups(design)]
            for number in range(1, of + 1)
        ]
        points = Counter(point for groups in dealt for group in groups for point in group)
        assert points == Counter(point for group in every for point in group)
        # No share prepares more drives than it must.
        assert max(len(groups) for groups in dealt) == -(-len(every) // of)


def test_two_shares_at_once_are_the_sweep(study: Study, tmp_path: Path):
    processes = [started(f"{number}/2") for number in (1, 2)]
    for process in processes:
        ended(process)
    assert sorted(row["id"] for row in lines(study.out)) == sorted(ids(study))
    assert study.facts() == {"points": 20, "results": 20, "failed": 0, "left": 0}
    # The one that ended last has written the table of both; no drives are left behind.
    import pyarrow.parquet as pq

    assert pq.read_table(study.out / "results.parquet").num_rows == 20
    assert not (study.out / "shares").exists()
    whole = Study.load("study.toml", out=tmp_path / "whole").run(workers=2)
    values = [
        {row["id"]: row["values"] for row in Rows(one.out).get(ids(study)) if row}
        for one in (study, whole)
    ]
    assert values[0] == values[1]


def test_shares_that_were_ended_go_on_and_leave_others_alone(study: Study):
    first, second = started("1/2"), started("2/2")
    until(lambda: len(study.rows()) >= 4, 60, "rows of both")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    # Ctrl-C ends its own points, not those of the other share.
    own = ids(study)[:10]

    def done() -> int:
        return sum(row is not None for row in Rows(study.out).get(own))

    before = done()
    third = started("1/2")
    until(lambda: done() > before, 60, "rows of the new start")
    os.killpg(third.pid, signal.SIGINT)
    asked = time.monotonic()
    third.communicate(timeout=30)
    assert third.returncode == 130
    assert time.monotonic() - asked < 10
    ended(second)
    ended(started("1/2"))
    assert study.facts()["left"] == 0
    assert Counter(row["id"] for row in lines(study.out)) == Counter(ids(study))


def test_more_shares_than_points(folder: Path):
    study = small(folder / "s", axes={"job.iodepth": [1, 8]})
    for number in (1, 2, 3):
        study.run(executor=InThisProcess(), workers=1, share=f"{number}/3")
        assert study.tally is not None
        assert study.tally.done == (number < 3)
    assert study.facts()["left"] == 0


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "a/b", "1/2/3", "-1/2", "", "1/999999"])
def test_shares_that_there_are_not(text: str, folder: Path):
    with refused("share", "I/N"):
        small(folder / "s").run(share=text)
    assert not (folder / "s").exists()


def test_who_may_work_in_a_folder(study: Study, folder: Path):
    out = folder / "out"
    (out).mkdir()
    with Writer(out, Share(1, 3), "this"):
        with refused("share", "another study"), Writer(out, Share(2, 3), "that"):
            pass
        with refused("share", "2/4", "3"), Writer(out, Share(2, 4), "this"):
            pass
        with refused("share", "1/3"), Writer(out, Share(1, 3), "this"):
            pass
        with refused("out", "another process"), Writer(out):
            pass
        with Writer(out, Share(2, 3), "this"):
            pass
    # Nobody is at work: any study and any number.
    with Writer(out, Share(4, 4), "that"):
        pass
    with Writer(out), refused("share", "without --share"), Writer(out, Share(1, 4), "that"):
        pass
    # The command says the same, with the code of refusals.
    with Writer(out, Share(1, 2), "of another study"):
        process = started("2/2")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    carries(err, "another study", out.name)
