"""The documentation holds: blocks run, links resolve, formats are described, nothing is stale."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from conftest import COMMAND, ROOT, Ended

import nandlab
from nandlab.catalogue import roster
from nandlab.drive.requests import COLUMNS

DOCS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("examples/**/*.md"),
        ROOT / "tests/README.md",
    ]
)
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def tool(name: str) -> ModuleType:
    """A script of tools/, or a module below it."""
    if (folder := str(ROOT / "tools")) not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


def blocks(path: str) -> list[tuple[str, str]]:
    """Language and text of each block."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text(path), re.M | re.S)


def codes(path: str) -> set[str]:
    """Everything that stands in backticks, and its dotted or comma-separated parts."""
    found: set[str] = set()
    for span in re.findall(r"`([^`\n]+)`", text(path)):
        found |= {span, *re.split(r"[.,\s(]+", span)}
    return found


# --- Blocks --------------------------------------------------------------------------------------

WITH_BLOCKS = [path for path in DOCS if {"bash", "python"} & {kind for kind, _ in blocks(path)}]


#: Pages whose blocks take more than three seconds together: they run with `--full`.
LONG_PAGES = {
    "docs/cells.md",
    "docs/error_correction.md",
    "docs/exchange.md",
    "docs/formats/measured.md",
    "docs/formats/report.md",
    "docs/formats/study.md",
    "docs/levels.md",
    "docs/ftl.md",
    "docs/life.md",
    "docs/lint.md",
    "docs/tutorials/1-first-drive.md",
    "docs/tutorials/10-a-flash-cache-under-placement-handles.md",
    "docs/tutorials/2-a-cell-to-an-error-rate.md",
    "docs/tutorials/3-fit-your-own-chip.md",
    "docs/tutorials/4-choose-a-code.md",
    "docs/tutorials/5-why-is-my-tail-high.md",
    "docs/tutorials/6-an-ftl-tonight.md",
    "docs/tutorials/7-the-cheapest-drive.md",
    "docs/tutorials/8-your-own-drive.md",
    "docs/tutorials/9-your-database-on-a-worn-drive.md",
    "docs/years.md",
    "docs/zones.md",
}


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=pytest.mark.long if p in LONG_PAGES else ()) for p in WITH_BLOCKS],
)
def test_blocks_run_and_print_what_they_say(path: str, tmp_path: Path):
    """In order, in one folder; a text block behind another is what that one prints."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    folders = [
        str(Path(found).parent) for found in [shutil.which(COMMAND), sys.executable] if found
    ]
    environment = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}
    printed = ""
    for kind, block in blocks(path):
        if kind == "text" and printed:
            missing = [line for line in block.splitlines() if line.rstrip() not in printed]
            assert not missing, f"{path}: not printed any more: {missing}; printed:\n{printed}"
        printed = ""
        if kind in ("bash", "python"):
            command = ["bash", "-euc"] if kind == "bash" else [sys.executable, "-c"]
            done = subprocess.run(
                [*command, block],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            assert done.returncode == 0, f"{path}:\n{block}\n{done.stdout}\n{done.stderr}"
            printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())


def test_tutorial_shows_what_it_promises():
    """The tutorial compares write amplification with theory, writes files, and says so."""
    tutorial = text("docs/tutorials/1-first-drive.md")
    for promise in ("< 0.05", "test -s trace.png", "result.checks.ok", "did you mean"):
        assert promise in tutorial


# --- Links ---------------------------------------------------------------------------------------


def links(path: str) -> Iterator[str]:
    """Targets of links outside of code."""
    prose = re.sub(r"^```.*?^```", "", text(path), flags=re.M | re.S)
    yield from re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose))


def anchors(path: Path) -> set[str]:
    """Names of the headings of a file, as they are linked to."""
    headings = re.findall(r"^#+\s+(.*)$", path.read_text(encoding="utf-8"), re.M)
    kept = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("path", DOCS)
def test_links_resolve(path: str):
    for link in links(path):
        if re.match(r"https?://", link):
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / path).parent / file if file else ROOT / path
        assert target.exists(), f"{path}: no {link}"
        if anchor:
            assert anchor in anchors(target), f"{path}: no heading {link}"


@pytest.mark.parametrize("path", DOCS)
def test_files_that_are_named_exist(path: str):
    """Paths in backticks that look like files of the repository are there."""
    for span in re.findall(
        r"`((?:crates|params|examples|tools|docs|python)/[\w./*-]+)`", text(path)
    ):
        if path == "CONTRIBUTING.md" and Path(span).stem in EXAMPLES:
            continue
        assert list(ROOT.glob(span)), f"{path}: no {span}"


# --- The report ----------------------------------------------------------------------------------


def test_trace_info_is_described(nandlab: Callable[..., Ended]):
    trace = ROOT / "examples/traces/sqlite_ext4.iolog.zst"
    info = nandlab("trace", "info", trace, "--json", "-").succeeded().json
    assert set(info) <= codes("docs/formats/report.md")


def test_columns_and_spans_are_described():
    known = codes("docs/formats/requests.md")
    assert set(COLUMNS) <= known
    result = nandlab.run("tiny", "[a]\nrw=write\nnumber_ios=100\n", timeline=True)
    assert set(result.series().column_names) <= known
    sources = text("crates/ssd/src/flash/timeline.rs")
    names = re.search(r"SPAN_NAMES[^=]*= \[(.*?)\];", sources, re.S)
    assert names is not None
    spans = set(re.findall(r'"([^"]+)"', names[1]))
    assert len(spans) > 10
    assert spans <= codes("docs/formats/timeline.md")


# --- What goes in --------------------------------------------------------------------------------


def test_every_fio_option_is_described():
    """Supported, ignored and refused: exactly those of the sources."""
    options, ignored = (text(f"crates/host/src/fio/{name}.rs") for name in ("options", "ignored"))
    roster = options[options.index("const ROSTER") : options.index("const HINTS")]
    supported = {
        name
        for names in re.findall(r"(?:value|yes)\(\s*\w+,\s*&\[([^\]]+)\]", roster)
        for name in re.findall(r'"([^"]+)"', names)
    } | {"randrepeat", "allrandrepeat"}
    passed = re.search(r"IGNORED: &\[&str\] = &\[(.*?)\n\];", ignored, re.S)
    assert passed is not None
    refused = dict(re.findall(r'\("([\w_]+)", "([^"]+)"\)', ignored))
    sections = re.split(r"^## ", text("docs/formats/jobs.md"), flags=re.M)
    page = {section.split("\n")[0]: section for section in sections}

    def first_cells(section: str) -> set[str]:
        cells = re.findall(r"^\| (`.*?) \|", page[section], re.M)
        return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}

    assert first_cells("Supported") == supported
    shown = re.findall(r"^\| [^|]+ \| (`.*`) \|", page["Accepted and ignored"], re.M)
    named = {name for cell in shown for name in re.findall(r"`([^`]+)`", cell)}
    assert named == set(re.findall(r'"([^"]+)"', passed[1]))
    assert first_cells("Refused") == set(refused)
    for why in refused.values():
        assert why in page["Refused"]


def test_every_trace_format_and_option_is_described():
    page = text("docs/formats/traces.md")
    rows = re.findall(r"^\| `(\w+)` \| `(.+)`.* \| (yes|no).* \|$", page, re.M)
    assert [name for name, _, _ in rows] == [format.name for format in roster("trace")]
    options = set(nandlab.TraceOptions.__annotations__) | {"format", "iodepth"}
    assert options == set(re.findall(r"^\| `(\w+)` \*? ?\| [^|]+ \| [^|]+ \|$", page, re.M)) - {
        name for name, _, _ in rows
    }


def test_example_lines_of_traces_are_read(nandlab: Callable[..., Ended], folder: Path):
    heads = {
        "fio_iolog": "fio version 3 iolog\n1 /dev/sdb add\n2 /dev/sdb open\n",
        "systor": "Timestamp,Response,IOType,LUN,Offset,Size\n",
    }
    rows = re.findall(
        r"^\| `(\w+)` \| `([^`]+)`.* \| (yes|no)", text("docs/formats/traces.md"), re.M
    )
    assert len(rows) == 14
    for name, line, is_certain in rows:
        if line == "binary":
            continue
        (folder / name).write_text(heads.get(name, "") + line + "\n")
        info = nandlab("trace", "info", name, "--format", name, "--json", "-").succeeded().json
        assert info["requests"] == 1, name
        guessed = nandlab("trace", "info", name)
        assert (guessed.code == 0) == (is_certain == "yes"), name


def test_drive_file_of_the_page_runs(nandlab: Callable[..., Ended], folder: Path):
    (folder / "reads.fio").write_text("[reads]\nrw=randread\nnumber_ios=500\n")
    shown = [block for kind, block in blocks("docs/formats/drive-files.md") if kind == "toml"]
    (folder / "mine.toml").write_text(shown[0])
    report = nandlab("run", "--drive", "mine.toml", "--json", "-").succeeded().json
    assert report["nandlab"]["config"]["drive"]["channels"] == 4


# --- Derived files -------------------------------------------------------------------------------


def test_reference_is_fresh(capsys: pytest.CaptureFixture[str]):
    assert tool("regen").main(["--check", "reference"]) == 0, capsys.readouterr().out


def test_pages_and_types_of_the_report_are_fresh(capsys: pytest.CaptureFixture[str]):
    assert tool("regen").main(["--check", "report", "report_view", "series"]) == 0, (
        capsys.readouterr().out
    )


def test_page_of_the_import_is_fresh(capsys: pytest.CaptureFixture[str]):
    assert tool("regen").main(["--check", "import"]) == 0, capsys.readouterr().out


def test_page_of_the_linter_is_fresh(capsys: pytest.CaptureFixture[str]):
    assert tool("regen").main(["--check", "lint"]) == 0, capsys.readouterr().out


def test_validation_shows_what_the_rust_tests_print(pytestconfig: pytest.Config):
    """Every row passes, and is what they printed when the suite ran them, just before."""
    shown = re.findall(r"^\| .* \| (?:pass|FAIL) \|$", text("docs/validation.md"), re.M)
    assert len(shown) > 200
    assert all(row.endswith("| pass |") for row in shown)
    derived = tool("derived.validation")
    # Papers have their own tests; what is calibrated stands at the end.
    end = "\n".join(["## Calibrated, not validated", "", *derived.calibrated()]).rstrip()
    assert text("docs/validation.md").endswith(f"\n{end}\n")
    if not tool("suite.rust").is_fresh():
        pytest.skip("the Rust tests have not run on these sources: ./lab test runs them before")
    rows = derived.rows_table(derived.rows_of(derived.printed()))[2:-1]
    assert set(rows) <= set(shown)
    # The long tests print the others.
    assert len(rows) > 250
    assert len(rows) == len(shown) or not pytestconfig.getoption("--full")


def test_a_failed_row_is_shown_and_calibrated_ones_are_apart():
    derived = tool("derived.validation")
    good = "test a ... validation | rate, IOPS | 99.5 | 100 | 1e-2 | a formula"
    bad = "validation | write amplification, x | 2 | 1 | 0.01 | another"
    page = "\n".join(derived.sections(derived.rows_of(f"{good}\nnoise\n{bad}\n")))
    assert "2 rows, 1 failed." in page
    assert page.index("## Failed") < page.index("| FAIL |") < page.index("## Times and rates")
    assert "| rate, IOPS | 99.5 | 100 | -0.50 % | 1 % | a formula | pass |" in page
    assert any("zuolo2016_d_tlc" in line for line in derived.calibrated())


# --- The examples of CONTRIBUTING.md -------------------------------------------------------------

#: Files that the examples make, the rosters they go into, and how.
EXAMPLES = {
    "short_rows": ("crates/ssd/src/ftl", [("mod page;", "mod page;\nmod short_rows;")]),
    "window": ("crates/ssd/src/space/gc", [("mod random;", "mod random;\nmod window;")]),
    "plain": ("crates/host/src/trace/format", [("mod msr;", "mod msr;\nmod plain;")]),
}


def copy_where_changed(source: Path, target: Path) -> None:
    """Copies a file; leaves one with the same bytes alone, so that cargo sees no change."""
    if not target.is_file() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def copy_with_examples() -> Path:
    """A copy of the workspace in which each example is a file of its family, in its roster."""
    copy = TARGET.resolve() / "docs-example"
    tracked = ["Cargo.toml", "Cargo.lock"]
    for folder in ("crates", "params"):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        tracked += [path.relative_to(ROOT).as_posix() for path in files]
    members = {
        re.split(r"`", block)[1]: block
        for kind, block in blocks("CONTRIBUTING.md")
        if kind == "rust"
    }
    assert set(members) == set(EXAMPLES)
    made = set()
    for name, (folder, changes) in EXAMPLES.items():
        file = next(f for f in (f"{folder}/mod.rs", f"{folder}.rs") if (ROOT / f).is_file())
        roster = text(file)
        for old, new in [*changes, ("] =\n    &[", f"] =\n    &[{name}::MEMBER, ")]:
            roster = roster.replace(old, new, 1)
        if f"{name}::MEMBER" not in roster:
            roster = re.sub(r"(ROSTER[^=]*= &\[)", rf"\1{name}::MEMBER, ", roster, count=1)
        assert roster.count(name) == 2
        for path, content in {file: roster, f"{folder}/{name}.rs": members[name]}.items():
            made.add(path)
            here = copy / path
            if not here.is_file() or here.read_text(encoding="utf-8") != content:
                here.parent.mkdir(parents=True, exist_ok=True)
                here.write_text(content, encoding="utf-8")
    for path in set(tracked) - made:
        copy_where_changed(ROOT / path, copy / path)
    for path in copy.rglob("*"):
        if path.is_file() and path.relative_to(copy).as_posix() not in {*tracked, *made}:
            path.unlink()
    return copy


def cargo(folder: Path, target: Path, *arguments: str) -> None:
    """Runs cargo, which must have nothing to say on its error output; tests take few cases."""
    environment = {name: value for name, value in os.environ.items() if name != "NANDLAB_TURN"}
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env=environment | {"CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr


@pytest.mark.long
def test_members_of_contributing_compile():
    check = ("check", "--quiet", "--locked", "--package", "nandlab-host")
    cargo(copy_with_examples(), TARGET.resolve(), *check)


@pytest.mark.long
def test_members_of_contributing_keep_their_promises():
    """The conformance tests of their families, and the storm with all of them."""
    copy = copy_with_examples()
    # Apart from the workspace's own: cargo takes members of both for the same.
    target = copy.with_name("docs-example-target")
    test = ("test", "--quiet", "--locked", "--package")
    suites = ("ftl_conformance", "ftl_interleaving", "pacing", "storm")
    cargo(copy, target, *test, "nandlab-ssd", "--lib")
    cargo(copy, target, *test, "nandlab-ssd", "--test", "main", "--", *suites)
    cargo(copy, target, *test, "nandlab-host", "--lib", "trace")


def test_drive_of_contributing_is_tidy_and_runs(
    nandlab: Callable[..., Ended], folder: Path, tmp_path_factory: pytest.TempPathFactory
):
    [drive] = [block for kind, block in blocks("CONTRIBUTING.md") if kind == "toml"]
    (folder / "small.toml").write_text(drive)
    ended = nandlab("run", "--drive", "small.toml", "--workload", "mixed.fio", "--json", "-")
    assert json.loads(ended.succeeded().out)["checks"]["conservation"]["ok"]
    tree = tmp_path_factory.mktemp("tree")
    (tree / "params/drives").mkdir(parents=True)
    (tree / "params/drives/small.toml").write_text(drive)
    shutil.copy(ROOT / "params/CITATIONS.bib", tree / "params/CITATIONS.bib")
    tidy = tool("tidy")
    assert list(tidy.marked(tidy.Tree(tree))) == []


# --- The promises of the tests -------------------------------------------------------------------


def test_every_file_of_tests_says_what_it_holds():
    """`tests/README.md` names each file of tests beside the promise that it holds."""
    page = text("tests/README.md")
    files = [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("crates/*/tests/*.rs")]
    files = [file for file in files if file.name != "main.rs"]
    assert len(files) > 100
    of_papers = ROOT / "tests/papers"
    named = [file for file in files if file.parent != of_papers]
    assert [file.name for file in named if not re.search(rf"\b{file.stem}\b", page)] == []


# --- Facts that stand twice ----------------------------------------------------------------------


def test_version_and_licence_agree():
    version = re.search(r'^version = "([^"]+)"', text("Cargo.toml"), re.M)
    assert version is not None
    assert f"\nversion: {version[1]}\n" in text("CITATION.cff")
    assert re.search(rf"^## \[(?:Unreleased|{re.escape(version[1])})\]", text("CHANGELOG.md"), re.M)
    assert "license: Apache-2.0" in text("CITATION.cff")
    assert "Apache License" in text("LICENSE")
