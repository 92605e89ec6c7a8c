"""The suite's own parts: what has changed, what the Rust harness reports, how a build tells."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


def tool(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_changes_name_crates_files_and_tests():
    """A changed package asks for the tests of its name; a changed test for itself."""
    changed = tool("suite.changes").Changes.of(
        "main",
        [
            "crates/ssd/src/drive/mod.rs",
            "crates/ssd/tests/storm.rs",
            "crates/base/Cargo.toml",
            "python/nandlab/fit/laws.py",
            "python/nandlab/given/refusal.py",
            "tests/fit/test_fit.py",
            "tests/front/test_help.py",
            "docs/ftl.md",
        ],
    )
    assert changed.crates == ["base", "ssd"]
    assert len(changed.python) == 4
    # All of tests/fit, and nothing for a package without tests of its own.
    assert changed.tests == ["tests/fit", "tests/front/test_help.py"]


def test_seconds_of_rust_tests_are_read():
    """Tests that pass, fail or panic on purpose have seconds; what they print has none."""
    printed = """
running 3 tests
test gc::tests::order ... ok <0.021s>
test storm::reads - should panic ... ok <1.500s>
test wear::levels ... FAILED <12.000s>
test ignored ... ignored, takes minutes
validation | a | 1 | 1 | 0.1 | b

test result: FAILED. 2 passed; 1 failed; 1 ignored; finished in 12.02s
"""
    found = tool("suite.rust").tests_of("ssd main", printed)
    assert [(test.seconds, test.name) for test in found] == [
        (0.021, "ssd main gc::tests::order"),
        (1.5, "ssd main storm::reads"),
        (12.0, "ssd main wear::levels"),
    ]


def test_a_step_that_fails_ends_the_suite(capfd: pytest.CaptureFixture[str]):
    """It is named, the steps before it keep their seconds, and none behind it runs."""
    module = tool("suite.steps")
    steps = module.Steps()
    ran = []

    def note() -> bool:
        ran.append("first")
        return True

    steps.one(module.Step("first", note))
    steps.slowest += [module.Test(float(n), f"test {n}") for n in range(12)]
    with pytest.raises(module.Failed):
        steps.together(
            module.Step("second", (sys.executable, "-c", "print('why'); raise SystemExit(1)")),
            module.Step("third", (sys.executable, "-c", "print('fine')")),
        )
    out, err = capfd.readouterr()
    assert ran == ["first"]
    assert "why" in out
    # A function may run beside commands, and tells its failure as they do.
    with pytest.raises(module.Failed):
        steps.together(
            module.Step("fourth", note),
            module.Step("fifth", lambda: False),
            module.Step("sixth", (sys.executable, "-c", "print('said')")),
        )
    out, fifth = capfd.readouterr()
    assert ran == ["first", "first"]
    assert "FAILED: fifth" in fifth
    assert "fourth" in steps.table()
    assert "fifth (failed)" in steps.table()
    assert "sixth" not in steps.table()
    assert "FAILED: second" in err
    table = steps.table()
    assert "second (failed)" in table
    assert "third" not in table
    # The ten slowest, the slowest first.
    assert table.index("test 11") < table.index("test 2")
    assert "test 1\n" not in f"{table}\n"


def test_a_build_tells_how_far_it_is(capfd: pytest.CaptureFixture[str]):
    """Cargo's own line of progress becomes one with seconds; what else it says is kept."""
    engine = tool("engine")
    progress = engine.Progress(start=engine.time.monotonic() - 100)
    line = "    Building [=======>      ] 45/163: serde, syn, toml(build)"
    assert progress.took(line)
    out = capfd.readouterr().err
    assert "45 of 163 crates, 100 s, serde now" in out
    assert progress.took("   Compiling serde v1.0.0")
    assert not progress.took("error[E0308]: mismatched types")


def test_what_is_needed_is_what_the_project_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The demo gets none of the packages of extras."""
    needed = tool("needed")
    monkeypatch.setattr(sys, "argv", ["needed.py", ""])
    needed.main()
    base = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(sys, "argv", ["needed.py", "test"])
    needed.main()
    both = capsys.readouterr().out.splitlines()
    assert both[: len(base)] == base
    assert any(line.startswith("numpy") for line in base)
    for extra in ("optuna", "distributed", "SALib", "pytest"):
        assert not any(line.startswith(extra) for line in base)
        assert any(line.startswith(extra) for line in both)


def test_tools_are_files_of_the_checkout():
    """`./lab` names its programs by path; none of them is gone."""
    lab = (ROOT / "lab").read_text()
    for name in ("tools/needed.py", "tools/engine.py", "tools/ftl_speed.py"):
        assert name in lab
        assert Path(ROOT / name).is_file()
