"""Endurance: exact tails, Arrhenius and JESD218, laws that must hold, and what is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, carries, refused, some

import nandlab
from nandlab import _core
from nandlab.cell.endurance import cell_map
from nandlab.ecc.stripe import Stripe
from nandlab.ecc.uber import Ecc, ln_codeword_failure, rber_limit, uber
from nandlab.endurance import MOST_PE_CYCLES, PROFILES, acceleration, duration, endurance

LUO = {"name": "retention_law"}


def exact_binomial(n: int, t: int, p: Fraction) -> Fraction:
    return sum(
        (math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(t + 1, n + 1)), Fraction(0)
    )


def exact_beta_binomial(n: int, t: int, a: int, b: int) -> Fraction:
    """With whole parameters, so that every beta function is a ratio of factorials."""

    def beta(x: int, y: int) -> Fraction:
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    return sum(
        (math.comb(n, k) * beta(k + a, n - k + b) / beta(a, b) for k in range(t + 1, n + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize(("n", "t", "p"), [(64, 3, 1e-3), (500, 12, 1e-5), (20, 0, 0.25)])
def test_binomial_tails_are_exact(n: int, t: int, p: float):
    exact = exact_binomial(n, t, Fraction(p))
    ours = ln_codeword_failure(p, Ecc(t, n, n))
    log = math.log(exact.numerator) - math.log(exact.denominator)
    assert ours == pytest.approx(log, abs=1e-9)


@pytest.mark.parametrize(("n", "t", "a", "b"), [(64, 3, 2, 998), (300, 20, 1, 400)])
def test_beta_binomial_tails_are_exact(n: int, t: int, a: int, b: int):
    exact = exact_beta_binomial(n, t, a, b)
    mean = a / (a + b)
    spread = math.sqrt(b / (a * (a + b + 1)))
    log = math.log(exact.numerator) - math.log(exact.denominator)
    assert ln_codeword_failure(mean, Ecc(t, n, n), spread) == pytest.approx(log, abs=1e-9)


@pytest.mark.parametrize(
    ("rber", "failure"),
    [(2.557e-3, 1e-1), (2.106e-3, 1e-3), (1.501e-3, 1e-9), (1.173e-3, 1e-15), (1.130e-3, 1e-16)],
)
def test_the_code_of_zuolo(rber: float, failure: float):
    """100 errors in 4320 bytes, worked out apart; four digits of a rate are 2.5 % of a failure."""
    found = math.exp(ln_codeword_failure(rber, Ecc(100)))
    assert found == pytest.approx(failure, rel=0.025, abs=0)


def test_spread_vanishes_and_only_hurts():
    ecc = Ecc(100)
    bare = ln_codeword_failure(1e-3, ecc)
    for spread in (1e-3, 1e-5, 1e-7):
        # To second order a spread s moves the logarithm by (t - n p)^2 s^2 / 2.
        moved = ln_codeword_failure(1e-3, ecc, spread) - bare
        assert moved == pytest.approx((101 - 34.56) ** 2 * spread**2 / 2, rel=0.05, abs=1e-8)
    assert ln_codeword_failure(1e-3, ecc, 0.1) > bare
    assert rber_limit(1e-15, ecc, 0.3) < rber_limit(1e-15, ecc, 0.1) < rber_limit(1e-15, ecc)


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("target", [1e-13, 1e-16])
def test_the_limit_is_where_the_target_is(target: float, spread: float):
    limit = rber_limit(target, Ecc(), spread)
    assert uber(limit, Ecc(), spread) == pytest.approx(target, rel=1e-6, abs=0)


@pytest.mark.parametrize(("celsius", "hours"), [(52, 506), (66, 100)])
def test_bakes_of_jesd218(celsius: float, hours: float):
    """A year at 30 C: 506 h at 52 C, 100 h at 66 C, for 1.1 eV."""
    assert 8760 / acceleration(celsius, 30.0) == pytest.approx(hours, rel=0.005)


def test_the_bake_gives_the_same_endurance():
    year = nandlab.endurance(LUO, retention_hours=8760, temperature_c=30).points[0]
    bake = nandlab.endurance(LUO, retention_hours=8760 / acceleration(66, 30), temperature_c=66)
    assert bake.points[0].pe_cycles == pytest.approx(year.pe_cycles, abs=1)


@pytest.mark.parametrize("own", [25.0, 55.0])
def test_a_law_ages_by_its_own_reference_and_energy(own: float):
    """As the array model itself has it, at whichever temperature its table rests."""
    law = {**LUO, "temperature_c": own, "reference_c": 20.0, "activation_ev": 0.5}
    [*points] = nandlab.endurance(law, retention_hours=8760, temperature_c=[25, 55]).points
    for point in points:
        there = json.dumps({**law, "temperature_c": point.temperature_c})
        states = [(0, point.pe_cycles + i, 8760.0, 0) for i in (0, 1)]
        within, beyond = _core.Array(there).rber(states)
        assert within <= point.rber_limit < beyond
    # What its table leaves out is what the array model takes.
    bare = nandlab.endurance(LUO, retention_hours=8760, temperature_c=55).points[0]
    warm = _core.Array(json.dumps({**LUO, "temperature_c": 55.0}))
    within, beyond = warm.rber([(0, bare.pe_cycles + i, 8760.0, 0) for i in (0, 1)])
    assert within <= bare.rber_limit < beyond


def test_a_fitted_energy_is_the_one_that_counts():
    """Made with 0.5 eV: by 1.1 eV a year at 85 C would leave nothing."""
    law = {**LUO, "activation_ev": 0.5}
    grid = np.meshgrid([0, 1000, 3000, 10000], [1.0, 24, 240, 2400], [25.0, 55.0, 85.0])
    n, hours, celsius = (axis.ravel() for axis in grid)
    rates = [
        _core.Array(json.dumps({**law, "temperature_c": c})).rber([(0, int(p), t, 0)])[0]
        for p, t, c in zip(n, hours, celsius, strict=True)
    ]
    size = np.full(len(rates), 10**8)
    data = {"pe_cycles": n, "retention_hours": hours, "temperature_c": celsius, "bits_read": size}
    errors = np.random.default_rng(4).binomial(size, rates)
    found = nandlab.fit({**data, "bit_errors": errors}, "retention_law")
    asked: dict[str, Any] = {"retention_hours": 8760, "temperature_c": [25, 55, 85], "t": 100}
    truth = nandlab.endurance(law, **asked).points
    result = nandlab.endurance(found, **asked, level=0.999)
    for ours, known in zip(result.points, truth, strict=True):
        assert ours.pe_cycles_low is not None
        assert ours.pe_cycles_high is not None
        assert ours.pe_cycles_low <= known.pe_cycles <= ours.pe_cycles_high
        assert ours.pe_cycles == pytest.approx(known.pe_cycles, rel=0.05)
        assert known.pe_cycles > 500


def cycles(**arguments: Any) -> list[int]:
    arguments = {"retention_hours": 8760.0, **arguments}
    return [point.pe_cycles for point in nandlab.endurance(LUO, **arguments).points]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("retention_hours", [24, 2190, 8760, 87600]),
        ("temperature_c", [25, 30, 40, 55]),
        ("t", [140, 100, 60]),
        ("uber", [1e-13, 1e-15, 1e-16]),
        ("rber_spread", [0, 0.1, 0.3]),
    ],
)
def test_more_asked_is_less_endured(name: str, values: list[float]):
    found = cycles(**{name: values})
    assert len(found) == len(values)
    assert all(more > less for more, less in pairwise(found))


def test_the_last_cycle_is_the_last():
    [point] = nandlab.endurance(LUO, retention_hours=8760, temperature_c=25).points
    states = [(0, point.pe_cycles + i, 8760.0, 0) for i in (0, 1)]
    within, beyond = _core.Array('{"name": "retention_law"}').rber(states)
    assert within <= point.rber_limit < beyond


def test_presets_files_and_profiles(tmp_path: Path):
    by_name = nandlab.endurance("tlc_3d")
    (tmp_path / "mine.toml").write_text(nandlab.show("chip/tlc_3d"))
    by_file = nandlab.endurance(str(tmp_path / "mine.toml"))
    assert [p.pe_cycles for p in by_name.points] == [p.pe_cycles for p in by_file.points]
    client, enterprise = PROFILES["client"], PROFILES["enterprise"]
    assert client.retention_hours > enterprise.retention_hours
    assert client.uber > enterprise.uber


def own_array(tmp_path: Path, text: str) -> str:
    """tlc_3d with another array."""
    path = tmp_path / "own.toml"
    path.write_text(nandlab.show("chip/tlc_3d").split("[array]")[0] + f"[array]\n{text}\n")
    return str(path)


@pytest.mark.parametrize("name", some(["table", "cells"]))
def test_chips_whose_rates_are_their_cells(tmp_path: Path, name: str):
    """As the cell's own map has it, to the cycle; the last is the last."""
    ages = [24.0, 336.0, 1460.0]
    ecc: dict[str, Any] = {"retention_hours": ages, "temperature_c": [30.0, 40.0]}
    chip = own_array(tmp_path, f'name = "{name}"')
    found: list[int] = []
    fixed: list[int] = []
    cell = nandlab.cell("chip/tlc_3d")
    for is_best, kept in ((True, found), (False, fixed)):
        points = nandlab.endurance(chip, **ecc, is_best=is_best).points
        kept += [p.pe_cycles for p in points]
        rows = cell_map(cell, **ecc, is_best=is_best).pe_cycles
        assert kept == [n for row in rows for n in row]
        for point in points[:3]:
            state = {"retention_hours": point.retention_hours, "temperature_c": point.temperature_c}
            both = []
            for n in (point.pe_cycles, point.pe_cycles + 1):
                shifts: list[Any] = [(), (), ()]
                if is_best:
                    shifts = [cell.best_shifts_v(p, pe_cycles=n, **state) for p in range(3)]
                given = {"pe_cycles": n, **state}
                rates = [cell.rber(p, shifts_v=s, **given) for p, s in enumerate(shifts)]
                both.append(list(map(float, rates)))
            # A page passes its limit, which changes with its spread from cycle to cycle.
            limit = point.rber_limit
            assert any(
                low <= limit * (1 + 1e-5) and high >= limit * (1 - 1e-5)
                for low, high in zip(*both, strict=True)
            )
    # As nothing else is said, a drive finds the references that err least.
    assert found == [p.pe_cycles for p in nandlab.endurance(chip, **ecc).points]
    assert found == [n for row in cell_map(cell, **ecc).pe_cycles for n in row]
    assert all(best > other for best, other in zip(found, fixed, strict=True))
    assert all(more > less for more, less in pairwise(found[:3]))
    assert found[2] > found[5]


