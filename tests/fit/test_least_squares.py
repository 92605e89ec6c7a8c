"""Least squares of the exponential laws: those of their paper (Wang, ICS'14, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ended
from scipy.optimize import curve_fit
from test_fit import Data, exponential_vth, grid

import nandlab


def with_young_errors() -> Data:
    """Counts of Wang's law, and some in young pages, where it has none."""
    data, _ = exponential_vth(np.random.default_rng(3))
    young, volts = grid([1e5, 3e5, 5e5], [1.3, 2.65, 4.0])
    return {
        "pe_cycles": np.append(young, data["pe_cycles"]),
        "vth_v": np.append(volts, data["vth_v"]),
        "bits_read": np.append(np.full(9, 2000 * 16384), data["bits_read"]),
        "bit_errors": np.append(np.arange(9), data["bit_errors"]),
    }


def test_least_squares_are_those_of_the_paper():
    """Of Wang's own method: as SciPy fits equation 9."""
    data = with_young_errors()

    def errors(at: Any, alpha_1: Any, beta_1: Any, alpha_2: Any, beta_2: Any) -> Any:
        n, ln_v = at
        return (alpha_1 * ln_v + beta_1) * np.exp((alpha_2 * ln_v + beta_2) * n) - 1

    at = np.array([data["pe_cycles"] / 1e5, np.log(data["vth_v"])])
    observed = 16384 * data["bit_errors"] / data["bits_read"]
    theirs, _ = curve_fit(errors, at, observed, p0=(-5e-4, 0.0019, 0.036, 0.66))
    found = nandlab.fit(data, "exponential_vth", least_squares=True)
    assert [p.value for p in found.parameters] == pytest.approx(list(theirs), rel=1e-3)
    assert all(p.low < p.value < p.high for p in found.parameters)
    rates = {name: data[name] for name in ("pe_cycles", "vth_v")}
    rates["rber"] = np.maximum(data["bit_errors"] / data["bits_read"], 1e-12)
    by_rates = nandlab.fit(rates, "exponential_vth", least_squares=True)
    assert by_rates.parameters[3].value == pytest.approx(theirs[3], rel=1e-3)


def test_the_command_fits_by_least_squares(nandlab: Callable[..., Ended], folder: Path):
    data = with_young_errors()
    rows = [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    (folder / "board.csv").write_text("\n".join([",".join(data), *rows]) + "\n")
    command = ["fit", "board.csv", "--law", "exponential_vth", "--least-squares", "--json", "-"]
    report = nandlab(*command).succeeded().json
    assert report["parameters"]["beta_2"][0] == pytest.approx(0.66, abs=0.02)
    assert report["overdispersion"] is None
    assert "least squares" in report["method"]
    power_law = ["fit", "board.csv", "--law", "power_law", "--least-squares"]
    nandlab(*power_law).refused("least_squares", "power_law", "exponential")
    nandlab(*power_law, "--law", "exponential").refused("comparison", "likelihood")
