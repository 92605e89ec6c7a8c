"""Layers of a 3D block as factors of the power law: fits, chips of them, what is said of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended, carries, refused

import nandlab as lab
from nandlab import _core
from nandlab.endurance import acceleration
from nandlab.fit import Fit, compare

Run = Callable[..., Ended]
Data = dict[str, Any]

TRUTH = {"epsilon": 1e-5, "alpha": 3.3e-11, "k": 1.9, "beta": 2e-8, "m": 0.9, "n": 0.5}
TYPED = {"activation_ev": 1.0, "page_factor_1": 2.2, "page_factor_2": 1.5}
LAYERS = 12
COLD = [(hours, 30) for hours in (0, 100, 3000)]
TYPES = ("lower", "middle", "upper")
BAKES = [(0, 30), (24, 40), (1000, 40), (168, 70), (24, 85), (168, 85)]


def profile(layers: int) -> list[float]:
    """Known factors: high at both ends, highest in the first layer, of a geometric mean of 1."""
    height = (np.arange(layers) + 0.5) / layers
    logs = 0.25 * np.cos(2 * np.pi * height) + 0.2 * height
    logs[0] += 0.3
    found: list[float] = np.exp(logs - logs.mean()).tolist()
    return found


def measured(
    seed: int,
    bakes: Sequence[tuple[float, float]] = COLD,
    types: Sequence[str] = ("",),
    layers: Sequence[int] = range(LAYERS),
    *,
    factors: Sequence[float] = profile(LAYERS),
    bits: int = 10**7,
    spread: float = 0.05,
) -> Data:
    """Counts of the known law, in rows that differ at random by `spread` besides."""
    rng = np.random.default_rng(seed)
    array = _core.Array(json.dumps({"name": "power_law", **TRUTH, **TYPED, "gamma": 0.0}))
    rows = []
    for cycles in (500, 1500, 3000, 6000):
        for hours, celsius in bakes:
            aged = hours * acceleration(celsius, 30.0, TYPED["activation_ev"])
            rates = array.rber([(page, cycles, aged, 0) for page in range(len(types))])
            for page_type, rate in zip(types, rates, strict=True):
                for layer in layers:
                    own = rate * factors[layer] * rng.gamma(spread**-2, spread**2)
                    errors = rng.binomial(bits, own)
                    rows.append((cycles, hours, celsius, page_type, layer, bits, errors))
    names = ["pe_cycles", "retention_hours", "temperature_c", "page_type", "layer", "bits_read"]
    columns = map(list, zip(*rows, strict=True))
    data: Data = dict(zip([*names, "bit_errors"], columns, strict=True))
    if len(types) == 1:
        del data["page_type"]
    return data


def truth_of(factors: Sequence[float]) -> dict[str, float]:
    """The known values by the names of a fit with a factor for each layer."""
    return TRUTH | {f"layer_factor_{layer}": factor for layer, factor in enumerate(factors)}


def test_a_known_profile_comes_back() -> None:
    """In at least 8 of 10 seeds all of 18 parameters at once: by chance fewer once in 80."""
    whole, truth = 0, truth_of(profile(LAYERS))
    for seed in range(10):
        found = lab.fit(measured(seed), "power_law")
        assert {one.name for one in found.parameters} == set(truth)
        whole += all(found[name].low <= value <= found[name].high for name, value in truth.items())
    assert whole >= 8


@pytest.mark.long
def test_layers_come_back_beside_page_types_and_an_energy() -> None:
    """Each parameter in its own interval: at least 33 of 40 seeds, 95 in 100 on average."""
    hits: dict[str, int] = {}
    truth = truth_of(profile(LAYERS)) | TYPED
    for seed in range(40):
        data = measured(seed, BAKES, TYPES)
        found = lab.fit(data, "power_law", each=True)
        assert {one.name for one in found.parameters} == set(truth)
        for name, value in truth.items():
            held = found[name].low <= value <= found[name].high
            hits[name] = hits.get(name, 0) + held
    assert min(hits.values()) >= 33, hits
    assert sum(hits.values()) >= 0.93 * 40 * len(truth), hits


def test_factors_have_a_geometric_mean_of_one() -> None:
    """The law is that of the mean: factors of another scale change the law alone."""
    factors = profile(LAYERS)
    one, twice = (
        lab.fit(measured(3, factors=[scale * f for f in factors], spread=1e-3), "power_law")
        for scale in (1.0, 2.0)
    )
    for found in (one, twice):
        own = found.array["layer_factors"]
        assert np.log(own).mean() == pytest.approx(0, abs=1e-12)
        assert own == pytest.approx(factors, rel=0.02)
    assert twice["beta"].value == pytest.approx(2 * one["beta"].value, rel=0.1)
    # All factors are one more than can be chosen: their covariance has no width along the mean.
    names = [p.name for p in one.parameters]
    rows = np.array(one.covariance())[len(TRUTH) :, len(TRUTH) :]
    assert rows.shape == (LAYERS, LAYERS) == (len(names) - len(TRUTH),) * 2
    assert np.abs(rows.sum(axis=0)).max() < 1e-9 * rows.diagonal().max()


def test_without_the_column_nothing_changes() -> None:
    """A column of one layer, a layer that is left out and no column are one fit, to the bit."""
    data = measured(4)
    bare = {name: values for name, values in data.items() if name != "layer"}
    alone = lab.fit(bare, "power_law")
    pooled = lab.fit(data, "power_law", without="layer")
    one = lab.fit({**bare, "layer": [7] * len(bare["bits_read"])}, "power_law")
    for found in (pooled, one):
        assert [tuple(p) for p in found.parameters] == [tuple(p) for p in alone.parameters]
        assert found.array == alone.array
        assert found.ranges() == alone.ranges()
    assert "layer_factors" not in alone.array
    assert one.notes == alone.notes
    carries(" ".join(pooled.notes), f"{LAYERS} layers", "power_law")
    told = lab.fit(data, "power_law")
    # Layers that differ are the scatter of a law that does not tell them apart.
    assert pooled.estimate.spread > 4 * told.estimate.spread


def test_layers_with_few_rows_are_joined() -> None:
    """Layers of one row each make groups of four, and the rest joins the last group."""
    rng = np.random.default_rng(1)
    layer = np.arange(50)
    cycles = rng.permutation(np.resize([500, 1500, 3000, 6000], 50))
    rate = (1e-5 + 3.3e-11 * cycles**1.9) * np.where(layer < 24, 2.0, 0.5)
    errors = rng.binomial(10**8, rate)
    data = {"pe_cycles": cycles, "layer": layer, "bits_read": [10**8] * 50, "bit_errors": errors}
    found = lab.fit(data, "power_law")
    names = [p.name for p in found.parameters if p.name.startswith("layer")]
    assert names[:2] == ["layer_factor_0_3", "layer_factor_4_7"]
    assert names[-1] == "layer_factor_44_49"
    carries(" ".join(found.notes), "12 groups", "4 and 100")
    factors = found.array["layer_factors"]
    assert len(factors) == 50
    assert factors[23] / factors[24] == pytest.approx(4, rel=0.05)
    few = {name: values[:7] for name, values in data.items()}
    none = lab.fit(few, "power_law")
    carries(" ".join(none.notes), "no layer factors", "4 and 100")


def test_layers_between_the_measured_ones_have_the_factor_of_the_nearest() -> None:
    sampled = [1, 4, 8]
    found = lab.fit(measured(2, layers=sampled), "power_law", layers=LAYERS)
    names = [p.name for p in found.parameters if p.name.startswith("layer")]
    assert names == ["layer_factor_0_2", "layer_factor_3_5", "layer_factor_6_11"]
    carries(" ".join(found.notes), "9 of 12 layers", "4 of them", "extrapolation")
    assert found.ranges()["layer"] == (1, 8)


BAKED = measured(2, BAKES, TYPES)


@pytest.fixture(scope="module")
def found() -> Fit:
    """A fit with page types, temperatures and layers."""
    return lab.fit(BAKED, "power_law")


@pytest.fixture(scope="module")
def chip(found: Fit, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A chip of the fit."""
    path: Path = tmp_path_factory.mktemp("layered") / "chip.toml"
    path.write_text(found.chip_toml("tlc_3d"))
    return str(path)


