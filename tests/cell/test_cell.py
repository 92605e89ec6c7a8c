"""Cells: densities and rates against closed forms, pictures, the command, what is refused."""

from __future__ import annotations

import base64
import errno
import json
import math
import os
import re
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import Ended, refused, some
from scipy import stats

import nandlab
from nandlab.cell import State
from nandlab.cell.plot import plot_levels
from nandlab.given.toml import parse_toml

PLAIN = """
[levels]
vth_mean_v = [-2.0, 1.0, 2.0, 3.0]
vth_sigma_v = [0.4, 0.15, 0.15, 0.15]
read_v = [-0.2, 1.5, 2.5]
"""
"""Four Gaussians and nothing that moves them."""

AGEING = f"""{PLAIN}
[retention]
neutral_v = -1.0
share = 0.01
activation_ev = 1.1
"""


def q(z: float) -> float:
    """Tail of the normal distribution."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def trapezium(y: np.ndarray, x: np.ndarray) -> float:
    return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum())


@pytest.fixture
def plain(tmp_path: Path) -> nandlab.Cell:
    path = tmp_path / "plain.toml"
    path.write_text(PLAIN)
    return nandlab.cell(path)


@pytest.fixture
def ageing(tmp_path: Path) -> nandlab.Cell:
    path = tmp_path / "ageing.toml"
    path.write_text(AGEING)
    return nandlab.cell(path)


def test_a_cell_says_what_it_is(plain: nandlab.Cell):
    assert plain.cell_bits == 2
    assert plain.bits == ["11", "10", "00", "01"]
    assert plain.read_v == (-0.2, 1.5, 2.5)
    assert [(page.name, page.references_v) for page in plain.pages] == [
        ("lower", (1.5,)),
        ("upper", (-0.2, 2.5)),
    ]
    assert plain.mechanisms == []


def test_density_of_a_plain_cell_is_gaussian(plain: nandlab.Cell):
    volts = np.array([0.4, 0.85, 1.0, 1.3, 2.2])
    z = (volts - 1.0) / 0.15
    exact = np.exp(-(z**2) / 2) / (0.15 * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(plain.density(volts, level=1), exact, rtol=1e-4)


@pytest.mark.parametrize("name", ["slc", "wang2014_mlc", "tlc_planar", "tlc_3d", "qlc_3d"])
def test_densities_integrate_to_one(name: str):
    cell = nandlab.cell(name)
    volts = np.linspace(-8, 12, 8001)
    for stress in ({}, {"pe_cycles": 3000, "retention_hours": 8760.0, "reads": 1000}):
        for density in cell.density(volts, **stress):
            assert trapezium(density, volts) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ["wang2014_mlc", "tlc_planar", "tlc_3d", "qlc_3d"])
def test_moments_are_those_of_the_density(name: str):
    cell = nandlab.cell(name)
    volts = np.linspace(-8, 12, 20001)
    stress = {"pe_cycles": 1000, "retention_hours": 2000.0}
    densities = cell.density(volts, **stress)
    for level, density in zip(cell.levels(**stress), densities, strict=True):
        mean = trapezium(density * volts, volts)
        assert mean == pytest.approx(level.mean_v, abs=2e-4)
        sigma = math.sqrt(trapezium(density * (volts - mean) ** 2, volts))
        assert sigma == pytest.approx(level.sigma_v, rel=2e-3)


@pytest.mark.parametrize("name", ["wang2014_mlc", "tlc_planar", "tlc_3d", "qlc_3d"])
def test_rber_is_the_overlap_of_densities(name: str):
    """Integrated over each region, and counted where the Gray bit is not the one read there."""
    cell = nandlab.cell(name)
    stress = {"pe_cycles": 900_000 if name == "wang2014_mlc" else 2000, "retention_hours": 8760.0}
    volts = np.linspace(-8, 12, 40001)
    densities = cell.density(volts, **stress)
    for page in cell.pages:
        region = np.searchsorted(page.references_v, volts)
        # The erased level holds ones, and each reference of the page flips the bit.
        read = 1 - region % 2
        errors = [
            trapezium(np.where(read == int(bits[page.page_type]), 0.0, density), volts)
            for bits, density in zip(cell.bits, densities, strict=True)
        ]
        overlap = sum(errors) / len(errors)
        rber = cell.rber(page.page_type, **stress)
        assert rber > 1e-7
        assert rber == pytest.approx(overlap, rel=0.01)


def test_rber_of_a_plain_cell_is_wangs_equations(plain: nandlab.Cell):
    """Wang 2014, equations 10 and 11, with both tails at each reference."""
    lower = (q(0.5 / 0.15) + q(0.5 / 0.15) + q(3.5 / 0.4) + q(1.5 / 0.15)) / 4
    assert plain.rber(0) == pytest.approx(lower, rel=1e-9)
    upper = (q(1.8 / 0.4) + q(1.2 / 0.15) + 2 * q(0.5 / 0.15)) / 4
    assert plain.rber(1) == pytest.approx(upper, rel=1e-6)
    shifted = (q(0.6 / 0.15) + q(0.4 / 0.15)) / 4
    assert plain.rber(0, shifts_v=[0.1]) == pytest.approx(shifted, rel=1e-6)
    # Between two equal Gaussians the reference belongs in the middle.
    assert plain.best_shifts_v(0) == pytest.approx((0.0,), abs=1e-4)


def test_young_lower_pages_of_wang_err_by_their_first_pass():
    """The second pass takes erased cells for cells of the first pass, and the reverse.

    Both states lie as many of their widths from the reference between them. Where the first pass
    ends near its final level, the upper page errs more: it has two references.
    """
    far = nandlab.cell("wang2014_mlc")
    gap_v, widths_v = 2.658 - 2.35 + 2.267, 0.42 + 0.10
    tail = stats.norm.sf(gap_v / widths_v)
    # Each cell that is taken for another has a wrong bit in its lower page.
    assert far.rber(0) == pytest.approx(tail, rel=0.2)
    near = nandlab.cell("wang2014_mlc", set={"levels.coarse_margin_v": 1.4})
    for cycles in (800_000, 1_000_000, 1_246_900):
        assert near.rber(1, pe_cycles=cycles) > near.rber(0, pe_cycles=cycles), cycles


def test_rates_come_in_arrays(ageing: nandlab.Cell):
    hours = np.array([[0.0, 10.0], [1000.0, 8760.0]])
    rates = ageing.rber(0, retention_hours=hours)
    assert rates.shape == hours.shape
    assert rates[1, 1] == ageing.rber(0, retention_hours=8760.0)
    assert (np.diff(rates.ravel()) > 0).all()
    grid = ageing.rber(1, retention_hours=hours[:1], pe_cycles=np.array([[0], [10]]))
    assert grid.shape == (2, 2)


def test_temperatures_come_in_arrays_too():
    cell = nandlab.cell("tlc_3d")
    rates = cell.rber(0, retention_hours=1000, temperature_c=np.array([40.0, 55.0]))
    alone = [cell.rber(0, retention_hours=1000, temperature_c=celsius) for celsius in (40.0, 55.0)]
    assert list(np.asarray(rates)) == alone
    assert alone[0] < alone[1]


def test_retention_is_the_closed_form(ageing: nandlab.Cell):
    """A cell keeps (1 + t)^-share of its distance to neutral; hot hours count by Arrhenius."""
    kept = (1 + 8760.0) ** -0.01
    assert ageing.levels(retention_hours=8760.0)[3].mean_v == pytest.approx(-1 + 4 * kept, abs=1e-6)
    faster = math.exp(1.1 / 8.617333262e-5 * (1 / 303.15 - 1 / 328.15))
    assert ageing.equivalent_hours(10, 55) == pytest.approx(10 * faster, rel=1e-6)
    hot = ageing.rber(1, retention_hours=100.0, temperature_c=55)
    assert hot == pytest.approx(ageing.rber(1, retention_hours=100.0 * faster), rel=1e-6)
    assert ageing.rber(1, retention_hours=100.0, temperature_c=30) == ageing.rber(
        1, retention_hours=100.0
    )


def test_reads_count_by_their_temperature():
    """Arrhenius' law of the dose: more reads in the warm, fewer with a negative energy."""
    faster = math.exp(0.1 / 8.617333262e-5 * (1 / 303.15 - 1 / 333.15))
    for energy, factor in ((0.1, faster), (-0.1, 1 / faster)):
        cell = nandlab.cell("tlc_3d", set={"read_disturb.activation_ev": energy})
        assert cell.equivalent_reads(50_000, 60) == pytest.approx(50_000 * factor, rel=1e-6)
        warm = cell.rber(0, reads=50_000, temperature_c=60)
        assert warm == pytest.approx(cell.rber(0, reads=round(50_000 * factor)), rel=1e-9)
    plain = nandlab.cell("tlc_3d")
    assert plain.equivalent_reads(50_000, 60) == 50_000
    assert plain.rber(0, reads=50_000, temperature_c=60) == plain.rber(0, reads=50_000)


