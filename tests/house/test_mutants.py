"""Mutants: every one fits the tree, and sleeps in its copy until it is named."""

import json
from pathlib import Path

import pytest
from conftest import ROOT
from mutants.copy import make
from mutants.list import Mutant, Refused, problems, read
from mutants.schema import applied, with_switch
from mutants.suite import Bench
from suite.rust import told

RUST = "fn sum(a: u32, b: u32) -> u32 {\n    count += 1;\n    a + b\n}\n"
SUM = Mutant("sum-sign", "crates/ssd/src/sum.rs", "a + b", "a - b", "a sum has a sign", ("x",))
WHOLE = (
    "[[mutant]]\nname = 'a'\nfile = 'a.rs'\nold = 'a + b'\nnew = 'a - b'\nwhy = ''\n"
    "suites = ['x']\nkind = 'statement'\n"
)
COUNT = SUM._replace(name="no-count", old="count += 1;", new="", kind="statement")


def test_the_list_fits_the_tree():
    assert list(problems(ROOT)) == []


def test_both_forms_stand_in_the_text():
    text = applied(RUST, [SUM, COUNT])
    assert '(if ::base::mutant::is("sum-sign") { a - b } else { a + b })' in text
    assert '    if ::base::mutant::is("no-count") {  } else { count += 1; }\n' in text
    assert "crate::mutant::is" in applied(RUST, [SUM._replace(file="crates/base/src/sum.rs")])
    assert with_switch("//! x\n\npub mod a;\n") == "//! x\n\npub mod mutant;\npub mod a;\n"


def test_python_asks_its_variable(monkeypatch: pytest.MonkeyPatch):
    one = SUM._replace(file="python/sum.py", old="2 + 3", new="2 - 3")
    text = applied("total = 2 * 2 + 3", [one._replace(old="2 * 2 + 3", new="7 * 7")])
    for awake, total in [("", 7), ("other", 7), ("sum-sign", 49)]:
        monkeypatch.setenv("NANDLAB_MUTANT", awake)
        found: dict[str, int] = {}
        exec(text, found)
        assert found["total"] == total


def test_a_text_that_is_not_there_once_is_refused():
    with pytest.raises(Refused, match=r"sum-sign: .*0 times in crates/ssd/src/sum.rs"):
        applied("fn none() {}\n", [SUM])
    with pytest.raises(Refused, match="2 times"):
        applied(RUST + RUST, [SUM])
    # A text around it tells which one is meant.
    twice = applied(RUST + "a + b + c", [SUM._replace(within="a + b + c")])
    assert twice.startswith(RUST)
    assert twice.endswith(" + c")
    with pytest.raises(Refused, match="overlap"):
        applied(RUST, [SUM, SUM._replace(name="other", old="a + b\n", new="b\n")])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no mutant"),
        ("[[mutant]]\nname = 'a'\n", "a: no file, new, old, suites, why"),
        (WHOLE.replace("a - b", "a + b"), "is the same"),
        (WHOLE.replace("'statement'", "'pattern'"), "expression, statement"),
        (WHOLE.replace(".rs", ".py"), "expected: an expression"),
        (WHOLE + WHOLE, "2 mutants of this name"),
        (WHOLE + "more = 1\n", "unknown key more"),
    ],
)
def test_lists_that_are_refused(text: str, problem: str):
    with pytest.raises(Refused, match=problem):
        read(text)


def test_a_copy_needs_a_new_folder(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="is not empty"):
        make(tmp_path, ROOT)


def test_a_part_without_tests_is_no_pass(tmp_path: Path):
    """As are a failure, a signal and an endless test."""
    script = tmp_path / "tests"
    script.write_text(
        "#!/bin/sh\ncase $NANDLAB_MUTANT$1 in\n"
        "none) echo 'running 0 tests'; echo 'test result: ok. 0 passed' ;;\n"
        "bad*) echo 'test a::b ... FAILED'; exit 101 ;;\n"
        "late*) sleep 100 ;;\n"
        "*) echo 'test result: ok. 3 passed' ;;\nesac\n"
    )
    script.chmod(0o755)
    message = {
        "reason": "compiler-artifact",
        "profile": {"test": True},
        "executable": str(script),
        "target": {"kind": ["lib"], "name": "x"},
        "package_id": "path+file:///x#nandlab-x@0.1.0",
        "manifest_path": str(tmp_path / "Cargo.toml"),
    }
    messages = ["Finished", '{"reason": "build-finished"}', json.dumps(message)]
    bench = Bench(tmp_path, told(messages), 1)
    for suite, mutant, how, test in [
        ("cargo:nandlab-x:lib:some", "", "passed", ""),
        ("cargo:nandlab-x:lib:none", "", "empty", ""),
        ("cargo:nandlab-x:lib", "bad", "failed", "a::b"),
        ("cargo:nandlab-x:lib", "late", "timeout", ""),
    ]:
        outcome = bench.run(suite, mutant, 0.5 if mutant == "late" else 60.0)
        assert (outcome.how, outcome.test) == (how, test), outcome
    with pytest.raises(Refused, match="cargo:nandlab-x:main:some"):
        bench.run("cargo:nandlab-x:main:some", "", 1.0)