def test_the_chip_gives_each_layer_its_rate(found: Fit, chip: str) -> None:
    """As in the fit, row by row; without a layer the mean of all."""
    data = BAKED
    heights, types = found.heights(), found.page_types()
    assert heights is not None
    factors = found.array["layer_factors"]
    text = Path(chip).read_text()
    assert all(f"    {factor}, " in text for factor in factors)
    hours = [
        h * acceleration(c, 30.0, found.array["activation_ev"])
        for h, c in zip(data["retention_hours"], data["temperature_c"], strict=True)
    ]
    states = list(zip(types, data["pe_cycles"], hours, [0] * len(hours), strict=True))
    model = _core.Array(json.dumps(found.array))
    assert model.rber(states, heights) == pytest.approx(found.estimate.mean, rel=1e-6)
    plain = model.rber(states[:1])[0] / model.rber(states[:1], [(5, LAYERS)])[0]
    assert plain == pytest.approx(np.mean(factors) / factors[5])


def test_a_drive_reads_the_layers_of_its_pages() -> None:
    """Bit errors of a run are those of the mean factor; a factor of all of them is no profile."""
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=3000\n"
    sets = {
        "chip.array.name": "power_law",
        "chip.array.epsilon": 1e-4,
        "ecc.model": "threshold",
        "ecc.t": 60,
        "ecc.parity_bytes": 200,
    }

    def errors(factors: list[float]) -> float:
        own = {"chip.array.layer_factors": factors}
        return float(
            lab.run("tiny", job, set=sets | own, precondition="fill").report.ecc.raw_bit_errors
        )

    plain = errors([])
    assert errors([1.0, 1.0]) == plain
    assert errors([4.0, 0.25]) / plain == pytest.approx(2.125, rel=0.05)