def test_a_low_pass_voltage_blocks_strings():
    """Fewer disturbed cells, until strings no longer conduct: one pass voltage is the best."""
    volts = np.arange(4.7, 6.05, 0.1)
    rates = [
        nandlab.cell(
            "tlc_3d",
            set={"read_disturb.string_cells": 64, "read_disturb.v_pass_v": round(float(v), 2)},
        ).rber(0, reads=100_000)
        for v in volts
    ]
    least = int(np.argmin(rates))
    assert 0 < least < len(volts) - 1
    assert (np.diff(rates[: least + 1]) < 0).all()
    assert (np.diff(rates[least:]) > 0).all()


def test_heavy_tails_and_long_lives_stay_numbers():
    """Tails of Student's t reach far down, where fields are strong: they move finitely."""
    cell = nandlab.cell("tlc_3d", set=["levels.shape={student_t=4}"])
    for stress in (
        {},
        {"reads": 10_000},
        {"pe_cycles": 3000, "retention_hours": 8760.0, "reads": 100},
    ):
        assert all(0 < level.sigma_v < 1 for level in cell.levels(**stress))
    with refused("pe_cycles"):
        cell.levels(pe_cycles=2**32 - 1)


def test_pictures_of_a_cell_without_errors(
    tmp_path: Path, few_or_all: Callable[[list[str], list[str]], list[str]]
):
    (tmp_path / "sharp.toml").write_text(
        "[levels]\nvth_mean_v = [-2, 1]\nvth_sigma_v = [0.01, 0.01]"
    )
    sharp = nandlab.cell(tmp_path / "sharp.toml")
    assert sharp.rber(0) == 0
    sharp.plot(tmp_path / "a.png")
    for over in few_or_all(["hours"], ["hours", "cycles", "reads"]):
        sharp.plot_rber(tmp_path / "b.png", over)


