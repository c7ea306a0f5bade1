"""Changes of level over a history: found where they were put, seldom where there are none."""

import numpy as np
import pytest

from dbdyno.stats import history


def levels(*parts: tuple[float, int], cv: float = 0.02, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(mean, cv * mean, n) for mean, n in parts])


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
