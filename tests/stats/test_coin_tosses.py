"""Distributions as functions of numbers."""

from __future__ import annotations

import pytest
from scipy import special

from dbdyno.stats.distributions import even_binomial_up_to


@pytest.mark.parametrize("trials", [1, 2, 7, 49, 50, 51, 400])
def test_few_trials_are_summed_up_to_what_scipy_says(trials: int) -> None:
    for count in range(trials + 1):
        expected = special.bdtr(count, trials, 0.5)
        assert even_binomial_up_to(count, trials) == pytest.approx(expected, rel=1e-11)
    assert even_binomial_up_to(trials, trials) == 1.0
