"""Fuzzing: a minute of it, laws that catch what they are there for, cases that come again."""

from __future__ import annotations

import copy
import io
import json
import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import MIXED, ROOT, carries
from waiting import until

import nandlab
from nandlab.catalogue import conflicts, roster
from nandlab.report import Report, read

sys.path.insert(0, str(ROOT / "tools"))

from fuzz import campaign, child, keeper, running
from fuzz.case import Case, Command, Damage
from fuzz.inputs import actions, drives, features, kinds, options, traces
from fuzz.inputs.damage import MUTATIONS
from fuzz.inputs.dice import Dice
from fuzz.laws import command, files, report, rows
from fuzz.running import Outcome

SEED = 1


def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """`./lab fuzz` with what is installed here, and what it prints."""
    path = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "fuzz", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        start_new_session=True,
    )


def test_some_of_it(tmp_path: Path, few_or_all: Callable[[int, int], int]):
    """Every law holds; a failure is kept where the message says."""
    count = few_or_all(2, 100)
    # Without signals, and with patience: the same on every machine.
    calm = ("--calm", "--patience", "120")
    process = start("--cases", str(count), "--seed", str(SEED), "--keep", tmp_path, *calm)
    said, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, said
    carries(said, f"{count} cases", "every law held")


def test_ctrl_c_ends_it_with_what_was_found(tmp_path: Path):
    place = tmp_path / "cases"
    place.mkdir()
    long = ("--minutes", "10", "--workers", "2", "--keep", tmp_path / "kept")
    process = start(*long, TMPDIR=str(place))
    seen: set[Path] = set()

    def both_work() -> bool:
        """Whether each worker has the folder of a case, and a case is over."""
        assert process.poll() is None, process.communicate()
        now = set(place.glob("nandlab-fuzz-*"))
        seen.update(now)
        return len(now) == 2 < len(seen)

    try:
        until(both_work, 120, "case that is over")
    finally:
        os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said
    carries(said, "cases")


# --- Cases ---------------------------------------------------------------------------------------


def test_a_number_is_a_case():
    """The same one each time, and another than its neighbour."""
    for number in range(60):
        one, other = kinds.draw(3, number), kinds.draw(3, number)
        assert one == other
        assert one.facts() != kinds.draw(4, number).facts()
        again = Case.of(json.loads(json.dumps(one.facts())), one.files)
        assert again == one


@pytest.mark.long
def test_every_kind_and_every_command_is_drawn():
    drawn = set()
    for name in kinds.KINDS:
        for number in range(80):
            for step in kinds.draw(1, number, name).steps:
                if isinstance(step, Command):
                    drawn |= {" ".join(step.arguments[:words]) for words in (1, 2)}
    assert set(options.commands()) <= drawn


def test_every_two_features_that_go_together_are_drawn():
    """And no others.

    Each pair builds, and each that is left out is refused by a row, or asks for values of one key
    or of two FTLs.
    """
    drawn = {tuple(features.drive(Dice(str(number)))) for number in range(5000)}
    assert drawn == {tuple(features.assignments(*pair)) for pair in features.pairs()}
    whys = [row.why for row in conflicts()]
    for pair in combinations(features.SETS, 2):
        sets = features.assignments(*pair)
        if pair in features.pairs():
            nandlab.Drive("tiny", set=sets)
        elif not features.are_apart(*pair):
            with pytest.raises(nandlab.NandlabError) as caught:
                nandlab.Drive("tiny", set=sets)
            assert any(why in str(caught.value) for why in whys), (pair, caught.value)


def test_tame_drives_have_no_features_that_exclude_each_other():
    for number in range(150):
        dice = Dice(f"drive {number}")
        name, sets = drives.small(dice)
        assert dice.is_wild or not features.are_excluded(name, sets), (number, sets)


def test_the_drives_of_cases_have_two_features():
    """The names are those of the engine, and a drive with a feature has it."""
    known = {name for row in conflicts() for name in (row.feature, row.other)}
    assert set(features.SETS) <= known
    for name in features.SETS:
        assert name in features.brought_by(name), name