def test_best_references_err_less():
    cell = nandlab.cell("tlc_3d")
    state = {"pe_cycles": 3000, "retention_hours": 8760.0}
    for page in cell.pages:
        shifts = cell.best_shifts_v(page.page_type, **state)
        assert max(shifts) < 0, "charge has leaked"
        there = cell.rber(page.page_type, shifts_v=shifts, **state)
        assert there < cell.rber(page.page_type, **state)
        beside = [shift + 0.02 for shift in shifts]
        assert there < cell.rber(page.page_type, shifts_v=beside, **state)


def test_soft_reads_tell_more_with_more_references():
    cell = nandlab.cell("tlc_3d")
    told = [cell.soft(1, count, pe_cycles=3000, retention_hours=2000.0) for count in (1, 2, 3, 5)]
    assert [len(soft.offsets_v) for soft in told] == [1, 2, 3, 5]
    assert all(a.information < b.information for a, b in pairwise(told))
    soft = told[2]
    assert sum(map(sum, soft.shares)) == pytest.approx(1, abs=1e-9)
    for (zero, one), llr in zip(soft.shares, soft.llr, strict=True):
        assert llr == pytest.approx(math.log(zero / one), abs=1e-9)
    # The hard read among them: what it reads wrong is its error rate.
    hard = cell.soft(1, offsets_v=[0.0], pe_cycles=3000, retention_hours=2000.0)
    wrong = sum(min(pair) for pair in hard.shares)
    assert wrong == pytest.approx(
        float(cell.rber(1, pe_cycles=3000, retention_hours=2000.0)), rel=1e-9
    )


