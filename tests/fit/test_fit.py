"""Fits: known parameters come back within their intervals, chips run, bad data are refused."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Ended, carries, refused, some
from scipy.special import ndtr, stdtr

import nandlab
from nandlab import _core
from nandlab.catalogue import load_config
from nandlab.fit import EVERY_LAW

Data = dict[str, "np.ndarray[Any, Any]"]
Truth = dict[str, float]


# --- Data made from known parameters --------------------------------------------------------------


def grid(*axes: Any) -> list[Any]:
    """Every combination, as columns."""
    return [axis.ravel().astype(float) for axis in np.meshgrid(*axes, indexing="ij")]


def counted(rng: np.random.Generator, rate: Any, bits: float, spread: float = 0.0) -> Data:
    """Errors of `bits` bits; `spread` is the deviation of the rate from row to row, over it."""
    size = np.full(len(rate), int(bits))
    if spread:
        shape = 1 / spread**2
        rate = np.minimum(rate * rng.gamma(shape, 1 / shape, len(rate)), 0.5)
    return {"bits_read": size, "bit_errors": rng.binomial(size, rate)}


def power_law(rng: np.random.Generator, spread: float = 0.0) -> tuple[Data, Truth]:
    cycles, hours, reads = grid([300, 1000, 3000, 6000], [0, 24, 240, 2400], [0, 1e3, 1e4, 1e5])
    t = {"epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8, "m": 0.9, "n": 0.6}
    t |= {"gamma": 4e-13, "p": 0.9, "q": 1.1}
    rate = t["epsilon"] + t["alpha"] * cycles ** t["k"]
    rate = rate + t["beta"] * cycles ** t["m"] * (hours / 24) ** t["n"]
    rate = rate + t["gamma"] * cycles ** t["p"] * reads ** t["q"]
    columns = {"pe_cycles": cycles, "retention_hours": hours, "reads": reads}
    return {**columns, **counted(rng, rate, 2e8, spread)}, t


def wang_rate(a: Any, b: Any, cycles: Any) -> Any:
    return np.clip(a * np.exp(b * cycles / 1e5) - 1, 0, None) / 16384


def exponential(rng: np.random.Generator) -> tuple[Data, Truth]:
    cycles = np.repeat(np.arange(1, 14) * 1e5, 4)
    t = {"a": 0.0015, "b": 0.7}
    rate = wang_rate(t["a"], t["b"], cycles)
    return {"pe_cycles": cycles, **counted(rng, rate, 64 * 16384)}, t


def exponential_vth(rng: np.random.Generator) -> tuple[Data, Truth]:
    """Wang's own coefficients, at the voltages of three states."""
    cycles, volts = grid(np.arange(8, 14, 0.5) * 1e5, [1.3, 2.65, 4.0])
    t = {"alpha_1": -5e-4, "beta_1": 0.0019, "alpha_2": 0.036, "beta_2": 0.6616}
    a = t["alpha_1"] * np.log(volts) + t["beta_1"]
    b = t["alpha_2"] * np.log(volts) + t["beta_2"]
    columns = {"pe_cycles": cycles, "vth_v": volts}
    return {**columns, **counted(rng, wang_rate(a, b, cycles), 2000 * 16384)}, t


def retention_law(rng: np.random.Generator) -> tuple[Data, Truth]:
    """Luo's coefficients, at three temperatures."""
    cycles, hours, celsius = grid([500, 2000, 5000, 10000], [1, 10, 100, 1000], [25, 55, 70])
    t = {"a_slope": 7.92e-6, "b_slope": 0.25, "c_level": 3.28e-5, "d_level": -12.72}
    t |= {"activation_ev": 1.1}
    faster = (1 / 298.15 - 1 / (celsius + 273.15)) / 8.617333e-5
    late = np.maximum(np.log(hours * 3600) + t["activation_ev"] * faster, 0)
    slope = t["a_slope"] * cycles + t["b_slope"]
    rate = np.exp(slope * late + t["c_level"] * cycles + t["d_level"])
    columns = {"pe_cycles": cycles, "retention_hours": hours, "temperature_c": celsius}
    return {**columns, **counted(rng, rate, 1e7)}, t


