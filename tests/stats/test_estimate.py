"""The mean of a cell's blocks and its interval, against scipy's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from dbdyno.stats import estimate


def test_above_zero_it_is_the_geometric_mean_with_its_t_interval() -> None:
    values = [90.0, 100.0, 120.0, 95.0]
    found = estimate(values)
    logs = np.log(values)
    ends = scipy.stats.t.interval(0.95, 3, loc=logs.mean(), scale=scipy.stats.sem(logs))
    assert found.value == pytest.approx(scipy.stats.gmean(values))
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(ends)))


def test_with_a_zero_it_is_the_plain_one() -> None:
    values = [0.0, 1.0, 2.0]
    found = estimate(values)
    ends = scipy.stats.t.interval(0.95, 2, loc=1.0, scale=scipy.stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((1.0, *ends))


def test_one_block_has_no_interval_and_two_far_apart_a_finite_one() -> None:
    one = estimate([7.0])
    assert one.low is None
    assert one.value == pytest.approx(7.0)
    high = estimate([1e-300, 1e300]).high
    assert high is not None
    assert math.isfinite(high)
