"""What `nandlab.fit` takes: tables of many kinds, and what is refused in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nandlab

fit: Any = nandlab.fit
presets: Any = nandlab.presets

WIDE_PAGES = ["chip.geometry.pages_per_block=16", "chip.geometry.page_bytes=16384"]


class Frame:
    """As much of a data frame as is asked for."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


def test_tables_are_as_good_as_files(folder: Path):
    """A board's measurement says what its chip is, as its file does."""
    found = nandlab.board("vth_sweep", "wang2014_mlc", step_v=0.05, out="s.parquet", set=WIDE_PAGES)
    filed = fit(folder / "s.parquet", "gaussian")
    for data in (found, found.table(), found.table().combine_chunks().to_batches()[0]):
        assert fit(data, "gaussian").parameters == filed.parameters
    columns = {"pe_cycles": [0.0, 1e3, 3e3, 5e3], "rber": [1e-5, 2e-4, 1e-3, 2e-3]}
    plain = fit(columns, "exponential").parameters
    arrays = {name: np.ma.array(column) for name, column in columns.items()}
    for data in (Frame(columns), Frame(arrays), arrays, pa.table(columns)):
        assert fit(data, "exponential").parameters == plain


class Missing:
    """As pandas' NA: equal to nothing, not even to nothing."""

    def __eq__(self, other: object) -> Any:
        return self

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("ambiguous")

    def __repr__(self) -> str:
        return "<NA>"


@pytest.mark.parametrize(
    ("rber", "words"),
    [
        (np.array([[1e-5], [1e-4], [1e-3]]), r"row 1, column rber: `\[1e-05\]`: not a number"),
        (
            np.array([[1e-5, 2], [1e-4, 3], [1, 2]]),
            r"row 1, column rber: `\[1e-05, 2.0\]`: not a num",
        ),
        ([1e-5, np.array([1.0, 2.0]), 1e-3], "row 2, column rber: .*: not a number"),
        (np.array([1e-5, 1e-4, 1e-3], dtype=np.complex64), "row 1, column rber: .*: not a number"),
        ([1e-5, np.complex64(1e-4), 1e-3], "row 2, column rber: .*: not a number"),
        ([1e-5, Missing(), 1e-3], "row 2, column rber: `<NA>`: not a number"),
        (
            np.ma.array([1e-5, 1e-4, 1e-3], mask=[0, 1, 0]),
            "row 2, column rber: empty: not a number",
        ),
        (np.float64(1e-5), "a column that is not a list"),
    ],
)
def test_columns_that_hold_no_numbers(rber: Any, words: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in ({"pe_cycles": [0, 1, 2], "rber": rber}, Frame({"rber": rber})):
            with pytest.raises(nandlab.NandlabError, match=words):
                fit(data, "exponential")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit({1: [2.0]}, "exponential"), "unknown column `1`"),
        (lambda: fit({"rber": [1e-3]}, None), "fit: law: None; expected: power_law"),
        (lambda: presets(3), "kind: 3; expected: cell, chip"),
        (lambda: fit(3, "exponential"), "data: int; expected: the path"),
    ],
)
def test_names_that_are_no_text(call: Callable[[], object], words: str):
    with pytest.raises(nandlab.NandlabError, match=words):
        call()


def test_numbers_that_are_none():
    rates = {"pe_cycles": [0.0, 1e3, 3e3, 5e3], "rber": [1e-5, 2e-4, 1e-3, 2e-3]}
    found = fit(rates, "exponential")
    with pytest.raises(nandlab.NandlabError, match=r"level: '0.9'; expected: a number"):
        fit(rates, "exponential", level="0.9")
    with pytest.raises(nandlab.NandlabError, match="draws: -1 is out of range; expected: 0 to"):
        found.draws(-1)
    with pytest.raises(nandlab.NandlabError, match="parameter: 0; expected: "):
        list(found)
    bins = {"vth_v": np.linspace(-3, 3, 61), "cells": np.ones(61)}
    for states, words in (("4", "'4': not a whole number"), (1, "1 is out of range")):
        with pytest.raises(nandlab.NandlabError, match=f"fit: states: {words}; expected: 2 to 16"):
            fit(bins, "gaussian", states=states)
