"""Steadiness, waves, stalls and spread: recovered where injected, silent where there is none."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.stats import (
    StabilityWord,
    loss,
    median_interval,
    mser5,
    period,
    settling,
    spread,
    stability,
    trend,
)

RNG = np.random.default_rng(7)


def steady(n: int = 300, cv: float = 0.01) -> np.ndarray:
    return np.random.default_rng(n).normal(1000, 1000 * cv, n)


def test_mser5_cuts_a_warm_up_and_nothing_else() -> None:
    warming = np.concatenate([np.linspace(200, 990, 40), steady(260)])
    found = mser5(warming)
    assert 40 <= found.discard <= 80
    assert found.warmed is True
    assert mser5(np.full(100, 5.0)).discard == 0


def test_mser5_refuses_a_series_that_still_climbs() -> None:
    assert mser5(np.arange(100.0)).warmed is False


def test_mser5_does_not_judge_a_few_seconds() -> None:
    assert mser5(steady(99)).warmed is None
    assert mser5([]).warmed is None


def test_mser5_by_hand() -> None:
    # Batch means 0, 10, 10, 12, 8, 10: g(0) = 83.33/36, g(1) = 8/25, g(2) = 8/16, g(3) = 8/9.
    series = np.repeat([0.0, 10.0, 10.0, 12.0, 8.0, 10.0], 5)
    assert mser5(series).discard == 5


def test_mser5_seldom_calls_stationary_noise_warming() -> None:
    rng = np.random.default_rng(3)
    cold = sum(mser5(rng.normal(1000, 30, 120)).warmed is False for _ in range(400))
    assert cold <= 0.1 * 400


@pytest.mark.parametrize(("n", "seen"), [(60, "step"), (300, "step")])
def test_a_step_inside_the_window_is_a_step(n: int, seen: str) -> None:
    series = steady(n) * np.where(np.arange(n) < n // 2, 1.0, 1.1)
    found = settling(series)
    assert found.drift is None
    assert found.step == pytest.approx(0.1, abs=0.015)
    assert found.step_at == pytest.approx(0.5, abs=0.05)
    assert stability(series).word is StabilityWord.STEPPING


@pytest.mark.parametrize("rise", [0.05, 0.5])
def test_a_ramp_is_a_drift_and_not_jitter(rise: float) -> None:
    series = steady(300) * (1 + rise * np.arange(300) / 300)
    found = settling(series)
    assert found.step is None
    assert found.drift == pytest.approx(rise / (1 + rise / 2), rel=0.15)
    assert stability(series).word is StabilityWord.DRIFTING


def test_noise_seldom_drifts_or_steps() -> None:
    rng = np.random.default_rng(2)
    found = [settling(rng.normal(1000, 40, 120)) for _ in range(200)]
    assert sum(one.drift is not None or one.step is not None for one in found) <= 8


@pytest.mark.parametrize("rate", [3.0, 10.0, 100.0, 5000.0])
def test_a_poisson_load_is_flat_at_any_rate(rate: float) -> None:
    rng = np.random.default_rng(6)
    words = [stability(rng.poisson(rate, 120)).word for _ in range(50)]
    assert words.count(StabilityWord.FLAT) >= 45
    assert words.count(StabilityWord.STALLING) <= 1


def test_a_stall_in_a_slow_load_is_still_one() -> None:
    series = np.random.default_rng(6).poisson(10.0, 120)
    series[50:55] = 0
    found = stability(series)
    assert found.word is StabilityWord.STALLING
    assert found.longest_stall_s >= 5


@pytest.mark.parametrize(
    ("series", "word"),
    [
        (steady(), StabilityWord.FLAT),
        (steady(cv=0.08), StabilityWord.JITTERY),
        (1000 + 200 * np.sin(np.arange(300) / 30 * 2 * math.pi), StabilityWord.WAVY),
        (np.where(np.arange(300) == 150, 10, steady()), StabilityWord.STALLING),
        (np.linspace(1000, 600, 300) + RNG.normal(0, 10, 300), StabilityWord.COLLAPSING),
        (steady(9), StabilityWord.UNKNOWN),
        (np.zeros(60), StabilityWord.STALLING),
    ],
)
def test_every_word_is_said_of_its_shape(series: np.ndarray, word: StabilityWord) -> None:
    assert stability(series).word is word


def test_injected_stalls_are_found_with_place_length_and_depth() -> None:
    series = np.full(120, 100.0)
    series[30:33] = 0.0
    series[34] = 40.0  # merged: the gap is one second
    series[90] = 45.0
    found = stability(series)
    assert [(e.start_s, e.duration_s, e.depth) for e in found.stalls] == [
        (30.0, 5.0, 1.0),
        (90.0, 1.0, pytest.approx(0.55)),
    ]
    assert [(e.start_s, e.duration_s) for e in found.stops] == [(30.0, 3.0)]
    assert found.longest_stall_s == 5.0


def test_a_dip_shorter_than_three_seconds_is_none() -> None:
    series = np.full(60, 100.0)
    series[10:12] = 70.0
    series[40:44] = 70.0
    assert [event.start_s for event in stability(series).dips] == [40.0]


def test_an_interval_of_half_a_second_counts_half() -> None:
    series = np.full(60, 100.0)
    series[10:14] = 0.0
    assert stability(series, interval_s=0.5).stalls[0].duration_s == 2.0


def test_loss_by_hand() -> None:
    series = np.full(20, 100.0)
    series[[3, 4]] = [0.0, 50.0]
    found = loss(series)
    assert found is not None
    assert found.loss_s == pytest.approx(1.5)
    assert found.unresponsive_s == pytest.approx(1.125)
    assert found.seconds_below == (1, 1, 1, 1, 1, 2, 2, 2, 2, 2)


@pytest.mark.parametrize("length", [7, 30, 60])
def test_an_injected_period_is_recovered(length: int) -> None:
    time = np.arange(600)
    wave = 1000 + 150 * np.sin(time / length * 2 * math.pi)
    found = period(wave + np.random.default_rng(1).normal(0, 40, 600))
    assert found is not None
    assert found.intervals == pytest.approx(length, rel=0.03)
    assert found.amplitude == pytest.approx(0.3, rel=0.25)
    assert found.explained > 0.6


def test_noise_has_a_period_in_at_most_two_percent_of_series() -> None:
    rng = np.random.default_rng(9)
    false = sum(period(rng.normal(1000, 50, 300)) is not None for _ in range(300))
    assert false <= 6


def test_noise_that_remembers_is_seldom_called_a_wave() -> None:
    rng = np.random.default_rng(10)
    false = 0
    for _ in range(300):
        series = np.empty(300)
        series[0] = 0.0
        for i, shock in enumerate(rng.normal(0, 50, 299), start=1):
            series[i] = 0.5 * series[i - 1] + shock
        false += period(1000 + series) is not None
    assert false <= 15


def test_trend_tells_a_fall_from_noise() -> None:
    falling = trend(np.linspace(100, 70, 100))
    assert falling is not None
    assert falling.change == pytest.approx(-0.3 / 0.85, rel=0.05)
    assert falling.p < 1e-6
    flat = trend(steady())
    assert flat is not None
    assert abs(flat.change) < 0.01


def test_six_blocks_are_the_least_for_an_interval_of_the_median() -> None:
    assert median_interval([1, 2, 3, 4, 5]) is None
    found = median_interval([6, 5, 4, 3, 2, 1])
    assert found is not None
    assert (found.low, found.high) == (1, 6)
    assert found.coverage == pytest.approx(0.96875)


def test_the_interval_of_the_median_narrows_by_the_published_ranks() -> None:
    # Conover, Practical Nonparametric Statistics: n = 20 takes the 6th and 15th value, 95.86 %.
    found = median_interval(range(1, 21))
    assert found is not None
    assert (found.low, found.high) == (6, 15)
    assert found.coverage == pytest.approx(0.9586, abs=1e-4)


@given(st.lists(st.floats(min_value=0.1, max_value=1e6), min_size=1, max_size=30))
def test_spread_keeps_its_order(values: list[float]) -> None:
    found = spread(values)
    assert found.low <= found.median <= found.high
    if found.interval:
        assert found.low <= found.interval.low <= found.median <= found.interval.high
    assert (found.cv is None) == (len(values) == 1)


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=80))
def test_stability_never_fails_on_any_series(values: list[float]) -> None:
    found = stability(values)
    assert found.intervals == len(values)
    assert sum(event.duration_s for event in found.stops) <= len(values)


def test_a_window_says_what_its_slow_seconds_cost() -> None:
    series = np.full(60, 100.0)
    series[30:33] = 0.0
    found = stability(series).loss
    assert found is not None
    assert found.seconds_below[5] == 3.0
    assert found.loss_s == pytest.approx(3.0)
    assert stability(np.zeros(60)).loss is None