def test_endurance_ends_where_the_rate_is_the_limit():
    cell = nandlab.cell("tlc_3d")
    fixed = {"retention_hours": [24.0, 2190.0], "temperature_c": [30.0, 40.0], "is_best": False}
    found = cell.endurance(**fixed)
    for celsius, row in zip(found.temperature_c, found.pe_cycles, strict=True):
        assert row[0] > row[1] > 0
        for hours, cycles in zip(found.retention_hours, row, strict=True):
            for factor, holds in ((0.998, True), (1.002, False)):
                # Integrated here over pages whose rates are lognormal.
                at = {
                    "pe_cycles": cycles * factor,
                    "retention_hours": hours,
                    "temperature_c": celsius,
                }
                acts = cell.equivalent_hours(hours, celsius)
                uber = []
                for page in range(3):
                    state = (round(cycles * factor), acts, 0, 0)
                    spread = cell.native.page_spread(page, [], state)
                    z = stats.norm.ppf((np.arange(1024) + 0.5) / 1024)
                    rates = cell.rber(page, **at) * np.exp(spread * z - spread**2 / 2)
                    uber.append(stats.binom.sf(300, 34_560, rates).mean() / 32_768)
                assert bool(max(uber) <= 1e-15) is holds
    assert found.pe_cycles[0][1] > found.pe_cycles[1][1]
    best = cell.endurance(retention_hours=[2190.0], temperature_c=[40.0])
    assert best.pe_cycles[0][0] > found.pe_cycles[1][1]


def test_a_name_may_be_of_a_cell_a_chip_or_a_drive(tmp_path: Path):
    rates = [nandlab.cell(name).rber(0) for name in ("tlc_3d", "chip/tlc_3d", "modern_tlc")]
    assert rates[0] == rates[1] == rates[2]
    assert nandlab.cell("wang2014_mlc").page_order == "even_odd"
    chip = tmp_path / "chip.toml"
    (tmp_path / "mine.toml").write_text(PLAIN)
    chip.write_text(
        'cell_bits = 2\npage_order = "all_bitline"\n'
        '[cell]\npreset = "mine.toml"\nlevels.read_v = [-0.2, 1.6, 2.5]\n'
    )
    cell = nandlab.cell(chip)
    assert cell.page_order == "all_bitline"
    assert cell.read_v == (-0.2, 1.6, 2.5)


CHIPS_WITH_CELLS = [
    preset.name
    for preset in nandlab.presets("chip")
    if "[cell]" in nandlab.show(f"chip/{preset.name}")
    # Reads of a chip without errors have no references to move.
    and 'name = "ideal"' not in nandlab.show(f"chip/{preset.name}")
]


@pytest.mark.parametrize("chip", CHIPS_WITH_CELLS)
def test_the_lowest_reference_moves_by_its_charge(chip: str):
    """Charge is lost in proportion to the distance from neutral, which each chip states rounded."""
    cell = nandlab.cell(f"chip/{chip}")
    tables = parse_toml(nandlab.show(f"chip/{chip}"), chip)
    of_cell = nandlab.show(f"cell/{tables['cell']['preset']}")
    neutral = parse_toml(of_cell, chip)["retention"]["neutral_v"]
    share = (cell.read_v[0] - neutral) / (cell.read_v[-1] - neutral)
    said = tables["features"]["lowest_shift"]
    assert said == pytest.approx(share, abs=0.005)


def test_parameters_can_be_set():
    plain, worse = nandlab.cell("tlc_3d"), nandlab.cell("tlc_3d", set={"retention.share": 0.01})
    assert worse.rber(0, retention_hours=1000.0) > plain.rber(0, retention_hours=1000.0)
    named = nandlab.cell("tlc_3d", set=["chip.cell.retention.share=0.01"])
    assert named.rber(0, retention_hours=1000.0) == worse.rber(0, retention_hours=1000.0)


def test_errors_are_shaded_where_they_are(plain: nandlab.Cell):
    figure = plot_levels(plain, State())
    above, below = figure.axes
    assert below.get_yscale() == "log"
    assert below.get_xlabel() == "threshold voltage (V)"
    assert [text.get_text() for text in above.texts] == plain.bits
    at = [line.get_xdata()[0] for line in above.get_lines() if len(line.get_xdata()) == 2]
    assert set(plain.read_v) <= set(at)


def test_levels_out_of_all_bounds_are_not_drawn():
    with refused("-999 to 999 V", "hint: "):
        nandlab.cell("tlc_3d").plot(pe_cycles=100_000_000)


@pytest.mark.long
def test_pictures(tmp_path: Path):
    cell = nandlab.cell("wang2014_mlc")
    cell.plot(tmp_path / "a.png", pe_cycles=1_000_000)
    figure = cell.plot_rber(tmp_path / "b.svg", "hours", pe_cycles=10_000)
    assert figure.axes[0].get_ylabel() == "raw bit error rate"
    figure = cell.plot_program(tmp_path / "c.pdf")
    # The legend stands below, not on the title.
    assert figure.axes[0].get_legend() is None
    assert [len(legend.get_texts()) for legend in figure.legends] == [2]
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    # Fast pages first, then slow and fast in turn: Grupp's map, times of Wang's cell.
    fast, slow = cell.times(0).program_us
    assert slow > 2 * fast > 0
    assert heights[:8] == [fast, fast, fast, fast, slow, slow, fast, fast]
    # The block goes on behind the pages that are drawn: it does not end here.
    assert heights[-4:] == [slow, slow, fast, fast]
    cell.endurance(t=40).plot(tmp_path / "d.png")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("a.png", "b.svg", "d.png"))


