"""Papers side by side: verdicts are right, each has tests, a further one is a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Ended, carries, refused

from nandlab.papers import KINDS, VERDICTS, Expected, Outcome, Paper, Row, paper, papers, tally
from nandlab.papers.comparison import PROVES_NOTHING

EXPERIMENTS = ROOT / "experiments"


def test_every_paper_has_its_file_of_tests():
    """`test_NAME.py` beside this one, which runs its witnesses and, with `--full`, all its rows."""
    folder = Path(__file__).parent
    for found in papers(EXPERIMENTS):
        file = folder / f"test_{found.name}.py"
        assert f'name = "{found.name}"' in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize(
    ("relation", "printed", "ours", "relative", "absolute", "is_met"),
    [
        ("=", 0.36, 0.3602, 0, 0.005, True),
        ("=", 0.36, 0.365, 0, 0.005, True),
        ("=", 0.36, 0.3651, 0, 0.005, False),
        ("=", 100, 101, 0.01, 0, True),
        ("=", 100, 102, 0.01, 0, False),
        ("=", 22, 22, 0, 0, True),
        ("<=", 90, 82.5, 0, 0, True),
        ("<=", 90, 91, 0, 0, False),
        (">=", 2, 1.9, 0, 0.2, True),
        (">=", 2, 1.5, 0, 0, False),
        ("=", 1, float("nan"), 0.5, 0, False),
    ],
)
def test_verdicts(
    relation: str, printed: float, ours: float, relative: float, absolute: float, is_met: bool
):
    row = Row("x", "a claim", relation, printed, "V", "5.2", "")
    bare, known = (
        Outcome("p", row, Expected("validated", relative, absolute, why), ours)
        for why in ("", "a misprint")
    )
    assert bare.verdict == ("met" if is_met else "not met")
    assert known.verdict == ("met" if is_met else "not met, reason known")


def test_rows_that_prove_nothing_are_not_counted_as_met():
    """Neither is a row whose miss has a reason."""
    row = Row("x", "a claim", "=", 1.0, "V", "5.2", "")

    def of(kind: str, ours: float, why: str = "") -> Outcome:
        return Outcome("p", row, Expected(kind, 0, 0, why), ours)

    rows = [of(kind, 1.0) for kind in KINDS]
    assert [each.verdict for each in rows] == ["met", *PROVES_NOTHING, "met", "met"]
    rows += [of("validated", 2.0, "a misprint"), of("calibrated", 2.0)]
    assert rows[-1].verdict == "not met"
    assert {each.verdict for each in rows} == set(VERDICTS)
    carries(tally(rows), "8 rows", "3 of 5 met", "60.0 %", "1 not met with", "1 not met without")
    carries(tally(rows), "1 calibrated", "1 chosen", "1 given")
    carries(tally(rows[:1]), "1 rows", "1 of 1 met", "100.0 %", "0 not met")
    assert "%" not in tally(rows[1:2])


# --- A further paper ------------------------------------------------------------------------------

HEADING = "row,claim,relation,paper,unit,place,needs\n"
GOOD = {
    "README.md": "# A paper of our own\n",
    "reference.csv": HEADING + "gain,gain of it,=,2,%,Table 1,\nlater,later,=,3,%,Table 2,board\n",
    "expected.toml": 'gain = { kind = "validated", relative = 0.1 }\n',
    "run.py": '"""A paper of our own."""\n\n\ndef gain():\n    return 2.5\n',
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of experiments with one paper in it."""
    folder = tmp_path / "own" / "mine2026"
    folder.mkdir(parents=True)
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    return folder


def test_a_folder_is_all_it_takes(nandlab: Callable[..., Ended], own: Path):
    """And a miss is shown without a failure."""
    ended = nandlab("papers", "mine2026", "--folder", own.parent).succeeded()
    assert "A paper of our own" in ended.out
    assert re.search(r"gain of it\s+2 %\s+2.5 %\s+10 % of it\s+validated\s+not met\n", ended.out)
    carries(ended.out, "1 rows", "0 of 1 met", "0.0 %", "0 not met with", "1 not met without")
    carries(ended.out, "1 wait", "board")


def test_a_contradiction_is_shown_and_no_row(nandlab: Callable[..., Ended], own: Path):
    more = '\n[[contradictions]]\nprinted = "2 % and 3 %"\nwhy = "of one thing"\n'
    (own / "expected.toml").write_text(GOOD["expected.toml"] + more)
    ended = nandlab("papers", "mine2026", "--folder", own.parent).succeeded()
    carries(ended.out, "contradicts", "2 % and 3 %", "of one thing", "1 rows")
    [report] = nandlab("papers", "--folder", own.parent, "--json", "-").succeeded().json
    assert report["contradictions"] == [{"printed": "2 % and 3 %", "why": "of one thing"}]


