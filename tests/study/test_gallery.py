"""The gallery: its studies can run, its commands draw what it shows, in a folder of their own."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from typer.main import get_command

from nandlab import Study
from nandlab.cli import app
from nandlab.study.check import check_study
from nandlab.study.findings.frame import check_column

sys.path.insert(0, str(ROOT / "tools"))
pictures = importlib.import_module("pictures")
COMMANDS: dict[str, list[str]] = pictures.gallery()
STUDIES = [
    path
    for path in sorted((ROOT / "examples/studies").glob("*.toml"))
    # Searches have points of their own: tutorial 7 runs that one.
    if "objectives = " not in path.read_text()
]


def test_every_study_is_shown_once():
    shown = [ROOT / words[1] for words in COMMANDS.values()]
    assert sorted(shown) == [one for one in STUDIES if one.stem != "overprovisioning"]
    page = (ROOT / "docs/gallery.md").read_text()
    for name in COMMANDS:
        assert f"](pictures/{name}.png)" in page
        assert (ROOT / "docs/pictures" / f"{name}.png").is_file()


@pytest.mark.parametrize("path", STUDIES, ids=[one.stem for one in STUDIES])
def test_a_study_can_begin(path: Path, tmp_path: Path):
    """Its columns are of reports, and its first or last point can be built."""
    study = Study.load(path, out=tmp_path)
    check_study(study.given, study.tasks())
    assert len(study) >= 20


@pytest.mark.parametrize("words", COMMANDS.values(), ids=list(COMMANDS))
def test_a_command_of_the_gallery_is_taken(words: list[str]):
    group = get_command(app)
    sweep = group.commands["sweep"]  # type: ignore[attr-defined]
    parsed = sweep.make_context("sweep", words[1:])
    given = Study.load(ROOT / words[1]).given
    for name in parsed.params["column"]:
        check_column(given, name)
    assert shlex.join(words).startswith("sweep examples/studies/")


@pytest.mark.long
def test_a_picture_is_drawn(tmp_path: Path):
    """By the command of the page, in a folder of its own; the fastest one."""
    pictures.study(COMMANDS["gallery-bursts"], tmp_path / "b.png")
    assert (tmp_path / "b.png").stat().st_size > 10_000
    assert not (ROOT / "bursts").exists()
