"""Fits of cycles, hours, temperatures and page types at once, and what their chips say of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, carries, refused

import nandlab as lab
from nandlab import _core
from nandlab.endurance import acceleration
from nandlab.fit import compare

Run = Callable[..., Ended]
Data = dict[str, Any]

TRUTH = {"epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8, "m": 0.9, "n": 0.5}
TRUTH |= {"activation_ev": 1.0, "page_factor_1": 2.2, "page_factor_2": 1.5}
TYPES = ("lower", "middle", "upper")
BAKES = [(0, 30), (24, 40), (168, 40), (1000, 40), (24, 70), (168, 70), (24, 85), (168, 85)]


def measured(seed: int, bits: int = 10**8) -> Data:
    """Counts of the known law: bakes at several temperatures, of three page types."""
    rng = np.random.default_rng(seed)
    model = json.dumps({"name": "power_law", **TRUTH, "gamma": 0.0})
    rows = []
    for cycles in (500, 1500, 3000, 6000):
        for hours, celsius in BAKES:
            aged = hours * acceleration(celsius, 30.0, TRUTH["activation_ev"])
            rates = _core.Array(model).rber([(page, cycles, aged, 0) for page in range(3)])
            for page_type, rate in zip(TYPES, rates, strict=True):
                errors = rng.binomial(bits, rate)
                rows.append((cycles, hours, celsius, page_type, bits, errors))
    names = ["pe_cycles", "retention_hours", "temperature_c", "page_type"]
    columns = map(list, zip(*rows, strict=True))
    return dict(zip([*names, "bits_read", "bit_errors"], columns, strict=True))


def inside(seed: int) -> bool:
    """Whether all intervals of a fit hold the truth, and that of its endurance."""
    found = lab.fit(measured(seed), "power_law")
    known = [found[name].low <= value <= found[name].high for name, value in TRUTH.items()]
    asked: dict[str, Any] = {"retention_hours": 8760, "t": 100}
    [ours] = lab.endurance(found, **asked, level=0.99).points
    [theirs] = lab.endurance({"name": "power_law", **TRUTH, "gamma": 0.0}, **asked).points
    assert ours.pe_cycles_low is not None
    assert ours.pe_cycles_high is not None
    return all(known) and ours.pe_cycles_low <= theirs.pe_cycles <= ours.pe_cycles_high


def test_a_law_of_four_axes_comes_back() -> None:
    assert inside(1)


@pytest.mark.long
def test_a_law_of_four_axes_comes_back_from_most_seeds() -> None:
    assert sum(map(inside, range(20))) >= 18


@pytest.fixture(scope="module")
def chip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A chip of the fit."""
    path: Path = tmp_path_factory.mktemp("fitted") / "chip.toml"
    path.write_text(lab.fit(measured(2), "power_law").chip_toml("tlc_3d"))
    return str(path)


def test_the_worst_page_type_limits_an_endurance(chip: str) -> None:
    ask: dict[str, Any] = {"retention_hours": 1000, "t": 100}
    [worst] = lab.endurance(chip, **ask).points
    by_type = [lab.endurance(chip, **ask, page_type=name).points[0] for name in TYPES]
    cycles = [point.pe_cycles for point in by_type]
    assert worst.pe_cycles == cycles[1] < cycles[2] < cycles[0]


def says(ended: Ended) -> str:
    """All that a command has printed."""
    ended.succeeded()
    return ended.out + ended.err


