"""Files of the linter: kinds, reasons, what is refused, the command; ours pass or say why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Ended, carries

import nandlab as front
from nandlab import NandlabError
from nandlab.lint.roster import ROSTER, check_of
from nandlab.lint.waivers import waivers

OURS = [
    *(one.name for one in front.presets("drive")),
    *map(str, sorted(ROOT.glob("examples/**/*.fio"))),
    *map(str, sorted(ROOT.glob("examples/studies/*.toml"))),
    *map(str, sorted(ROOT.glob("params/drives/*.toml"))),
]

BAD = 'drive_preset = "tiny"\n[ftl]\noverprovisioning = 0.04\n'


@pytest.mark.parametrize("given", OURS, ids=[Path(one).name for one in OURS])
def test_ours_pass_or_say_why_not(given: str):
    assert [one for one in front.lint(given) if not one.is_explained] == []


def test_ours_are_all():
    assert len(OURS) > 40


def test_drives_of_experiments_pass():
    """Experiments run presets; the one drive that they build is a mapping."""
    for path in ROOT.glob("experiments/*/run.py"):
        for name in (one.name for one in front.presets("drive")):
            if f'"{name}"' in path.read_text():
                assert all(one.is_explained for one in front.lint(name)), path
    assert not [
        path
        for path in ROOT.glob("experiments/**/*")
        if path.suffix in (".toml", ".fio") and path.name != "expected.toml"
    ]


def test_a_reason_waives(tmp_path: Path):
    file = tmp_path / "a.toml"
    file.write_text(BAD)
    open_ = [one for one in front.lint(file) if not one.is_explained]
    assert [one.code for one in open_] == ["L010"]
    file.write_text(f"# lint: L010 because it is a study of little\n#   spare flash\n{BAD}")
    [one] = [one for one in front.lint(file) if one.code == "L010"]
    assert one.because == "it is a study of little spare flash"


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# lint: L010", "no reason"),
        ("# lint: L010 because", "no reason"),
        ("# lint: all of it", "no reason"),
        ("# lint: L910 because so", "no L910"),
    ],
)
def test_a_comment_without_a_reason_is_a_finding(tmp_path: Path, comment: str, problem: str):
    file = tmp_path / "a.toml"
    file.write_text(f"{BAD}{comment}\n")
    open_ = {one.code: one for one in front.lint(file) if not one.is_explained}
    assert set(open_) == {"L000", "L010"}
    carries(open_["L000"].says, problem)
    assert open_["L000"].place == f"{file}:4"


def test_reasons_of_several_checks():
    text = "; lint: L001, L003 because the paper says so\n[a]\n  ;   and we believe it\n"
    [one] = waivers(text)
    assert one.codes == ("L001", "L003")
    assert one.reason == "the paper says so"


def test_a_preset_explains_only_its_own_values():
    """`tiny` says why its sizes are powers of two; other powers of two are not explained by it."""
    [one] = [one for one in front.lint("tiny") if one.code == "L001"]
    assert one.place.startswith("params/drives/tiny.toml:")
    own = {"drive_preset": "tiny", "chip": {"geometry": {"pages_per_block": 128}}}
    [one] = [one for one in front.lint(own) if one.code == "L001"]
    assert not one.is_explained


def test_the_same_finding_is_told_once():
    assert front.lint("tiny", "tiny") == front.lint("tiny")


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("a.toml", 'drive_preset = "tiny"\n[ftl]\nnamee = "page"\n', ["namee"]),
        ("a.toml", "[ftl\n", ["a.toml"]),
        ("chip.toml", "[geometry]\npage_bytes = 4096\n", ["chip file", "drive"]),
        ("a.fio", "[a]\nrw=randwrit\n", ["a.fio:2", "rw"]),
        ("a.fio", "hello\n", ["a.fio:1"]),
        ("a.json", "{}", ["not a report"]),
        ("a.json", "{", ["not JSON"]),
        ("study.toml", 'drive = "tiny"\n[[axis]]\npath = "gc.nam"\nvalues = [1]\n', ["gc.nam"]),
        ("study.toml", 'drive = "tiny"\nreplicates = 2\n', ["nothing", "workload", "trace"]),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str, parts: list[str]):
    (tmp_path / name).write_text(text)
    with pytest.raises(NandlabError) as caught:
        front.lint(tmp_path / name)
    assert "\n" not in carries(caught.value, *parts)


def test_large_jobs_and_replays_are_read(tmp_path: Path):
    """Whatever the size of the drive that they are for; traces are not opened."""
    for text in ("[a]\nrw=randread\nsize=4t\n", "[a]\nread_iolog=no_such_trace\n"):
        (tmp_path / "a.fio").write_text(text)
        assert front.lint(tmp_path / "a.fio") == []


def test_drives_and_studies_with_a_trace(tmp_path: Path):
    trace = ROOT / "examples/traces/sqlite_ext4.iolog.zst"
    for top, state, codes in (
        ('drive_preset = "modern_tlc"', "none", ["L012"]),
        ('drive = "modern_tlc"', "none", ["L012"]),
        ('drive = "modern_tlc"', "trace", []),
    ):
        file = tmp_path / "a.toml"
        file.write_text(f'{top}\n[run]\ntrace = "{trace}"\nprecondition = "{state}"\n')
        assert [one.code for one in front.lint(file)] == codes


@pytest.mark.parametrize("given", ["tiyn", "no.toml", 7, "a\0b", b"tiny", ["tiny"]])
def test_what_is_no_file_is_refused(given: object):
    with pytest.raises(NandlabError):
        front.lint(given)  # type: ignore[arg-type]


def test_command(nandlab: Callable[..., Ended], folder: Path):
    (folder / "a.toml").write_text(BAD)
    carries(nandlab("lint", "tiny").succeeded().out, "nothing", "1 input")
    carries(nandlab("lint", "tiny", "--all").succeeded().out, "L001", "because")
    said = nandlab("lint", "a.toml").succeeded().out
    assert said.startswith(f"a.toml:3: L010 {check_of('L010').title}\n")
    carries(said, "`ftl.overprovisioning`")
    assert nandlab("lint", "a.toml", "--strict").code == 1
    assert nandlab("lint", "tiny", "--strict").code == 0
    found = nandlab("lint", "a.toml", "--json", "-").succeeded()
    assert '"code": "L010"' in found.out
    judged = nandlab("lint", "mixed.fio", "--drive", "tiny", "--precondition", "steady")
    carries(judged.succeeded().out, "nothing", "1 input")


def test_command_lists_and_shows(nandlab: Callable[..., Ended], folder: Path):
    listed = nandlab("lint", "--list").succeeded().out
    for check in ROSTER:
        assert f"{check.code} {check.title}\n" in listed
    shown = nandlab("lint", "--show", "l013", "--plot", "p.png").succeeded().out
    assert check_of("L013").pair.assumed.name in shown
    assert "ratio" in shown
    assert (folder / "p.png").is_file()
    for arguments in (
        [],
        ["tiny", "--list"],
        ["--show", "L999"],
        ["tiny", "--plot", "p.png"],
        ["--show", "L013", "--plot", "p.txt"],
        ["tiny", "--precondition", "full"],
    ):
        nandlab("lint", *arguments).refused()
