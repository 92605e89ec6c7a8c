"""Cells that are fitted whole: known ones come back, with the endurance that follows."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Ended, carries, refused

import nandlab as lab
from nandlab.cell.model import Cell
from nandlab.fit import CellFit, fit_cell
from nandlab.fit.whole_cell.keys import EVERY_NAME
from nandlab.given.toml import parse_toml

Run = Callable[..., Ended]
Data = dict[str, list[Any]]

#: What differs from `tlc_3d`, where every fit begins.
TRUTH = {
    "wear.widen_v": 0.05,
    "wear.power": 0.7,
    "retention.share": 0.0018,
    "retention.worn": 0.35,
    "retention.activation_ev": 1.0,
}
#: Keys that these data would leave open.
OPEN = (
    *("wear.erased_shift_v", "wear.erased_widen_v"),
    *("retention.early_share", "retention.spread", "retention.neutral_v"),
)
EFFECTS = tuple(key for key in EVERY_NAME if not key.startswith("levels"))
TYPES = ("lower", "middle", "upper")
BAKES = ((0, 30), (24, 40), (300, 40), (24, 70), (168, 70))


@cache
def known(**changed: float) -> Cell:
    """The cell that the measurements are of."""
    given = {key.replace("__", "."): value for key, value in changed.items()}
    return lab.cell("tlc_3d", set={**TRUTH, **given})


def counts(
    seed: int,
    scatter: float = 0.0,
    *,
    cell: Cell | None = None,
    cycles: tuple[int, ...] = (0, 1000, 2000, 4000),
    reads: int = 0,
    bits: int = 10**8,
) -> Data:
    """Error counts of a known cell, whose rows differ by factors."""
    cell, rng = cell or known(), np.random.default_rng(seed)
    rows = []
    for n in cycles:
        ages = [(hours, celsius, 0) for hours, celsius in BAKES]
        for hours, celsius, disturbs in [*ages, *([(0, 30, reads)] if reads else [])]:
            stress = {"pe_cycles": n, "retention_hours": hours, "temperature_c": celsius}
            for page, name in enumerate(TYPES):
                rate = float(cell.rber(page, **stress, reads=disturbs))
                rate *= math.exp(scatter * rng.standard_normal() - scatter**2 / 2)
                rows.append((n, hours, celsius, disturbs, name, bits, rng.binomial(bits, rate)))
    stresses = ("pe_cycles", "retention_hours", "temperature_c", "reads")
    names = (*stresses, "page_type", "bits_read", "bit_errors")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def histograms(seed: int, cells: int = 50_000, *, cell: Cell | None = None) -> Data:
    """Cells by voltage, fresh, worn, and worn and baked."""
    cell, rng = cell or known(), np.random.default_rng(1000 + seed)
    edges = np.arange(-3.2, 5.6, 0.08)
    middles = (edges[1:] + edges[:-1]) / 2
    rows = []
    for n, hours, celsius in ((0, 0, 30), (3000, 0, 30), (3000, 168, 70)):
        stress = {"pe_cycles": n, "retention_hours": hours, "temperature_c": celsius}
        shares = np.diff(cell.sides(edges, **stress)[1].mean(axis=0)).clip(min=0)
        found = rng.multinomial(cells, [*shares, max(1 - shares.sum(), 0)])
        rows += [(n, hours, celsius, v, k) for v, k in zip(middles, found, strict=False)]
    names = ("pe_cycles", "retention_hours", "temperature_c", "vth_v", "cells")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def truth_of(found: CellFit, name: str) -> float:
    """What a parameter was when the data were drawn."""
    key, _, item = name.partition("[")
    if key in TRUTH:
        return TRUTH[key]
    table, _, last = key.partition(".")
    own = found.descent.model.tables[table].get(last, 1.0)
    return float(own if not item else own[1 if item == "1:]" else int(item[:-1])])


def holds_truth(found: CellFit) -> list[bool]:
    """Whether each interval does."""
    return [p.low <= truth_of(found, p.name) <= p.high for p in found.parameters]


@cache
def fitted() -> CellFit:
    """A fit to counts alone, whose rows differ by a tenth."""
    return fit_cell(counts(1, 0.1), "tlc_3d", without=OPEN)


def endures(of: CellFit | Cell, hours: float = 2000.0) -> Any:
    """Cycles that last for so long: of a fit with their interval."""
    if isinstance(of, Cell):
        return of.endurance(retention_hours=[hours], temperature_c=[30]).pe_cycles[0][0]
    [point] = lab.endurance(of, retention_hours=hours, level=0.99).points
    return point


def test_a_known_cell_comes_back_from_counts_and_histograms() -> None:
    """Levels too, each within its interval, which histograms make narrow."""
    found = fit_cell([counts(2), histograms(2)], "tlc_3d", without=OPEN)
    names = [p.name for p in found.parameters]
    assert names[:16] == [
        *(f"levels.vth_mean_v[{i}]" for i in range(8)),
        *(f"levels.vth_sigma_v[{i}]" for i in range(8)),
    ]
    assert set(TRUTH) < set(names)
    assert all(holds_truth(found))
    assert found["wear.widen_v"].high / found["wear.widen_v"].low < 1.02
    assert found["levels.vth_mean_v[3]"].high - found["levels.vth_mean_v[3]"].low < 0.02
    assert found.overdispersion < 2
    assert not found.apart


def test_levels_of_another_chip_are_found_by_their_histogram() -> None:
    """The fit begins at its peaks, however far from those of the chip."""
    moved = [-1.9, 0.6, 1.35, 2.1, 2.85, 3.6, 4.3, 5.0]
    cell = lab.cell("tlc_3d", set={"levels.vth_mean_v": moved})
    found = fit_cell(histograms(3, cell=cell), "tlc_3d", without=EFFECTS)
    for i, mean in enumerate(moved):
        parameter = found[f"levels.vth_mean_v[{i}]"]
        assert parameter.low <= mean <= parameter.high


def test_scatter_of_rows_widens_the_intervals() -> None:
    """And they hold the truth still; so does that of the endurance."""
    found, sharp = fitted(), fit_cell(counts(1), "tlc_3d", without=OPEN)
    assert all(holds_truth(found))
    assert all(holds_truth(sharp))
    assert found.overdispersion > 50 > 2 > sharp.overdispersion
    assert found.descent.weights.spread == pytest.approx(0.1, abs=0.03)
    wide, narrow = (fit["wear.widen_v"] for fit in (found, sharp))
    assert wide.high - wide.low > 10 * (narrow.high - narrow.low)
    point, true = endures(found), endures(known())
    assert point.pe_cycles_low <= true <= point.pe_cycles_high
    assert 1.05 < point.pe_cycles_high / point.pe_cycles_low < 2
    exact = endures(sharp)
    assert exact.pe_cycles_low <= true <= exact.pe_cycles_high
    assert exact.pe_cycles_high - exact.pe_cycles_low < 0.05 * true


@pytest.mark.long
def test_intervals_hold_the_truth_of_most_seeds() -> None:
    """All at once, as the level says, and that of the endurance."""
    fits = [fit_cell(counts(seed, 0.1), "tlc_3d", without=OPEN) for seed in range(40)]
    # Of a width that is kept only where its effect shows, the interval is a little short.
    assert sum(all(holds_truth(found)) for found in fits) >= 32
    every = [one for found in fits for one in holds_truth(found)]
    assert sum(every) >= 0.97 * len(every)
    true = endures(known())
    points = [endures(found) for found in fits]
    assert sum(p.pe_cycles_low <= true <= p.pe_cycles_high for p in points) >= 38


def test_keys_that_the_data_do_not_tell_stay_and_are_said() -> None:
    """Wear at two counts of cycles has no power; nothing is said of what does not vary."""
    found = fit_cell(counts(4, 0.1, cycles=(0, 2000)), "tlc_3d", without=OPEN)
    names = [p.name for p in found.parameters]
    assert "wear.power" not in names
    assert found.cell.changed == [text for text in found.cell.changed if "wear.power" not in text]
    assert any("wear.power stays at 0.87" in note for note in found.notes)
    assert not any(name.startswith("read_disturb") for name in names)
    assert any("reads" in note for note in found.notes)
    kept = fit_cell(counts(4, cycles=(0, 2000)), "tlc_3d", without=[*OPEN, "retention.worn"])
    assert "retention.worn" not in [p.name for p in kept.parameters]


def test_what_cannot_be_told_apart_is_said_by_name() -> None:
    """Of cycles that hardly differ, width and power move together."""
    near = counts(5, cycles=(0, 2900, 3300), bits=10**9)
    found = fit_cell(near, "tlc_3d", without=(*OPEN, "retention.activation_ev"))
    together = [note for note in found.apart if "wear.widen_v" in note and "wear.power" in note]
    assert any("cannot be told apart" in note for note in together)
    assert any("note: wear.widen_v and wear.power" in line for line in str(found).split("\n"))


def test_reads_tell_the_rate_of_their_disturb() -> None:
    cell = known(read_disturb__rate_uv=60.0)
    data = counts(6, cell=cell, cycles=(0, 2000), reads=20_000)
    found = fit_cell(data, "tlc_3d", without=(*OPEN, "wear.power"))
    rate = found["read_disturb.rate_uv"]
    assert rate.low <= 60.0 <= rate.high < 90.0


def test_rows_without_page_types_are_means_of_all_pages() -> None:
    data = counts(7)
    errors = np.array(data.pop("bit_errors")).reshape(-1, 3).sum(axis=1).tolist()
    pooled = {name: column[::3] for name, column in data.items() if name != "page_type"}
    pooled |= {"bits_read": [3 * bits for bits in pooled["bits_read"]], "bit_errors": errors}
    found = fit_cell(pooled, "tlc_3d", without=OPEN)
    assert all(holds_truth(found))


def pages_of(seed: int, spread: float) -> tuple[Data, dict[str, Any]]:
    """Counts of single pages, whose widths differ by so much; each keeps its factor."""
    own = {"wear.widen_v": 0.05, "variation.page_spread": spread, "variation.layer_spread": 0.0}
    cell, rng = lab.cell("tlc_3d", set=own), np.random.default_rng(seed)
    deviates, rows = rng.standard_normal((20, 3)), []
    for n in (0, 1000, 3000):
        for hours in (0.0, 1000.0):
            for page, name in enumerate(TYPES):
                rate = float(cell.rber(page, pe_cycles=n, retention_hours=hours))
                by = cell.native.page_spread(page, [], (n, hours, 0, 0))
                for wordline, deviate in enumerate(deviates[:, page]):
                    errors = rng.binomial(2**19, rate * math.exp(by * deviate - by**2 / 2))
                    rows.append((n, hours, wordline, name, 2**19, errors))
    names = ("pe_cycles", "retention_hours", "wordline", "page_type", "bits_read", "bit_errors")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), own


def test_rows_of_single_pages_tell_how_pages_differ(folder: Path) -> None:
    """By the width of their wordlines, which an endurance knows then."""
    text = lab.show("chip/tlc_3d").replace(
        'preset = "tlc_3d"', 'preset = "tlc_3d"\nvariation.layer_spread = 0.0'
    )
    (folder / "base.toml").write_text(text)
    data, own = pages_of(2, 0.045)
    found = fit_cell(data, "base.toml", without=OPEN)
    spread = found["variation.page_spread"]
    assert 0.03 < spread.low < 0.045 < spread.high < 0.08
    assert found["wear.widen_v"].low < own["wear.widen_v"] < found["wear.widen_v"].high
    (folder / "mine.toml").write_text(found.chip_toml())
    [point] = lab.endurance("mine.toml", retention_hours=1000, level=0.99).points
    true = endures(lab.cell("tlc_3d", set=own), 1000.0)
    assert point.pe_cycles_low <= true <= point.pe_cycles_high
    kept = fit_cell(data, "base.toml", without=[*OPEN, "variation.page_spread"])
    assert "variation.page_spread" not in [p.name for p in kept.parameters]


# --- Its chip -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A chip file of the fit."""
    path: Path = tmp_path_factory.mktemp("cell") / "mine.toml"
    path.write_text(fitted().chip_toml())
    return str(path)