def test_extrapolation_is_said_wherever_a_figure_rests_on_it(nandlab: Run, chip: str) -> None:
    """Within the data, bakes as hours at the reference included, nothing is said."""
    # 168 h at 85 °C are years at 30 °C.
    for hours, celsius, is_beyond in ((8760, 30, False), (8760, 85, True), (24, 20, True)):
        point = ["--retention-hours", hours, "--temperature-c", celsius]
        endured = nandlab("endurance", chip, *point, "--t", "60")
        state = nandlab("cell", chip, *point, "--pe-cycles", "3000")
        aged = {"age.pe_cycles": 3000, "age.retention_hours": hours}
        sets = {"chip.preset": chip, **aged, "age.temperature_c": celsius}
        sets |= {"chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 96}
        job = "[r]\nrw=randread\nbs=16k\nnumber_ios=50\n"
        run = lab.run("tiny", job, set=sets, precondition="fill")
        said = [says(endured), says(state), "\n".join(run.notices)]
        for text in said:
            assert ("extrapolations of power_law" in text) == is_beyond, text
        if is_beyond:
            carries(said[2], "6,000 cycles", "30 to 85 °C")


def test_a_board_and_a_life_say_it_too(chip: str) -> None:
    small = {"chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 96}
    few = {"procedure.points": 1, "procedure.measured_cycles": 1}
    few["chip.geometry.pages_per_block"] = 96
    for cycles, is_beyond in ((300, False), (7000, True)):
        found = lab.board("wear", chip, cycles=cycles, set=few)
        assert any("extrapolations" in note for note in found.notes) == is_beyond
    other = {**few, "chip.array.alpha": 1e-12}
    assert not any("extrapol" in n for n in lab.board("wear", chip, cycles=7000, set=other).notes)
    job = "[w]\nrw=randwrite\nbs=16k\nnumber_ios=100\n"
    sets = {"chip.preset": chip, "ecc.model": "threshold", "ecc.t": 400, **small}
    lived = lab.life("tiny", job, set=sets, years=0.001, windows=1, dwpd=10)
    assert any("extrapolations of power_law" in note for note in lived.notes)


def test_page_types_are_those_of_the_chip(folder: Path) -> None:
    found = lab.fit(measured(2), "power_law")
    with refused("3 page types", "mqsim_mlc", "2 bits"):
        found.chip_toml("mqsim_mlc")
    pooled = lab.fit(measured(2), "power_law", without="page_type")
    assert not any(one.name.startswith("page_factor") for one in pooled.parameters)
    assert any("lower, middle, upper" in note for note in pooled.notes)
    # Page types that differ are the scatter of a law that does not tell them apart.
    assert pooled.estimate.overdispersion > 100 * found.estimate.overdispersion
    other = {**measured(2), "page_type": ["even", "odd", "odd"] * 32}
    with refused("page_type", "`even`, `odd`", "lower, upper"):
        lab.fit(other, "power_law")


def test_a_curve_of_each_page_type() -> None:
    data = measured(2)
    kept = [i for i, hours in enumerate(data["retention_hours"]) if hours == 0]
    rows = {name: [values[i] for i in kept] for name, values in data.items()}
    figure = lab.fit(rows, "power_law").plot()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(TYPES) < set(labels)


def test_many_conditions_have_a_key_and_residuals_over_each() -> None:
    """A colour for each of one condition's values; a panel for each condition."""
    figure = lab.fit(measured(2), "power_law").plot()
    above, *below = figure.axes
    labels = [axes.get_xlabel() for axes in below]
    assert labels == ["P/E cycles", "retention (h)", "temperature (°C)", "page type"]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named[:4] == ["0 h", "24 h", "168 h", "1000 h"]
    for axes in (above, *below):
        dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
        assert len({tuple(line.get_color()) for line in dots}) == 4
        assert sum(len(line.get_xdata()) for line in dots) == len(measured(2)["bits_read"])


def test_held_out_rows_have_their_page_type() -> None:
    """A law that knows them predicts rows that it has not seen far better than one that pools."""
    told, pooled = (
        compare(measured(2), ["power_law", "exponential"], without=without).rows[0]
        for without in ([], ["page_type"])
    )
    assert told.held_out is not None
    assert pooled.held_out is not None
    assert told.held_out > pooled.held_out + 100


@pytest.mark.parametrize(("energy", "is_told"), [(0.06, True), (1.0, False)])
def test_an_activation_energy_that_no_cell_has(energy: float, is_told: bool) -> None:
    """As where hours and cycles, or temperatures, were exchanged."""
    data = measured(3)
    rng = np.random.default_rng(3)
    columns = ("pe_cycles", "retention_hours", "temperature_c")
    cycles, hours, celsius = (np.array(data[name]) for name in columns)
    aged = hours * np.array([acceleration(c, 30.0, energy) for c in celsius])
    rate = 1e-5 + 3.3e-11 * cycles**1.9 + 2e-8 * cycles**0.9 * (aged / 24) ** 0.5
    errors = rng.binomial(10**8, rate)
    rows = {**{name: data[name] for name in columns}, "bits_read": [10**8] * len(rate)}
    found = lab.fit({**rows, "bit_errors": errors}, "power_law")
    assert any("activation_ev" in note for note in found.notes) == is_told


def test_states_that_a_histogram_shows_are_named() -> None:
    """In place of another law, where states are missing."""
    rng = np.random.default_rng(5)
    edges = np.arange(-5, 8, 0.05)
    volts = np.concatenate([rng.normal(-3 + 1.4 * state, 0.2, 50_000) for state in range(8)])
    cells, _ = np.histogram(volts, edges)
    data = {"vth_v": (edges[1:] + edges[:-1]) / 2, "cells": cells}
    carries(str(lab.fit(data, "gaussian", states=4)), "8 maxima", "--states 8")
    assert "maxima" not in str(lab.fit(data, "gaussian", states=8))


def test_replicates_tell_a_wrong_law_from_scatter() -> None:
    """Rows of blocks that differ fit as well as the blocks agree; exchanged columns do not."""
    rng = np.random.default_rng(6)
    points = [(n, h) for n in (300, 1000, 3000, 6000) for h in (1, 24, 240, 2400)] * 6
    cycles, hours = np.array(points, float).T
    rate = 1e-5 + 3.3e-11 * cycles**1.9 + 2e-8 * cycles**0.9 * (hours / 24) ** 0.6
    rate = rate * rng.gamma(25, 1 / 25, len(rate))
    counts = {"bits_read": [10**8] * len(rate), "bit_errors": rng.binomial(10**8, rate)}
    right = lab.fit({"pe_cycles": cycles, "retention_hours": hours, **counts}, "power_law")
    assert right.estimate.overdispersion > 20
    told = right.lack_of_fit()
    assert told is not None
    assert told[1] > 0.01
    wrong = lab.fit({"pe_cycles": hours, "retention_hours": cycles, **counts}, "power_law")
    missed = wrong.lack_of_fit()
    assert missed is not None
    assert missed[1] < 1e-3
    carries(str(wrong), "lack of fit", "check the columns")
    assert "check the columns" not in str(right)
    few = {"pe_cycles": cycles[:16], "retention_hours": hours[:16]}
    few |= {name: column[:16] for name, column in counts.items()}
    assert lab.fit(few, "power_law").to_dict()["lack_of_fit"] is None