def states(rng: np.random.Generator, tails: list[float] | None) -> tuple[Data, Truth]:
    """A quarter of a million cells in four states."""
    edges = np.arange(-5, 5.5, 0.05)
    share, t = np.zeros(len(edges) - 1), {}
    rows = [(-2.2, 0.42, 0.26), (1.3, 0.16, 0.25), (2.65, 0.15, 0.25), (4.0, 0.16, 0.24)]
    for s, (mu, sigma, weight) in enumerate(rows):
        z = (edges - mu) / sigma
        share += weight * np.diff(ndtr(z) if tails is None else stdtr(tails[s], z))
        t |= {f"mu_{s}_v": mu, f"sigma_{s}_v": sigma, f"weight_{s}": weight}
        t |= {} if tails is None else {f"nu_{s}": tails[s]}
    cells = rng.multinomial(2**18, np.append(share, 1 - share.sum()))[:-1]
    return {"vth_v": (edges[1:] + edges[:-1]) / 2, "cells": cells}, t


def gaussian(rng: np.random.Generator) -> tuple[Data, Truth]:
    return states(rng, None)


def student_t(rng: np.random.Generator) -> tuple[Data, Truth]:
    return states(rng, [8, 6, 6, 5])


MADE: dict[str, Callable[[np.random.Generator], tuple[Data, Truth]]] = {
    "power_law": power_law,
    "exponential": exponential,
    "exponential_vth": exponential_vth,
    "retention_law": retention_law,
    "gaussian": gaussian,
    "student_t": student_t,
}


def inside(law: str, seeds: range, *, each: bool = False) -> tuple[int, dict[str, int]]:
    """In how many seeds the intervals hold the truth: all of them at once, and each parameter's."""
    whole, hits = 0, dict[str, int]()
    for seed in seeds:
        data, truth = MADE[law](np.random.default_rng(seed))
        found = nandlab.fit(data, law, each=each)
        names = [p.name for p in found.parameters]
        assert len(set(names)) == len(names)
        assert set(names) == set(truth)
        held = {name: found[name].low <= truth[name] <= found[name].high for name in names}
        whole += all(held.values())
        hits = {name: hits.get(name, 0) + held[name] for name in names}
    return whole, hits


def test_every_law_has_data():
    """A table, which is no law, has tests of its own."""
    assert {*MADE, "table"} == set(EVERY_LAW)


@pytest.mark.parametrize("law", MADE)
def test_known_parameters_come_back(law: str):
    """Ten seeds: what holds 95 times in 100 is there fewer than 7 times by chance once in 1000."""
    whole, hits = inside(law, range(10))
    assert whole >= 7, (whole, hits)


@pytest.mark.long
@pytest.mark.parametrize("law", MADE)
def test_a_hundred_seeds(law: str):
    """All parameters at once lie within their intervals in at least 93 of 100."""
    whole, hits = inside(law, range(100))
    assert whole >= 93, (whole, hits)


@pytest.mark.long
@pytest.mark.parametrize("law", MADE)
def test_each_interval_covers_by_itself(law: str):
    """At least 180 of 200, for every parameter for itself.

    Intervals that hold the truth 95 times in 100 are below by chance once in 400.
    """
    _, hits = inside(law, range(200), each=True)
    assert min(hits.values()) >= 180, hits


def test_what_the_data_leave_open_is_named():
    """Reads none or so many: their coefficient and their exponent cannot be told apart."""
    data, _ = power_law(np.random.default_rng(2))
    two = np.isin(data["reads"], [0, 1e5])
    with refused("gamma, q"):
        nandlab.fit({name: np.asarray(values)[two] for name, values in data.items()}, "power_law")


