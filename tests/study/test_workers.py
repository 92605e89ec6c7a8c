"""Workers of a sweep: killed, interrupted, of another executor; no point is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, carries, refused, some
from waiting import until

from nandlab import Study
from nandlab.study import work
from nandlab.study.task import Task
from tests.study.test_sweep import JOB, InThisProcess, ids, lines, small, swept

SCRIPT = """
import sys
from nandlab import Study

if __name__ == "__main__":
    study = Study.load("study.toml", out="out")
    study.run(workers=2)
"""

STUDY = """
drive = "tiny"
run.workload = "job.fio"
run.precondition = "fill"

[[axis]]
path = "job.iodepth"
from = 1
to = {points}
step = 1
"""


@pytest.fixture
def long_study(folder: Path) -> Study:
    """Of some seconds."""
    (folder / "job.fio").write_text(JOB.replace("2000", "40000"))
    (folder / "study.toml").write_text(STUDY.format(points=40))
    return Study.load("study.toml", out="out")


def started(study: Study, least: int) -> subprocess.Popen[str]:
    """A sweep of its own that has some rows."""
    process = subprocess.Popen(
        [COMMAND, "sweep", "study.toml", "--out", "out", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def has_rows() -> bool:
        assert process.poll() is None, process.communicate()
        return len(study.rows()) >= least

    until(has_rows, 60, f"{least} rows")
    return process


def group(process: int) -> list[int]:
    """Processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == process and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def wait_for_end(process: int) -> None:
    until(lambda: not group(process), 10, "end of its processes")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_kill_9_loses_the_points_under_way(long_study: Study):
    process = started(long_study, 10)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {row["id"] for row in lines(long_study.out)}
    assert 10 <= len(kept) < 40
    # Workers do not outlive the process that started them.
    wait_for_end(process.pid)
    long_study.run(workers=2)
    assert long_study.tally.known == len(kept)
    assert long_study.tally.done == 40 - len(kept)
    assert len(lines(long_study.out)) == 40
    assert {row["id"] for row in lines(long_study.out)} == set(ids(long_study))


@pytest.mark.parametrize("sent", some([signal.SIGINT, signal.SIGTERM]))
def test_ctrl_c_keeps_what_is_done(long_study: Study, sent: signal.Signals):
    process = started(long_study, 5)
    # Two sweeps at once into one folder would mix their rows.
    with refused("out", "another process"):
        swept(long_study)
    # As a terminal does it: to all processes.
    os.killpg(process.pid, sent)
    asked = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - asked < 5
    assert process.returncode == 130, err
    assert "Traceback" not in err
    carries(err, "left", "rows: out")
    assert out.startswith("job.iodepth")
    wait_for_end(process.pid)
    kept = len(lines(long_study.out))
    assert 5 <= kept < 40
    assert not (long_study.out / work.STOP).exists()
    assert long_study.frame().num_rows == kept


@pytest.mark.long
def test_a_worker_that_is_killed(long_study: Study):
    """Its points are done by others; none is lost, none comes twice."""
    process = started(long_study, 5)
    workers = [one for one in group(process.pid) if one != process.pid]
    # One of them is multiprocessing's tracker of resources.
    for one in workers:
        if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes():
            os.kill(one, signal.SIGKILL)
            break
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    carries(err, "40 points")
    rows = lines(long_study.out)
    assert len(rows) == len({row["id"] for row in rows}) == 40
    assert all("values" in row for row in rows)


def deadly(task: Task) -> Any:
    """Ends its process at one point."""
    if task.axes["job.iodepth"] == 3:
        os._exit(9)
    return work.run_task(task)


def test_a_point_that_kills_its_worker_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import nandlab.study.sweep

    monkeypatch.setattr(nandlab.study.sweep, "run_task", deadly)
    study = small(tmp_path, axes={"job.iodepth": list(range(1, 5))}).run(workers=2)
    assert (study.tally.done, study.tally.failed) == (3, 1)
    (failed,) = [row for row in study.records() if row["error"] is not None]
    assert failed["job.iodepth"] == 3
    carries(failed["error"], "killed")
    monkeypatch.undo()
    assert swept(study).tally.done == 1


@pytest.mark.long
def test_a_full_disk_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Rows that are there stay; the error names why."""
    from nandlab.study import rows

    whole = rows.Writer.add
    seen: list[int] = []

    def full(writer: rows.Writer, row: work.Row) -> None:
        if len(seen) == 2:
            raise OSError(28, "No space left on device")
        seen.append(1)
        whole(writer, row)

    monkeypatch.setattr(rows.Writer, "add", full)
    with pytest.raises(OSError, match="No space"):
        small(tmp_path).run(workers=2)
    monkeypatch.undo()
    assert len(lines(tmp_path)) == 2
    assert swept(small(tmp_path)).tally.done == 2


def in_this_process(workers: int) -> InThisProcess:
    return InThisProcess(workers)


@pytest.mark.parametrize(
    "executor",
    ["tests.study.test_workers:in_this_process", "concurrent.futures:ThreadPoolExecutor"],
)
def test_executors_of_ones_own(executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    axes = {"ftl.overprovisioning": [0.2, 0.3, 0.4], "job.iodepth": [1, 2, 3, 4, 5]}
    study = small(tmp_path, axes=axes, replicates=2).run(executor=executor, workers=2)
    assert (study.tally.done, study.tally.known) == (30, 0)
    assert study.frame().num_rows == 30


@pytest.mark.parametrize(
    ("executor", "parts"),
    [
        ("lokal", ["`lokal`", "`local`"]),
        ("nowhere:factory", ["`nowhere:factory`", "No module named"]),
        ("concurrent.futures:ThreadPoolExecutr", ["`ThreadPoolExecutor`"]),
        ("builtins:str", ["`builtins:str`", "returned a str"]),
        ("json:dumps", ["`json:dumps`", "returned a str"]),
        (7, ["7", "concurrent.futures.Executor"]),
    ],
)
def test_executors_that_are_refused(executor: Any, parts: list[str]):
    with refused(*parts):
        small().run(executor=executor)


@pytest.mark.long
def test_workers_that_end_at_once(folder: Path):
    """A script without its guard: each worker begins with the script again."""
    (folder / "job.fio").write_text(JOB)
    (folder / "study.toml").write_text(STUDY.format(points=4))
    script = SCRIPT.replace('if __name__ == "__main__":', "if True:")
    (folder / "script.py").write_text(script)
    ended = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, timeout=60, check=False
    )
    carries(ended.stderr, "hint", "`if __name__")
    (folder / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "script.py"], timeout=60, check=True)
    assert sum("values" in row for row in lines(folder / "out")) == 4


@pytest.mark.long
def test_memory_goes_with_workers_not_with_points(tmp_path: Path):
    """Peak memory of the process that starts it: 40 or 1,500 points."""
    script = (
        "import sys, resource\n"
        "from nandlab import Study\n"
        "job = '[a]\\nrw=randread\\nnumber_ios=10\\n'\n"
        "axes = {'job.randseed': {'from': 1, 'to': int(sys.argv[1]), 'step': 1}}\n"
        "study = Study('tiny', job, axes=axes, out=sys.argv[2])\n"
        "study.run(executor='concurrent.futures:ThreadPoolExecutor', workers=2)\n"
        "assert study.tally.done == int(sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def peak_kib(points: int) -> int:
        command = [sys.executable, "-c", script, str(points), str(tmp_path / str(points))]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    # Most of it is the table that is written at the end, by parts of 5,000 rows.
    assert peak_kib(1500) - peak_kib(40) < 40_000