def test_the_worst_layer_limits_an_endurance(found: Fit, chip: str) -> None:
    """As if its factor were that of the whole block; a fit and its chip file say the same."""
    ask: dict[str, Any] = {"retention_hours": 1000, "t": 100}
    ours, theirs = (lab.endurance(one, **ask) for one in (found, chip))
    [worst], [same] = ours.points, theirs.points
    assert (worst.pe_cycles, worst.pe_cycles_low) == (same.pe_cycles, same.pe_cycles_low)
    array = dict(found.array)
    most = max(array.pop("layer_factors"))
    for scale in ("epsilon", "alpha", "beta"):
        array[scale] *= most
    [alike] = lab.endurance(array, **ask).points
    assert abs(worst.pe_cycles - alike.pe_cycles) <= 1
    true = {"name": "power_law", **TRUTH, **TYPED, "gamma": 0.0}
    [known] = lab.endurance(true | {"layer_factors": profile(LAYERS)}, **ask).points
    assert worst.pe_cycles_low is not None
    assert worst.pe_cycles_high is not None
    assert worst.pe_cycles_low <= known.pe_cycles <= worst.pe_cycles_high
    assert any("layer 0" in note for note in ours.notes())


def test_layers_beyond_the_data_are_told(nandlab: Run, folder: Path, chip: str) -> None:
    """Wherever a figure rests on them: an endurance, a cell, a board, a drive."""
    data = measured(2, BAKES, TYPES, range(8))
    text = lab.fit(data, "power_law", layers=LAYERS).chip_toml("tlc_3d")
    (folder / "part.toml").write_text(text)
    short = {"chip.geometry.pages_per_block": 96}
    job = "[r]\nrw=randread\nbs=16k\nnumber_ios=50\n"
    for name, is_beyond in (("part.toml", True), (chip, False)):
        sets = {"chip.preset": name, **short, "chip.geometry.blocks_per_plane": 64}
        said = [
            "\n".join(lab.endurance(name, retention_hours=1000, t=100).notes()),
            nandlab("cell", name).succeeded().err,
            "\n".join(lab.board("wordlines", name, cycles=500, set=short).notes),
            "\n".join(lab.run("tiny", job, set=sets, precondition="fill").notices),
        ]
        for words in said:
            assert ("4 of 12 layers are extrapolations" in words) == is_beyond, words
        for words in said[:3]:
            carries(words, "layer 0")


