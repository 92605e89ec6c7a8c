"""The gallery: its studies can run, its commands draw what it shows, in a folder of their own."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Mapping
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


def tails(tmp_path: Path, short: Mapping[str, str]) -> dict[tuple[int, str], dict[str, float]]:
    """Tails of reads in the study of reads around collection, over those without collection.

    Keys are rates of writes and ways of collection; `short` has parts of the file to replace.
    """
    text = (ROOT / "examples/studies/read_around.toml").read_text()
    for old, new in short.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "study.toml").write_text(text)
    study = Study.load(tmp_path / "study.toml", out=tmp_path / "out")
    found: dict[tuple[int, str], list[dict[str, float]]] = {}
    for row in study.run(workers=2).records():
        found.setdefault((row["job.writes.rate_iops"], row["collection"]), []).append(row)
    columns = ("read_us_p99_9", "read_us_p99_99", "flash_reads", "write_amplification")
    means = {
        key: {name: sum(row[name] for row in rows) / len(rows) for name in columns}
        for key, rows in found.items()
    }
    assert all(len(rows) == 3 for rows in found.values())
    return {
        key: {
            **mean,
            "p99_9": mean["read_us_p99_9"] / means[key[0], "none"]["read_us_p99_9"],
            "p99_99": mean["read_us_p99_99"] / means[key[0], "none"]["read_us_p99_99"],
        }
        for key, mean in means.items()
    }


def test_reads_around_collection_have_the_shape_of_the_gallery(tmp_path: Path) -> None:
    """Reads around dies in turn have the tail of a drive that never collects; others do not."""
    short = {
        'until = "100s"': 'until = "6s"',
        "values = [500, 1000, 2000, 3000]": "values = [2000]",
    }
    found = {way: figures for (_, way), figures in tails(tmp_path, short).items()}
    around, plain = found["in turn, read around"], found["plain"]
    assert around["p99_9"] < 1.1, around
    assert around["p99_99"] < 1.1, around
    assert plain["p99_9"] > 2.5, plain
    assert plain["p99_99"] > 8, plain
    # Neither suspended erases nor dies that all erase together have that tail.
    assert found["suspended"]["p99_99"] > 8, found["suspended"]
    assert 1.5 < found["read around"]["p99_9"] < plain["p99_9"], found["read around"]
    assert found["none"]["write_amplification"] == pytest.approx(4 / 3, rel=0.01)
    assert plain["flash_reads"] < around["flash_reads"] < 1.1 * plain["flash_reads"]


@pytest.mark.long
def test_reads_around_collection_have_the_figures_of_the_gallery(tmp_path: Path) -> None:
    """The whole study, at each rate of writes: the ranges that docs/gallery.md prints."""
    for (rate, way), figures in tails(tmp_path, {}).items():
        if way == "in turn, read around":
            assert 0.98 < figures["p99_9"] < 1.03, (rate, figures)
            assert 0.98 < figures["p99_99"] < 1.03, (rate, figures)
        elif way == "plain":
            assert 1.04 < figures["p99_9"] < 4.3, (rate, figures)
            assert 5.5 < figures["p99_99"] < 14.5, (rate, figures)
        elif way == "read around":
            assert 3.5 < figures["p99_99"] < 13.5, (rate, figures)
