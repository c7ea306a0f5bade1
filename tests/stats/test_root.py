"""Roots of functions, beside scipy's."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from scipy import optimize

from dbdyno.stats.root import root


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: x - 1, 0.0, 3.0),
        (lambda x: math.tanh(x) - 0.999, 0.0, 64.0),
        (lambda x: x**3 - 2, -5.0, 1000.0),
        (lambda x: x, -1.0, 0.0),
        (lambda x: math.sqrt(x) - 1e-6, 0.0, 1.0),
    ],
)
def test_it_is_where_scipy_finds_it(
    function: Callable[[float], float], low: float, high: float
) -> None:
    expected = optimize.brentq(function, low, high, xtol=1e-15, rtol=1e-14)
    assert root(function, low, high) == pytest.approx(expected, abs=(high - low) * 2.0**-43)
