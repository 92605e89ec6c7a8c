"""Styles of pictures: as wide as a column of a paper, in every format, with nothing cut off."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import MIXED, Ended, refused, some
from PIL import Image

import nandlab as package
from nandlab import Result, Study, compare
from nandlab.display.picture import panels_of, save
from nandlab.display.style import STYLES, current, letters
from tests.study.test_sweep import swept


@pytest.fixture(scope="module")
def result() -> Result:
    return package.run("tiny", MIXED, precondition="fill", explain=True)


def size_in(path: Path) -> tuple[float, float]:
    """Width and height of a picture in inches, as a program that sets pages sees them."""
    if path.suffix == ".png":
        with Image.open(path) as image:
            dots = image.info["dpi"]
            return image.width / dots[0], image.height / dots[1]
    text = path.read_bytes()
    if path.suffix == ".svg":
        width, height = (
            re.search(side + rb'="([\d.]+)pt"', text)[1]  # type: ignore[index]
            for side in (rb"\bwidth", rb"\bheight")
        )
    else:
        found = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", text)
        assert found is not None
        width, height = found[1], found[2]
    return float(width) / 72, float(height) / 72


@pytest.mark.parametrize(
    ("kind", "name"),
    [("png", "print"), ("svg", "print"), ("pdf", "print"), ("png", "print-wide")],
)
def test_width_is_that_of_the_style(name: str, kind: str, result: Result, tmp_path: Path):
    with package.style(name):
        figure = result.plot(tmp_path / f"p.{kind}", kind="throughput")
    size = size_in(tmp_path / f"p.{kind}")
    assert size[0] == pytest.approx(STYLES[name].width_in, abs=0.01)
    assert size == pytest.approx(figure.get_size_inches() * STYLES[name].scale, abs=0.01)
    if kind == "pdf":
        assert b"/FontType 3" not in (tmp_path / "p.pdf").read_bytes()
    # It is over where it ends.
    result.plot(tmp_path / "s.png", kind="throughput")
    assert size_in(tmp_path / "s.png")[0] == pytest.approx(8, abs=0.01)


@pytest.mark.parametrize("name", some(["print", "print-wide", "screen"]))
def test_nothing_is_cut_off(name: str, result: Result):
    """Titles and legends lie within every picture, and panels side by side have room."""
    study = swept(
        Study(
            *("tiny", MIXED),
            axes={"gc.name": ["greedy", "fifo"], "job.iodepth": [1, 8], "job.bs": ["4k", "8k"]},
            objectives=["max iops", "min write_us_p99"],
            summary="How victim selection and the queue depth change a small drive",
        )
    )
    other = package.run("tiny", MIXED, precondition="fill", set={"gc.name": "fifo"})
    with package.style(name):
        figures = [
            result.plot(),
            result.blame.plot(),
            compare([result, other]).plot(),
            study.plot(columns=["iops", "write_us_p99"]),
            study.plot(kind="pareto"),
        ]
    for figure in figures:
        figure.draw_without_rendering()
        width = figure.bbox.width
        for part in [*figure.legends, *(axes.title for axes in figure.axes)]:
            box = part.get_window_extent()
            assert box.x0 > -0.01 * width
            assert box.x1 < 1.01 * width, part


def test_a_line_of_panels_for_each_column():
    """Where columns have several panels, those of a column stand side by side."""
    axes = {"job.iodepth": [1, 8], "gc.name": ["greedy", "fifo"], "job.bs": ["4k", "8k", "16k"]}
    study = swept(Study("tiny", MIXED, axes=axes))
    figure = study.plot(columns=["iops", "write_us_p99", "read_us_p99"])
    labels: dict[float, set[str]] = {}
    figure.draw_without_rendering()
    for one in figure.axes:
        if one.get_ylabel():
            labels.setdefault(round(one.get_position().y0, 1), set()).add(one.get_ylabel())
    assert sorted(map(sorted, labels.values())) == [
        ["IOPS"],
        ["read p99 (µs)"],
        ["write p99 (µs)"],
    ]


def test_styles_of_python(tmp_path: Path):
    with refused("style", "`prnt`", "print-wide"), package.style("prnt"):
        pass
    assert current() is STYLES["screen"]
    assert letters(5) == 5
    with package.style("print"):
        # No letter is smaller than 6 points on paper.
        assert letters(5) * STYLES["print"].scale == pytest.approx(6)
        figure, panels = panels_of(3, (4.4, 3.6), 3)
    # Panels stand below each other.
    figure.draw_without_rendering()
    assert len({round(one.get_position().x0, 3) for one in panels}) == 1
    # The file has the style that the figure was drawn in.
    save(figure, tmp_path / "p.png")
    assert size_in(tmp_path / "p.png")[0] == pytest.approx(3.4, abs=0.01)


def test_command(nandlab: Callable[..., Ended], folder: Path):
    run = ["run", "--drive", "tiny", "--workload", "mixed.fio", "--quiet"]
    nandlab(*run, "--plot", "p.png", "--explain-plot", "e.png", "--style", "print").succeeded()
    for name in ("p.png", "e.png"):
        assert size_in(folder / name)[0] == pytest.approx(3.4, abs=0.01)
    nandlab(*run, "--plot", "p.png", "--style", "prin").refused("--style", "`prin`", "`print`")
    for command in (run, ["cell", "tlc_3d"], ["endurance", "tlc_3d"], ["lint", "mixed.fio"]):
        nandlab(*command, "--style", "print").refused("--style")
