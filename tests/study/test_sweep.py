"""Sweeps: every point once, whatever stops them; the rows are those of separate runs."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import refused, some

import nandlab
from nandlab import Study
from nandlab.study import work
from nandlab.study.rows import ROWS, Rows
from nandlab.study.task import Task, Tasks

JOB = "[mix]\nrw=randrw\nrwmixread=50\niodepth=8\nnorandommap\nnumber_ios=2000\n"
AXES = {"ftl.overprovisioning": [0.2, 0.3], "job.iodepth": [1, 8]}
MEASURED = ("wall_s", "requests_per_wall_s", "peak_rss_mb", "precondition_wall_s")


def small(out: Path | None = None, **changes: Any) -> Study:
    given: dict[str, Any] = {
        "axes": AXES,
        "precondition": "fill",
    }
    return Study("tiny", JOB, out=out, **(given | changes))


def tasks(study: Study) -> list[Task]:
    return [task for batch in study.batches() for task in batch.tasks]


def ids(study: Study) -> list[str]:
    return [task.id for task in tasks(study)]


def lines(out: Path) -> list[dict[str, Any]]:
    """All rows in a folder, also those that come twice."""
    return [
        json.loads(line)
        for path in sorted((out / ROWS).iterdir())
        for line in path.read_text().splitlines()
        if line
    ]


class InThisProcess(concurrent.futures.Executor):
    """Runs a point when it is handed in: quick, and its calls can be seen."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def submit(self, call: Any, /, *given: Any, **named: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(call(*given, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def swept(study: Study) -> Study:
    return study.run(executor=InThisProcess(), workers=1)


