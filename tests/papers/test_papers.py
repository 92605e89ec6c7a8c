"""Papers side by side: verdicts are right, each has tests, a further one is a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Ended, carries, refused
from reproduced import counted

from nandlab.papers import (
    KINDS,
    VERDICTS,
    Expected,
    Outcome,
    Paper,
    Row,
    gains,
    paper,
    papers,
    tally,
)

EXPERIMENTS = ROOT / "experiments"


def test_every_paper_has_its_file_of_tests():
    """`test_NAME.py` beside this one, which runs its witnesses and, with `--full`, all its rows."""
    folder = Path(__file__).parent
    for found in papers(EXPERIMENTS):
        file = folder / f"test_{found.name}.py"
        assert f'name = "{found.name}"' in file.read_text(encoding="utf-8"), file


def of(kind: str, *ours: float, relation: str = "=", printed: float = 1.0, **terms: Any) -> Outcome:
    """A row with these figures, one for each seed."""
    row = Row("x", "a claim", relation, printed, "%", "5.2", "")
    return Outcome("p", row, Expected(kind, **terms), ours)


@pytest.mark.parametrize("name", [found.name for found in papers(EXPERIMENTS)])
def test_the_readme_has_the_counts_of_the_page(name: str):
    """Predicted rows that are met, undecided ones, calibrated rows, contradictions."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    count = counted(name)
    met = f"{count['met']} of {count.total()}"
    apart = [counted(name, kind).total() for kind in ("calibrated", "contradiction")]
    cells = " | ".join(map(str, (met, count["undecided"], *apart)))
    assert re.search(rf"^\| .*\]\(experiments/{name}\)[^|]* \| {cells} \|", readme, re.M), cells


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
    terms = {"relation": relation, "printed": printed, "relative": relative, "absolute": absolute}
    assert of("predicted", ours, **terms).verdict == ("met" if is_met else "not met")
    assert of("bound", ours, **terms).verdict == ("holds" if is_met else "does not hold")


def test_only_predicted_rows_count():
    rows = [of(kind, 1.0) for kind in KINDS]
    assert [each.verdict for each in rows] == ["met", *["holds"] * (len(KINDS) - 1)]
    rows += [of("predicted", 2.0), of("predicted", 0.0, 2.0), of("calibrated", 2.0)]
    assert {each.verdict for each in rows} == set(VERDICTS)
    carries(tally(rows), "10 rows", "1 of 3 predicted met (33.3 %)", "1 not met, 1 undecided")
    carries(tally(rows), "2 calibrated (1 do not hold)", "1 bound,", "2 outside of what")
    assert "%" not in tally(rows[1:2])


@pytest.mark.parametrize(
    ("ours", "half_width", "verdict"),
    [
        # Student's t of 0.975 with one and two degrees of freedom: 12.706 and 4.303.
        ((9.9, 10.1), 12.706 * 0.1, "met"),
        ((8.0, 10.0, 12.0), 4.303 * 2 / 3**0.5, "undecided"),
        ((14.9, 15.1), 12.706 * 0.1, "not met"),
        ((12.9, 13.1), 12.706 * 0.1, "undecided"),
        # Both ends outside of the tolerance, on either side of it, the mean within or not.
        ((5.0, 15.0), 12.706 * 5, "undecided"),
        ((9.0, 19.0), 12.706 * 5, "undecided"),
        ((10.0,), 0.0, "met"),
    ],
)
def test_a_row_of_several_seeds_is_met_only_where_its_interval_is(
    ours: tuple[float, ...], half_width: float, verdict: str
):
    outcome = of("predicted", *ours, printed=10.0, absolute=3.0)
    assert outcome.half_width == pytest.approx(half_width, rel=1e-3)
    assert outcome.verdict == verdict


@pytest.mark.parametrize(
    ("printed", "ours", "own", "verdict"),
    [
        (40, 21, 0, "met"),
        (40, 19, 0, "not met"),
        (-40, -61, 0, "not met"),
        (0.4, -0.5, 0, "met"),
        (0.4, -0.7, 0, "not met"),
        (40, 35, 0.1, "not met"),
        (40, 90, 2.0, "not met"),
    ],
)
def test_a_gain_may_be_off_by_half_or_a_point(
    printed: float, ours: float, own: float, verdict: str
):
    """Or by its own tolerance, if that is less."""
    assert of("predicted", ours, printed=printed, gain="g", relative=own).verdict == verdict


