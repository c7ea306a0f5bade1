"""Curves of throughput over clients: their values, their choice, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from dbdyno.stats import Curve, NotComparable, Scaling, scaling

LOADS = (1, 2, 4, 8, 16, 32, 64, 128)


def usl(rate: float, contention: float, coherency: float) -> Callable[[int], float]:
    return lambda n: rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def blocks(
    curve: Callable[[int], float], noise: float = 0.0, number: int = 3, seed: int = 1
) -> list[Mapping[int, float]]:
    random = np.random.default_rng(seed)
    return [
        {load: curve(load) * float(np.exp(random.normal(0, noise))) for load in LOADS}
        for _ in range(number)
    ]


def found(curve: Callable[[int], float], noise: float = 0.0, seed: int = 1) -> Scaling:
    told = scaling(blocks(curve, noise, seed=seed))
    assert isinstance(told, Scaling), told
    return told


def test_the_published_example() -> None:
    """σ = 0.02, κ = 0.0005, λ = 1000: a peak of 15,680.7 at 44.27 clients."""
    told = found(usl(1000, 0.02, 0.0005))

    assert told.curve is Curve.USL
    assert told.peak_clients == pytest.approx(44.27, abs=0.01)
    assert told.peak_rate is not None
    assert told.peak_rate.value == pytest.approx(15_680.7, rel=1e-4)
    assert told.contention is not None
    assert told.contention.value == pytest.approx(0.02, rel=1e-3)
    assert told.worst_miss < 1e-4


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (lambda n: 500.0 * n, Curve.LINEAR),
        (usl(500, 0.08, 0), Curve.AMDAHL),
        (usl(500, 0.03, 0.002), Curve.USL),
        (lambda n: min(500.0 * n, 1900.0), Curve.PLATEAU),
    ],
)
def test_the_simplest_curve_that_fits_is_chosen(
    curve: Callable[[int], float], expected: Curve
) -> None:
    chosen = [found(curve, noise=0.03, seed=seed).curve for seed in range(20)]

    assert chosen.count(expected) >= 17


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """95 %: at least 86 of 100 (binomial, p = 0.001 below)."""
    held = 0
    for seed in range(100):
        told = found(usl(500, 0.03, 0.002), noise=0.03, seed=seed)
        rate = told.rate
        assert rate.low is not None
        assert rate.high is not None
        held += rate.low <= 500 <= rate.high
    assert held >= 86


def test_a_peak_beyond_the_loads_is_not_told() -> None:
    told = found(usl(500, 0.02, 1e-5))

    assert told.curve is Curve.USL
    assert told.peak_clients is None
    assert told.peak_rate is None


def test_one_block_has_a_curve_and_no_interval() -> None:
    told = scaling(blocks(usl(500, 0.03, 0.002), number=1))

    assert isinstance(told, Scaling)
    assert (told.rate.low, told.rate.high) == (None, None)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "0 loads"),
        ([{1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 5.0}], "5 loads; a curve needs 6"),
        ([{n: float(n) for n in (2, 3, 4, 5, 6, 7)}], "no load of one client"),
        ([{n: float(n) for n in LOADS}, {n: float(n) for n in LOADS[1:]}], "other loads"),
        ([{n: n - 1.0 for n in LOADS}], "without throughput"),
        ([{n: n * (1 + 0.1 * (n > 1)) for n in LOADS}], "faster than clients"),
    ],
)
def test_what_no_curve_describes_is_refused(given: list[Mapping[int, float]], reason: str) -> None:
    told = scaling(given)

    assert isinstance(told, NotComparable)
    assert reason in told.reason


@pytest.mark.parametrize(
    ("curve", "knee"),
    [
        (lambda n: min(500.0 * n, 1900.0), 3.8),
        (usl(500, 0.08, 0), 11.5),
        (usl(1000, 0.02, 0.0005), 19.87),
    ],
)
def test_the_knee_is_where_power_is_greatest(curve: Callable[[int], float], knee: float) -> None:
    """Against a search of the curve itself."""
    fine = np.linspace(1, 128, 127_001)
    power = np.array([curve(n) for n in fine]) ** 2 / fine
    assert float(fine[power.argmax()]) == pytest.approx(knee, rel=1e-2)

    told = found(curve).knee_clients
    assert told is not None
    assert told.value == pytest.approx(float(fine[power.argmax()]), rel=1e-2)


@pytest.mark.parametrize("curve", [lambda n: 500.0 * n, usl(500, 0.012, 0)])
def test_a_knee_beyond_the_loads_measured_is_not_told(curve: Callable[[int], float]) -> None:
    """The second one's lies at 82 clients, with a single load above it."""
    assert found(curve).knee_clients is None


def test_the_knee_has_an_interval_that_holds_the_truth() -> None:
    told = [found(usl(500, 0.08, 0.0), noise=0.02, seed=seed) for seed in range(100)]
    knees = [one.knee_clients for one in told if one.curve is Curve.AMDAHL]
    held = [one.low <= 11.5 <= one.high for one in knees if one and one.low and one.high]

    assert len(held) >= 50
    assert sum(held) / len(held) >= 0.87
