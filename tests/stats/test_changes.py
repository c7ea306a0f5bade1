"""Changes of level over a history: found where they were put, seldom where there are none."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal, stats

from dbdyno.stats import history, least_points
from dbdyno.stats.divergence import best_split


def levels(*parts: tuple[float, int], cv: float = 0.02, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(mean, cv * mean, n) for mean, n in parts])


def nightly(*values: object) -> Any:
    """Thousands of simulated series; `make check` has the shortest of them."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def test_a_slow_down_is_found_at_its_place() -> None:
    (change,) = history(levels((1000, 20), (900, 15))).changes
    assert change.index == 20
    assert change.relative == pytest.approx(-0.1, abs=0.02)
    assert change.p <= 0.01


def test_a_slow_down_that_was_mended_is_two_changes() -> None:
    found = history(levels((1000, 20), (850, 12), (1000, 20))).changes
    assert [change.index for change in found] == pytest.approx([20, 32], abs=1)


def test_a_single_value_far_off_is_an_outlier_and_no_change() -> None:
    series = levels((1000, 30))
    series[17] = 600
    found = history(series)
    assert found.changes == ()
    assert 17 in found.outliers


def test_steady_histories_have_few_changes() -> None:
    found = sum(bool(history(levels((1000, 40), seed=seed)).changes) for seed in range(150))
    assert found <= 6


def test_what_is_too_small_to_matter_is_no_change() -> None:
    series = levels((1000, 40), (1030, 40), cv=0.005)
    assert history(series).changes
    assert history(series, least_change=0.05).changes == ()


@pytest.mark.parametrize("n", range(7))
def test_short_histories_have_no_changes(n: int) -> None:
    assert history([1.0, 1.0, 1.0, 9.0, 9.0, 9.0][:n]).changes == ()


def remembering(n: int, memory: float, seed: int) -> np.ndarray:
    """AR(1), of variance 1 / (1 − memory²)."""
    noise = np.random.default_rng(seed).normal(size=n + 50)
    return np.asarray(signal.lfilter([1.0], [1.0, -memory], noise))[50:]


def heavy(n: int, seed: int) -> np.ndarray:
    """Student's t with 2 degrees of freedom, which has no variance."""
    return np.random.default_rng(seed).standard_t(2, n)


