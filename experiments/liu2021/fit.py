"""Fits of two drives to the first half of their series: `python experiments/liu2021/fit.py`.

A page needs a retry where its raw bit error rate is above one limit of the code, and rates are
lognormal over pages. So the share of slow reads is a tail of a normal distribution. The figures
of `first_half.csv` alone are used: drive I was published up to pass 2,269, drive B up to 1,873.
"""

import csv
from math import log
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

#: Standard deviation over pages of the logarithm of the rate; 0.30 to 0.50 fit drive I alike.
SPREAD = 0.3

#: Powers of the reads that were tried for drive I: 1.71 is that of Kim et al. (FAST'19).
POWERS = (1.0, 1.2, 1.71)

#: Exponents of the dose at the ends of a stack, against its middle, that were tried for drive I:
#: `chip.cell.read_disturb.field_per_v` times `taper_v`.
SLOPES = (0.0, 0.5, 1.0, 1.5)

#: Layers of drive I.
LAYERS = 64

#: Page types, of which one has the slow reads: all alike for I, one of three for B.
TYPES = {"I": 1, "B": 3}

#: Cycles of drive B when its reads began, and passes that cost it one more, from its SMART.
B_CYCLES, B_PASSES_A_CYCLE = 1165, 49.0

NORMAL = NormalDist()


class Fit(NamedTuple):
    """Law of a drive, and how well it fits."""

    deviates: float
    """Standard deviations from the mean page to the limit of the code, at the start."""
    growth: float
    """Growth of the rate, or the power of the cycles in it."""
    error: float
    """Mean squared error of the logarithm of the share."""


def first_half(drive):
    """Passes of a drive, and its share of slow reads after each."""
    file = Path(__file__).parent / "first_half.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["drive"] == drive]
    return [float(row["pass"]) for row in rows], [1e-6 * float(row["ppm"]) for row in rows]


def least(drive, logarithm, growths):
    """Fit with the least squares: `logarithm(pass, growth)` is that of the rate over the first."""
    passes, shares = first_half(drive)
    measured = np.log(np.array(shares) * TYPES[drive])
    best = None
    for growth in growths:
        # A row for each pass: one value, or one for each layer.
        rise = np.array([np.atleast_1d(logarithm(at, growth)) for at in passes]) / SPREAD
        # The start by bisection: the mean of the errors falls as the limit moves away.
        low, high = 0.0, 8.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            tails = tail(rise, middle)
            errors = np.log(tails) - measured
            low, high = (middle, high) if errors.mean() > 0 else (low, middle)
        found = Fit(middle, float(growth), float((errors**2).mean()))
        best = found if best is None or found.error < best.error else best
    return best


def tail(rise, deviates):
    """Share of pages beyond the limit, over layers that rise by themselves."""
    return np.array([np.mean([NORMAL.cdf(up - deviates) for up in row]) for row in rise])


def rise_of_i(at, growth, power, slope=0.0):
    """Logarithm of the rate of drive I after some passes over the first, one for each layer."""
    if slope == 0.0:
        return log(1 + growth * (at / 1000) ** power)
    doses = np.exp(slope * (1 - 2 * (np.arange(LAYERS) + 0.5) / LAYERS))
    return np.log(1 + growth * (at / 1000) ** power * doses / doses.mean())


def drive_i(power, slope=0.0, steps=351):
    """Growth of the rate of drive I in the first thousand passes, by a power of the reads."""
    rise = lambda at, growth: rise_of_i(at, growth, power, slope)  # noqa: E731
    return least("I", rise, np.linspace(0.05, 0.4, steps))


def drive_b():
    """Power of the cycles in the rate of drive B: its reclaim wears it, and nothing else grows."""
    cycles = lambda at: (B_CYCLES + at / B_PASSES_A_CYCLE) / B_CYCLES  # noqa: E731
    return least("B", lambda at, power: power * log(cycles(at)), np.linspace(0.5, 4.0, 351))


def main():
    """Prints the fits, and what that of B says of its second half."""
    for power in POWERS:
        fit = drive_i(power)
        print(f"I, reads^{power:g}: +{fit.growth:.3f} in 1000 passes, error {fit.error:.4f}")
    for slope in SLOPES:
        fit = drive_i(1.0, slope, steps=71)
        then = [rise_of_i(at, fit.growth, 1.0, slope) for at in (1839, 2260)]
        shares = tail(np.array([np.atleast_1d(one) for one in then]) / SPREAD, fit.deviates)
        ppm = ", ".join(f"{1e6 * share:,.0f}" for share in shares)
        print(f"I, layers e^(+-{slope:g}): error {fit.error:.4f}; then {ppm} ppm")
    fit = drive_b()
    print(f"B: cycles^{fit.growth:.2f}, error {fit.error:.4f}; then")
    for at in (1212, 1512, 1812):
        rise = fit.growth * log(1 + at / B_PASSES_A_CYCLE / B_CYCLES) / SPREAD
        print(f"  pass {at}: {1e6 * NORMAL.cdf(rise - fit.deviates) / 3:,.0f} ppm")


if __name__ == "__main__":
    main()
