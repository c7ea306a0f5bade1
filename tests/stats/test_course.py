"""How throughput goes within a window: whether it holds, and how much it swings."""

from __future__ import annotations

import numpy as np
import pytest

from dbdyno.stats import rate_cv, rate_held


def test_a_rate_that_does_not_change_holds() -> None:
    assert rate_held(np.ones(12), np.full(12, 50.0)) == pytest.approx(1)


def test_a_rate_is_held_by_the_last_quarter_against_the_first() -> None:
    rates = [400, 400, 400, 900, 0, 900, 0, 900, 0, 100, 100, 100]

    assert rate_held(np.ones(12), rates) == pytest.approx(0.25)


def test_an_interval_across_a_quarter_s_border_counts_in_part() -> None:
    """Ten intervals of a second: a quarter is 2.5 s."""
    rates = [10, 10, 20, 20, 20, 20, 20, 20, 5, 5]

    assert rate_held(np.ones(10), rates) == pytest.approx((5 + 5 + 10) / (10 + 10 + 10))


def test_intervals_count_by_their_length() -> None:
    assert rate_held([2, 2, 2, 1, 1], [100, 70, 70, 50, 50]) == pytest.approx(0.5)


@pytest.mark.parametrize("rates", [[], [5, 5, 5], [0, 0, 7, 7, 7, 7, 7, 7]])
def test_too_few_intervals_or_no_beginning_say_nothing(rates: list[float]) -> None:
    assert rate_held(np.ones(len(rates)), rates) is None


def test_a_swing_is_the_deviation_over_the_mean() -> None:
    assert rate_cv([90, 110, 90, 110]) == pytest.approx(np.sqrt(400 / 3) / 100)
    assert rate_cv(np.full(9, 7.0)) == 0


@pytest.mark.parametrize("rates", [[], [5], [0, 0, 0]])
def test_without_a_rate_there_is_no_swing(rates: list[float]) -> None:
    assert rate_cv(rates) is None
