"""Pictures of error-rate curves: which line is whose, what was not seen, everything within."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import refused
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import nandlab
from nandlab import ecc_curve
from nandlab.catalogue import presets
from nandlab.ecc import ldpc

#: Short and quick: 40 errors in 512 bytes.
BCH = "bch_512_t40"
LDPC = "ldpc_a"


def test_a_picture_names_its_lines():
    """Codes beside their BCH codes; capacities by soft reads, above the axes; measured on both."""
    arguments: dict[str, Any] = {"errors": 30, "max_frames": 600, "levels": [0, 2]}
    found = nandlab.ecc_curve([BCH, LDPC], rber=[0.003, 0.0085], **arguments)
    for quantity in ("fer", "ber"):
        figure = found.plot(quantity=quantity)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert f"{BCH} by its binomial tail, t = 40" in labels
        assert f"BCH in place of {LDPC}, t = 112" in labels
        assert "capacity limit, by soft reads and code" in labels
        assert labels[:4] == [BCH, LDPC, "hard read", "1 soft read (2 extra references)"]
        (axes,) = figure.axes
        above = above_axes(axes)
        assert sorted(line.get_xdata()[0] for line in above) == sorted(found.limits.values())
        (line,) = (line for line in axes.get_lines() if line.get_label().startswith(f"{BCH} by"))
        row = next(row for row in found.rows() if row["code"] == BCH and row["rber"] == 0.0085)
        near = min(zip(*line.get_data(), strict=True), key=lambda at: abs(at[0] - 0.0085))
        assert row["levels"] == 0
        assert row[f"{quantity}_low"] < near[1] < row[f"{quantity}_high"]


def above_axes(axes: Axes) -> list[Line2D]:
    """The marks of capacities. Bounds are not clipped either, but lie below 1."""
    free = (line for line in axes.get_lines() if not line.get_clip_on())
    return [line for line in free if [*line.get_ydata()] == [1.0]]


@pytest.mark.long
def test_all_shipped_codes_are_drawn():
    """Each with a mark of its own, everything within the picture; more are refused."""
    names = [preset.name for preset in presets("code")]
    found = nandlab.ecc_curve(names, rber=0.012, max_frames=10)
    figure = found.plot()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    seen = [line for line in axes.get_lines() if [*line.get_xdata()] == [0.012]]
    assert len(seen) == len({line.get_marker() for line in seen}) == len(names) == 11
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {*names} <= {*labels}
    # One of its minimal polynomials has half the degree: parity / m is 71.
    assert "bch_1024_t72 by its binomial tail, t = 72" in labels
    title = figure._suptitle
    for part in (*figure.legends, title, axes):
        box = part.get_window_extent()
        assert min(box.x0, box.y0) >= 0
        assert max(box.x1 / figure.bbox.width, box.y1 / figure.bbox.height) <= 1
    above = [line.get_window_extent() for line in above_axes(axes)]
    assert len(above) == len(names)
    assert len({box.y0 for box in above}) == len(names)
    assert all(axes.bbox.y1 < box.y0 < box.y1 < title.get_window_extent().y0 for box in above)
    assert all(axes.bbox.x0 < box.x0 < box.x1 < axes.bbox.x1 for box in above)
    crowd = replace(found, codecs=found.codecs + found.codecs)
    with refused("22 codes", "1 to 12"):
        crowd.plot()


def test_a_code_of_little_parity_has_no_bch_beside_it(folder: Path):
    """One bit of parity corrects nothing."""
    Path("one.base").write_text("12 1 1\n" + "0 " * 12 + "\n")
    Path("one.toml").write_text(ldpc.import_file("one.base"))
    found = ecc_curve("one.toml", rber=[0.01, 0.02], max_frames=500, channel="bsc")
    assert found.codecs[0].bch is None
    for quantity in ("fer", "ber"):
        labels = [text.get_text() for text in found.plot(quantity=quantity).legends[0].get_texts()]
        assert labels == ["hard read", "capacity limit, by soft reads"]


@pytest.mark.long
def test_a_bound_says_whose_it_is():
    """No two bounds of a rate look alike, and none covers another or loses its arrow."""
    found = ecc_curve([BCH, LDPC], rber=[0.0002, 0.0005], levels=[0, 2], max_frames=100)
    figure = found.plot()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert "hollow: upper bound (97.5 %), no failures seen" in [
        text.get_text() for text in figure.legends[0].get_texts()
    ]
    for rber in (0.0002, 0.0005):
        lines = [line for line in axes.get_lines() if [*line.get_xdata()] == [rber]]
        shapes = {
            (line.get_color(), line.get_marker().vertices.tobytes(), *line.get_ydata())
            for line in lines
        }
        assert len(lines) == len(shapes) == 4
        boxes = sorted((line.get_window_extent() for line in lines), key=lambda box: box.x0)
        middles = [(box.x0 + box.x1) / 2 for box in boxes]
        apart = [right - left for left, right in itertools.pairwise(middles)]
        assert min(apart) * 72 / figure.dpi > 7
        bottom = axes.transData.transform((rber, axes.get_ylim()[0]))[1]
        tip = axes.transData.transform((rber, lines[0].get_ydata()[0]))[1] - figure.dpi * 12 / 72
        assert tip > bottom


def test_a_picture_without_a_failure_says_so():
    found = nandlab.ecc_curve(BCH, rber=[0.001, 0.002], max_frames=100)
    (axes,) = found.plot(quantity="ber").axes
    assert [text.get_text() for text in axes.texts] == [
        "no codeword failed, so there is no bit error rate to draw"
    ]
    (axes,) = found.plot().axes
    assert not axes.texts


def test_no_line_joins_points_across_one_without_a_failure():
    found = nandlab.ecc_curve(BCH, channel="bsc", rber=[0.0085, 0.01, 0.012], max_frames=100)
    _, hidden, _ = found._rows
    hidden.update(frame_errors=0, fer=0.0, fer_low=0.0, ber=0.0, ber_low=0.0)
    for quantity in ("fer", "ber"):
        axes, *_ = found.plot(quantity=quantity).axes
        (line,) = [one for one in axes.lines if len(one.get_xdata()) == 3]
        assert [math.isnan(y) for y in line.get_ydata()] == [False, True, False]
