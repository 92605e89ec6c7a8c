"""Files to begin with: they run as they are, and hold every key that a drive needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

import nandlab as lab
from nandlab.catalogue import load_config, roster
from nandlab.keys import keys
from nandlab.study.given import KEYS
from nandlab.study.points import DESIGNS
from nandlab.templates import JOB, LIKE, NEEDED, STUDY, drive_text


def test_they_run_as_they_are(nandlab: Callable[..., Ended]):
    for kind, name in (("drive", "mine.toml"), ("job", "mine.fio")):
        done = nandlab("new", kind, name).succeeded()
        assert done.err == ""
        assert "nandlab run" in done.out
    nandlab("run", "--drive", "mine.toml", "--workload", "mine.fio").succeeded()
    nandlab("new", "drive", "mine.toml").refused("mine.toml", "exists")
    assert nandlab("new", "job", "-").out == JOB


@pytest.mark.parametrize(
    ("kind", "name", "known"),
    [("job", "n.toml", ".fio"), ("drive", "n.fio", ".toml"), ("study", "n.fio", ".toml")],
)
def test_a_name_of_another_kind_is_refused(
    nandlab: Callable[..., Ended], kind: str, name: str, known: str
):
    nandlab("new", kind, name).refused(name, known)
    assert not Path(name).exists()


@pytest.mark.long
def test_the_study_runs_as_it_is(nandlab: Callable[..., Ended]):
    done = nandlab("new", "study", "mine.toml").succeeded()
    assert done.err == ""
    assert "nandlab sweep mine.toml" in done.out
    assert nandlab("sweep", "mine.toml", "--quiet", "--plot", "mine.png").succeeded().err == ""
    assert Path("mine.png").is_file()
    study = lab.Study.load("mine.toml")
    assert study.facts() == {"points": 24, "results": 24, "failed": 0, "left": 0}
    assert len(study.pareto()) > 1
    nandlab("new", "study", "mine.toml").refused("mine.toml", "exists")
    assert nandlab("new", "study", "-").out == STUDY


def test_the_study_has_every_key(tmp_path: Path):
    """All keys and designs stand there, no others, and the linter finds nothing."""
    top = STUDY.partition("\n[run]")[0]
    given = set(re.findall(r"^#?([a-z_]+) = ", top, flags=re.M))
    assert given == set(KEYS) - {"run", "set", "axis"}
    tables = set(re.findall(r"^\[+(\w+)\]", STUDY, flags=re.M)) - {"writes"}
    assert tables == {"run", "set", "axis"}
    assert all(re.search(rf"\b{name}\b", STUDY) for name in (*DESIGNS, "variants", "values"))
    file = tmp_path / "mine.toml"
    file.write_text(STUDY)
    assert [one for one in lab.lint(file) if not one.is_explained] == []


@pytest.mark.parametrize(
    "key", ["limits", "constraints", "design", "seed", "reports", "skip", "name"]
)
def test_every_key_of_the_study_can_be_taken(tmp_path: Path, key: str):
    """Of those that need nothing else; variants are a whole axis."""
    text = STUDY
    if key == "name":
        text = text.partition("# Variants")[0] + re.sub(
            r"(?m)^#", "", text.partition("path and values\n")[2]
        )
        text = re.sub(r'\[\[axis\]\]\npath = "gc.name"\n.*\n', "", text)
    else:
        text = re.sub(rf"(?m)^#({key} = )", r"\1", text)
        text = text.replace("job.iodepth <= 16 or ", "")
    assert text != STUDY
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert len(lab.Study.load(file)) > 1


def test_the_drive_is_its_preset(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(drive_text())
    assert load_config(str(file)).config_hash == load_config(LIKE).config_hash


def test_it_has_what_a_drive_needs(tmp_path: Path):
    """What the engine says is missing of a drive without any key."""
    with pytest.raises(lab.NandlabError) as caught:
        load_config({})
    told = str(caught.value).partition(";")[0]
    assert set(re.findall(r"[a-z_]+\.[a-z_.]+", told)) == set(NEEDED)
    text = drive_text()
    assert text.count("; needed)") + text.count(";\n# needed)") == len(NEEDED)


def test_every_default_can_be_taken(tmp_path: Path):
    """Each commented key with a value, with its `#` away, leaves the drive as it was."""
    text = drive_text()
    commented = re.findall(r"^#([a-z_.]+ = (?!\.\.\.).*)$", text, flags=re.M)
    assert len(commented) > 30
    file = tmp_path / "mine.toml"
    file.write_text(re.sub(r"^#([a-z_.]+ = (?!\.\.\.))", r"\1", text, flags=re.M))
    assert load_config(str(file)).config_hash == load_config(LIKE).config_hash


def template_keys() -> dict[str, str]:
    """Paths of the keys of the template, with what stands before each: nothing, `#` or `##`."""
    section, found = "", {}
    for line in drive_text().splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = f"{header[1]}."
        elif given := re.match(r"(#{0,2})([a-z_.0-9]+) = ", line):
            found[f"{section}{given[2]}"] = given[1]
    return found


def test_it_has_every_key_of_the_schema():
    """Of all members, but those of a cell, of energy, power and windows, and what is no table."""
    known = {one.path: one for one in keys()}
    found = template_keys()
    assert set(found) <= set(known)
    left = set(known) - set(found)
    assert {
        path
        for path in left
        if not path.startswith(("chip.cell.", "chip.energy.", "power.", "windows."))
    } == {
        *("chips", "cite", "drive_preset", "namespace", "power", "run", "windows"),
    }
    assert not any(one.members for one in map(known.get, left) if one is not None)
    config = load_config(LIKE).config
    for path, mark in found.items():
        if path.startswith("ftl.") and known[path].members:
            assert (mark == "##") == (config["ftl"]["name"] not in known[path].members), path


@pytest.mark.parametrize("member", [one.name for one in roster("ftl")])
def test_the_keys_of_each_ftl_can_be_taken(tmp_path: Path, member: str):
    """With its name and its defaults, the file is the preset with that FTL."""
    of = {one.path.removeprefix("ftl.") for one in keys() if member in one.members}
    begin, rest = drive_text().split("\n[ftl]\n")
    ftl, end = rest.split("\n[gc]\n")
    lines = []
    for line in ftl.splitlines():
        given = re.match(r"##?([a-z_]+) = (?!\.\.\.)", line)
        lines.append(line.lstrip("#") if given and given[1] in of else line)
    text = "\n".join(lines).replace('name = "page"', f'name = "{member}"')
    file = tmp_path / "mine.toml"
    file.write_text(f"{begin}\n[ftl]\n{text}\n[gc]\n{end}")
    try:
        expected = load_config(LIKE, [f"ftl.name={member}"]).config
    except lab.NandlabError as error:
        # It needs more than the preset has, and the file is refused for the same reason.
        with pytest.raises(lab.NandlabError, match=re.escape(str(error).split(": ")[-1][:20])):
            load_config(str(file))
        return
    assert load_config(str(file)).config["ftl"] == expected["ftl"]