@pytest.mark.long
@pytest.mark.parametrize("over", some(["hours", "cycles", "reads"]))
def test_motion(tmp_path: Path, over: str):
    from PIL import Image

    path = tmp_path / "a.gif"
    nandlab.cell("slc").animate(path, over, frames=3)
    with Image.open(path) as image:
        assert image.n_frames == 3
        first = image.convert("RGB").tobytes()
        image.seek(2)
        assert image.convert("RGB").tobytes() != first


def test_motion_in_a_page_of_its_own(tmp_path: Path):
    nandlab.cell("slc").animate(tmp_path / "a.html", frames=2)
    text = (tmp_path / "a.html").read_text()
    (data,) = re.findall(r'src="data:image/gif;base64,([^"]+)"', text)
    assert base64.b64decode(data).startswith(b"GIF8")
    assert "http" not in text


def test_command(nandlab: Callable[..., Ended], folder: Path):
    state = ("--pe-cycles", "3000", "--retention-hours", "8760", "--temperature-c", "40")
    ended = nandlab("cell", "tlc_3d", *state, "--soft", "3", "--plot", "p.png").succeeded()
    assert "3,000 cycles · 1 year · 40 °C" in ended.out
    assert "middle" in ended.out
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    report = nandlab("cell", "tlc_3d", *state, "--soft", "3", "--json", "-").succeeded().json
    assert len(report["levels"]) == 8
    page = report["pages"][1]
    assert page["rber_best"] < page["rber"]
    assert len(page["soft"]["llr"]) == 10
    nandlab("cell", "slc", "--animate", "a.gif", "--over", "reads", "--frames", "2").succeeded()
    assert (folder / "a.gif").read_bytes().startswith(b"GIF8")