def test_every_action_is_drawn_with_the_features_that_it_goes_together_with():
    """The names are those of the engine, but for a custom FTL; each action is tried with others."""
    known = {name for row in conflicts() for name in (row.feature, row.other)}
    assert set(actions.ACTIONS) - known == {"a custom FTL"}
    tried = Counter(name for name, _ in actions.pairs())
    assert min(tried[name] for name in actions.ACTIONS) >= 10, tried
    drawn = set()
    for number in range(3000):
        (step,) = kinds.draw(1, number, "actions").steps
        assert isinstance(step, Command)
        drawn.add((*step.arguments, kinds.draw(1, number, "actions").files.get("given.py")))
    assert len(drawn) == len(actions.pairs())


@pytest.mark.long
@pytest.mark.parametrize("name", actions.ACTIONS)
def test_every_action_is_carried_out_with_features_that_it_goes_together_with(
    name: str, tmp_path: Path
):
    child.prepare()
    for action, feature in actions.pairs():
        if action == name:
            case = Case(1, 0, "actions")
            actions.lay_out(case, action, feature)
            outcomes = running.run(case, tmp_path / feature, lambda: False)
            assert outcomes is not None
            assert [outcome.code for outcome in outcomes] == [0], (feature, outcomes[0].err)


def test_every_format_is_written():
    assert list(traces.WRITERS) == [member.name for member in roster("trace")]


def test_traces_are_read(tmp_path: Path):
    """Those of tame cases: what is refused is refused for its damage."""
    seen = Counter[str]()
    for number in range(250):
        dice = Dice(f"trace {number}")
        form, path, data = traces.file(dice)
        if dice.is_wild:
            continue
        seen[form] += 1
        (tmp_path / path).write_bytes(data)
        info = nandlab.trace_info(tmp_path / path, format=form)
        assert info["requests"] > 0, (form, number)
    assert min(seen[name] for name in traces.WRITERS) > 3, seen


def test_damage_changes_files():
    data = nandlab.show("drive/tiny").encode()
    for mutation in MUTATIONS:
        changed = [mutation(data, Dice(str(number))) != data for number in range(20)]
        assert sum(changed) >= 10, mutation.__doc__
        # And an empty file is no mistake.
        mutation(b"", Dice("1"))


@pytest.mark.long
def test_many_tame_runs_are_accepted(tmp_path: Path):
    """Else nothing but the checks of inputs would be tried."""
    child.prepare()
    codes = []
    for number in range(200):
        if Dice(f"5/{number}").is_wild or len(codes) == 12:
            continue
        case = kinds.draw(5, number, "run")
        outcomes = running.run(case, tmp_path / str(number), lambda: False)
        assert outcomes is not None
        codes += [outcome.code for outcome in outcomes]
    assert codes.count(0) >= len(codes) / 3, codes


# --- Running and keeping -------------------------------------------------------------------------


@pytest.mark.long
def test_what_takes_long_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "PATIENCE_S", 1.5)
    endless = b"[endless]\nrw=randrw\nbs=4k\ntime_based\nruntime=1000000\n"
    words = ["run", "--drive", "tiny", "--workload", "e.fio", "--json", "r.json", "--quiet"]
    for is_fresh in (True, False):
        case = Case(1, 0, "run", {"e.fio": endless}, [Command(words, is_fresh=is_fresh)])
        verdict = campaign.judge(case, lambda: False, tmp_path)
        assert verdict is not None
        assert (verdict.codes, verdict.interrupted, verdict.problems) == ([130], 1, [])


def test_warnings_are_errors():
    """Those of numpy that users would see; not those that Python hides from them."""
    with warnings.catch_warnings():
        child._forbid_warnings()
        with pytest.raises(RuntimeWarning, match="divide"):
            np.float64(1) / np.float64(0)
        warnings.warn("old", DeprecationWarning, stacklevel=1)