def test_held_out_rows_have_their_layer() -> None:
    told, pooled = (
        compare(measured(2), ["power_law", "exponential"], without=without).rows[0]
        for without in ([], ["layer"])
    )
    assert told.held_out is not None
    assert pooled.held_out is not None
    assert told.held_out > pooled.held_out + 50


def test_a_picture_shows_the_profile(folder: Path) -> None:
    """Beside the law the factors with their intervals, and residuals over the layers."""
    found = lab.fit(measured(2), "power_law")
    above, *below, shown = found.plot(folder / "fit.png").axes
    assert above.get_ylabel() == "raw bit error rate"
    assert [axes.get_xlabel() for axes in below] == ["P/E cycles", "retention (h)", "layer"]
    [mean, factors] = shown.get_lines()
    assert list(factors.get_xdata()) == list(range(LAYERS))
    assert list(factors.get_ydata()) == found.array["layer_factors"]
    dots = [line for line in below[-1].get_lines() if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in dots) == len(measured(2)["layer"])
    assert mean.get_ydata()[0] == 1


def test_rows_of_a_board_are_fitted_by_wordline() -> None:
    """The wordlines of a cell whose outer layers are wider err more in the fit, too."""
    sets = {"chip.geometry.pages_per_block": 96, "chip.geometry.page_bytes": 4096}
    sets |= {"chip.cell.variation.layer_spread": 0.1}
    rows: Data = {}
    for cycles in (1000, 3000):
        found = lab.board("wordlines", "tlc_3d", cycles=cycles, set=sets).table()
        for name, values in found.to_pydict().items():
            rows.setdefault(name, []).extend(values)
    fitted = lab.fit(rows, "power_law", rename={"wordline": "layer"}, without=["epsilon"])
    factors = fitted.array["layer_factors"]
    assert len(factors) == 32
    assert np.mean(factors[:4] + factors[-4:]) > 1.3 * np.mean(factors[12:20])


@pytest.mark.parametrize(
    ("layers", "given", "parts"),
    [
        (["x"] * 144, {}, ["row 1, column layer", "`x`"]),
        ([0.5] * 143 + [1], {}, ["row 1, column layer", "whole number"]),
        ([-1] * 143 + [1], {}, ["column layer", "-1"]),
        (None, {"layers": 8}, ["layers = 8", "layer 11", "12 or more"]),
        ([3] * 144, {"layers": 8}, ["layers", "no column layer that varies"]),
        (None, {"layers": 12, "without": "layer"}, ["layers", "left out"]),
        (None, {"layers": 0}, ["layers", "1 to"]),
        (None, {"law": "exponential", "layers": 12}, ["layers", "exponential", "power_law"]),
    ],
)
def test_refusals(layers: list[Any] | None, given: dict[str, Any], parts: list[str]) -> None:
    data = measured(1)
    data |= {"layer": layers} if layers is not None else {}
    with refused(*parts):
        lab.fit(data, **{"law": "power_law", **given})


def test_a_chip_has_as_many_wordlines_as_layers() -> None:
    found = lab.fit(measured(1), "power_law", layers=400)
    with refused("400 layers", "mqsim_mlc", "wordlines"):
        found.chip_toml("mqsim_mlc")