@pytest.mark.long
def test_the_command_draws_an_endurance(nandlab: Callable[..., Ended], folder: Path):
    more = ("--picture", "endurance", "--t", "300", "--plot", "e.png", "--json", "e.json")
    assert "10 years" in nandlab("cell", "tlc_3d", *more).succeeded().out
    assert json.loads((folder / "e.json").read_text())["endurance"]["pe_cycles"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["tlc_3b"], ["`tlc_3d`"]),
        (["mqsim_mlc"], ["no cell"]),
        (["none.toml"], ["`none.toml`", os.strerror(errno.ENOENT)]),
        (["tlc_3d", "--pe-cycles", "-1"], ["pe_cycles = -1", "0 to"]),
        (["tlc_3d", "--retention-hours", "nan"], ["retention_hours = nan"]),
        (["tlc_3d", "--temperature-c", "900"], ["-100 to 300"]),
        (["tlc_3d", "--soft", "9"], ["1 to 7"]),
        (["tlc_3d", "--picture", "levls"], ["levels, rber, program, endurance"]),
        (["tlc_3d", "--picture", "rber"], ["--picture: rber", "without --plot"]),
        (["tlc_3d", "--picture", "levels", "--json", "-"], ["levels", "without --plot"]),
        (["tlc_3d", "--animate", "a.gif", "--over", "days"], ["cycles, hours, reads"]),
        (["tlc_3d", "--over", "reads"], ["--over", "no effect", "--animate"]),
        (["tlc_3d", "--frames", "3"], ["--frames", "no effect", "--animate"]),
        (["tlc_3d", "--t", "10"], ["--t", "no effect", "--picture endurance"]),
        (["tlc_3d", "--uber", "1e-3"], ["--uber", "no effect", "--picture"]),
        (["tlc_3d", "--best", "--plot", "a.png"], ["--best", "no effect", "--picture"]),
        (["tlc_3d", "--animate", "a.mp4"], [".gif, .html"]),
        (["tlc_3d", "--plot", "a.bmp"], [".png, .svg, .pdf"]),
        (["tlc_3d", "--animate", "a.gif", "--frames", "1"], ["2 to 400"]),
        (["tlc_3d", "--set", "retntion.share=1"], ["`retention`"]),
        (["tlc_3d", "--set", "retention.share=2"], ["--set retention.share=2", "2"]),
        (["tlc_3d", "--set", "levels.vth_mean_mv=[1]"], ["`vth_mean_v`"]),
        (["slc", "--set", "levels.vth_mean_v=[1.0, 0.5]"], ["rising voltages", "erased"]),
        (["slc", "--set", "levels.vth_mean_v=[1.0, 1e9]"], ["-20 to 20"]),
        (["slc", "--set", "levels.vth_mean_v=[nan, 1.0]"], ["-20 to 20"]),
        (["slc", "--set", "levels.vth_sigma_v=[0, 1]"], ["0.001 to 5"]),
    ],
)
def test_what_is_refused(nandlab: Callable[..., Ended], arguments: list[str], parts: list[str]):
    nandlab("cell", *arguments).refused(*parts)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[levels]\nvth_mean_v = [0, 1, 2]\nvth_sigma_v = [1, 1, 1]", "2, 4, 8 or 16"),
        ("[levels]\nvth_sigma_v = [1, 1]", "`vth_mean_v`"),
        ("levels = 3", "table [levels]"),
        ("[levels\n", "bad.toml:1"),
        ("summary = 'x'", "no cell"),
    ],
)
def test_files_that_hold_no_cell(nandlab: Callable[..., Ended], folder: Path, text: str, part: str):
    (folder / "bad.toml").write_text(text)
    nandlab("cell", "bad.toml").refused("bad.toml", part)
    (folder / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    nandlab("cell", "bytes.toml").refused("not UTF-8")


def test_a_state_is_a_mapping_too(plain: nandlab.Cell):
    worn = plain.levels(nandlab.State(pe_cycles=3000))
    assert plain.levels({"pe_cycles": 3000}) == worn == plain.levels(pe_cycles=3000)
    one = plain.endurance(retention_hours=24.0, temperature_c=30, t=40)
    assert (
        one.pe_cycles == plain.endurance(retention_hours=[24], temperature_c=[30], t=40).pe_cycles
    )
    assert (plain.density([1.0], 1.0) == plain.density([1.0], 1)).all()


def test_python_refuses_too(plain: nandlab.Cell):
    for wrong in (
        lambda: plain.rber(2),
        lambda: plain.rber(-1),
        lambda: plain.soft(-1),
        lambda: plain.rber(0, retention_hours=[1.0, 2.0], pe_cycles=[1, 2, 3]),
        lambda: plain.rber(0, shifts_v=[1e9]),
        lambda: plain.density([math.inf]),
        lambda: plain.density([0.0], level=4),
        lambda: plain.levels(days=3),
        lambda: plain.levels(pe_cycles="many"),
        lambda: plain.levels(pe_cycles=np.array([1, 2])),
        lambda: plain.density([0.0], retention_hours=np.array([1.0, 2.0])),
        lambda: plain.density(["a"]),
        lambda: plain.rber(0, shifts_v=5),
        lambda: plain.rber(0, shifts_v=["a"]),
        lambda: plain.rber(0, shifts_v=[0, 5, 9]),
        lambda: plain.soft(0, shifts_v=[0, 5, 9]),
        lambda: plain.soft(0, "3"),
        lambda: plain.soft(0, offsets_v=3),
        lambda: nandlab.cell("slc", page_order="diagonal"),
        lambda: plain.rber(0, pe_cycles=[[1, 2], [3]]),
        lambda: plain.density([1.0], 1.5),
        lambda: plain.density([1.0], "1"),
        lambda: plain.equivalent_hours(1000, None),
        lambda: plain.endurance(t=[100, 300]),
        lambda: plain.endurance(t=100.5),
        lambda: plain.soft(0, 5, offsets_v=[0.0]),
        lambda: plain.levels({"days": 3}),
        lambda: plain.levels(3),
    ):
        with pytest.raises(nandlab.NandlabError, match=r"expected|hint"):
            wrong()


@pytest.mark.parametrize("reads", [1, 2, 5, 20])
def test_a_picture_over_few_reads_has_an_axis(tmp_path: Path, reads: int):
    """Without matplotlib's warnings of a logarithmic axis that begins at 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = nandlab.cell("slc").plot_rber(tmp_path / "b.png", "reads", reads=reads)
    left, right = figure.axes[0].get_xlim()
    assert left == max(reads / 10, 1)
    assert right == max(reads, 10)
