"""FTLs in Python as values of an axis: beside members, on workers, told apart by their names."""

from __future__ import annotations

import concurrent.futures
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended, refused

import nandlab
from nandlab import Study
from nandlab.ftl import PageHooks
from nandlab.study.own_ftl import StudyFtl, Unsent
from tests.study.test_sweep import InThisProcess, ids, lines, swept

JOB = "[w]\nrw=randwrite\nnorandommap\niodepth=8\nnumber_ios=1000\n"
SMALL = {"chip.geometry.blocks_per_plane": 32}

FILE = '''"""FTLs of a test."""

from nandlab.ftl import PageHooks


class Emptiest(PageHooks):
    """Takes the emptiest block."""

    def victim(self, plane, blocks, valid, age):
        """The emptiest."""
        return int(blocks[valid.argmin()])


class Second(PageHooks):
    """Takes the emptiest block but one."""

    def victim(self, plane, blocks, valid, age):
        """The second."""
        return int(blocks[valid.argsort()[min(1, len(valid) - 1)]])
'''


class Oldest(PageHooks):
    """Takes the block that was full first, with a parameter that nothing depends on."""

    def __init__(self, mark: object = 0) -> None:
        self.mark = mark

    def victim(self, plane: int, blocks: Any, valid: Any, age: Any) -> int:
        """The oldest that gains something."""
        gains = valid < valid.max() if valid.min() < valid.max() else valid == valid
        return int(blocks[(age * gains).argmax()])


def study(values: Any, out: Path | None = None, **changes: Any) -> Study:
    given: dict[str, Any] = {
        "axes": values if isinstance(values, dict) else {"ftl.name": values},
        "columns": ["wa = ftl.write_amplification", "named = nandlab.config.ftl.name"],
        "precondition": "fill",
        "set": SMALL,
        "out": out,
    }
    return Study("tiny", JOB, **(given | changes))


@pytest.fixture
def file(folder: Path) -> Path:
    """A file with two FTLs."""
    (folder / "two.py").write_text(FILE)
    return folder / "two.py"


def test_members_classes_and_files_in_one_table(file: Path):
    found = study(["dftl", Oldest, "page", "two.py:Second"]).run(workers=1)
    rows = list(found.records())
    # In the order in which they were given, by the names that the reports have.
    assert [row["ftl.name"] for row in rows] == ["dftl", "Oldest", "page", "Second"]
    assert all(row["named"] == row["ftl.name"] for row in rows)
    # The rows are those of separate runs.
    alone = nandlab.run("tiny", JOB, set=SMALL, precondition="fill", ftl=Oldest)
    assert rows[1]["wa"] == alone.write_amplification
    assert found.frame()["ftl.name"].to_pylist() == ["dftl", "Oldest", "page", "Second"]


def test_a_study_goes_on_and_a_changed_class_is_run_again(file: Path, tmp_path: Path):
    values = ["page", "two.py:Emptiest", "two.py:Second"]
    swept(study(values[:2], tmp_path / "out"))
    wider = swept(study(values, tmp_path / "out"))
    assert (wider.tally.known, wider.tally.done) == (2, 1)
    named = sorted(row["axes"]["ftl.name"] for row in lines(wider.out))
    assert named == ["Emptiest", "Second", "page"]
    before = ids(wider)
    file.write_text(FILE.replace("argmin()])", "argmin()])  # changed"))
    changed = ids(study(values, tmp_path / "out"))
    assert [a == b for a, b in zip(before, changed, strict=True)] == [True, False, True]


def test_variants_tell_ftls_of_one_name_apart(file: Path):
    variants = {
        "one": {"ftl.name": Oldest(1)},
        "two": {"ftl.name": Oldest(2), "ftl.overprovisioning": 0.5},
        "member": {"ftl.name": "two.py:Second"},
        "plain": {"ftl.name": "fast", "ftl.log_blocks": 0},
    }
    wanted = ["mark = nandlab.config.ftl.own.attributes.mark", "wa = ftl.write_amplification"]
    # Of a drive without preconditioning, which stays in memory between points.
    found = swept(study({"ftl": variants}, columns=wanted, precondition="none"))
    assert [row["ftl"] for row in found.records()] == list(variants)
    assert [row["mark"] for row in found.records()] == [1, 2, None, None]
    assert len(set(ids(found))) == 4
    for values in ([Oldest, "page", Oldest(1)], [Oldest, "Oldest"], ["two.py:Second"] * 2):
        with refused("two FTLs", "variants"):
            study(values)


def test_what_is_set_at_all_points_is_no_other_ftl(file: Path):
    """As of every axis: its values hold."""
    found = swept(study(["page", Oldest], set={**SMALL, "ftl.name": "fast"}))
    assert [row["named"] for row in found.records()] == ["page", "Oldest"]


def test_a_class_of_a_whole_study():
    found = swept(study({"job.iodepth": [1, 2]}, ftl=Oldest))
    assert [row["named"] for row in found.records()] == ["Oldest", "Oldest"]
    with refused("ftl", "ftl.name"):
        study(["page"], ftl=Oldest)
    with refused("ftl", "'page'", "ftl.name"):
        study({"job.iodepth": [1]}, ftl="page")


