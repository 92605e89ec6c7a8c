"""Tables: measurements for `nandlab fit`, as CSV and Parquet, of every column, whole or odd."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice

#: Laws, and the columns beyond cycles that they read.
LAWS: dict[str, tuple[str, ...]] = {
    "power_law": ("retention_hours", "reads"),
    "exponential": (),
    "exponential_vth": ("vth_v",),
    "retention_law": ("retention_hours",),
    "table": ("retention_hours", "reads"),
    "gaussian": (),
    "student_t": (),
    "cell": ("retention_hours", "reads"),
}

_OTHERS = ("temperature_c", "page_type", "block", "page", "chip", "note", "wordline")


def file(dice: Dice, law: str) -> tuple[str, bytes]:
    """Name and content of measurements that a law could be fitted to."""
    columns = (
        _histogram(dice)
        if law in ("gaussian", "student_t") and not dice.spoils(0.2)
        else _rates(dice, law)
    )
    if columns and dice.spoils(0.5):
        _spoil(dice, columns)
    table = pa.table(columns) if columns else pa.table({"x": [1]})
    sink = io.BytesIO()
    if dice.chance(0.3):
        pq.write_table(table, sink)
        name = "data.parquet"
    else:
        try:
            pcsv.write_csv(table, sink)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            sink = io.BytesIO(b"pe_cycles,rber\n1,0.1\n")
        name = "data.csv"
    data = sink.getvalue()
    return name, damaged(data, dice) if dice.spoils(0.5) else data


def _rates(dice: Dice, law: str) -> dict[str, Any]:
    """Rates that rise with stress, in a full grid, with scatter or none."""
    grid: dict[str, tuple[Any, ...]] = {"pe_cycles": dice.one(_CYCLES)}
    if dice.spoils(0.3):
        grid["pe_cycles"] = dice.one(((0, 1, 10), (500,), (), (2**31, 2**32)))
    for column in LAWS[law]:
        if not dice.spoils(0.2):
            grid[column] = {"vth_v": (2.6, 2.7, 2.9)}.get(column, (0, 1, 24, 300, 1000, 9000))
    for column in dice.some(_OTHERS, 2 if dice.is_wild else 1):
        grid[column] = {
            "temperature_c": (25, 70),
            "page_type": ("lower", "upper"),
            "note": ("a", "b"),
        }.get(column, (0, 1))
    points: list[dict[str, Any]] = [{}]
    for column, values in grid.items():
        points = [{**point, column: value} for point in points for value in values]
    if dice.spoils(0.4):
        points = dice.sample(points, dice.randint(0, len(points)))
    bits = dice.one((1, 1000, 2**53) if dice.spoils(0.5) else (10**6, 10**9, 10**11))
    scatter = dice.one((0.0, 0.1, 1.0 if dice.is_wild else 0.3))
    coefficients = [math.exp(dice.gauss(0, 0.7)) for _ in range(4)]
    for point in points:
        rate = min(0.4, _rate(point, coefficients) * math.exp(dice.gauss(0, scatter)))
        point["bits_read"], point["bit_errors"] = bits, min(bits, round(rate * bits))
        point["rber"] = rate
    is_counted = dice.chance(0.6)
    for point in points:
        for name in ("rber",) if is_counted else ("bits_read", "bit_errors"):
            del point[name]
    if dice.chance(0.2):
        points *= dice.one((2, 5))
    return {name: [point[name] for point in points] for name in points[0]} if points else {}


_CYCLES = ((0, 300, 1000, 2000, 3000, 5000), (100, 1000, 10_000), (1000, 2000, 4000, 8000, 16_000))


def _rate(point: dict[str, Any], coefficients: list[float]) -> float:
    """A power law of cycles, days and reads."""
    floor, wear, retention, reads = coefficients
    cycles = point["pe_cycles"] / 1000
    days = point.get("retention_hours", 0) / 24
    return float(
        1e-4 * floor
        + 2e-4 * wear * cycles**1.5
        + 1e-4 * retention * cycles**0.3 * days**0.5
        + 1e-5 * reads * cycles**0.3 * point.get("reads", 0) ** 0.8
    )


def _histogram(dice: Dice) -> dict[str, Any]:
    """Cells by voltage: states of one width."""
    states, bins = (
        dice.one((4, 4, 8) if dice.is_wild else (4,)),
        dice.one((3, 20, 100) if dice.is_wild else (60, 100, 400)),
    )
    step, width = 8.0 / bins, dice.one((0.02, 0.15, 0.6) if dice.is_wild else (0.1, 0.15, 0.2))
    volts = [-2 + step * index for index in range(bins)]
    means = [-1.5 + 7.0 / states * state for state in range(states)]
    most = dice.one((1, 50, 10**7) if dice.is_wild else (1000, 10_000, 10**6))
    cells = [
        int(most * sum(math.exp(-(((volt - mean) / width) ** 2) / 2) for mean in means))
        for volt in volts
    ]
    return {"vth_v": volts, "cells": cells}


def _spoil(dice: Dice, columns: dict[str, Any]) -> None:
    """A column holds what it should not, has another name, or is missing."""
    name = dice.one(sorted(columns))
    count = len(columns[name])
    how = dice.randrange(7)
    if how == 0:
        del columns[name]
    elif how == 1:
        columns[dice.one((name + "s", "PE", name.upper(), " " + name, ""))] = columns.pop(name)
    elif how == 2:
        odd = dice.one((float("nan"), float("inf"), -1.0, 0.0, 1e300, 1e-300, 2.5))
        columns[name] = [odd if dice.chance(0.3) else 1.0 for _ in range(count)]
    elif how == 3:
        columns[name] = [None if dice.chance(0.3) else 1 for _ in range(count)]
    elif how == 4:
        columns[name] = pa.array([1] * count, dice.one((pa.timestamp("ns"), pa.duration("s"))))
    elif how == 5:
        columns[name] = [[1]] * count
    else:
        columns[name] = [dice.odd_number() for _ in range(count)]