def test_joint_intervals_are_wider_by_the_level_of_each():
    """Twelve parameters at once: each has the interval that it would have at 0.95 to the 1/12."""
    data, _ = gaussian(np.random.default_rng(1))
    joint = nandlab.fit(data, "gaussian")
    alone = nandlab.fit(data, "gaussian", level=0.95 ** (1 / 12), each=True)
    assert [tuple(p) for p in joint.parameters] == [tuple(p) for p in alone.parameters]
    narrow = nandlab.fit(data, "gaussian", each=True)
    for wide, one in zip(joint.parameters, narrow.parameters, strict=True):
        assert wide.low < one.low < one.value < one.high < wide.high
    carries(joint.method, "12", "jointly", "95")
    carries(narrow.method, "each", "95")


@pytest.mark.long
def test_scatter_beyond_counts_widens_intervals():
    """Rates that differ by 5 % from row to row: seen, and the truth is inside again."""
    hits = dict.fromkeys(power_law(np.random.default_rng(0))[1], 0)
    for seed in range(8):
        data, truth = power_law(np.random.default_rng(seed), spread=0.05)
        found = nandlab.fit(data, "power_law")
        assert found.estimate.overdispersion > 5
        for name, value in truth.items():
            hits[name] += found[name].low <= value <= found[name].high
    assert sum(hits.values()) >= 0.85 * 8 * len(hits), hits
    carries(found.method, "widened", "%")