def test_a_row_runs_where_its_trace_is(nandlab: Callable[..., Ended], own: Path, folder: Path):
    """Its function takes the file, compressed or not; without it the row is said to be absent."""
    row = 'bytes,bytes of it,=,5,,Table 3,"trace real.txt"\n'
    (own / "reference.csv").write_text(GOOD["reference.csv"] + row)
    (own / "expected.toml").write_text(GOOD["expected.toml"] + 'bytes = { kind = "validated" }\n')
    function = "\n\ndef bytes(path):\n    return path.stat().st_size\n"
    (own / "run.py").write_text(GOOD["run.py"] + function)
    traces = folder / "traces"
    traces.mkdir()
    command = ["papers", "mine2026", "--folder", own.parent, "--traces", traces]
    said = " ".join(nandlab(*command).succeeded().out.split())
    carries(said, "1 need", "real.txt", "`--traces`")
    [report] = nandlab(*command, "--json", "-").succeeded().json
    assert [row["name"] for row in report["waiting"]] == ["later", "bytes"]
    for name in ("real.txt.zst", "real.txt"):
        (traces / name).write_text("12345")
        [report] = nandlab(*command, "--json", "-").succeeded().json
        assert report["rows"][1]["ours"] == 5
        assert [row["name"] for row in report["waiting"]] == ["later"]
        (traces / name).unlink()
    nandlab(*command[:-1], folder / "none").refused("no folder", folder / "none")


def test_the_longest_pattern_that_fits_counts(own: Path):
    text = """
"*" = { kind = "reading" }
"g*n" = { kind = "validated", relative = 0.5 }
"g*" = { kind = "calibrated" }
"""
    (own / "expected.toml").write_text(text)
    [outcome] = paper("mine2026", own.parent).run()
    assert (outcome.expected.kind, outcome.verdict) == ("validated", "met")


def test_json(nandlab: Callable[..., Ended], own: Path):
    ended = nandlab("papers", "--folder", own.parent, "--json", "-").succeeded()
    [report] = json.loads(ended.out)
    assert report["paper"] == "mine2026"
    assert report["rows"][0]["verdict"] == "not met"
    assert report["waiting"][0]["name"] == "later"


@pytest.mark.parametrize(
    ("file", "text", "parts"),
    [
        ("reference.csv", "row,claim\n", ["reference.csv:1", "row, claim, relation"]),
        ("reference.csv", HEADING + "gain,x,=,two,%,1,\n", ["reference.csv:2", "paper", "`two`"]),
        ("reference.csv", HEADING + "gain,x,=,nan,%,1,\n", ["`nan`"]),
        ("reference.csv", HEADING + "gain,x,~,2,%,1,\n", ["relation", "`~`"]),
        ("reference.csv", HEADING + "gain,x,=,2\n", ["7 fields"]),
        ("reference.csv", HEADING + "gain,x,=,2,%,1,\n" * 2, ["`gain`", "function", "once"]),
        ("expected.toml", "gain = 1\n", ["no [gain]"]),
        ("expected.toml", "", ["no [gain]"]),
        ("expected.toml", 'gian = { kind = "validated" }\n', ["`gian`", "`gain`"]),
        ("expected.toml", 'gain = { kind = "validatd" }\n', ["`validatd`", "`validated`"]),
        (
            "expected.toml",
            'gain = { kind = "validated", relativ = 1 }\n',
            ["`relativ`", "`relative`"],
        ),
        ("expected.toml", 'gain = { kind = "validated", absolute = -1 }\n', ["-1", "0 or more"]),
        ("expected.toml", "gain = {\n", ["expected.toml:1"]),
        ("expected.toml", "contradictions = 1\n", ["tables", "printed", "why"]),
        (
            "run.py",
            '"""A paper of our own."""\n\n\ndef gian():\n    return 2\n',
            ["run.py", "`gain`", "`gian`"],
        ),
    ],
)
def test_refusals(nandlab: Callable[..., Ended], own: Path, file: str, text: str, parts: list[str]):
    (own / file).write_text(text)
    with refused(*parts):
        list(Paper(own).run())
    ended = nandlab("papers", "mine2026", "--folder", own.parent)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "Traceback" not in ended.err


def test_unknown_papers(nandlab: Callable[..., Ended], own: Path, folder: Path):
    nandlab("papers", "mine2062", "--folder", own.parent).refused("`mine2062`", "`mine2026`")
    empty = folder / "empty"
    empty.mkdir()
    nandlab("papers", "--folder", empty).refused("no papers", empty)
    nandlab("papers", "--plot", "x.png").refused("--plot", "one paper")