def test_replicates_of_an_ftl():
    found = swept(study([Oldest, "page"], replicates=2, precondition="steady"))
    assert [row["replicates"] for row in found.means()] == [2, 2]
    assert all(row["wa_low"] < row["wa"] < row["wa_high"] for row in found.means())


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ([int], ["int"]),
        (["none.py"], ["none.py"]),
        (["two.py"], ["two.py:"]),
        (["two.py:Secnd", "page"], ["`Secnd`", "`Second`"]),
        ([Oldest, 3], ["ftl.name", "3"]),
        ([PageHooks], ["PageHooks"]),
        ({"ftl": ["page"]}, ["ftl.name"]),
        ({"a": {"b": {"ftl.name": "none.py"}}}, ["axis a.b", "none.py"]),
    ],
)
def test_what_is_refused(values: Any, parts: list[str], file: Path):
    with refused(*parts):
        study(values)


# --- Classes that are sent ------------------------------------------------------------------------


def test_a_class_that_cannot_be_sent(tmp_path: Path):
    """Said at once, and the study leaves no rows; what shares memory takes any class."""

    class Locked(Oldest):
        def __deepcopy__(self, memo: dict[int, Any]) -> Locked:
            return Locked(0)

    given = study(["page", Locked(threading.Lock())], tmp_path / "out")
    with refused("ftl", "`Locked`", "workers", "FILE.py:CLASS"):
        given.run(workers=1)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        given.run(executor=threads, workers=1)
    assert [row["error"] for row in given.records()] == [None, None]


def test_a_local_class_needs_cloudpickle(monkeypatch: pytest.MonkeyPatch):
    class Local(Oldest):
        pass

    own = StudyFtl.of("ftl", Local, Path())
    if "cloudpickle" in sys.modules or __import__("importlib").util.find_spec("cloudpickle"):
        sent = pickle.loads(pickle.dumps(own))
        assert (sent.name, sent.load().facts) == ("Local", own.load().facts)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(Unsent, match="Local"):
        pickle.dumps(StudyFtl.of("ftl", Local, Path()))


def test_a_worker_with_another_class_of_that_name(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A worker that has lived long may have an older text of a module: no row is made with it."""
    (folder / "mine_of_test.py").write_text(FILE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    from mine_of_test import Emptiest  # type: ignore[import-not-found]

    sent = pickle.dumps(StudyFtl.of("ftl", Emptiest, Path()))
    assert pickle.loads(sent).load().name == "Emptiest"
    (folder / "mine_of_test.py").write_text(FILE.replace("emptiest.", "emptiest one."))
    del sys.modules["mine_of_test"]
    with pytest.raises(Unsent, match="mine_of_test"):
        pickle.loads(sent).load()
    del sys.modules["mine_of_test"]
    (folder / "mine_of_test.py").unlink()
    # It is unpacked late: a worker that cannot do it does not die.
    here = pickle.loads(sent)
    with pytest.raises(Unsent, match="Emptiest"):
        here.load()


SCRIPT = """
import sys

sys.modules["cloudpickle"] = None
import nandlab
from nandlab.ftl import PageHooks

Mine = type("Mine", (PageHooks,), {"victim": lambda self, plane, blocks, valid, age: blocks[0]})
if __name__ == "__main__":
    Mine.__module__ = "of_nowhere"
    sys.modules["of_nowhere"] = sys.modules["__main__"]
    axes = {"ftl.name": ["page", Mine]}
    nandlab.Study("tiny", "[w]\\nrw=read\\nnumber_ios=9\\n", axes=axes, out="out").run(workers=1)
"""


def test_a_class_that_workers_do_not_find(folder: Path):
    """The study is refused with the reason; the worker lives, and nothing waits."""
    (folder / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    said = ended.stderr.splitlines()[-1]
    assert "NandlabError" in said
    assert "`Mine`" in said
    assert "of_nowhere" in said


# --- In files and commands ------------------------------------------------------------------------

STUDY = """
drive = "tiny"
columns = ["wa = ftl.write_amplification"]
run.workload = "job.fio"
run.precondition = "fill"
set."chip.geometry.blocks_per_plane" = 32
[[axis]]
path = "ftl.name"
values = ["page", "../two.py:Second"]
"""


def test_commands(nandlab: Callable[..., Ended], file: Path):
    inner = file.parent / "inner"
    inner.mkdir()
    (inner / "study.toml").write_text(STUDY)
    (inner / "job.fio").write_text(JOB)

    def names(*arguments: str) -> list[str]:
        line = ["sweep", "inner/study.toml", "--workers", "1", "--quiet", "--json", "-"]
        return [row["ftl.name"] for row in json.loads(nandlab(*line, *arguments).succeeded().out)]

    # Paths begin at the folder of the study in its file, and where one is on the command line.
    assert names() == ["page", "Second"]
    assert names("--ftl", "two.py:Emptiest", "--ftl", "page") == ["Emptiest", "page"]
    nandlab("sweep", "inner/study.toml", "--ftl", "two.py:Emtiest").refused("`Emptiest`")
    file.write_text(FILE + "\n1 / 0\n")
    ended = nandlab("sweep", "inner/study.toml")
    assert ended.code == 2
    assert "ZeroDivisionError" in ended.err


def test_a_search_chooses_an_ftl(file: Path, tmp_path: Path):
    pytest.importorskip("optuna", reason="optuna is not installed (extra `search`)")
    axes = {"ftl.name": ["block", "two.py:Emptiest"], "job.iodepth": [1, 2, 4]}

    def found() -> Any:
        given = study(axes, tmp_path / "out", objectives=["min wa"])
        return given.search(8, executor=InThisProcess(), workers=1)

    assert found().best()[0]["ftl.name"] == "Emptiest"
    assert found().tally.done == 0
    # What was told of another text of the class is not told again.
    file.write_text(FILE.replace("argmin()])", "argmin()])  # changed"))
    assert found().tally.done > 0
