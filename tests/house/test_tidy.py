"""The tree keeps the house rules, and each rule catches what it is there for."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import carries

ROOT = Path(__file__).resolve().parents[2]


def load_tidy() -> ModuleType:
    """Import tools/tidy.py, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "tools" / "tidy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tidy"] = module
    spec.loader.exec_module(module)
    return module


tidy = load_tidy()

#: A struct, up to the comment of its field.
DIE = "//! Die of a chip.\n\n/// Counts\n/// of a die.\n#[derive(Clone)]\nstruct Die {\n"
#: A small tree that breaks nothing.
MEMBER = """//! `greedy`: the emptiest block first.

pub const MEMBER: Member<Build> =
    Member { name: "greedy", summary: "emptiest first", citation: "a2012" };
"""
ROSTER = """//! Roster of the policies.

pub const ROSTER: &[Member<Build>] = &[greedy::MEMBER];
"""
TWO = ROSTER.replace("[greedy", "[fifo::MEMBER, greedy")
#: Head of a crate that declares the floors of its rooms.
FLOORED = (
    "//! Floor 3 of it.\n//!\n//! 1. `flash`: chips; `gc`:\n//!    victims\n//! 2. `drive`: all\n"
)
GOOD = {
    "Cargo.toml": '[workspace.package]\nversion = "0.1.0"\n',
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n",
    "crates/ssd/Cargo.toml": "[dependencies]\nbase.workspace = true\nnand.workspace = true\n",
    "crates/ssd/src/lib.rs": FLOORED + "\npub use drive::Step;\nuse nand::x; // not host::x\n",
    "crates/ssd/src/gc/mod.rs": ROSTER,
    "crates/ssd/src/gc/contract.rs": "//! Contract of a policy.\n",
    "crates/ssd/src/gc/greedy.rs": MEMBER,
    "crates/ssd/src/gc/greedy/tests.rs": "//! Tests of `greedy`.\n",
    "crates/ssd/src/gc/lists.rs": "//! Lists of blocks, as policies keep them.\n",
    "crates/ssd/src/flash/mod.rs": "//! Room of chips.\n",
    "crates/ssd/src/flash/die.rs": f"{DIE}    /// Totals of the pages.\n    pages: u32,\n}}\n",
    "python/x.py": '"""A file that does nothing."""\n',
    "python/lab/__init__.py": '"""The package of it."""\n',
    "python/lab/report/__init__.py": '"""Room of reports."""\n',
    "python/lab/report/tables.pyi": (
        '"""Tables of reports."""\n'
        "class Report(Table):\n    host: Host | None\n"
        "class Host(Table):\n    iops: float\n    unit_bytes: int\n"
    ),
    "python/lab/run.py": (
        '"""Figures of a run."""\n'
        'rate = run().report.host.iops\nlink = config["host"]["unit_bytes"]\n'
    ),
    "python/lab/trace/__init__.py": '"""Room of traces."""\n',
    "python/lab/trace/table.py": '"""Table of a trace."""\n',
    "tests/a/test_it.py": '"""Tests of the package."""\n',
    "params/CITATIONS.bib": "@article{a2012,\n  year = {2012}\n}\n",
    "params/chips/one.toml": (
        'summary = "with 8 # in it"\ncite = ["a2012"]\n'
        "bits = 2                # cited: a2012 Table 1\n"
        "[timing]\nt_read_us = [1.0, 2.5]  # assumed: order of it\n"
        "wear = [\n  { pe = 0, x = 1.0 },  # derived: from Fig. 2\n]\n"
        'cache_read = true\nname = "x2"\n'
    ),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write the good tree."""
    for path, text in GOOD.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_the_tree_is_tidy() -> None:
    """Of this very checkout."""
    violations = tidy.check(ROOT)
    assert not violations, "\n" + "\n".join(map(str, violations))


def test_the_good_tree_is_tidy(tree: Path) -> None:
    """So that what the next test finds is what it broke."""
    assert tidy.check(tree) == []


def test_every_rule_is_tried() -> None:
    """By at least one row below."""
    assert {row[0] for row in BROKEN} == {
        *(
            "direction",
            "floors",
            "first-line",
            "doc-noun",
            "length",
            "name",
            "parameter",
            "room",
            "tests",
        ),
        *("family", "test-name", "wording", "report", "columns", "leftover", "lint", "changelog"),
    }
    assert len({row[0] for row in BROKEN}) == len(tidy.RULES)


CHIP = GOOD["params/chips/one.toml"]
#: A phrase, in place of the value that it is about.
PINNED = "it has too little " + "spare"
#: Rule, file, its new text (or None: it is removed), and what is said.
BROKEN: list[tuple[str, str, str | None, str]] = [
    ("direction", "crates/ssd/Cargo.toml", "[dependencies]\nhost.workspace = true\n", "uses host"),
    ("direction", "crates/nand/Cargo.toml", '[dependencies]\necc = { path = "" }\n', "uses ecc"),
    ("direction", "crates/ssd/src/lib.rs", "//! Floor 3 of it.\nuse host::x;\n", "uses host"),
    (
        "floors",
        "crates/ssd/src/flash/die.rs",
        DIE + "use crate::{gc::{a, b}, drive::Ssd};\n",
        "flash (floor 1) uses drive (floor 2)",
    ),
    (
        "floors",
        "crates/ssd/src/flash/die.rs",
        DIE + "use super::super::Step;\n",
        "flash (floor 1) uses drive (floor 2)",
    ),
    (
        "floors",
        "crates/ssd/src/lib.rs",
        FLOORED + "pub mod gc;\npub mod log;\n",
        "`log` is on no floor",
    ),
    (
        "floors",
        "crates/ssd/src/lib.rs",
        FLOORED + "//! Up: `a -> b`, `b -> c`, `c -> d`, `d -> e`.\n",
        "4 uses go up",
    ),
    ("first-line", "crates/ssd/src/lib.rs", "use nand::x;\n", "does not say"),
    ("first-line", "crates/ssd/src/lib.rs", "//! Drive.\n", "does not say"),
    ("first-line", "python/x.py", "import os\n", "does not say"),
    ("doc-noun", "crates/ssd/src/flash/die.rs", DIE + "    /// To be read by page.\n", "`To`"),
    ("doc-noun", "crates/ssd/src/flash/die.rs", DIE + "    /// Pages, by row.\n", "3 words"),
    (
        "doc-noun",
        "crates/ssd/tests/x.rs",
        "/// The same\n/// of all pages.\nfn x() {}\n",
        "`The same`",
    ),
    ("length", "crates/ssd/src/lib.rs", "//! Floor 3 of it.\n" * 701, "701 lines"),
    ("name", "python/utils.py", '"""Odds and ends here."""\n', "`utils`"),
    ("name", "crates/ssd/src/common.rs", "//! Odds and ends.\n", "`common`"),
    ("parameter", "params/chips/one.toml", CHIP + "n = 3\n", "number without"),
    ("parameter", "params/chips/one.toml", CHIP + "n = 3  # a guess\n", "number without"),
    ("parameter", "params/chips/one.toml", CHIP + "n = 3  # assumed:\n", "number without"),
    ("parameter", "params/chips/one.toml", CHIP + "n = 3  # cited: b2013 p. 1\n", "`b2013`"),
    ("parameter", "params/chips/one.toml", CHIP.replace("a2012", "a2013"), "`a2013`"),
    ("parameter", "params/chips/one.toml", CHIP.replace("cite =", "site ="), "no `cite`"),
    ("room", "crates/ssd/src/flash/mod.rs", None, "no mod.rs"),
    ("room", "crates/ssd/src/flash.rs", "//! Room of chips.\n", "room flash"),
    ("room", "crates/ssd/src/flash_bus.rs", "//! Bus of chips.\n", "room flash"),
    ("room", "crates/ssd/src/flash/a/b/c/mod.rs", "//! Room far below.\n", "4 folders"),
    ("room", "python/lab/trace/__init__.py", None, "no __init__.py"),
    ("room", "python/lab/trace.py", '"""Traces as files."""\n', "room trace"),
    ("room", "python/lab/trace_plot.py", '"""Picture of a trace."""\n', "room trace"),
    ("tests", "crates/ssd/src/flash/die_tests.rs", "//! Tests of a die.\n", "flash/die/tests.rs"),
    (
        "tests",
        "crates/ssd/src/lib.rs",
        '//! Floor 3 of it.\n#[path = "x.rs"]\nmod y;\n',
        "`#[path]`",
    ),
    ("test-name", "tests/b/test_it.py", '"""Tests of the other."""\n', "tests/a/test_it.py"),
    ("wording", "tests/b/test_x.py", f'"""Tests of it."""\ncarries(e, "{PINNED}")\n', "`it has"),
    ("wording", "tests/b/test_x.py", f'"""Tests of it."""\nraises(E, match="{PINNED}")\n', "`it"),
    *(
        ("report", "python/lab/run.py", f'"""Figures of a run."""\nx = {read}\n', f'["{key}"]')
        for read, key in (
            ('one.to_dict()["host"]', "host"),
            ('report["host"].iops', "host"),
            ('self._report["host"].get(op)', "host"),
            ('found["host"]["iops"]', "iops"),
            ('run.report.host["iops"]', "iops"),
        )
    ),
    (
        "wording",
        "crates/ssd/tests/x.rs",
        f'fn x() {{\n    assert_carries(e, &["gc.d", "{PINNED}"]);\n}}\n',
        "`it has",
    ),
    ("family", "crates/ssd/src/gc/mod.rs", "//! Room of policies.\n", "no ROSTER"),
    ("family", "crates/ssd/src/gc/contract.rs", None, "contract"),
    ("family", "crates/ssd/src/gc/fifo.rs", MEMBER, "roster"),
    ("family", "crates/ssd/src/gc/fifo/mod.rs", MEMBER, "roster"),
    ("family", "crates/ssd/src/gc/mod.rs", TWO, "in fifo"),
    ("family", "crates/ssd/src/gc/greedy.rs", "//! `greedy` picks it.\n", "no MEMBER"),
    ("family", "crates/ssd/src/gc/greedy.rs", MEMBER.replace("a2012", "b"), "cites `b`"),
    ("columns", "crates/ssd/src/lib.rs", "//! Floor 3 of it." + " x" * 42, "102 columns"),
    ("leftover", "crates/ssd/src/lib.rs", "//! Floor 3 of it.\ntodo" + "!()\n", "`todo!`"),
    ("leftover", "python/x.py", '"""A file for it."""\n# FIX' + "ME\n", "`FIX" + "ME`"),
    ("lint", "crates/ssd/src/lib.rs", "//! Floor 3 of it.\n#[allow(unused)]\n", "`unused`"),
    ("changelog", "CHANGELOG.md", None, "no heading"),
    ("changelog", "CHANGELOG.md", "## 0.0.9\n", "no heading"),
]


@pytest.mark.parametrize(("rule", "path", "text", "says"), BROKEN)
def test_each_rule_catches(tree: Path, rule: str, path: str, text: str | None, says: str) -> None:
    """One break, found by its rule and by no other, and printed with its place."""
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    violations = tidy.check(tree)
    assert violations
    assert {violation.rule for violation in violations} == {rule}
    assert any(says in violation.message for violation in violations)
    assert str(violations[0]).startswith(f"{violations[0].path}:{violations[0].line}: {rule}: ")


def test_a_room_is_small(tree: Path) -> None:
    """Sixteen files and no more; a folder of tests is no room."""
    room = tree / "crates/ssd/src/flash"
    for i in range(14):
        (room / f"part{i}.rs").write_text("//! Part of a chip.\n")
    assert tidy.check(tree) == []
    (room / "part14.rs").write_text("//! Part of a chip.\n")
    [violation] = tidy.check(tree)
    carries(violation.message, "17 files", "at most 16")


def test_a_member_may_be_a_room(tree: Path) -> None:
    """With its MEMBER in mod.rs, and other files beside it."""
    fifo = tree / "crates/ssd/src/gc/fifo"
    fifo.mkdir()
    (fifo / "mod.rs").write_text(MEMBER)
    (fifo / "queue.rs").write_text("//! Queue of blocks.\n")
    (tree / "crates/ssd/src/gc/mod.rs").write_text(TWO)
    assert tidy.check(tree) == []


def test_long_files_are_noted(tree: Path) -> None:
    """Between the caps: a note and no error."""
    (tree / "python" / "x.py").write_text('"""A file of lines."""\n' + "\n" * 600)
    assert tidy.check(tree) == []
    assert tidy.long_files(tidy.Tree(tree)) == [("python/x.py", 601)]