def spiky(n: int, seed: int) -> np.ndarray:
    """One value in ten is far below the others."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=n) - 10 * (rng.random(n) < 0.1))


def found_in(series: Callable[[int], np.ndarray], count: int, **how: Any) -> int:
    """In how many histories of ratios, 2 % of noise each, a change is found at 5 %."""
    return sum(
        bool(history(np.exp(0.02 * series(seed)), level=0.05, ratios=True, **how).changes)
        for seed in range(count)
    )


def no_more_than(found: int, count: int, rate: float) -> bool:
    """Whether a true rate of `rate` gives so many, or more, in one experiment of a hundred."""
    return bool(stats.binomtest(found, count, rate, alternative="greater").pvalue > 0.01)


@pytest.mark.parametrize("n", [8, nightly(15), nightly(30)])
@pytest.mark.parametrize("noise", [lambda n, s: remembering(n, 0, s), heavy, spiky])
def test_changes_found_where_none_is_are_as_few_as_said(
    n: int, noise: Callable[[int, int], np.ndarray]
) -> None:
    assert no_more_than(found_in(lambda seed: noise(n, seed), 100), 100, 0.05)


@pytest.mark.parametrize(
    "memory",
    [
        nightly(0.0),
        nightly(0.3),
        0.5,
    ],
)
def test_noise_that_remembers_itself_is_seldom_a_change(memory: float) -> None:
    found = found_in(lambda seed: remembering(15, memory, seed), 100, drifting=True)
    assert no_more_than(found, 100, 0.05)
    plain = found_in(lambda seed: remembering(15, 0.5, seed), 60)
    assert not no_more_than(plain, 60, 0.05), "permutations alone would not do"


@pytest.mark.parametrize(("drifting", "noises", "least"), [(False, 3, 0.8), nightly(True, 6, 0.7)])
def test_steps_are_found(drifting: bool, noises: float, least: float) -> None:
    def stepped(seed: int) -> np.ndarray:
        step = np.where(np.arange(14) >= 7, noises, 0.0)
        return np.asarray(remembering(14, 0, seed) + step)

    assert found_in(stepped, 50, drifting=drifting) >= least * 50


def test_a_change_that_is_taken_back_is_found_among_noise_that_may_remember() -> None:
    hill = remembering(24, 0, 4) + 8 * ((np.arange(24) >= 8) & (np.arange(24) < 16))
    changes = history(np.exp(0.02 * hill), level=0.05, ratios=True, drifting=True).changes
    assert [change.index for change in changes] == [8, 16]


def test_ratios_are_judged_by_their_logarithms() -> None:
    series = levels((1.0, 12), (0.5, 12), cv=0.001)
    (change,) = history(series, ratios=True).changes
    assert (change.before, change.after) == pytest.approx((1.0, 0.5), rel=0.01)
    assert history(series, ratios=True, least_change=0.9).changes
    assert not history(series, ratios=True, least_change=1.1).changes


def test_a_value_beside_a_change_is_no_outlier_though_the_median_says_so() -> None:
    series = np.r_[1.00, 1.01, 0.99, 1.0, 0.7, 1.0, 1.01, 1.01, 0.9, 0.89, 0.9, 0.91, 0.9, 0.9]
    found = history(series, level=0.05)
    assert found.outliers == (4,)
    assert [change.index for change in found.changes] == [8]


@pytest.mark.parametrize("n", range(6, 10))
def test_the_shortest_series_is_the_one_whose_best_order_is_rare_enough(n: int) -> None:
    """By counting: all orders of a perfect step, and those that are as good."""
    low = n // 2
    divergences = []
    for ups in itertools.combinations(range(n), n - low):
        series = np.zeros(n)
        series[list(ups)] = 1.0
        split = best_split(series, 3)
        divergences.append(split[1] if split else 0.0)
    p = np.mean(np.asarray(divergences) >= max(divergences) - 1e-9)
    assert p == pytest.approx(2 / math.comb(n, low))
    assert (n >= least_points(0.05)) == (p <= 0.05)


def test_the_divergence_is_that_of_the_paper() -> None:
    """Szekely and Rizzo's sums, written out for three against four values."""
    x, y = np.array([1.0, 2.0, 4.0]), np.array([7.0, 8.0, 8.5, 11.0])
    n, m = x.size, y.size
    between = 2 / (n * m) * np.abs(x[:, None] - y[None, :]).sum()
    within_x = np.abs(x[:, None] - x[None, :]).sum() / 2 / math.comb(n, 2)
    within_y = np.abs(y[:, None] - y[None, :]).sum() / 2 / math.comb(m, 2)
    q = m * n / (m + n) * (between - within_x - within_y)
    place, divergence = best_split(np.r_[x, y], 3) or (0, 0.0)
    assert place == 3
    assert divergence == pytest.approx(q)


NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100
1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456
824 702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822
1010 771 676 649 846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020
906 901 1170 912 746 919 718 714 740
"""
"""Yearly flow of the Nile at Aswan from 1871 on, 10⁸ m³ (Cobb 1978)."""


@pytest.mark.parametrize("drifting", [False, True])
def test_the_nile_carries_less_water_from_1899_on(drifting: bool) -> None:
    """The field's example: one change, 1898 the last year of the old level (Cobb 1978)."""
    flow = np.array(NILE.split(), dtype=float)
    (change,) = history(flow, drifting=drifting, permutations=399).changes
    assert 1871 + change.index == 1899
    assert (change.before, change.after) == pytest.approx((1097.75, 849.97), abs=0.01)
