"""Objects and results go to other processes and come back: pickled, they do what they did."""

import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nandlab
from nandlab.ecc import Code
from nandlab.ecc.codec import codec

CELLS = {"vth_v": range(7), "cells": [10, 100, 10, 1, 10, 100, 10]}
PAGES = {"pe_cycles": [0, 10, 1000], "bit_errors": [10, 20, 90], "bits_read": [10**6] * 3}
RATES = {
    "pe_cycles": [1, 1e3, 3e3, 100, 1000, 9],
    "retention_hours": [1, 2, 3, 400, 5, 50],
    "rber": [1e-5, 2e-4, 1e-3, 1e-4, 2e-4, 2e-5],
}


def again(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


@pytest.mark.parametrize("sets", [(), ("wear.widen_v=0.001",), ("chip.cell.wear.widen_v=0.001",)])
@pytest.mark.parametrize("name", ["tlc_3d", "chip/wang2014_mlc"])
def test_cells(name: str, sets: tuple[str, ...]):
    cell = nandlab.cell(name, set=sets, page_order="all_bitline")
    copy = again(cell)
    state = {"pe_cycles": 3000, "retention_hours": 100.0}
    assert copy.levels(state) == cell.levels(state)
    assert copy.soft(0, **state) == cell.soft(0, **state)
    assert (repr(copy), copy.page_order) == (repr(cell), "all_bitline")
    assert copy.rated_pe_cycles == cell.rated_pe_cycles


@pytest.mark.parametrize("decoder", [None, "bit_flip"])
def test_codes(decoder: str | None):
    one = codec("ldpc_1k_r90", decoder=decoder, set={"decoder.max_iterations": 5})
    assert again(one) == one
    code = Code("ldpc_1k_r90", decoder=decoder)
    copy = again(code)
    word = bytearray(code.encode(bytes(code.data_bytes)))
    word[5] ^= 0x11
    assert copy.decode(word) == code.decode(word)
    assert copy.codec == code.codec


@pytest.mark.parametrize(
    ("law", "data", "options"),
    [
        ("exponential", {"pe_cycles": [0, 1e3, 3e3], "rber": [1e-5, 2e-4, 1e-3]}, {}),
        ("power_law", RATES, {"without": ["epsilon", "retention"]}),
        ("retention_law", RATES, {"reference_c": 30}),
        ("gaussian", CELLS, {"states": 2}),
        ("table", PAGES, {}),
    ],
)
def test_fits(law: str, data: Any, options: dict[str, Any]):
    fitted = nandlab.fit(data, law, **options)
    copy = again(fitted)
    assert (str(copy), copy.to_dict()) == (str(fitted), fitted.to_dict())
    if np.isfinite(fitted.estimate.covariance).all():
        assert copy.draws(3, seed=1) == fitted.draws(3, seed=1)


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: nandlab.ecc_curve("bch_512_t40", rber=0.01, max_frames=100), "rows"),
        (lambda: nandlab.board("latency_map", "wang2014_mlc"), "table"),
        (lambda: nandlab.endurance("tlc_3d", retention_hours=24), "to_arrow"),
        (lambda: nandlab.cell("slc").endurance(retention_hours=1, temperature_c=25), "to_dict"),
        (lambda: nandlab.tvr(), "__str__"),
        (lambda: nandlab.run("tiny", "[a]\nrw=read\nnumber_ios=9\n", requests=True), "requests"),
    ],
)
def test_results(make: Callable[[], Any], shown: str):
    made = make()
    copy = again(made)
    assert getattr(copy, shown)() == getattr(made, shown)()
    assert repr(copy) == repr(made)


def test_in_processes():
    """As its documentation says: cells are sent there, results come back."""
    cell = nandlab.cell("tlc_3d")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        [levels] = pool.map(cell.levels, [nandlab.State(pe_cycles=1000)])
    assert levels == cell.levels(pe_cycles=1000)