@pytest.mark.parametrize("law", some(["power_law", "table"]))
def test_rows_say_at_what_temperature_their_hours_are(law: str, tmp_path: Path):
    """From the fit and from the chip file it writes, as by hand where no row says it."""
    grid = [(n, h) for n in (0, 500, 1000, 2000, 4000) for h in (0.0, 1.0, 10.0, 100.0)]
    rates = [2e-4 + 1e-7 * n + 1e-5 * (n / 1000) ** 0.5 * (h / 24) ** 0.5 * 30 for n, h in grid]
    rows: dict[str, Any] = {
        "pe_cycles": [n for n, _ in grid],
        "retention_hours": [h for _, h in grid],
        "bits_read": [10**9] * len(grid),
        "bit_errors": [round(1e9 * rate) for rate in rates],
    }
    bare = nandlab.fit(rows, law)
    told = nandlab.fit({**rows, "temperature_c": [66.0] * len(grid)}, law)
    assert told.array == {**bare.array, "reference_c": 66.0}
    assert any("66 °C" in note for note in told.notes)
    asked: dict[str, Any] = {"retention_hours": [10.0, 50.0], "temperature_c": 66.0, "t": 60}
    found = [p.pe_cycles for p in nandlab.endurance(told, **asked).points]
    by_hand = nandlab.endurance(bare, reference_c=66.0, **asked).points
    assert found == [p.pe_cycles for p in by_hand]
    assert found[0] > found[1] > 0
    (tmp_path / "chip.toml").write_text(told.chip_toml("tlc_3d"))
    from_file = nandlab.endurance(tmp_path / "chip.toml", **asked).points
    assert found == pytest.approx([p.pe_cycles for p in from_file], rel=1e-4)
    if law == "table":
        with refused("several temperatures", "power_law"):
            nandlab.fit({**rows, "temperature_c": [40.0, 66.0] * (len(grid) // 2)}, law)


def test_a_cell_knows_its_temperature_and_its_pages(tmp_path: Path):
    chip = own_array(tmp_path, 'name = "table"')
    worst = nandlab.endurance(chip, t=300).points
    each = [nandlab.endurance(chip, t=300, page_type=page).points for page in range(3)]
    for point, pages in zip(worst, zip(*each, strict=True), strict=True):
        assert point.pe_cycles == min(page.pe_cycles for page in pages)
    for wrong, parts in [
        ({"reference_c": 25.0}, ["temperature", "reference_c"]),
        ({"page_type": 3}, ["0 to 2"]),
    ]:
        with refused(*parts):
            nandlab.endurance(chip, **wrong)


def test_measured_points_end_where_they_were_measured(tmp_path: Path):
    points = ", ".join(
        f"{{pe_cycles={n}, hours={t}, reads=0, rber=[{1e-4 * (1 + n / 1000) * (1 + t / 100)}]}}"
        for n in (0, 1000, 3000)
        for t in (0, 100, 1000)
    )
    chip = own_array(tmp_path, f'name = "table"\npoints = [{points}]')
    [short] = nandlab.endurance(chip, retention_hours=10, t=300).points
    assert short.pe_cycles == 3000
    with refused("rates", "1000 h"):
        nandlab.endurance(chip, retention_hours=8760, t=300)


def noisy(rates: dict[int, list[float]]) -> dict[str, Any]:
    """A measured table over cycles, of a page each."""
    points = [{"pe_cycles": n, "hours": 0, "reads": 0, "rber": of} for n, of in rates.items()]
    return {"name": "table", "points": points}


@pytest.mark.parametrize(
    "bump", [(1000, 2000), (1000, 8500), (100, 110), (7, 9), (19_000, 20_000), (1000.5, 2000.5)]
)
def test_a_block_that_has_failed_has_failed(bump: tuple[float, float]):
    """Rates that pass the limit, come back within it and pass it again: the first time counts."""
    limit = rber_limit(1e-15, Ecc())
    low, top = bump
    ends = {0: [limit / 9], low: [limit / 4], top: [4 * limit]}
    noise = {n: [limit / 2] for n in range(math.ceil(top) + 1000, 40_000, 1000)}
    table = noisy({**ends, **noise, 40_000: [2 * limit]})
    [found] = endurance(table, retention_hours=0).points
    # Halfway between a fourth and four times of it, in ln(1 + cycles / 100).
    assert found.pe_cycles == math.floor(100 * (math.sqrt((1 + low / 100) * (1 + top / 100)) - 1))
    # Without what comes after the first crossing it is the same.
    [alone] = endurance(noisy(ends), retention_hours=0).points
    assert alone.pe_cycles == found.pe_cycles


def test_the_first_crossing_is_that_of_any_page():
    """One page fails and comes back where the other one does not fail yet."""
    limit = rber_limit(1e-15, Ecc())
    low, high = limit / 2, 2 * limit
    rates = {0: [low, low], 1000: [high, low], 2000: [low, low], 3000: [low, high]}
    array = _core.Array(json.dumps(noisy(rates)))
    every = array.rber([(page, n, 0.0, 0) for n in range(3001) for page in (0, 1)])
    first = next(i for i, rate in enumerate(every) if rate > limit) // 2
    [found] = endurance(noisy(rates), retention_hours=0).points
    [second] = endurance(noisy(rates), retention_hours=0, page_type=1).points
    assert found.pe_cycles == first - 1 < 1000
    assert 2000 < second.pe_cycles < 3000


def test_ends_of_the_scale():
    assert cycles(t=2) == [0]
    flat = {"name": "power_law", "alpha": 0.0, "beta": 0.0, "gamma": 0.0, "epsilon": 1e-5}
    assert nandlab.endurance(flat, retention_hours=0).points[0].pe_cycles == MOST_PE_CYCLES


def test_table_and_picture(tmp_path: Path):
    chip = own_array(tmp_path, 'name = "power_law"')
    result = nandlab.endurance(chip, t=300, temperature_c=[30, 40], rber_spread=[0, 0.1])
    assert result.to_arrow().num_rows == len(result.points) == 24
    text = str(result)
    assert "10 years" in text
    # Two notes stand below the rows, each after an empty line.
    assert text.count("\n") == 30
    figure = result.plot(tmp_path / "e.png")
    [axes] = figure.axes
    assert axes.get_xlabel() == "retention time"
    [legend] = figure.legends
    labels = [entry.get_text() for entry in legend.get_texts()]
    assert labels == ["30 °C", "40 °C", "spread 0", "spread 0.1"]
    looks = {(line.get_color(), line.get_marker()) for line in axes.get_lines()}
    assert len(looks - {(colour, "v") for colour, _ in looks}) == 4


def test_a_fit_gives_intervals(tmp_path: Path):
    """Made of a known law, whose endurances they hold."""
    rng = np.random.default_rng(8)
    cycles, hours = (
        axis.ravel() for axis in np.meshgrid([300, 1000, 3000, 6000], [1.0, 24, 240, 2400])
    )
    law = {"name": "power_law", "epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8}
    law |= {"m": 0.9, "n": 0.6, "gamma": 0.0, "p": 0.0, "q": 1.0}
    states = [(0, int(n), float(t), 0) for n, t in zip(cycles, hours, strict=True)]
    rates = np.array(_core.Array(json.dumps(law)).rber(states))
    size = np.full(len(rates), 10**7)
    data = {"pe_cycles": cycles, "retention_hours": hours, "bits_read": size}
    found = nandlab.fit({**data, "bit_errors": rng.binomial(size, rates)}, "power_law")
    ages = [24, 730, 8760]
    truth = nandlab.endurance(law, retention_hours=ages, t=40).points
    result = nandlab.endurance(found, retention_hours=ages, t=40)
    for ours, known in zip(result.points, truth, strict=True):
        assert ours.pe_cycles_low is not None
        assert ours.pe_cycles_high is not None
        assert ours.pe_cycles_low < ours.pe_cycles < ours.pe_cycles_high
        assert ours.pe_cycles_low <= known.pe_cycles <= ours.pe_cycles_high
        assert known.pe_cycles_low is None
    assert "95 % interval" in str(result)
    assert result.plot(tmp_path / "e.png").axes[0].collections


def test_no_cycles_are_explained(nandlab: Callable[..., Ended], folder: Path):
    """With the errors to correct that the note asks for there is a cycle; with one less, none."""
    chip = own_array(folder, 'name = "power_law"')
    said = nandlab("endurance", chip, "--t", "100", "--plot", "e.png").succeeded().out
    found = re.search(
        r"note: 0 cycles: .*\b1\.543e-03 after 1 day at 30 C\b.*?\bt = (\d+)",
        said,
    )
    assert found
    t = int(found[1])
    points = endurance(chip, retention_hours=24, t=[t - 1, t]).points
    assert [point.pe_cycles > 0 for point in points] == [False, True]
    assert [point.rber_new <= point.rber_limit for point in points] == [False, True]
    notes = endurance(chip, retention_hours=24, t=t).notes()
    assert not [note for note in notes if "0 cycles" in note]
    mixed = endurance(chip, t=[100, 400], rber_spread=[0.0, 0.5])
    (axes,) = mixed.plot().axes
    marked = [line for line in axes.get_lines() if line.get_marker() == "v"]
    none = [point for point in mixed.points if point.pe_cycles == 0]
    assert sum(len(line.get_xdata()) for line in marked) == len(none) > 0
    assert "▽ 0 cycles" in [text.get_text() for text in axes.texts]
    (axes,) = endurance(chip, t=400, retention_hours=[24, 168]).plot().axes
    assert not axes.texts


def test_the_chips_of_grupp_endure():
    """Their drives have no errors; the board and the endurance have those of an assumed cell."""
    names = [chip.name for chip in nandlab.presets("chip") if chip.name.startswith("grupp2009_")]
    assert len(names) == 11
    given: dict[str, Any] = {"retention_hours": 24, "t": 40}
    endured: dict[str, set[int]] = {"slc": set(), "mlc": set()}
    for name in names:
        found = endurance(name, **given)
        (point,) = found.points
        endured[name.split("_")[2][:3]].add(point.pe_cycles)
        carries(found.notes()[0], name, "`ideal`")
    # Chips with one cell are alike, and MLC has the cell of a chip that was measured.
    (slc,), (mlc,) = endured["slc"], endured["mlc"]
    (measured,) = endurance("wang2014_mlc", **given).points
    assert slc > mlc == measured.pe_cycles


def test_a_chip_with_a_cell_and_another_array_says_what_it_goes_by(
    nandlab: Callable[..., Ended], folder: Path
):
    own = own_array(folder, 'name = "power_law"')
    given: dict[str, Any] = {"retention_hours": 24, "t": 400}
    [note] = endurance(own, **given).notes()
    carries(note, "array `power_law`", own)
    arguments = ["--retention-hours", "24", "--t", "400"]
    assert note in nandlab("endurance", own, *arguments).succeeded().out
    ended = nandlab("endurance", own, *arguments, "--json", "-").succeeded()
    assert note in ended.err
    assert json.loads(ended.out)
    for chip in ("tlc_planar", {"name": "power_law", "epsilon": 1e-5}):
        assert not endurance(chip, **given).notes()
    nandlab("endurance", own, "--fixed").refused("`power_law`", "no references")


def test_the_command(nandlab: Callable[..., Ended], folder: Path):
    out = ["--t", "300", "--plot", "e.png"]
    ended = nandlab("endurance", "tlc_3d", *out, "--temperature-c", "30", "--temperature-c", "40")
    assert "endurance of tlc_3d" in ended.succeeded().out
    assert (folder / "e.png").stat().st_size > 10_000
    for profile in PROFILES:
        ended = nandlab("endurance", "tlc_3d", "--profile", profile, "--t", "300", "--json", "-")
        [point] = json.loads(ended.succeeded().out)
        assert point["uber"] == PROFILES[profile].uber
    for part, arguments in {
        "`client`": ["tlc_3d", "--profile", "clint"],
        "--profile": ["tlc_3d", "--profile", "client", "--uber", "1e-9"],
        "`tlc_3d`": ["tlc_3dd"],
        "no bit errors": ["mqsim_mlc"],
        "none.toml": ["none.toml"],
    }.items():
        nandlab("endurance", *arguments).refused(part)


@pytest.mark.parametrize(
    ("hours", "said"), [(0, "at once"), (5, "5 h"), (8760, "1 year"), (87600, "10 years")]
)
def test_durations(hours: float, said: str):
    assert duration(hours) == said


def test_a_table_has_the_defaults_of_its_model():
    """As a chip file: what is left out is not nothing, a scale of 0 is."""
    bare = {"name": "power_law", "epsilon": 1e-5}
    kim = {"alpha": 3.9e-10, "k": 2.05, "beta": 6.28e-5, "m": 0.14, "n": 0.54, "gamma": 3.73e-9}
    given = {"t": 40, "retention_hours": 24}
    assert endurance(bare, **given).points == endurance({**bare, **kim}, **given).points
    [floor] = endurance({**bare, "alpha": 0, "beta": 0, "gamma": 0}, **given).points
    assert floor.pe_cycles == MOST_PE_CYCLES


def test_reads_and_page_types_on_the_command_line(nandlab: Callable[..., Ended]):
    one = ["tlc_planar", "--t", "300", "--retention-hours", "730", "--json", "-"]
    more = ["--reads", "30000", "--page-type", "1"]
    said = json.loads(nandlab("endurance", *one, *more).succeeded().out)
    given = {"t": 300, "retention_hours": 730}
    [point] = endurance("tlc_planar", **given, reads=30000, page_type=1).points
    assert said == [point._asdict()]
    assert point.pe_cycles != endurance("tlc_planar", **given).points[0].pe_cycles
    nandlab("endurance", *one, "--page-type", "3").refused("0 to 2")


@pytest.mark.parametrize(
    ("chip", "arguments", "parts"),
    [
        ("tlc_3e", {}, ["`tlc_3d`"]),
        ("mqsim_mlc", {}, ["no bit errors"]),
        ({"name": "retention_lw"}, {}, ["`retention_law`"]),
        (LUO, {"t": -1}, ["t = -1"]),
        (LUO, {"t": 40000}, ["34559"]),
        (LUO, {"user_bits": 50000}, ["user bits"]),
        (LUO, {"uber": 0}, ["target = 0"]),
        (LUO, {"uber": 1e-3}, ["below 3.05e-05"]),
        (LUO, {"rber_spread": -0.1}, ["rber_spread"]),
        (LUO, {"temperature_c": 1000}, ["temperature_c = 1000"]),
        ("tlc_planar", {"temperature_c": -500}, ["temperature_c = -500"]),
        ("tlc_planar", {"temperature_c": 301}, ["-100 to 300"]),
        ({**LUO, "temperature_c": 1e9}, {}, ["temperature_c"]),
        (LUO, {"reference_c": -101}, ["reference_c = -101"]),
        (LUO, {"retention_hours": -5}, ["retention_hours"]),
        (LUO, {"retention_hours": "a year"}, ["'a year'", "number"]),
        (LUO, {"activation_ev": -1}, ["activation_ev"]),
        (LUO, {"reads": -1}, ["reads"]),
        (LUO, {"reads": "many"}, ["reads: 'many'"]),
        (LUO, {"page_type": "lowest"}, ["page_type", "`lowest`"]),
        ("zuolo2016_d_tlc", {"page_type": 3}, ["page_type: 3", "0 to 2"]),
        (LUO, {"level": 0.9}, ["level = 0.9", "fit"]),
        (nandlab.tvr(), {}, ["Tvr", "chip"]),
    ],
)
def test_refusals(chip: Any, arguments: dict[str, Any], parts: list[str]):
    with pytest.raises(nandlab.NandlabError) as caught:
        nandlab.endurance(chip, **arguments)
    message = carries(caught.value, *parts)
    assert any(word in message for word in ("expected: ", "hint: "))


RESTING = {"preset": "wang2014_mlc", "cell": {"wear": {"recovery": 0.05}}}
"""A chip whose cells recover in a rest."""


@pytest.mark.parametrize(("rest_hours", "rest_c"), [(24.0, 30.0), (24.0, 55.0), (1e9, 30.0)])
def test_a_rest_between_cycles_lengthens_life_by_its_logarithm(rest_hours: float, rest_c: float):
    """A cycle counts 1 - recovery x ln(1 + rest / recovery_hours), down to a tenth."""
    given: dict[str, Any] = {"t": 8, "codeword_bits": 4200, "user_bits": 4096}
    [none], [rested] = (
        endurance(RESTING, retention_hours=8760.0, rest_hours=hours, rest_c=rest_c, **given).points
        for hours in (0.0, rest_hours)
    )
    hours = rest_hours * acceleration(rest_c, 30.0)
    each = 1 - min(0.05 * math.log1p(hours / 0.01), 0.9)
    assert rested.pe_cycles * each == pytest.approx(none.pe_cycles, rel=1e-4)
    assert rested.pe_cycles > 1.6 * none.pe_cycles


@pytest.mark.parametrize(
    ("chip", "given", "parts"),
    [
        ("wang2014_mlc", {"rest_hours": 24.0}, ["wang2014_mlc", "cell.wear.recovery"]),
        (LUO, {"rest_hours": 24.0}, ["retention_law", "cell.wear.recovery"]),
        (RESTING, {"rest_hours": -1.0}, ["rest_hours = -1", "0 or more"]),
        (RESTING, {"rest_hours": 1.0, "rest_c": 1e4}, ["rest_c = 10000", "-100 to 300"]),
    ],
)
def test_rests_that_are_none(chip: Any, given: dict[str, float], parts: list[str]):
    with refused(*parts):
        endurance(chip, retention_hours=8760.0, **given)


def test_ten_years_of_a_loss_with_the_logarithm_of_time():
    """Loss grows with N^k ln(1 + t / 1 h): ten years leave (ln / ln)^(1/k) of the cycles of one."""
    given: dict[str, Any] = {"t": 8, "codeword_bits": 4200, "user_bits": 4096}
    one, ten = endurance(
        "wang2014_mlc", retention_hours=[8760.0, 87600.0], is_best=False, **given
    ).points
    expected = (math.log1p(8760.0) / math.log1p(87600.0)) ** (1 / 0.5)
    assert ten.pe_cycles / one.pe_cycles == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("stripe", "q"),
    [
        (Stripe(16, 1), Fraction(1, 10**6)),
        (Stripe(4, 2), Fraction(1, 10)),
        (Stripe(32, 2, words=4), Fraction(1, 10**9)),
        (Stripe(2, 1, words=8), Fraction(1, 50)),
    ],
)
def test_the_losses_of_a_stripe_are_exact(stripe: Stripe, q: Fraction) -> None:
    """A codeword is lost where its code fails and at least as many other units as are parity."""
    unit = 1 - (1 - q) ** stripe.words
    others = stripe.dies - 1
    lost = q * sum(
        math.comb(others, n) * unit**n * (1 - unit) ** (others - n)
        for n in range(stripe.parity, others + 1)
    )
    assert stripe.lost(float(q)) == pytest.approx(float(lost), rel=1e-9)
    assert stripe.failure(float(lost)) == pytest.approx(float(q), rel=1e-6)


def test_a_drive_with_parity_lasts_longer() -> None:
    """The UBER at its limit is the target, after what its parity gives back."""
    chip = {"name": "power_law", "epsilon": 1e-4}
    ecc, cycles = Ecc(t=300), {}
    for stripe in (Stripe(16, 1), Stripe(64, 1), Stripe(16, 2)):
        code, drive = endurance(chip, retention_hours=8760, stripe=stripe).points
        assert (code.parity_pages, code.stripe_dies) == (0, 0)
        assert (drive.parity_pages, drive.stripe_dies) == (stripe.parity, stripe.dies)
        assert code.uber == drive.uber == 1e-15
        failure = math.exp(ln_codeword_failure(drive.rber_limit, ecc))
        assert stripe.lost(failure) / ecc.user_bits == pytest.approx(1e-15, rel=1e-4)
        cycles[stripe] = drive.pe_cycles
        assert cycles[stripe] > code.pe_cycles > 0
    assert cycles[Stripe(64, 1)] < cycles[Stripe(16, 1)] < cycles[Stripe(16, 2)]


@pytest.mark.parametrize(
    ("stripe", "parts"),
    [
        (3, ["stripe: 3", "Stripe"]),
        (Stripe(4, 4), ["stripe: parity", "4", "1 to 3"]),
        (Stripe(4, 0), ["stripe: parity", "0", "1 to 3"]),
        (Stripe(4, 1, words=0), ["stripe: words", "0", "1 to"]),
    ],
)
def test_stripes_that_cannot_be(stripe: Any, parts: list[str]) -> None:
    with refused(*parts):
        endurance({"name": "power_law"}, stripe=stripe)
