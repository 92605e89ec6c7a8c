"""Data frames of pandas, and what is said where it is not installed."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from conftest import refused

import nandlab

JOB = "[a]\nrw=randread\nnumber_ios=300\n"


@cache
def tables() -> list[tuple[object, dict[str, str], int]]:
    """Things with rows, arguments of `to_pandas`, and how many rows there are."""
    result = nandlab.run("tiny", JOB, requests=True)
    board = nandlab.board("wear", "wang2014_mlc", cycles=2000)
    life = nandlab.endurance("tlc_planar", retention_hours=[24.0, 240.0])
    curve = nandlab.ecc_curve("bch_512_t40", rber=0.012, errors=2, max_frames=200)
    return [
        (result, {}, result.series().num_rows),
        (result, {"table": "requests"}, 300),
        (board, {}, board.table().num_rows),
        (life, {}, 2),
        (curve, {}, 1),
    ]


def test_frames_have_the_rows_of_their_tables():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for of, arguments, rows in tables():
        frame = of.to_pandas(**arguments)  # type: ignore[attr-defined]
        assert isinstance(frame, pandas.DataFrame)
        assert len(frame) == rows
    frame = nandlab.run("tiny", JOB, requests=True).to_pandas("requests")
    assert set(frame["op"]) == {"read"}
    assert (frame["completion_ns"] - frame["arrival_ns"] == frame["latency_ns"]).all()


def test_without_pandas_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    found = tables()
    monkeypatch.setitem(sys.modules, "pandas", None)
    for of, arguments, _ in found:
        with refused("pip install 'nandlab[pandas]'"):
            of.to_pandas(**arguments)  # type: ignore[attr-defined]


def test_requests_must_be_kept():
    result = nandlab.run("tiny", JOB)
    with refused("requests=True"):
        result.to_pandas("requests")
    with refused("series, requests"):
        result.to_pandas("request")