def test_gains_stand_beside_a_model_that_says_that_nothing_changes():
    printed = (0.5, 0.9, 4.0, 30.0)
    rows = [of("predicted", 3.9, printed=gain, gain="some") for gain in printed]
    [line] = gains(rows)
    carries(line, "some", "1 of 4 within", "has 2")


def test_a_reason_holds_in_its_range_only():
    for ours, fails in ((1.9, True), (2.0, False), (2.5, False), (2.6, True), (1.0, False)):
        row = of("predicted", ours, explained="a misprint", explained_range=(2.0, 2.5))
        assert row.fails == fails
    assert of("predicted", 2.0).fails
    assert of("bound", 2.0, relation="<=").fails


# --- A further paper ------------------------------------------------------------------------------

HEADING = "row,claim,relation,paper,unit,place,needs\n"
GOOD = {
    "README.md": "# A paper of our own\n",
    "reference.csv": HEADING + "gain,gain of it,=,2,%,Table 1,\nlater,later,=,3,%,Table 2,board\n",
    "expected.toml": 'gain = { kind = "predicted", relative = 0.1 }\n',
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
    assert re.search(r"gain of it\s+2 %\s+2.5 %\s+10 % of it\s+predicted\s+not met\n", ended.out)
    carries(ended.out, "1 rows", "0 of 1 predicted met (0.0 %)", "1 not met", "1 outside")
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
    (own / "expected.toml").write_text(GOOD["expected.toml"] + 'bytes = { kind = "predicted" }\n')
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


def test_a_random_row_runs_with_several_seeds(nandlab: Callable[..., Ended], own: Path):
    """Its function takes them; those without a number of their own have that of the file."""
    (own / "run.py").write_text("def gain(seed):\n    return 1.9 + 0.1 * seed\n")
    (own / "expected.toml").write_text("seeds = 3\n" + GOOD["expected.toml"])
    [outcome] = paper("mine2026", own.parent).run()
    assert outcome.figures == pytest.approx((2.0, 2.1, 2.2))
    said = nandlab("papers", "mine2026", "--folder", own.parent, "--json", "-").succeeded()
    [report] = said.json
    assert report["rows"][0]["ours"] == pytest.approx(2.1)
    assert report["rows"][0]["by_seed"] == pytest.approx([2.0, 2.1, 2.2])
    assert report["rows"][0]["half_width_95"] == pytest.approx(0.2484, rel=1e-3)
    assert report["rows"][0]["verdict"] == "undecided"


def test_the_longest_pattern_that_fits_counts(own: Path):
    text = """
"*" = { kind = "bound" }
"g*n" = { kind = "predicted", relative = 0.5 }
"g*" = { kind = "calibrated" }
"""
    (own / "expected.toml").write_text(text)
    [outcome] = paper("mine2026", own.parent).run()
    assert (outcome.expected.kind, outcome.verdict) == ("predicted", "met")


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
        ("expected.toml", 'gian = { kind = "predicted" }\n', ["`gian`", "`gain`"]),
        ("expected.toml", 'gain = { kind = "predictd" }\n', ["`predictd`", "`predicted`"]),
        (
            "expected.toml",
            'gain = { kind = "predicted", relativ = 1 }\n',
            ["`relativ`", "`relative`"],
        ),
        ("expected.toml", 'gain = { kind = "predicted", absolute = -1 }\n', ["-1", "0 or more"]),
        ("expected.toml", 'gain = { kind = "predicted", explained = "x" }\n', ["range", "both"]),
        (
            "expected.toml",
            'gain = { kind = "bound", explained = "x", explained_range = [2, 1] }\n',
            ["explained_range", "[least, most]"],
        ),
        ("expected.toml", 'gain = { kind = "contradiction" }\n', ["contradiction", "arithmetic"]),
        ("expected.toml", 'gain = { kind = "predicted", seeds = 1.5 }\n', ["seeds", "1.5"]),
        ("expected.toml", 'gain = { kind = "predicted", seeds = 1 }\n', ["seeds", "2 or more"]),
        ("reference.csv", HEADING + "gain,x,<=,2,%,1,\n", ["gain", "predicted", "bound"]),
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
