"""Fits of Student's t to states whose tails are as light as Gaussian ones."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from test_fit import states

import nandlab


@pytest.mark.parametrize("seed", range(4))
def test_tails_as_light_as_gaussian_ones_are_open_above(seed: int, folder: Path):
    """And refuse nothing: the other parameters are known as well as those of Gaussian states."""
    data, _ = states(np.random.default_rng(seed), None)
    found = nandlab.fit(data, "student_t")
    lightest = [one for one in found.parameters if one.value > 990]
    assert lightest, "no state has come to the end of the scale"
    assert all((one.low, one.high) == (1.0, math.inf) for one in lightest)
    [note] = [note for note in found.notes if "tails as light as Gaussian ones" in note]
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
