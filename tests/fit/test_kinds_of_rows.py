"""Fits of rows that differ: in temperature, by page type, in their names, more than counts do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, refused, some

import nandlab
from nandlab import _core
from nandlab.endurance import acceleration
from nandlab.fit import compare, fit_page_types

KIM = {"epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8, "m": 0.9, "n": 0.6}
EV = 0.9

FIT = nandlab.fit
"""The fixture of the command line has the name of the package."""

Data = dict[str, Any]


def warm(seed: int, spread: float = 0.0, scale: float = 1.0) -> Data:
    """A power law whose days go by 0.9 eV, at three temperatures."""
    rng = np.random.default_rng(seed)
    axes = ([300, 1000, 3000, 6000], [0, 24, 240, 2400], [25.0, 40.0, 55.0, 70.0])
    n, hours, celsius = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    days = hours / 24 * np.array([acceleration(c, 30.0, EV) for c in celsius])
    rate = KIM["epsilon"] + KIM["alpha"] * n ** KIM["k"]
    rate = scale * (rate + KIM["beta"] * n ** KIM["m"] * days ** KIM["n"])
    if spread:
        rate = rate * rng.gamma(1 / spread**2, spread**2, len(rate))
    size = np.full(len(rate), 10**9)
    columns = {"pe_cycles": n, "retention_hours": hours, "temperature_c": celsius}
    return {**columns, "bits_read": size, "bit_errors": rng.binomial(size, rate)}


def test_a_power_law_knows_its_activation_energy():
    """Each parameter is found; the array model ages by it, and so does an endurance."""
    found = nandlab.fit(warm(1), "power_law")
    for name, value in {**KIM, "activation_ev": EV}.items():
        assert found[name].low <= value <= found[name].high, name
    assert found["activation_ev"].high - found["activation_ev"].low < 0.1
    assert found.array["reference_c"] == 30.0
    elsewhere = nandlab.fit(warm(1), "power_law", reference_c=55.0)
    assert elsewhere["activation_ev"].value == pytest.approx(found["activation_ev"].value, rel=1e-4)
    faster = acceleration(55.0, 30.0, found["activation_ev"].value) ** found["n"].value
    assert elsewhere["beta"].value / found["beta"].value == pytest.approx(faster, rel=1e-3)
    truth = {"name": "power_law", **KIM, "gamma": 0.0, "activation_ev": EV}
    asked: dict[str, Any] = {"retention_hours": 8760, "temperature_c": [25, 55], "t": 60}
    known = nandlab.endurance(truth, **asked).points
    for ours, theirs in zip(nandlab.endurance(found, **asked).points, known, strict=True):
        assert ours.pe_cycles == pytest.approx(theirs.pe_cycles, rel=0.05)
    assert known[0].pe_cycles > 1.1 * known[1].pe_cycles
    one = {name: column[warm(1)["temperature_c"] == 25] for name, column in warm(1).items()}
    with refused("reference_c", "temperature_c"):
        nandlab.fit(one, "power_law", reference_c=30.0)


def test_a_drive_is_made_of_it(tmp_path: Path):
    found = nandlab.fit(warm(2), "power_law")
    text = found.chip_toml("mqsim_mlc")
    assert re.search(r"^activation_ev = 0\.\d+ .*95 % joint", text, re.M)
    (tmp_path / "chip.toml").write_text(text)
    sets = {"chip.preset": str(tmp_path / "chip.toml"), "age.retention_hours": 500}
    sets |= {"chip.geometry.blocks_per_plane": 64, "age.pe_cycles": 3000}
    job = "[r]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=4000\n"

    def rber(celsius: float) -> float:
        given = {**sets, "age.temperature_c": celsius, "ecc.model": "threshold", "ecc.t": 100}
        ecc = nandlab.run("tiny", job, set=given, precondition="fill").to_dict()["ecc"]
        return float(ecc["raw_bit_errors"] / ecc["codewords"])

    law = _core.Array(json.dumps(found.array))
    cool, hot = law.rber([(0, 3000, 500 * acceleration(c, 30.0, EV), 0) for c in (30.0, 60.0)])
    assert rber(60.0) / rber(30.0) == pytest.approx(hot / cool, rel=0.05)
    assert hot > 2 * cool


@pytest.mark.long
def test_laws_by_page_type(nandlab: Callable[..., Ended], folder: Path):
    """Pages that differ threefold have laws that do."""
    low, high = warm(3), warm(4, scale=3.0)
    rows = {name: np.concatenate([low[name], high[name]]) for name in low}
    count = len(low["pe_cycles"])
    rows["page_type"] = ["lower"] * count + ["upper"] * count
    every = fit_page_types(rows, "power_law")
    assert list(every) == ["lower", "upper"]
    alone = FIT(rows, "power_law", page_type="upper")
    assert every["upper"].array == alone.array
    alphas = [every[name]["alpha"].value for name in ("lower", "upper")]
    assert alphas[1] / alphas[0] == pytest.approx(3, rel=0.4)
    assert every["lower"].data.rows == count
    together = FIT(rows, "power_law")
    assert any("page types lower, upper" in note for note in together.notes)
    lines = [",".join(rows)] + [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    command = ["fit", "rows.csv", "--law", "power_law", "--page-type"]
    said = nandlab(*command, "each").succeeded().out
    assert said.index("page type lower: power_law") < said.index("page type upper: power_law")
    report = nandlab(*command, "upper", "--json", "-").succeeded().json
    assert report["rows"] == count
    nandlab(*command, "middle").refused("lower, upper")
    nandlab(*command, "each", "--plot", "x.png").refused("--plot", "one fit")


@pytest.mark.long
def test_columns_of_other_names(nandlab: Callable[..., Ended], folder: Path):
    ours = warm(5)
    names = {"PE": "pe_cycles", "T": "temperature_c"}
    back = {ours: theirs for theirs, ours in names.items()}
    theirs = {back.get(name, name): column for name, column in ours.items()}
    fitted = FIT
    assert fitted(theirs, "power_law", rename=names).array == fitted(ours, "power_law").array
    rows = zip(*theirs.values(), strict=True)
    lines = [",".join(theirs)] + [",".join(map(str, row)) for row in rows]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    command = ["fit", "rows.csv", "--law", "power_law"]
    nandlab(*command).refused("column `PE`")
    both = ["--rename", "PE=pe_cycles", "--rename", "T=temperature_c"]
    assert "power_law fitted to rows.csv" in nandlab(*command, *both).succeeded().out
    for given, part in {
        "PE=pe_cycle": "column `pe_cycle`",
        "PW=pe_cycles": "no column `PW`",
        "PE=bits_read": "exists",
        "PE": "PE=pe_cycles",
    }.items():
        nandlab(*command, "--rename", given, *both[2:]).refused(part)


@pytest.mark.parametrize("spread", some([0.3, 0.0]))
def test_residuals_are_scaled_as_the_fit_was(spread: float):
    """Within two of their deviations lie nineteen in twenty, however much the rows differ."""
    found = nandlab.fit(warm(6, spread), "power_law")
    residuals = found.estimate.residuals
    assert 0.8 < residuals.std() < 1.25
    assert (abs(residuals) < 2).mean() > 0.88
    assert (found.estimate.overdispersion > 100) == (spread > 0)
    assert found.estimate.spread == pytest.approx(spread, abs=0.08)


@pytest.mark.long
@pytest.mark.parametrize("spread", [0.2, 0.0])
def test_the_law_that_made_the_rows_is_found(spread: float):
    """Both ways: by its AIC, and by the rows that were held out."""
    laws = ["power_law", "retention_law", "exponential"]
    by_power = compare(warm(7, spread), laws)
    luo = {"name": "retention_law", "activation_ev": EV}
    rows = warm(8)
    rng = np.random.default_rng(9)
    keys = ("pe_cycles", "retention_hours", "temperature_c")
    rates = [
        _core.Array(json.dumps({**luo, "temperature_c": c})).rber([(0, int(n), float(h), 0)])[0]
        for n, h, c in zip(*(rows[key] for key in keys), strict=True)
    ]
    factor = rng.gamma(1 / spread**2, spread**2, len(rates)) if spread else np.ones(len(rates))
    rows["bit_errors"] = rng.binomial(10**9, np.array(rates) * factor)
    by_luo = compare(rows, laws)
    assert (by_power.best, by_luo.best) == ("power_law", "retention_law")
    for found in (by_power, by_luo):
        first, *others = found.rows
        assert others
        assert first.held_out is not None
        for other in others:
            assert first.aic < other.aic - 10
            assert other.held_out is None or first.held_out > other.held_out


@pytest.mark.long
def test_the_command_compares(nandlab: Callable[..., Ended], folder: Path):
    """The command: laws by rising AIC, and what cannot be compared."""
    rows = zip(*warm(10).values(), strict=True)
    lines = [",".join(warm(10))] + [",".join(map(str, row)) for row in rows]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    command = ["fit", "rows.csv", "--law", "power_law", "--law", "retention_law"]
    said = nandlab(*command, "--law", "exponential").succeeded().out
    assert re.search(r"^power_law +7 +[\d.]+ +0\.0 ", said, re.M)
    report = nandlab(*command, "--json", "-").succeeded().json
    assert [row["law"] for row in report["laws"]] == ["power_law", "retention_law"]
    assert report["laws"][0]["aic"] < report["laws"][1]["aic"]
    nandlab(*command, "--law", "table").refused("`table`")
    nandlab(*command, "--plot", "x.png").refused("--plot", "one law", "one page type")
