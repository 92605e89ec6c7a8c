"""A real Dask cluster on this machine: two workers, one of them killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import refused
from waiting import until

from nandlab import Study

JOB = "[mix]\nrw=randrw\nrwmixread=50\niodepth=8\nnorandommap\nnumber_ios=30000\n"


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file")
        until(lambda: self.file.is_file() and self.file.stat().st_size > 0, 30, "scheduler")
        self.address = json.loads(self.file.read_text())["address"]
        for _ in range(2):
            self._start(
                *("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--memory-limit", "0", "--scheduler-file"),
            )

    def _start(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "dask", *arguments, str(self.file)]
        quiet = subprocess.DEVNULL
        self.processes.append(
            subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=self.file.parent)
        )

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="dask is not installed (extra `dask`)")
    started = Cluster(tmp_path)
    yield started
    started.stop()


@pytest.mark.long
def test_all_points_once_though_a_worker_is_killed(cluster: Cluster, tmp_path: Path):
    axes = {"job.iodepth": list(range(1, 41)), "ftl.overprovisioning": [0.2, 0.3]}
    study = Study("tiny", JOB, precondition="fill", axes=axes, out=tmp_path / "out")
    killed: list[int] = []

    def kill_one(progress: object) -> None:
        done = getattr(progress, "done", 0)
        if done >= 10 and not killed:
            killed.append(cluster.processes[-1].pid)
            os.kill(cluster.processes[-1].pid, signal.SIGKILL)

    study.run(executor=f"dask={cluster.address}", progress=kill_one)
    assert killed
    assert cluster.processes[-1].wait(5) == -signal.SIGKILL
    assert (study.tally.done, study.tally.failed) == (80, 0)
    rows = [
        json.loads(line)
        for path in (tmp_path / "out" / "rows").iterdir()
        for line in path.read_text().splitlines()
        if line
    ]
    assert len(rows) == len({row["id"] for row in rows}) == 80
    # The same as by processes of this machine.
    here = Study("tiny", JOB, precondition="fill", axes={"job.iodepth": [7]}, set={
        "ftl.overprovisioning": 0.3
    }).run(workers=1)  # fmt: skip
    there = [row for row in study.records() if row["job.iodepth"] == 7]
    assert there[1]["iops"] == next(here.records())["iops"]
    again = study.run(executor=f"dask={cluster.address}")
    assert (again.tally.done, again.tally.known) == (0, 80)


def test_addresses_that_are_refused(tmp_path: Path):
    pytest.importorskip("distributed", reason="dask is not installed (extra `dask`)")
    study = Study("tiny", JOB, axes={"job.iodepth": [1]})
    for address in ("nonsense://x", ""):
        with refused("executor", "no Dask scheduler", f"`{address}`"):
            study.run(executor=f"dask={address}")


def test_without_dask(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused("hint", "nandlab[dask]"):
        Study("tiny", JOB, axes={"job.iodepth": [1]}).run(executor="dask=tcp://127.0.0.1:1")
