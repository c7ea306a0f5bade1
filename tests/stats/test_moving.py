"""Moving means: what they cover, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from dbdyno.stats import moving_mean


def test_a_mean_is_that_of_the_values_within_reach() -> None:
    times = np.arange(0, 100, 10)
    found = moving_mean(times, times, 30)
    assert np.isnan(found[:3]).all(), "no reach has passed"
    assert found[3:].tolist() == [20, 30, 40, 50, 60, 70, 80]


def test_what_was_not_measured_is_left_out() -> None:
    found = moving_mean([0, 1, 2, 3, 4], [1, np.nan, 3, np.nan, np.nan], 2)
    assert found[2:].tolist() == pytest.approx([3, 3, np.nan], nan_ok=True)


def test_nothing_has_no_mean() -> None:
    assert moving_mean([], [], 5).size == 0
