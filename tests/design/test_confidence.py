"""Confidence of verdicts: all looks together leave out a mean as seldom as they say."""

from __future__ import annotations

import numpy as np
import pytest

from nandlab.design.confidence import ERROR, RUNGS, counted, error_of, interval_of

TRIALS = 4000


def share_left_out(values: np.ndarray, mean: float, errors: list[float], is_count: bool) -> float:
    """Share of trials in which the interval of any look leaves out the mean."""
    out = 0
    for row in values:
        for count, error in zip(RUNGS, errors, strict=True):
            _, low, high = interval_of(list(row[:count]), error, is_count=is_count)
            if not low <= mean <= high:
                out += 1
                break
    return out / len(values)


@pytest.mark.parametrize("has_short", [False, True])
def test_looks_share_their_error(has_short: bool) -> None:
    spent = [error_of(rung, has_short=has_short) for rung in RUNGS]
    short = error_of(RUNGS[0], has_short=True, is_short=True) if has_short else 0.0
    assert sum(spent) + short == pytest.approx(ERROR)


def test_all_looks_together_leave_out_a_mean_in_one_of_twenty_at_most() -> None:
    values = np.random.default_rng(1).normal(10.0, 3.0, (TRIALS, RUNGS[-1]))
    errors = [error_of(rung, has_short=False) for rung in RUNGS]
    shared = share_left_out(values, 10.0, errors, False)
    # Three standard errors of 5 % in so many trials are 1 %.
    assert 0.025 < shared < ERROR + 0.01
    # Looks at 95 % each would be wrong twice as often: this test could see that.
    assert share_left_out(values, 10.0, [ERROR] * len(RUNGS), False) > 0.08


@pytest.mark.parametrize("rate", [0.02, 0.3, 2.0, 40.0])
def test_counts_of_rare_events_have_an_exact_interval(rate: float) -> None:
    values = np.random.default_rng(2).poisson(rate, (TRIALS, RUNGS[-1])).astype(float)
    errors = [error_of(rung, has_short=False) for rung in RUNGS]
    assert share_left_out(values, rate, errors, True) < ERROR + 0.01


def test_none_seen_is_not_none_at_all() -> None:
    # The rule of three: 3.0 events at 95 %, one-sided.
    assert counted(0, 0.1) == (0.0, pytest.approx(2.996, abs=0.001))
    assert counted(4, 0.05) == pytest.approx((1.090, 10.242), abs=0.001)
    mean, low, high = interval_of([0.0] * 12, 0.05, is_count=True)
    assert (mean, low) == (0.0, 0.0)
    assert high == pytest.approx(3.689 / 12, abs=0.001)


def test_bursts_scatter_more_than_a_poisson_process() -> None:
    _, low, high = interval_of([0.0, 0.0, 90.0], 0.05, is_count=True)
    assert low == 0.0
    assert high > 90.0
