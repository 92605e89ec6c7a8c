"""What `nandlab.fit` takes: tables of many kinds, and what is refused in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import refused

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
    ("rber", "parts"),
    [
        (np.array([[1e-5], [1e-4], [1e-3]]), ["row 1, column rber", "`[1e-05]`", "number"]),
        (
            np.array([[1e-5, 2], [1e-4, 3], [1, 2]]),
            ["row 1, column rber", "`[1e-05, 2.0]`", "number"],
        ),
        ([1e-5, np.array([1.0, 2.0]), 1e-3], ["row 2, column rber", "number"]),
        (np.array([1e-5, 1e-4, 1e-3], dtype=np.complex64), ["row 1, column rber", "number"]),
        ([1e-5, np.complex64(1e-4), 1e-3], ["row 2, column rber", "number"]),
        ([1e-5, Missing(), 1e-3], ["row 2, column rber", "`<NA>`", "number"]),
        (
            np.ma.array([1e-5, 1e-4, 1e-3], mask=[0, 1, 0]),
            ["row 2, column rber", "empty", "number"],
        ),
        (np.float64(1e-5), ["column", "list"]),
    ],
)
def test_columns_that_hold_no_numbers(rber: Any, parts: list[str]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in ({"pe_cycles": [0, 1, 2], "rber": rber}, Frame({"rber": rber})):
            with refused(*parts):
                fit(data, "exponential")


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: fit({1: [2.0]}, "exponential"), ["column `1`"]),
        (lambda: fit({"rber": [1e-3]}, None), ["fit: law: None", "power_law"]),
        (lambda: presets(3), ["kind: 3", "cell, chip"]),
        (lambda: fit(3, "exponential"), ["data: int", "path"]),
    ],
)
def test_names_that_are_no_text(call: Callable[[], object], parts: list[str]):
    with refused(*parts):
        call()


def test_numbers_that_are_none():
    rates = {"pe_cycles": [0.0, 1e3, 3e3, 5e3], "rber": [1e-5, 2e-4, 1e-3, 2e-3]}
    found = fit(rates, "exponential")
    with refused("level: '0.9'", "number"):
        fit(rates, "exponential", level="0.9")
    with refused("draws: -1", "0 to"):
        found.draws(-1)
    with refused("parameter: 0", "expected: "):
        list(found)
    bins = {"vth_v": np.linspace(-3, 3, 61), "cells": np.ones(61)}
    for states in ("4", 1):
        with refused(f"fit: states: {states!r}", "2 to 16"):
            fit(bins, "gaussian", states=states)