def test_the_chip_has_the_cell_and_its_endurance(chip: str) -> None:
    """A drive, a cell and an endurance of the file are those of the fit."""
    found, cell = fitted(), lab.cell(chip)
    state: Mapping[str, Any] = {"pe_cycles": 3000, "retention_hours": 100.0}
    assert cell.rber(1, **state) == found.cell.rber(1, **state)
    [ours] = lab.endurance(chip, retention_hours=2000, level=0.99).points
    assert ours == endures(found)
    tables = parse_toml(Path(chip).read_text(), chip)
    assert tables["fit"]["law"] == "cell"
    assert tables["fit"]["parameters"] == [p.name for p in found.parameters]
    assert tables["fit"]["covariance"] == found.covariance()
    assert tables["geometry"] == parse_toml(lab.show("chip/tlc_3d"), "")["geometry"]
    job = "[r]\nrw=randread\nbs=16k\nnumber_ios=4000\n"
    small = {"chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 96}
    code = {"ecc.model": "threshold", "ecc.t": 400, "ecc.parity_bytes": 512}
    sets = {"chip.preset": chip, **small, **code}
    sets |= {"age.pe_cycles": 3000, "age.retention_hours": 100}
    ecc = lab.run("tiny", job, set=sets, precondition="fill").report["ecc"]
    rate = ecc["raw_bit_errors"] / ecc["codewords"] / (4096 + 512) / 8
    mean = sum(float(cell.rber(page, **state)) for page in range(3)) / 3
    assert rate == pytest.approx(mean, rel=0.1)


def test_a_chip_that_was_changed_has_no_intervals(chip: str, folder: Path) -> None:
    text = Path(chip).read_text()
    changed = text.replace("wear.power = 0.7", "wear.power = 0.6", 1)
    assert changed != text
    (folder / "changed.toml").write_text(changed)
    found = lab.endurance("changed.toml", retention_hours=2000)
    assert found.points[0].pe_cycles_low is None
    assert any("changed since" in note for note in found.notes())


def test_figures_beyond_the_data_say_so(nandlab: Run, chip: str) -> None:
    """Within them nothing is said: 168 h at 70 °C are a year and more at 30 °C."""
    for hours, cycles, is_beyond in ((2000, 3000, False), (87_600, 3000, True), (10, 9000, True)):
        given = ("--pe-cycles", cycles, "--retention-hours", hours)
        shown = nandlab("cell", chip, *given).succeeded()
        assert ("extrapolations of the fitted cell" in shown.out + shown.err) == is_beyond
    within, beyond = (lab.endurance(chip, retention_hours=h).notes() for h in (2000, 87_600))
    assert not within
    [note] = beyond
    carries(note, "the fitted cell", "4,000 cycles")


def test_a_chip_whose_levels_were_fitted_keeps_its_times() -> None:
    """Pulses to other voltages would take another time."""
    found = fit_cell(histograms(8), "tlc_3d", without=EFFECTS)
    timing = parse_toml(found.chip_toml(), "")["timing"]
    assert timing["t_program_us"] == lab.cell("tlc_3d").times().program_us


# --- The command ----------------------------------------------------------------------------------


def written(path: Path, data: Data) -> str:
    """A table as CSV."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(data)
        table.writerows(zip(*data.values(), strict=True))
    return str(path)


def test_a_command_fits_a_cell(nandlab: Run, folder: Path) -> None:
    """It leaves a chip, numbers, a picture and a retry table."""
    data = counts(9, cycles=(0, 3000))
    rows = written(folder / "counts.csv", data)
    bins = written(folder / "bins.csv", histograms(9))
    kept = [word for key in (*OPEN, "wear.power") for word in ("--without", key)]
    files = ("--toml", "m.toml", "--json", "m.json", "--plot", "m.png")
    given = ("--law", "cell", "--chip", "tlc_3d", *kept, "--retry", 2, "--t", 250)
    out = nandlab("fit", rows, bins, *given, *files).succeeded().out
    report = json.loads((folder / "m.json").read_text())
    value, low, high = report["parameters"]["wear.widen_v"]
    assert low < value < high
    assert f"{value:.6g}" in out
    assert report["law"] == "cell"
    assert report["ranges"]["pe_cycles"] == [0, 3000]
    assert report["ranges"]["hours_at_reference"][1] > 3000
    table = report["retry_table"]
    assert len(table["shifts_v"]) == 2
    assert f"retry.shifts_v = [{table['shifts_v'][0]:g}, {table['shifts_v'][1]:g}]" in out
    assert "# Of a drive with this chip: retry.shifts_v" in (folder / "m.toml").read_text()
    assert (folder / "m.png").stat().st_size > 10_000
    again = nandlab("cell", "m.toml", "--retry", 2, "--t", 250, "--json", "-").succeeded().json
    assert again["retry_table"]["shifts_v"] == table["shifts_v"]


BAD: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ({"rber": [1e-3] * 60}, {}, ("rber", "bits_read")),
    ({"page_type": ["lower", "upper"] * 30}, {}, ("2 page types", "3 bits")),
    ({}, {"chip": "tlc_3e"}, ("tlc_3e", "tlc_3d")),
    ({}, {"chip": "zuolo2016_a_mlc"}, ("cell",)),
    ({}, {"chip": str(ROOT / "params/cells/tlc_3d.toml")}, ("no chip",)),
    ({}, {"without": ["wear.widen"]}, ("wear.widen", "wear.widen_v")),
    ({}, {"level": 0.2}, ("level", "0.5")),
    ({"bit_errors": [0] * 60}, {}, ("bit_errors", "no errors")),
]


@pytest.mark.parametrize(("columns", "given", "parts"), BAD)
def test_bad_input_is_refused(
    columns: dict[str, Any], given: dict[str, Any], parts: tuple[str, ...]
) -> None:
    data: Data = {**counts(1), **columns}
    if "rber" in columns:
        del data["bit_errors"], data["bits_read"]
    with refused(*parts):
        fit_cell(data, **{"chip": "tlc_3d", **given})


OF_COMMANDS = [
    (("--law", "cell"), ("--chip",)),
    (("--law", "cell", "--chip", "tlc_3d", "--states", "4"), ("--states",)),
    (("--law", "cell", "--chip", "tlc_3d", "--t", "40"), ("--t", "--retry")),
    (("--law", "cell", "--law", "power_law", "--chip", "tlc_3d"), ("cell",)),
    (("--law", "power_law", "--retry", "2"), ("--retry", "cell")),
    (("--law", "power_law", "more.csv"), ("2 files", "power_law")),
]


@pytest.mark.parametrize(("given", "parts"), OF_COMMANDS)
def test_options_that_do_not_go_together_are_refused(
    nandlab: Run, folder: Path, given: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    for name in ("counts.csv", "more.csv"):
        written(folder / name, {name: column[:9] for name, column in counts(1).items()})
    nandlab("fit", "counts.csv", *given).refused(*parts)