def test_pages_that_differ_by_factors_do_not_drown_the_low_rates(
    few_or_all: Callable[[int, int], int],
):
    """Rates of 25 rows differ by 30 %: found, and what low rates alone tell is still told.

    One factor for all variances takes the scatter of the high rates for that of the low ones, and
    knows the floor of the rates to a factor of six at best.
    """
    cycles, hours = grid([300, 1000, 2000, 3000, 5000], [0, 10, 100, 1000, 5000])
    truth = {"epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8, "m": 0.9, "n": 0.6}
    rate = truth["epsilon"] + truth["alpha"] * cycles ** truth["k"]
    rate = rate + truth["beta"] * cycles ** truth["m"] * (hours / 24) ** truth["n"]
    whole, spreads, widths = 0, [], []
    seeds = few_or_all(4, 12)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        pages = rate * np.exp(0.3 * rng.standard_normal(len(rate)) - 0.045)
        data = {"pe_cycles": cycles, "retention_hours": hours, **counted(rng, pages, 2e8)}
        found = nandlab.fit(data, "power_law")
        whole += all(found[name].low <= value <= found[name].high for name, value in truth.items())
        carries(found.method, f"{100 * found.estimate.spread:.3g} %")
        spreads.append(100 * found.estimate.spread)
        widths.append(math.log(found["epsilon"].high / found["epsilon"].value))
    assert whole >= 0.75 * seeds
    assert np.median(spreads) == pytest.approx(30, rel=0.2)
    assert np.median(widths) < math.log(4)


def test_rates_without_counts():
    data, truth = retention_law(np.random.default_rng(3))
    columns = {name: data[name] for name in ("pe_cycles", "retention_hours", "temperature_c")}
    found = nandlab.fit(
        {**columns, "rber": data["bit_errors"] / data["bits_read"]}, "retention_law"
    )
    assert "least squares" in found.method
    assert found["b_slope"].value == pytest.approx(truth["b_slope"], rel=0.05)
    assert math.isnan(found.estimate.overdispersion)


def test_terms_without_data_are_left_out():
    data, truth = power_law(np.random.default_rng(5))
    fresh = {name: values[np.asarray(data["reads"]) == 0] for name, values in data.items()}
    found = nandlab.fit(fresh, "power_law")
    assert [p.name for p in found.parameters] == ["epsilon", "alpha", "k", "beta", "m", "n"]
    [note] = found.notes
    carries(note, "reads term")
    assert found["k"].value == pytest.approx(truth["k"], rel=0.05)
    bare = nandlab.fit(fresh, "power_law", without=["epsilon"])
    assert bare.estimate.overdispersion > 2 * found.estimate.overdispersion


def test_draws_beyond_all_numbers_are_left_out_in_silence():
    found = nandlab.fit(power_law(np.random.default_rng(1))[0], "power_law")
    wild = found.estimate._replace(covariance=found.estimate.covariance * 1e10)
    found.estimate = wild
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(found.draws(20)) < 20


def test_a_law_says_that_it_does_not_read_page_types():
    data, _ = exponential(np.random.default_rng(1))
    types = ["lower", "upper"] * (len(data["pe_cycles"]) // 2)
    said = nandlab.fit({**data, "page_type": types}, "exponential").notes
    assert [note for note in said if "page types" in note and "lower, upper" in note]
    for of in ({}, {"page_type": ["lower"] * len(types)}):
        assert not nandlab.fit({**data, **of}, "exponential").notes


def test_a_higher_level_is_wider():
    data, _ = exponential(np.random.default_rng(1))
    narrow, wide = (nandlab.fit(data, "exponential", level=level)["b"] for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high


# --- The array model is the law -------------------------------------------------------------------


@pytest.mark.parametrize("law", ["power_law", "exponential", "retention_law"])
def test_the_drive_has_the_rates_of_the_fit(law: str):
    """The engine's array model gives what was fitted, row by row."""
    data, _ = MADE[law](np.random.default_rng(2))
    found = nandlab.fit(data, law)
    zero = np.zeros(len(data["bits_read"]))
    columns = [data.get(name, zero) for name in ("pe_cycles", "retention_hours", "reads")]
    rows = np.asarray(data["temperature_c"]) == 25 if law == "retention_law" else zero == 0
    states = [(0, int(n), float(t), int(r)) for n, t, r in zip(*columns, strict=True)]
    engine = np.array(_core.Array(json.dumps(found.array)).rber(states))
    ours = found.estimate.mean
    assert engine[rows] == pytest.approx(ours[rows], rel=1e-6, abs=1e-15)


def test_states_tell_their_references():
    data, _ = gaussian(np.random.default_rng(0))
    found = nandlab.fit(data, "gaussian")
    cells = np.asarray(data["cells"])
    # Two pairs of states 1.35 V apart, a quarter of the cells each, and two bits a cell.
    overlap = 2 * (2 * 0.25 * ndtr(-1.35 / 0.31)) / 2
    assert found.array["epsilon"] == pytest.approx(overlap, rel=0.15)
    assert "references" in found.notes[0]
    assert sum(found[f"weight_{s}"].value for s in range(4)) == pytest.approx(1, abs=1e-9)
    assert found.estimate.mean.sum() == pytest.approx(cells.sum(), rel=1e-3)


# --- The command ----------------------------------------------------------------------------------


def write(path: Path, data: Data) -> Path:
    """A CSV file of the columns, with a comment."""
    lines = ["# made by a test", ",".join(data)]
    lines += [
        ",".join(f"{value:.12g}" for value in row) for row in zip(*data.values(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_command_and_the_chip_that_it_makes(nandlab: Callable[..., Ended], folder: Path):
    data = write(folder / "chip.csv", power_law(np.random.default_rng(0))[0])
    out = ["--chip", "mqsim_mlc", "--toml", "mine.toml", "--plot", "fit.png", "--json", "fit.json"]
    ended = nandlab("fit", data, "--law", "power_law", *out).succeeded()
    assert "95 % joint interval" in ended.out
    assert "errors of 1.28e+10 bits in 64 rows" in ended.out
    report = json.loads((folder / "fit.json").read_text())
    value, low, high = report["parameters"]["k"]
    assert low < value < high
    assert (folder / "fit.png").stat().st_size > 10_000
    chip = (folder / "mine.toml").read_text()
    assert f"k = {value}" in chip
    assert "# measured: 95 % joint" in chip
    sets = ["--set", "chip.preset=mine.toml", "--set", "chip.geometry.blocks_per_plane=64"]
    model = ["--set", "ecc.model=threshold", "--set", "ecc.t=40", "--set", "ecc.parity_bytes=80"]
    run = ["run", "--drive", "tiny", *sets, *model, "--workload", "mixed.fio", "--json", "-"]
    age = ["--set", "age.pe_cycles=6000", "--precondition", "fill"]
    ran = nandlab(*run, *age).succeeded().json
    assert ran["nandlab"]["config"]["chip"]["array"]["k"] == value
    assert ran["ecc"]["raw_bit_errors"] > 0


def test_chips_of_every_law_are_read(folder: Path):
    for law, make in MADE.items():
        found = nandlab.fit(make(np.random.default_rng(4))[0], law)
        (folder / f"{law}.toml").write_text(found.chip_toml("wang2014_mlc"))
        changed = [f"chip.preset={law}.toml"]
        loaded = load_config("wang2014_mlc", changed).config["chip"]
        assert loaded["array"]["name"] == ("table" if found.bins else found.array["name"])
        assert loaded["rated_pe_cycles"] == 10000


# --- A histogram is a cell ------------------------------------------------------------------------

#: Wide levels without neighbours, so that what was put in is known and some of it is read wrongly.
KNOWN = [
    "chip.cell.levels.vth_sigma_v=[0.42,0.25,0.27,0.25]",
    "chip.cell.interference.bitline_ratio=0.0",
    "chip.cell.interference.wordline_ratio=0.0",
]
WIDE_PAGES = ["chip.geometry.pages_per_block=16", "chip.geometry.page_bytes=16384"]


def swept(chip: str, sets: list[str]) -> Path:
    """Rows of a board that moves the lowest reference of the lower page."""
    sweep = {"from_v": -7.0, "to_v": 4.0, "step_v": 0.02}
    path = Path(f"sweep-{Path(chip).stem}-{len(sets)}.parquet")
    nandlab.board("vth_sweep", chip, set=[*sets, *WIDE_PAGES], out=path, **sweep)
    return path


@pytest.mark.parametrize("law", some(["gaussian", "student_t"]))
def test_a_sweep_of_a_known_cell_becomes_that_cell(folder: Path, law: str):
    """Board, fit, chip file, board again: the levels come back, and so do the error rates."""
    shape = [] if law == "gaussian" else ["chip.cell.levels.shape={student_t=8.0}"]
    sets = [*KNOWN, *shape]
    truth = nandlab.cell("chip/wang2014_mlc", set=[s.removeprefix("chip.") for s in sets])
    found = nandlab.fit(swept("wang2014_mlc", sets), law, level=0.99)
    scale = 1.0 if law == "gaussian" else math.sqrt(6 / 8)
    for state, level in enumerate(truth.levels()):
        mean, sigma = found[f"mu_{state}_v"], found[f"sigma_{state}_v"]
        assert mean.low <= level.mean_v <= mean.high, (state, level, mean)
        assert sigma.low <= scale * level.sigma_v <= sigma.high, (state, level, sigma)

    (folder / "mine.toml").write_text(found.chip_toml("wang2014_mlc"))
    made = nandlab.cell(str(folder / "mine.toml"))
    assert made.mechanisms == []
    for ours, level in zip(made.levels(), truth.levels(), strict=True):
        assert ours.mean_v == pytest.approx(level.mean_v, abs=0.01)
        assert ours.sigma_v == pytest.approx(level.sigma_v, rel=0.02)
    for page in (0, 1):
        assert made.rber(page) == pytest.approx(truth.rber(page), rel=0.1)

    again = nandlab.fit(swept("mine.toml", []), law)
    for name in (f"{word}_{state}_v" for word in ("mu", "sigma") for state in range(4)):
        assert again[name].value == pytest.approx(found[name].value, abs=0.02)
    rows = nandlab.board("rber", str(folder / "mine.toml"), set=WIDE_PAGES, points=1).table()
    counted = {row["page_type"]: row["rber"] for row in rows.to_pylist()}
    assert counted["upper"] == pytest.approx(made.rber(1), rel=0.1)


@pytest.mark.long
def test_noise_of_a_sweep_is_joined_with_its_neighbours(folder: Path):
    """Steps with fewer cells than none are read; a CSV names no chip: its voltages are relative."""
    chip = nandlab.cell("chip/tlc_3d")
    lowest = chip.pages[0].references_v[0]
    small = ["chip.geometry.pages_per_block=48", "procedure.step_v=0.02"]
    rows = nandlab.board("vth_sweep", "tlc_3d", set=small)
    rows.write(folder / "s.csv")
    rows.write(folder / "s.parquet")
    by_csv = nandlab.fit(folder / "s.csv", "gaussian")
    by_parquet = nandlab.fit(folder / "s.parquet", "gaussian")
    told = nandlab.fit(folder / "s.csv", "gaussian", reference_v=lowest)
    assert told.parameters == by_parquet.parameters
    assert told.bins is not None
    assert told.bins.cells.min() >= 0
    assert told.bins.cells.sum() == sum(rows.table()["cells_found"].to_pylist())
    assert told.data.sweep is not None
    assert told.data.sweep.joined > 0
    carries(told, told.data.sweep.joined, "joined")
    carries(by_csv, "relative", "reference_v")
    for state, level in enumerate(chip.levels()):
        mean = by_parquet[f"mu_{state}_v"]
        assert mean.value == pytest.approx(level.mean_v, abs=0.02)
        assert by_csv[mean.name].value == pytest.approx(mean.value - lowest, abs=1e-4)


def test_a_sweep_with_holes_is_refused(folder: Path):
    table = nandlab.board("vth_sweep", "wang2014_mlc", step_v=0.1).table().to_pydict()
    for hole, parts in ((5, ["3 rows", "4"]), (None, ["even steps"])):
        kept = [
            row not in range(4, 8) if hole is None else row != hole
            for row in range(len(table["step"]))
        ]
        bad = {n: [v for v, k in zip(of, kept, strict=True) if k] for n, of in table.items()}
        with refused(*parts):
            nandlab.fit(bad, "gaussian")
    with refused("sweep", "reference_v"):
        nandlab.fit(gaussian(np.random.default_rng(0))[0], "gaussian", reference_v=1.0)
    with refused("path", ".csv"):
        nandlab.fit([1, 2], "power_law")


def test_a_drive_runs_on_fitted_levels(nandlab: Callable[..., Ended], folder: Path):
    data = write(folder / "levels.csv", gaussian(np.random.default_rng(0))[0])
    fit = ["fit", data, "--law", "gaussian", "--chip", "wang2014_mlc", "--toml", "mine.toml"]
    nandlab(*fit).succeeded()
    sets = ["--set", "chip.preset=mine.toml", "--set", "chip.geometry.blocks_per_plane=64"]
    model = ["--set", "ecc.model=threshold", "--set", "ecc.t=40", "--set", "ecc.parity_bytes=64"]
    run = ["run", "--drive", "tiny", *sets, *model, "--workload", "mixed.fio", "--json", "-"]
    ran = nandlab(*run, "--precondition", "fill").succeeded().json
    assert ran["nandlab"]["config"]["chip"]["array"]["name"] == "table"
    assert ran["ecc"]["raw_bit_errors"] > 0
    other = nandlab(*fit[:4], "--chip", "tlc_3d", "--toml", "other.toml")
    other.refused("4 states", "tlc_3d", "8 levels")


def test_parquet_is_csv(folder: Path):
    data, _ = exponential(np.random.default_rng(6))
    pq.write_table(pa.table({**data, "note": ["x"] * len(data["bits_read"])}), folder / "c.parquet")
    by_csv = nandlab.fit(write(folder / "c.csv", data), "exponential")
    by_parquet = nandlab.fit(folder / "c.parquet", "exponential")
    assert by_csv.parameters == by_parquet.parameters


@pytest.mark.parametrize("law", some(MADE, 2))
def test_pictures(folder: Path, law: str):
    figure = nandlab.fit(MADE[law](np.random.default_rng(7))[0], law).plot(folder / f"{law}.png")
    above, below, *_ = figure.axes
    assert above.get_ylabel() in ("raw bit error rate", "cells in a bin")
    assert below.get_ylabel() == "residual (st. dev.)"
    assert below.get_xlabel()


def test_a_picture_tells_ages_apart():
    """A colour and a name for each age; with one age, and with very many, none."""
    for ages, named in ([1.0, 24.0, 240.0], 3), ([24.0], 0), ([float(n) for n in range(1, 12)], 0):
        grid = np.meshgrid([300.0, 1000.0, 3000.0, 6000.0], ages)
        cycles, hours = (axis.ravel() for axis in grid)
        rber = 1e-5 + 3.3e-11 * cycles**1.9 + 2e-8 * cycles**0.9 * hours**0.6
        data = {"pe_cycles": cycles, "retention_hours": hours, "rber": rber}
        without = ["reads"] if len(ages) > 1 else ["reads", "retention"]
        above, *below = nandlab.fit(data, "power_law", without=without).plot().axes
        assert len(below) == 1 + (len(ages) > 1)
        [legend] = above.figure.legends
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels == [*[f"{age:g} h" for age in ages[:named]], "fitted law", "measured"]
        for axes in (above, *below):
            dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
            colours = {line.get_color() for line in dots if len(line.get_xdata())}
            assert len(colours) == max(named, 1)


def test_a_picture_bends_where_the_law_bends():
    """Between the points, too, the curve is the law; rows without errors are bounds from above."""
    cycles = np.linspace(2e5, 14e5, 25)
    bits = np.full(25, 1000 * 16384.0)
    rate = np.maximum(0.002 * np.exp(0.66 * cycles / 1e5) - 1, 0) / 16384
    data = {"pe_cycles": cycles, "bits_read": bits, "bit_errors": np.round(rate * bits)}
    found = nandlab.fit(data, "exponential")
    above, below = found.plot().axes
    [curve] = [line for line in above.get_lines() if line.get_linestyle() == "-"]
    x, y = curve.get_data()
    errors = found["a"].value * np.exp(found["b"].value * x / 1e5) - 1
    assert y == pytest.approx(np.maximum(errors, 0) / 16384, rel=1e-3)
    assert len(x) > 50
    [zeros] = [line for line in above.get_lines() if line.get_marker() == "v"]
    assert len(zeros.get_xdata()) == (data["bit_errors"] == 0).sum() > 0
    # So many errors or fewer, here none, 25 times in 1000.
    assert zeros.get_ydata() == pytest.approx(1 - 0.025 ** (1 / bits[0]), rel=1e-6)
    assert above.get_xlim() == below.get_xlim()


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.long
def test_intervals_of_no_use_are_refused():
    """Scatter without a law, states that are not there, states that cannot be told apart."""
    rng = np.random.default_rng(3)
    cycles, hours = rng.integers(100, 5000, 20), rng.integers(1, 5000, 20)
    errors = (1e8 * 10 ** rng.uniform(-4, -2, 20)).astype(int)
    noise = {"pe_cycles": cycles, "retention_hours": hours, "bits_read": [10**8] * 20}
    with refused("not determine", "hint: "):
        nandlab.fit({**noise, "bit_errors": errors}, "power_law")
    edges = np.arange(-4, 4.05, 0.05)
    share = 0.5 * np.diff(ndtr((edges + 2) / 0.4)) + 0.5 * np.diff(ndtr((edges - 2) / 0.2))
    two = {"vth_v": (edges[1:] + edges[:-1]) / 2, "cells": rng.poisson(1e5 * share)}
    nandlab.fit(two, "gaussian", states=2)
    for states in (3, 4):
        with pytest.raises(nandlab.NandlabError, match=rf"(of {states} |weight).*; hint: .*states"):
            nandlab.fit(two, "gaussian", states=states)


def test_rates_that_fall_say_which_term_to_leave_out():
    cycles = np.array([500, 1000, 2000, 3000, 4000, 6000])
    data = {"pe_cycles": cycles, "bits_read": [10**8] * 6}
    data["bit_errors"] = (1e5 * np.exp(-cycles / 1000)).astype(int)
    with refused("hint: ", "`epsilon`", "pe_cycles"):
        nandlab.fit(data, "power_law")
    assert nandlab.fit(data, "power_law", without=["epsilon"])["k"].value < 0
    assert nandlab.fit(data, "power_law", without="epsilon")["k"].value < 0


@pytest.mark.parametrize("chip", ["tlc_3d", "qlc_3d", "tlc_planar"])
def test_the_chip_keeps_its_gray_map(folder: Path, chip: str):
    """No histogram shows which bits a level holds: the chip's own cell says it."""
    before = nandlab.cell(f"chip/{chip}")
    levels = 2**before.cell_bits
    edges = np.arange(-1, levels, 0.05)
    share = sum(np.diff(ndtr((edges - level) / 0.2)) for level in range(levels)) / levels
    cells = np.random.default_rng(1).poisson(1e6 * share)
    data = {"vth_v": (edges[1:] + edges[:-1]) / 2, "cells": cells}
    (folder / "mine.toml").write_text(nandlab.fit(data, "gaussian", states=levels).chip_toml(chip))
    made = nandlab.cell("mine.toml")
    assert (made.gray, made.bits) == (before.gray, before.bits)


def test_degrees_that_no_cell_takes_are_told():
    data, _ = states(np.random.default_rng(1), [2.2, 2.3, 2.2, 2.3])
    found = nandlab.fit(data, "student_t")
    [note] = [note for note in found.notes if "Student's t" in note]
    carries(note, "3", "2.23")
    [line] = [row for row in found.chip_toml("wang2014_mlc").split("\n") if row.startswith("shape")]
    carries(line, "mean 2.23", "out of range")
    usual = nandlab.fit(student_t(np.random.default_rng(1))[0], "student_t")
    assert not [note for note in usual.notes if "Student's t" in note]


def test_a_chip_that_heals_is_refused():
    cycles = np.arange(1000, 9000, 500)
    data = {"pe_cycles": cycles, "bits_read": cycles * 0 + 10**7, "bit_errors": 9 * 10**6 // cycles}
    found = nandlab.fit(data, "power_law", without=["epsilon"])
    assert found["k"].value < 0
    with refused("law", "fall", "stress"):
        found.chip_toml("mqsim_mlc")


def some_column(rng: np.random.Generator, rows: int, most: float) -> Any:
    """One value, whole values, four values or values over all decades."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.full(rows, float(rng.integers(0, most)))
    if kind == 1:
        return rng.integers(0, most, rows).astype(float)
    if kind == 2:
        return np.sort(rng.choice([0.0, 1.0, most / 3, most], rows))
    return 10 ** rng.uniform(0, np.log10(most), rows)


@pytest.mark.filterwarnings("error")
def test_any_data_is_fitted_or_refused(few_or_all: Callable[[int, int], int]):
    """Nonsense in every column: no traceback, no warning, no interval without its value."""
    rng = np.random.default_rng(7)
    fitted, told = 0, []
    for i in range(few_or_all(16, 90)):
        law, rows = EVERY_LAW[i % len(EVERY_LAW)], int(rng.integers(1, 40))
        most = {"pe_cycles": 2e6, "retention_hours": 1e5, "reads": 1e7, "temperature_c": 150}
        data = {name: some_column(rng, rows, m) for name, m in most.items() if rng.random() < 0.7}
        if law in ("exponential_vth", "gaussian", "student_t"):
            data["vth_v"] = np.sort(rng.uniform(rng.choice([-1, 0.1]), 5, rows))
        if law in ("gaussian", "student_t"):
            data["cells"] = rng.integers(0, int(10 ** rng.uniform(0, 5)), rows)
        elif rng.random() < 0.7:
            data["bits_read"] = rng.integers(1, int(10 ** rng.uniform(1, 10)), rows)
            data["bit_errors"] = rng.binomial(data["bits_read"], 10 ** rng.uniform(-8, 0))
        else:
            data["rber"] = 10 ** rng.uniform(-8, -0.4, rows)
        states = int(rng.integers(2, 6))
        given = {"states": states} if law in ("gaussian", "student_t") else {}
        try:
            found = nandlab.fit(data, law, **given)
            assert all(p.low <= p.value <= p.high for p in found.parameters)
            json.loads(json.dumps(found.to_dict(), allow_nan=False))
            found.chip_toml("mqsim_mlc")
            fitted += 1
        except nandlab.NandlabError as error:
            told.append(str(error))
    assert fitted > few_or_all(0, 5)
    assert all("expected: " in said or "hint: " in said for said in told)