def of_machine(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what the machine decides, and without names of drive and workload."""
    report["sim"] = {key: value for key, value in report["sim"].items() if key not in MEASURED}
    for key in ("drive", "run", "notices"):
        report["nandlab"].pop(key)
    return report


# --- Identity ------------------------------------------------------------------------------------


def test_identity_is_all_that_affects_the_result(folder: Path):
    (folder / "job.fio").write_text(JOB)
    (folder / "my.toml").write_text('drive_preset = "tiny"\n')
    base = ids(small())
    assert len(set(base)) == 4
    # The same points: a file, comments, another name of the drive, other columns and axes.
    (folder / "job.fio").write_text("# mine\n" + JOB.replace("=8", "=8  ; deep"))
    (folder / "my.toml").write_text('# mine\ndrive_preset = "tiny"\n')
    mine = Study("my.toml", "job.fio", precondition="fill", axes=AXES)
    assert ids(mine) == base
    assert ids(small(columns=["host.iops"], reports=False)) == base
    axes = {"job.iodepth": [1, 8, 9], "ftl.overprovisioning": [0.2, 0.3]}
    assert set(base) < set(ids(small(axes=axes)))
    # The same numbers with units are the same points.
    axes = {"job.iodepth": [1, 8], "ftl.overprovisioning": ["20%", "30%"]}
    assert ids(small(axes=axes)) == ids(small(axes=axes | {"ftl.overprovisioning": [0.2, 0.3]}))
    # Others: everything that a run depends on.
    changes: list[dict[str, Any]] = [
        {"seed": 7},
        {"precondition": "none"},
        {"set": {"gc.name": "fifo"}},
        {"until": "1000"},
        {"skip": "100"},
    ]
    for change in changes:
        assert not set(ids(small(**change))) & set(base), change
    (folder / "job.fio").write_text(JOB.replace("2000", "2001"))
    other = Study("tiny", "job.fio", precondition="fill", axes=AXES)
    assert not set(ids(other)) & set(base)


def test_identity_of_traces_is_their_content(folder: Path):
    line = "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx close\n"
    (folder / "a.log").write_text(line)
    (folder / "b.log").write_text(line)
    (folder / "c.log").write_text(line.replace("4096", "8192"))

    def of(**given: Any) -> str:
        return ids(Study("tiny", **given))[0]

    assert of(trace="a.log") == of(trace="b.log") != of(trace="c.log")
    # Also where a job names them, from its own folder.
    (folder / "in").mkdir()
    (folder / "in" / "a.log").write_text(line)
    (folder / "in" / "job.fio").write_text("[r]\nread_iolog=a.log\n")
    texts = [f"[r]\nread_iolog={name}.log\n" for name in "abc"]
    found = [of(workload=text) for text in texts]
    assert found[0] == found[1] == of(workload="in/job.fio") != found[2]
    (folder / "a.log").write_text(line.replace("4096", "512"))
    assert of(trace="a.log") != of(trace="b.log")
    assert swept(Study("tiny", "in/job.fio")).tally.done == 1


def test_identity_of_codes_is_their_content(folder: Path):
    code = nandlab.catalogue.load_config("modern_tlc").config["ecc"]["code"]
    (folder / "code.toml").write_text(nandlab.show(f"code/{code}"))
    drive = {"drive_preset": "modern_tlc", "ecc": {"code": "code.toml"}}
    first = ids(Study(drive, JOB))
    (folder / "other.toml").write_text(nandlab.show(f"code/{code}"))
    drive["ecc"] = {"code": "other.toml"}
    assert ids(Study(drive, JOB)) == first


def test_options_of_jobs(folder: Path):
    text = "[global]\nbs=8k\n[a]\nrw=read\n# end\n[b]\nrw=read\nbs=16k\nstonewall\n"
    axes = {"job.bs": ["4k"], "job.b.number_ios": [7], "job.number_ios": [9]}
    study = swept(Study("tiny", text, axes=axes))
    ((_, report),) = study.reports()
    of_job = {job["jobname"]: job["read"] for job in report["jobs"]}
    # The later axis holds where both set an option.
    assert {name: job["total_ios"] for name, job in of_job.items()} == {"a": 9, "b": 9}
    assert {name: job["io_bytes"] for name, job in of_job.items()} == {"a": 36864, "b": 36864}


# --- Rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precondition", some(["steady", "none", "fill", "rested"]))
def test_rows_are_those_of_separate_runs(precondition: str):
    """To the bit, though points share one preconditioned drive."""
    study = small(precondition=precondition, replicates=2, seed=5).run(workers=2)
    found = {
        (axes["ftl.overprovisioning"], axes["job.iodepth"], axes["replicate"]): report
        for axes, report in study.reports()
    }
    assert len(found) == 8
    for spare, depth in {(spare, depth) for spare, depth, _ in found}:
        whole = {
            "drive": "tiny",
            "workload": JOB.replace("iodepth=8", f"iodepth={depth}"),
            "precondition": precondition,
            "set": {"ftl.overprovisioning": spare},
            "seed": 5,
        }
        alone = nandlab.run(**whole).to_dict()
        for job in (*alone["jobs"], *found[spare, depth, 0]["jobs"]):
            job.pop("job options")
        assert of_machine(found[spare, depth, 0]) == of_machine(alone)
        # Replicates are those of one run with replicates.
        figures = nandlab.run(**whole, replicates=2).report.replicates.figures
        second = found[spare, depth, 1]
        assert second["nandlab"]["seed"] == 6
        assert second["host"]["iops"] == figures["host.iops"].each[1]
        assert (
            second["ftl"]["gc_copies"] == figures.get("ftl.gc_copies", {"each": [0, 0]})["each"][1]
        )


def test_one_preconditioning_for_many_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    calls: list[str] = []
    whole = nandlab.Drive.precondition

    def counted(drive: nandlab.Drive, state: str, **given: Any) -> nandlab.Drive:
        calls.append(state)
        return whole(drive, state, **given)

    monkeypatch.setattr(nandlab.Drive, "precondition", counted)
    study = small(tmp_path / "s", axes={"job.iodepth": list(range(1, 11))}, precondition="steady")
    swept(study)
    assert calls == ["steady"]
    assert study.tally.done == 10
    assert not (tmp_path / "s" / work.STATES).exists()


def test_a_saved_drive_that_is_damaged_is_made_anew(tmp_path: Path):
    study = small(tmp_path, axes={"job.iodepth": [3]})
    (task,) = tasks(study)
    folder = tmp_path / work.STATES
    folder.mkdir()
    (folder / f"{task.state}.nldrive").write_bytes(b"not a drive")
    vars(work._own).clear()
    assert swept(study).tally.done == 1


def test_resume_does_only_what_is_new(tmp_path: Path):
    assert swept(small(tmp_path)).tally.done == 4
    again = swept(small(tmp_path))
    assert (again.tally.done, again.tally.known) == (0, 4)
    wider = small(tmp_path, axes={"job.iodepth": [1, 8, 16], "ftl.overprovisioning": [0.3, 0.2]})
    swept(wider)
    assert (wider.tally.done, wider.tally.known) == (2, 4)
    more = swept(small(tmp_path, replicates=2))
    assert (more.tally.done, more.tally.known) == (4, 4)
    assert len({row["id"] for row in lines(tmp_path)}) == len(lines(tmp_path)) == 10
    # Each study sees its own points only.
    assert [study.frame().num_rows for study in (again, wider, more)] == [4, 6, 8]


def test_new_columns_need_no_run(tmp_path: Path):
    swept(small(tmp_path))
    wanted = small(tmp_path, columns=["waf = ftl.write_amplification", "half = host.iops / 2"])
    swept(wanted)
    assert (wanted.tally.done, wanted.tally.known) == (0, 4)
    before = small(tmp_path).frame()["iops"].to_pylist()
    assert wanted.frame()["half"].to_pylist() == [value / 2 for value in before]
    # Without reports they do.
    swept(small(tmp_path / "lean", reports=False))
    lean = swept(small(tmp_path / "lean", reports=False, columns=["events = sim.events"]))
    assert lean.tally.done == 4
    assert all("report" not in row for row in lines(tmp_path / "lean"))
    assert len(small(tmp_path / "lean").frame()) == 4


def test_concatenation_merges_and_a_torn_line_loses_itself_alone(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    swept(small(one, axes={"ftl.overprovisioning": [0.2], "job.iodepth": [1, 8]}))
    swept(small(two, axes={"ftl.overprovisioning": [0.3], "job.iodepth": [1, 8]}))
    whole = small(one)
    assert whole.facts() == {"points": 4, "results": 2, "failed": 0, "left": 2}
    (first,), (second,) = [list((folder / ROWS).iterdir()) for folder in (one, two)]
    # The second machine's rows behind a line of the first that was cut short.
    text = first.read_bytes()
    first.write_bytes(text[: -len(text) // 4] + second.read_bytes())
    assert whole.facts()["results"] == 3
    assert len(whole.rows().damaged) == 1
    assert whole.rows().damaged[0].startswith(f"{first.name}:")
    assert swept(whole).tally.done == 1
    assert whole.frame().num_rows == 4
    # As files side by side, in any order, and twice.
    (one / ROWS / "zz.jsonl").write_bytes(second.read_bytes())
    assert swept(small(one)).tally.done == 0


def test_lines_that_are_no_rows(tmp_path: Path):
    (tmp_path / ROWS).mkdir()
    bad = b'\xff\xfe\n{"id": 3}\n[]\nnull\n{"id": "zz", "axes": {}, "version": ""}\n{"a": \n\n \n'
    (tmp_path / ROWS / "bad.jsonl").write_bytes(bad)
    rows = Rows(tmp_path)
    assert len(rows) == 0
    assert rows.damaged == [f"bad.jsonl:{line}" for line in range(1, 7)]
    assert swept(small(tmp_path)).tally.done == 4


def test_a_point_that_fails_is_a_row(tmp_path: Path):
    axes = {"drive.channels": [2, 0], "job.iodepth": [4, 0, 8]}
    study = swept(small(tmp_path, axes=axes))
    assert (study.tally.done, study.tally.failed) == (2, 4)
    rows = study.frame().to_pylist()
    assert [
        (row["drive.channels"], row["job.iodepth"]) for row in rows if row["error"] is None
    ] == [(2, 4), (2, 8)]
    errors = [row["error"] for row in rows if row["error"] is not None]
    assert sum("drive.channels" in error for error in errors) == 3
    assert all("\n" not in error for error in errors)
    assert [row["iops"] for row in rows if row["error"] is not None] == [None] * 4
    # It would be refused again, so that it is not tried again, unless that is wanted.
    assert swept(small(tmp_path, axes=axes)).tally.known == 6
    retried = small(tmp_path, axes=axes).run(executor=InThisProcess(), workers=1, retry=True)
    assert (retried.tally.done, retried.tally.failed) == (0, 4)
    assert study.frame().num_rows == 6


def test_what_the_machine_did_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_given: Any) -> Any:
        raise MemoryError("none left")

    with monkeypatch.context() as patched:
        patched.setattr(work, "_report", full)
        failed = swept(small(tmp_path))
        assert failed.tally.failed == 4
        assert failed.errors() == ["MemoryError: none left"]
    assert swept(small(tmp_path)).tally.done == 4
    assert small(tmp_path).errors() == []


def test_means_and_intervals(tmp_path: Path):
    study = swept(small(tmp_path, axes={"job.iodepth": [1, 8]}, replicates=4))
    one = study.means()[0]
    of_runs = [r["iops"] for r in study.records() if r["job.iodepth"] == 1]
    assert one["replicates"] == len(of_runs) == 4
    mean = sum(of_runs) / 4
    assert one["iops"] == pytest.approx(mean)
    # Student's t of 3 degrees of freedom: 3.1824.
    spread = (sum((value - mean) ** 2 for value in of_runs) / 3) ** 0.5
    assert one["iops_high"] - mean == pytest.approx(3.182446 * spread / 2, rel=1e-5)
    assert one["iops_low"] < mean < one["iops_high"]


def test_tables(tmp_path: Path):
    columns = ["iops = host.iops", "metric = settled.metric", "busy = channels.busy_fraction"]
    axes: dict[str, Any] = {"gc.name": ["greedy", "fifo"], "job.iodepth": [1, 8]}
    study = swept(small(tmp_path, axes=axes, columns=columns))
    table = study.frame()
    names = ["id", "replicate", *axes, "iops", "metric", "busy", "doubts"]
    names += ["few_beyond", "error", "wall_s"]
    assert table.column_names == names
    kinds = dict(zip(names, map(str, table.schema.types), strict=True))
    assert (kinds["job.iodepth"], kinds["iops"], kinds["metric"]) == ("int64", "double", "string")
    assert all(0 <= share <= 1 for share in json.loads(table["busy"][0].as_py()))
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "results.parquet").equals(table)
    best = study.sql('select "gc.name", count(*) n from points group by 1 order by 1')
    assert best.to_pylist() == [{"gc.name": "fifo", "n": 2}, {"gc.name": "greedy", "n": 2}]
    with refused("sql"):
        study.sql("select nothing from points")


def test_figures_that_do_not_exist_are_empty():
    """A point without reads has no latency of reads, which would be the best of all."""
    columns = {
        "p99": "host.read.latency_us.p99",
        "ms": "host.read.latency_us.p99 / 1000",
        "fio": "jobs[0].read.lat_ns.percentile['99.000000']",
        "mean": "host.read.latency_us.mean",
    }
    axes = {"job.rwmixread": [50, 0]}
    mixed, writes = swept(small(axes=axes, columns=columns)).frame().to_pylist()
    assert [writes[name] for name in columns] == [None] * 4
    assert writes["few_beyond"] is None
    # 1,000 reads: ten of them, or a few less, lie beyond.
    assert mixed["p99"] > 0
    few = small(axes={"job.number_ios": [400]}, columns=columns, replicates=2)
    (row,) = swept(few).means()
    assert row["few_beyond"] == "p99, ms, fio"
    assert row["p99"] > 0
    # Of fewer than a hundred reads no request exceeds it.
    (row,) = swept(small(axes={"job.number_ios": [100]}, columns=columns)).means()
    assert (row["p99"], row["few_beyond"]) == (None, None)
    assert row["mean"] > 0


def test_means_come_as_axes_were_given():
    axes: dict[str, Any] = {"job.iodepth": [8, 1], "gc.name": ["greedy", "fifo"]}
    rows = swept(small(axes=axes, replicates=2)).means()
    given = [(8, "greedy"), (8, "fifo"), (1, "greedy"), (1, "fifo")]
    assert [(row["job.iodepth"], row["gc.name"]) for row in rows] == given


def test_temporary_folder_goes_with_its_study():
    study = small(axes={"job.iodepth": [1]})
    out = study.out
    swept(study)
    assert out.is_dir()
    del study
    assert not out.exists()


@pytest.fixture(autouse=True)
def _drives_of_one_test() -> Iterator[None]:
    vars(work._own).clear()
    yield
    vars(work._own).clear()


def test_a_task_can_be_sent(tmp_path: Path):
    import pickle

    task = next(next(Tasks(small().given, str(tmp_path)).batches()).tasks)
    assert pickle.loads(pickle.dumps(task)) == task
    assert len(pickle.dumps(task)) < 3000


HOOKS = '''"""Hooks of a test."""
from nandlab.ftl import PageHooks


class Mine(PageHooks):
    """Takes the emptiest block."""

    def victim(self, die, blocks, valid, ages):
        """The emptiest."""
        return int(blocks[valid.argmin()])
'''


def test_an_ftl_in_python(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Workers read its file; the text of the class is part of the identity."""
    (folder / "my_ftl.py").write_text(HOOKS)
    study = small(folder / "out", axes={"job.iodepth": [1, 4]}, ftl="my_ftl.py").run(workers=2)
    assert study.tally.done == 2
    monkeypatch.syspath_prepend(folder)
    from my_ftl import Mine  # type: ignore[import-not-found]

    job = JOB.replace("iodepth=8", "iodepth=4")
    alone = nandlab.run("tiny", job, precondition="fill", ftl=Mine)
    assert [row["iops"] for row in study.records()][1] == alone.iops
    before = ids(study)
    (folder / "my_ftl.py").write_text(HOOKS.replace("argmin()])", "argmin()])  # changed"))
    changed = small(folder / "out", axes={"job.iodepth": [1, 4]}, ftl="my_ftl.py")
    assert not set(ids(changed)) & set(before)
    with refused("none.py"):
        swept(small(ftl="none.py"))