def test_memory_has_a_limit(tmp_path: Path):
    words = ["run", "--drive", "tiny", "--set", "chip.geometry.blocks_per_plane=600000"]
    job = {"m.fio": MIXED.encode()}
    case = Case(1, 0, "run", job, [Command([*words, "--workload", "m.fio"])])
    outcomes = running.run(case, tmp_path, lambda: False)
    assert outcomes is not None
    assert outcomes[0].code == 2
    carries(outcomes[0].err, "memory")


def test_a_failure_is_kept_and_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With its inputs, its command lines and its outputs."""

    def nobody_is_pleased(outcome: Outcome) -> Iterator[str]:
        yield f"it said {outcome.code}"

    steps = [
        Command(["save", "--drive", "tiny", "--out", "d.nldrive"]),
        Damage("d.nldrive", "x"),
        Command(["run", "--from", "d.nldrive", "--workload", "m.fio"]),
    ]
    case = Case(7, 5, "saved", {"m.fio": MIXED.encode()}, steps, is_repeated=True)
    with monkeypatch.context() as patched:
        patched.setattr(command, "LAWS", (nobody_is_pleased,))
        verdict = campaign.judge(case, lambda: False, tmp_path)
    assert verdict is not None
    said = ["nobody_is_pleased: it said 0", "nobody_is_pleased: it said 2 (step 1)"]
    assert verdict.problems == said
    folder = tmp_path / "7-5-saved"
    assert verdict.folder == str(folder)
    assert keeper.kept(folder) == case
    assert (folder / "problems.txt").read_text().splitlines() == said
    assert "nandlab save --drive tiny" in (folder / "commands.sh").read_text()
    assert (folder / "step-0" / "files" / "d.nldrive").stat().st_size > 1000
    again = campaign.again(folder, tmp_path / "second")
    assert again is not None
    assert (again.codes, again.problems) == ([0, 2], [])


# --- Laws ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def true_report() -> dict[str, Any]:
    """A report in which every law holds, and which has something of everything."""
    jobs = "[a]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\n[b]\nrw=randtrim\nnumber_ios=50\n"
    sets = {"ecc.model": "threshold"}
    result = nandlab.run("tiny", jobs, precondition="steady", set=sets, tenants=True)
    return result.to_dict()


def broken_of(changed: dict[str, Any]) -> set[str]:
    return {law.__name__ for law in report.LAWS if list(law(Report.of(changed)))}


def test_a_true_report_breaks_no_law(true_report: dict[str, Any]):
    assert broken_of(true_report) == set()


#: Law, path of a number, and what it is changed to.
CHANGES = [
    ("finite", "sim.simulated_s", lambda old: float("nan")),
    ("finite", "nand.reads", lambda old: -1),
    ("fractions", "channels.busy_fraction.0", lambda old: 1.01),
    ("fractions", "ecc.decoders_busy_fraction", lambda old: 800.0),
    ("percentiles", "host.latency_us.p99", lambda old: 0.0),
    ("percentiles", "host.write.latency_us.mean", lambda old: 1e9),
    ("percentiles", "jobs.0.read.lat_ns.percentile.50.000000", lambda old: 10**12),
    ("completions", "host.requests_completed", lambda old: old - 1),
    ("completions", "checks.conservation.expected", lambda old: old + 1),
    ("checks", "checks.little_law_error", lambda old: 0.1),
    ("checks", "checks.conservation.ok", lambda old: False),
    ("units", "checks.conservation.free_units", lambda old: old + 1),
    ("operations", "host.read.requests", lambda old: old + 1),
    ("operations", "host.iops", lambda old: old * 1.01),
    ("operations", "jobs.1.trim.total_ios", lambda old: old - 1),
    ("times", "dies.idle", lambda old: old + 0.01),
    ("times", "host.latency_us.max", lambda old: 1e12),
    ("energy", "nand.energy.read_uj", lambda old: old * 2),
    ("amplification", "ftl.write_amplification", lambda old: old * 0.9),
    ("amplification", "ftl.gc_copies", lambda old: old + 100),
    ("flash", "nand.pe_cycles.mean", lambda old: 1e6),
    ("flash", "ecc.hard_failures", lambda old: 10**9),
    ("flash", "ftl.ram_bytes.total", lambda old: old + 1),
    ("fio_tables", "jobs.0.latency_us.250", lambda old: old + 1),
    ("tenants", "tenants.fairness", lambda old: old / 2),
    ("tenants", "tenants.jobs.1.slowdown", lambda old: old * 1.01),
    ("tenants", "tenants.jobs.0.jobs", lambda old: old + 1),
]


@pytest.mark.parametrize(("law", "path", "change"), CHANGES)
def test_each_law_catches(true_report: dict[str, Any], law: str, path: str, change: Any):
    changed = copy.deepcopy(true_report)
    part: Any = changed
    *way, last = path.replace(".percentile.50.000000", ".percentile.50_000000").split(".")
    for key in way:
        part = part[int(key) if isinstance(part, list) else key]
    key = int(last) if isinstance(part, list) else last.replace("50_", "50.")
    part[key] = change(part[key])
    assert law in broken_of(changed)


def test_every_law_is_tried():
    assert {row[0] for row in CHANGES} == {law.__name__ for law in report.LAWS}


def ended(code: int | None = 0, out: str = "", err: str = "", **more: Any) -> Outcome:
    """A command that has ended."""
    words = more.pop("words", ["show", "tiny"])
    is_interrupted = more.pop("is_interrupted", False)
    return Outcome(Command(words), code, out, err, 1.0, is_interrupted, **more)


#: Law, and an outcome that breaks it.
OUTCOMES = [
    ("ends", ended(None)),
    ("ends", ended(-11)),
    ("ends", ended(1)),
    ("ends", ended(1, words=["sweep", "s.toml"], after={"st/rows/1.jsonl": b'{"values":{}}'})),
    ("ends", ended(1, after={"st/rows/1.jsonl": b'{"error":"x"}'})),
    ("ends", ended(130)),
    ("no_traceback", ended(1, err="Traceback (most recent call last):\n  x\nKeyError: 1\n")),
    ("no_traceback", ended(0, err="thread 'main' panicked at src/x.rs:1\n")),
    ("no_traceback", ended(0, err="x.py:3: RuntimeWarning: overflow\n  x\n")),
    ("refusals", ended(2)),
    ("refusals", ended(2, err="error: a\nerror: b\n")),
    ("refusals", ended(2, err="error: a\nsee also b\n")),
    ("refusals", ended(2, err="error: a\x1b[31m\n")),
    ("refusals", ended(2, err="error: key: ; expected: 1\n")),
    ("refusals", ended(2, err=f"error: {'x' * 100_000}\n")),
    ("interruptions", ended(130, is_interrupted=True)),
    ("interruptions", ended(130, err="interrupted\nerror: x\n", is_interrupted=True)),
    (
        "inputs_are_left",
        ended(before={"a": b"1"}, after={"a": b"2"}, inputs=frozenset({"a"})),
    ),
    ("inputs_are_left", ended(before={"a": b"1"}, after={})),
    ("no_litter", ended(after={"x.part": b""})),
    ("no_litter", ended(2, err="error: x\n", words=["run", "r.json"], after={"r.json": b"{}"})),
    (
        "pairs_go_together",
        ended(
            2,
            err="error: --set gc.copyback: not supported: x\n",
            words=[word for one in features.BASE for word in ("--set", one)],
        ),
    ),
]


@pytest.mark.parametrize(("law", "outcome"), OUTCOMES)
def test_each_law_of_a_command_catches(law: str, outcome: Outcome):
    assert any(problem.startswith(f"{law}: ") for problem in command.broken([outcome]))


@pytest.mark.parametrize("name", ["sweep", "search"])
def test_a_study_with_failed_points_ends_with_1(name: str):
    after = {"st/rows/1.jsonl": b'{"values":{}}\n{"error":"x"}\n'}
    words = [name, "s.toml", "--out", "st"]
    assert list(command.broken([ended(1, words=words, after=after)])) == []


def test_every_law_of_a_command_is_tried():
    assert {law for law, _ in OUTCOMES} == {law.__name__ for law in command.LAWS}


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


SPAN = '{"ph":"X","name":"read","pid":1,"tid":1,"ts":%s,"dur":%s}'
FILES = [
    ("r.json", b'{"rber": NaN}'),
    ("r.json", b'{"rber": 1.5}'),
    ("r.json", b'{"rber": '),
    ("t.json", f'{{"traceEvents":[{SPAN % (0, 5)},{SPAN % (4, 5)}]}}'.encode()),
    ("t.json", f'{{"traceEvents":[{SPAN % (0, -5)}]}}'.encode()),
    ("x.parquet", b"PAR1"),
    ("x.parquet", parquet(rber=[1.5])),
    ("x.parquet", parquet(fer_low=[0.2], fer=[0.1], fer_high=[0.3])),
    ("x.parquet", parquet(bits=[10], bit_errors=[11])),
    ("x.csv", b"rber\n0.1\ninf\n"),
    ("x.toml", b"a = \n"),
    ("p.png", b"\x89PNG\r\n\x1a\n"),
    ("p.svg", b"<svg>"),
    ("p.pdf", b""),
    ("x.base", b""),
    ("t.tex", rb"\begin{tabular}{l} a \\"),
    ("t.tex", b"\\begin{tabular}{ll}\na & b \\\\\nc \\\\\n\\end{tabular}\n"),
]


@pytest.mark.parametrize(("name", "data"), FILES)
def test_each_law_of_a_file_catches(name: str, data: bytes):
    assert list(files.broken(ended(after={name: data})))


def test_a_true_table_for_papers_breaks_no_law():
    table = b"\\begin{tabular}{ll}\na & b \\\\\nc & d \\\\\n\\end{tabular}\n"
    assert not list(files.broken(ended(after={"t.tex": table})))


REQUESTS = {
    "arrival_ns": [0, 5],
    "start_ns": [1, 6],
    "completion_ns": [10, 20],
    "latency_ns": [10, 15],
    "op": ["read", "read"],
    "length_bytes": [512, 512],
    "queue_ns": [1, 2],
    "flash_ns": [3, 4],
    "bus_ns": [1, 1],
    "ecc_ns": [0, 0],
    "measured": [True, True],
}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("start_ns", [0, 4]),
        ("latency_ns", [10, 16]),
        ("completion_ns", [30, 20]),
        ("flash_ns", [30, 4]),
    ],
)
def test_laws_of_requests_catch(column: str, values: list[int]):
    assert list(rows.broken(pa.table(REQUESTS), None)) == []
    assert list(rows.broken(pa.table({**REQUESTS, column: values}), None))


def test_rows_and_report_of_a_run_agree(tmp_path: Path):
    """And where a row is missing they do not."""
    nandlab.run("tiny", MIXED, precondition="fill", requests=tmp_path / "q.parquet").to_json(
        tmp_path / "r.json"
    )
    table = pq.read_table(tmp_path / "q.parquet")
    loaded = read((tmp_path / "r.json").read_text())
    assert list(rows.broken(table, loaded)) == []
    assert list(rows.broken(table.slice(1), loaded))


def test_differences_are_seen():
    one = ended(0, out="a\n", after={"r.json": b'{"sim": {"wall_s": 1, "events": 5}}'})
    clock = ended(0, out="a\n", after={"r.json": b'{"sim": {"wall_s": 2, "events": 5}}'})
    other = ended(0, out="a\n", after={"r.json": b'{"sim": {"wall_s": 1, "events": 6}}'})
    assert list(files.differences([one], [clock])) == []
    assert list(files.differences([one], [other]))
    assert list(files.differences([one], [ended(0, out="b\n", after=one.after)]))
    assert list(files.differences([one], [ended(2, out="a\n", after=one.after)]))
