"""Fits of Student's t to states whose tails are as light as Gaussian ones."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import some
from test_fit import states

import nandlab
from nandlab.fit.mixture import distribution, histogram, mixture


@pytest.mark.parametrize("seed", some(range(4)))
def test_tails_as_light_as_gaussian_ones_are_open_above(seed: int, folder: Path):
    """And refuse nothing: the other parameters are known as well as those of Gaussian states."""
    data, _ = states(np.random.default_rng(seed), None)
    found = nandlab.fit(data, "student_t")
    lightest = [one for one in found.parameters if one.value > 990]
    assert lightest, "no state has come to the end of the scale"
    assert all((one.low, one.high) == (1.0, math.inf) for one in lightest)
    [note] = [note for note in found.notes if "Gaussian" in note]
    assert all(one.name in note for one in lightest)
    usual = nandlab.fit(data, "gaussian")
    for one in usual.parameters:
        like = found[one.name]
        assert one.low <= like.value <= one.high, one.name
        assert 0.5 < (like.high - like.low) / (one.high - one.low) < 2, one.name
    assert found.to_dict()["parameters"][lightest[0].name][2] is None
    assert len(found.draws(3)) == 3
    assert not re.search(r"\bnan\b", found.chip_toml("wang2014_mlc"))
    found.plot(folder / "fit.png")


def test_a_sweep_of_gaussian_levels_has_students_states():
    rows = nandlab.board("vth_sweep", "wang2014_mlc", cycles=3000, seed=1).table()
    found = nandlab.fit(rows.to_pydict(), "student_t")
    assert [found[f"nu_{state}"].high for state in range(4)] == [math.inf] * 4


@pytest.mark.parametrize("coordinate", [-1e4, -800.0, 0.0, 800.0, 1e4])
def test_no_step_of_a_fit_warns(coordinate: float):
    """Steps far out are tried and given up: numpy's warnings about them were shown."""
    data, _ = states(np.random.default_rng(1), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        below = distribution(np.array([-1.0, 0.0, 1.0]), coordinate)
        assert (np.diff(below) > 0).all()
        bins = histogram(nandlab.fit(data, "student_t").data)
        law = mixture(bins, "student_t", 4)
        far = np.tile([0.0, 0.0, coordinate, coordinate], 4)
        assert np.isfinite(law.mean(far)).all()
        assert np.isfinite(law.natural(far)).all()
