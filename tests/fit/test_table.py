"""Measured points as the table of a chip: rates, intervals and the spread of pages come back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, carries, refused

import nandlab
from nandlab import _core
from nandlab.catalogue import load_config

Data = dict[str, list[Any]]

CYCLES, HOURS, TYPES = (300, 1000, 3000), (0, 100, 1000), ("lower", "upper")


def rate_at(cycles: float, hours: float, page_type: str) -> float:
    return (1e-5 + 3e-8 * cycles**1.2 * (1 + hours / 100) ** 0.4) * (1 + TYPES.index(page_type))


def measured(seed: int = 0, pages: int = 1, bits: int = 10**7, spread: float = 0.0) -> Data:
    """Counts of pages, each with a lognormal factor of its own at all points."""
    rng = np.random.default_rng(seed)
    factors = np.exp(spread * rng.standard_normal((pages, 2)) - spread**2 / 2)
    names = ("pe_cycles", "retention_hours", "page_type", "page", "bits_read", "bit_errors")
    rows = [
        (n, h, t, page, bits, rng.binomial(bits, rate_at(n, h, t) * factors[page, i]))
        for n in CYCLES
        for h in HOURS
        for i, t in enumerate(TYPES)
        for page in range(pages)
    ]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def truth() -> list[float]:
    """Rates in the order of the parameters."""
    return [rate_at(n, h, t) for n in CYCLES for h in HOURS for t in TYPES]


def without(data: Data, *names: str) -> Data:
    return {name: values for name, values in data.items() if name not in names}


def rows_where(data: Data, keep: Callable[[int], bool]) -> Data:
    return {name: [v for i, v in enumerate(of) if keep(i)] for name, of in data.items()}


def written(path: Path, data: Data) -> Path:
    lines = [",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


# --- What comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize(("pages", "spread"), [(1, 0.0), (8, 0.0), (8, 0.2)])
def test_intervals_hold_the_truth(pages: int, spread: float):
    """Of 720 rates, 95 % intervals hold at least 93 %; of 40 spreads, at least 35."""
    rates, spreads = [], []
    for seed in range(40):
        found = nandlab.fit(measured(seed, pages, 10**6, spread), "table", each=True)
        assert len(found.parameters) == len(truth()) + (pages > 1)
        rates += [p.low <= r <= p.high for p, r in zip(found.parameters, truth(), strict=False)]
        if pages > 1:
            one = found["page_spread"]
            spreads.append(one.low <= spread <= one.high)
    assert np.mean(rates) >= 0.93
    assert sum(spreads) >= 35 or pages == 1


def test_the_spread_of_pages_comes_back():
    data = measured(1, pages=64, spread=0.3)
    found = nandlab.fit(data, "table")
    assert found["page_spread"].value == pytest.approx(0.3, rel=0.2)
    assert found.array["page_spread"] == found["page_spread"].value
    carries(found, "page", "apart")
    by_row = nandlab.fit(without(data, "page"), "table")
    assert by_row["page_spread"].value == found["page_spread"].value
    carries(by_row, "one page")
    once = nandlab.fit(measured(), "table")
    assert once.array["page_spread"] == 0
    assert any("page_spread is 0" in note for note in once.notes)


def test_all_hold_at_once_by_default():
    data = measured()
    joint, alone = nandlab.fit(data, "table"), nandlab.fit(data, "table", each=True)
    for wide, one in zip(joint.parameters, alone.parameters, strict=True):
        assert wide.low < one.low < one.value == wide.value < one.high < wide.high


def test_the_array_plays_the_points_back():
    """At its points what was counted, by page type; a rate between them, and nothing beyond."""
    data = measured()
    found = nandlab.fit(data, "table")
    array = _core.Array(json.dumps(found.array))
    at = zip(data["page_type"], data["pe_cycles"], data["retention_hours"], strict=True)
    rates = array.rber([(TYPES.index(t), n, h, 5) for t, n, h in at])
    assert rates == pytest.approx(np.array(data["bit_errors"]) / 1e7, rel=1e-5)
    assert [p.value for p in found.parameters] == pytest.approx(rates, rel=1e-5)
    low, between, high, beyond = array.rber([(1, n, 100, 0) for n in (1000, 2000, 3000, 9000)])
    assert low < between < high == beyond


def test_pages_and_rows_are_pooled():
    data = measured(pages=4)
    pooled = {n: np.reshape(data[n], (-1, 4)).sum(axis=1) for n in ("bits_read", "bit_errors")}
    labels = {n: data[n][::4] for n in ("pe_cycles", "retention_hours", "page_type")}
    one, other = (nandlab.fit(d, "table", each=True) for d in (data, {**labels, **pooled}))
    values = [p.value for p in one.parameters if p.name != "page_spread"]
    assert values == pytest.approx([p.value for p in other.parameters])
    assert one["300 cycles, 0 h, upper"].trials.endswith("errors of 4e+07 bits")


def test_no_error_is_a_rate_that_says_so():
    data = measured(bits=10**4)
    found = nandlab.fit(data, "table", each=True)
    i = data["bit_errors"].index(0)
    none = found.parameters[i]
    assert none.low == 0
    assert none.value == pytest.approx(math.log(2) / 1e4, rel=1e-3)
    assert none.high == pytest.approx(-math.log(0.025) / 1e4, rel=1e-3)
    assert none.trials == "no error in 1e+04 bits: median"
    carries(found, "without errors")


def test_rates_without_counts():
    data = measured()
    bare = without(data, "bits_read", "bit_errors", "page")
    alone = nandlab.fit({**bare, "rber": truth()}, "table")
    assert [p.value for p in alone.parameters] == pytest.approx(truth())
    assert {(p.low, p.high) for p in alone.parameters} == {(0.0, math.inf)}
    with refused("no data"):
        alone.draws(3)
    rng = np.random.default_rng(3)
    rber = [rate * f for rate in truth() for f in np.exp(0.2 * rng.standard_normal(12))]
    many = {name: np.repeat(values, 12) for name, values in bare.items()}
    found = nandlab.fit({**many, "rber": rber}, "table")
    assert found["page_spread"].value == pytest.approx(0.2, rel=0.2)
    assert all(p.low < p.value < p.high < 2 * p.value for p in found.parameters)


def test_endurance_of_a_table_has_an_interval():
    found = nandlab.fit(measured(), "table")
    result = nandlab.endurance(found, t=40, retention_hours=[100])
    [point] = result.points
    assert point.pe_cycles_low <= point.pe_cycles <= point.pe_cycles_high
    assert point.pe_cycles_low < point.pe_cycles_high


def test_endurance_is_a_bound_where_the_measurements_end():
    """Data that are kept at the last measured cycles may be kept at more: nobody has looked."""
    found = nandlab.fit(measured(), "table")
    result = nandlab.endurance(found, t=[40, 200], retention_hours=[100])
    within, at_the_end = result.points
    assert within.pe_cycles < within.pe_cycles_measured == max(CYCLES)
    assert not within.is_at_the_last_measurement
    assert at_the_end.pe_cycles == max(CYCLES)
    assert at_the_end.is_at_the_last_measurement
    carries(result, ">= 3,000", "lower bound")
    [law] = nandlab.endurance("tlc_3d", t=40, retention_hours=[100]).points
    assert law.pe_cycles_measured is None
    assert not law.is_at_the_last_measurement


# --- Chips and drives -----------------------------------------------------------------------------

FIT = ["--law", "table", "--chip", "mqsim_mlc", "--toml", "mine.toml"]


def test_a_drive_makes_the_errors_of_the_points(nandlab: Callable[..., Ended], folder: Path):
    data = measured(pages=8, spread=0.2)
    said = nandlab("fit", written(folder / "board.csv", data), *FIT, "--plot", "fit.png")
    assert "1000 cycles, 100 h, lower" in said.succeeded().out
    assert (folder / "fit.png").stat().st_size > 10_000
    text = (folder / "mine.toml").read_text()
    own = text[text.index("[array]") : text.index("[fit]")].splitlines()
    numbers = [line for line in own if any(c.isdigit() for c in line.partition("#")[0])]
    assert all("# measured: " in line for line in numbers)
    (folder / "reads.fio").write_text("[r]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=20000\n")
    sets = ["chip.preset=mine.toml", "chip.geometry.blocks_per_plane=64", "age.pe_cycles=3000"]
    sets += ["age.retention_hours=1000", "ecc.model=threshold", "ecc.t=100"]
    run = ["run", "--drive", "tiny", "--workload", "reads.fio", "--precondition", "fill"]
    set_all = [part for one in [*sets, "ecc.parity_bytes=200"] for part in ("--set", one)]
    ecc = nandlab(*run, *set_all, "--json", "-").succeeded().json["ecc"]
    rate = ecc["raw_bit_errors"] / (ecc["codewords"] * (4096 + 200) * 8)
    rows = [i for i, n in enumerate(data["pe_cycles"]) if n == 3000]
    rows = [i for i in rows if data["retention_hours"][i] == 1000]
    expected = sum(data["bit_errors"][i] for i in rows) / sum(data["bits_read"][i] for i in rows)
    assert rate == pytest.approx(expected, rel=0.02)


def test_a_life_claims_no_end_beyond_the_measurements(nandlab: Callable[..., Ended], folder: Path):
    """Its drive still keeps data at the last measured cycles, behind which nobody has looked."""
    nandlab("fit", written(folder / "board.csv", measured()), *FIT).succeeded()
    (folder / "writes.fio").write_text("[w]\nrw=randwrite\nbs=4k\nnorandommap=1\n")
    sets = ["chip.preset=mine.toml", "chip.geometry.blocks_per_plane=32", "ecc.model=threshold"]
    options = [word for one in [*sets, "ecc.t=200"] for word in ("--set", one)]
    life = ["life", "--drive", "tiny", "--workload", "writes.fio", "--to-death", "--dwpd", "1"]
    more = ("--accelerate", "400", "--retention-hours", "100", "--json", "-")
    assert nandlab(*life, *options, *more).succeeded().json["end"] == "measured"


def test_a_fit_replaces_a_fitted_chip(folder: Path):
    """A table on a table, a law on a table, and a table on a law: one array, all else the same."""
    data = measured()
    points = nandlab.fit(data, "table")
    law = nandlab.fit(without(data, "page_type"), "power_law", without=["epsilon"])
    chip = "mqsim_mlc"
    for i, found in enumerate((points, points, law, points)):
        (folder / f"{i}.toml").write_text(found.chip_toml(chip))
        chip = str(folder / f"{i}.toml")
        loaded = load_config("tiny", [f"chip.preset={chip}"]).config
        array = loaded["chip"]["array"]
        assert array["name"] == found.array["name"]
        assert len(array.get("points", [])) == (9 if found is points else 0)


def test_one_rate_for_all_page_types(folder: Path):
    found = nandlab.fit(without(measured(), "page_type"), "table")
    assert any("no column page_type" in note for note in found.notes)
    (folder / "mine.toml").write_text(found.chip_toml("tlc_3d"))
    first, last = _core.Array(json.dumps(found.array)).rber([(0, 1000, 0, 0), (2, 1000, 0, 0)])
    assert first == last


def test_rows_of_the_board(folder: Path):
    """What the board writes is read: rows by page type, and rows with all page types."""
    small = ["chip.geometry.pages_per_block=16", "chip.geometry.page_bytes=4096"]
    small += ["chip.cell.levels.vth_sigma_v=[0.42,0.25,0.27,0.25]"]
    worn = nandlab.board("rber", "wang2014_mlc", set=small, points=2)
    assert {"run_hash", "rber", "bits"} <= set(worn.table().column_names)
    worn.write(folder / "rber.parquet")
    found = nandlab.fit(folder / "rber.parquet", "table")
    rows = worn.table().to_pylist()
    assert [p.value for p in found.parameters if "no error" not in p.trials] == pytest.approx(
        [row["rber"] for row in rows if row["bit_errors"]]
    )
    wide = {"run_hash": ["x"] * 2, "pe_cycles": [1, 2], "wordline": [3, 3], "erase_us": [9, 9]}
    wide |= {"lower_bits": [100, 100], "lower_bit_errors": [1, 2]}
    wide |= {"upper_bits": [100, 100], "upper_bit_errors": [3, 4]}
    by_type = nandlab.fit(wide, "table")
    assert [p.value for p in by_type.parameters] == pytest.approx([0.01, 0.03, 0.02, 0.04])


def test_pictures(folder: Path):
    for data in (measured(), without(measured(), "page_type"), measured(pages=2)):
        [axes] = nandlab.fit(data, "table").plot(folder / "table.png").axes
        [legend] = axes.figure.legends
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels[-2] == "played back"
        assert len(labels) == 2 + (6 if "page_type" in data else 3)


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (
            lambda data: rows_where(data, lambda i: i != 9),
            ["pe_cycles = 1000, retention_hours = 100, page_type = upper", "1 of 18"],
        ),
        (lambda d: {**d, "page_type": ["lower"] * 17 + ["uper"]}, ["`lower`, `uper`"]),
        (lambda d: {**d, "page_type": ["lower"] * 9 + ["top"] * 9}, ["lower; lower, upper"]),
        (lambda d: {**d, "temperature_c": [30] * 9 + [85] * 9}, ["several temperatures"]),
        (lambda d: without(d, "pe_cycles"), ["no column `pe_cycles`"]),
        (
            lambda d: {**without(d, "retention_hours"), "retention_days": d["retention_hours"]},
            ["`retention_hours`"],
        ),
        (
            lambda d: {**d, "bits_read": d["bit_errors"]},
            ["RBER 1", "300 cycles, 0 h, lower"],
        ),
        (lambda d: {**d, "bit_errors": [0] * 18}, ["no errors"]),
    ],
)
def test_refusals(
    nandlab: Callable[..., Ended], folder: Path, change: Callable[[Data], Data], parts: list[str]
):
    data = written(folder / "board.csv", change(measured()))
    line = nandlab("fit", data, "--law", "table").refused(*parts)
    assert any(word in line for word in ("expected: ", "hint: "))


def test_page_types_of_another_chip_are_refused():
    with refused("2 page types", "tlc_3d", "3"):
        nandlab.fit(measured(), "table").chip_toml("tlc_3d")
