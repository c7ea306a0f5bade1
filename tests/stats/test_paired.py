"""Published worked examples, algebraic properties, and rates of false verdicts under the null."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from dbdyno.stats import (
    NotComparable,
    PairedEffect,
    Size,
    Verdict,
    benjamini_hochberg,
    effect_of,
    judge,
    judge_family,
    log_ratios,
    paired_effect,
    tost_p,
)
from dbdyno.stats.paired import rule

rates = st.floats(min_value=1.0, max_value=1e6, allow_nan=False)
pairs = st.lists(st.tuples(rates, rates), min_size=2, max_size=12)


def effect(baseline: list[float], candidate: list[float]) -> PairedEffect:
    found = paired_effect(baseline, candidate)
    assert isinstance(found, PairedEffect)
    return found


def test_the_t_interval_is_the_one_of_a_one_sample_t_test() -> None:
    baseline, candidate = [100.0, 102.0, 98.0, 101.0], [110.0, 109.0, 111.0, 112.0]
    found = effect(baseline, candidate)
    test = scipy_stats.ttest_1samp(np.log(np.divide(candidate, baseline)), 0)
    for confidence, low, high in [
        (0.95, found.low95, found.high95),
        (0.90, found.low90, found.high90),
    ]:
        expected = test.confidence_interval(confidence)
        assert (low, high) == pytest.approx((expected.low, expected.high))
    assert found.method == "t over blocks"
    assert found.ratio == pytest.approx(scipy_stats.gmean(np.divide(candidate, baseline)))


def test_the_t_interval_stays_at_every_n() -> None:
    d = np.random.default_rng(11).normal(0.03, 0.02, 24)
    found = effect([1.0] * 24, list(np.exp(d)))
    expected = scipy_stats.ttest_1samp(d, 0).confidence_interval()
    assert (found.low95, found.high95) == pytest.approx((expected.low, expected.high))


def test_students_sleep_data_give_the_published_t() -> None:
    # Student, Biometrika 1908; additional hours of sleep: t = -4.0621, df = 9, p = 0.002833.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = effect_of(np.subtract(first, second))
    assert isinstance(found, PairedEffect)
    assert found.log_effect / found.standard_error == pytest.approx(-4.0621, abs=1e-4)
    assert found.p == pytest.approx(0.002833, abs=1e-6)
    assert (found.low95, found.high95) == pytest.approx((-2.4598858, -0.7001142), abs=1e-6)


@given(pairs)
def test_swapping_the_sides_mirrors_the_effect(both: list[tuple[float, float]]) -> None:
    a, b = (list(side) for side in zip(*both, strict=True))
    there, back = paired_effect(a, b), paired_effect(b, a)
    if isinstance(there, NotComparable):
        assert isinstance(back, NotComparable)
        return
    assert isinstance(back, PairedEffect)
    assert there.log_effect == pytest.approx(-back.log_effect, abs=1e-9)
    assert there.p == pytest.approx(back.p)
    assert there.low95 <= there.low90 <= there.high90 <= there.high95
    assert there.low95 == pytest.approx(-back.high95, abs=1e-9)


@given(pairs, st.floats(min_value=0.01, max_value=100))
def test_the_unit_of_the_values_does_not_matter(
    both: list[tuple[float, float]], unit: float
) -> None:
    a, b = (list(side) for side in zip(*both, strict=True))
    there = paired_effect(a, b)
    scaled = paired_effect([x * unit for x in a], [x * unit for x in b])
    if isinstance(there, PairedEffect) and isinstance(scaled, PairedEffect):
        assert scaled.log_effect == pytest.approx(there.log_effect, abs=1e-6)


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ([1.0], [2.0], "one block"),
        ([1.0, 2.0], [2.0, 4.0], "exactly the same ratio"),
        ([1.0, 2.0], [2.0], "2 baseline blocks and 1 candidate"),
        ([1.0, 0.0], [2.0, 2.0], "above zero"),
        ([1.0, math.nan], [2.0, 2.0], "finite"),
        ([], [], "no block"),
    ],
)
def test_what_cannot_be_compared_says_why(
    baseline: list[float], candidate: list[float], reason: str
) -> None:
    found = paired_effect(baseline, candidate)
    assert isinstance(found, NotComparable)
    assert reason in found.reason
    told = judge(found, smallest_effect=0.02, higher_is_better=True)
    assert told.verdict is Verdict.CANNOT_TELL


def test_tost_agrees_with_the_ninety_percent_interval() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(200):
        d = rng.normal(0, 0.03, 5)
        found = effect([1.0] * 5, list(np.exp(d)))
        inside = found.low90 > -0.03 and found.high90 < 0.03
        assert (tost_p(found, 0.03) < 0.05) == inside
        seen.add(inside)
    assert seen == {True, False}


def test_benjamini_hochberg_rejects_two_in_the_published_example() -> None:
    p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    assert int((benjamini_hochberg(p) <= 0.05).sum()) == 2


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=30))
def test_benjamini_hochberg_agrees_with_scipy(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(
        scipy_stats.false_discovery_control(p, method="bh")
    )


def verdict(d: list[float], *, smallest_effect: float = 0.02, higher: bool = True) -> Verdict:
    found = paired_effect([1.0] * len(d), list(np.exp(d)))
    return judge(found, smallest_effect=smallest_effect, higher_is_better=higher).verdict


def test_each_verdict_is_reached() -> None:
    assert verdict([0.10, 0.11, 0.12]) is Verdict.BETTER
    assert verdict([0.10, 0.11, 0.12], higher=False) is Verdict.WORSE
    assert verdict([-0.10, -0.11, -0.12]) is Verdict.WORSE
    assert verdict([0.0050, 0.0052, 0.0051]) is Verdict.SMALL
    assert verdict([0.001, -0.001, 0.0005, -0.0004]) is Verdict.EQUIVALENT
    assert verdict([0.1, -0.1, 0.05]) is Verdict.CANNOT_TELL


def family(*rows: list[float], smallest_effect: float = 0.02) -> tuple[Verdict, ...]:
    told = judge_family(
        [effect_of(row) for row in rows], smallest_effect=smallest_effect, higher_is_better=True
    )
    return tuple(one.verdict for one in told)


def test_what_passes_only_by_itself_is_suggestive_and_not_definite() -> None:
    found, noise = [0.10, 0.13, 0.08, 0.16, 0.05], [0.1, -0.1, 0.05, -0.07, 0.03]
    assert family(found) == (Verdict.BETTER,)
    weak = [0.10, 0.24, 0.02, 0.16, 0.05]
    assert verdict(weak) is Verdict.BETTER
    assert family(weak, *[noise] * 11)[0] is Verdict.SUGGESTIVE
    assert not Verdict.SUGGESTIVE.definite


def test_the_direction_is_the_intervals_and_the_size_stands_apart() -> None:
    def told(*d: float) -> tuple[Verdict, Size]:
        found = judge(effect_of(d), smallest_effect=0.02, higher_is_better=True)
        return found.verdict, found.size

    assert told(0.10, 0.11, 0.12) == (Verdict.BETTER, Size.ABOVE)
    assert told(0.013, 0.018, 0.022, 0.016) == (Verdict.BETTER, Size.OPEN)
    assert told(0.005, 0.0052, 0.0051) == (Verdict.SMALL, Size.BELOW)


def test_one_block_that_decides_is_named() -> None:
    def deciding(*d: float) -> tuple[int, ...]:
        return judge(effect_of(d), smallest_effect=0.02, higher_is_better=True).deciding

    assert deciding(0.05, 0.06, 0.05, 0.06, 0.055, 0.05) == ()
    assert deciding(0.05, 0.06, 0.05, -0.30, 0.06, 0.05) == (3,)


def test_random_verdicts_agree_with_the_rule_that_is_simulated() -> None:
    rng = np.random.default_rng(8)
    for _ in range(100):
        found = effect_of(rng.normal(rng.normal(0, 0.02), 0.01, int(rng.integers(2, 9))))
        assert isinstance(found, PairedEffect)
        changed, inside = rule(
            found.log_effect, found.standard_error, found.degrees, math.log1p(0.02)
        )
        told = judge(found, smallest_effect=0.02, higher_is_better=True).verdict
        wanted = {
            (True, True): {Verdict.SMALL},
            (True, False): {Verdict.BETTER, Verdict.WORSE},
            (False, True): {Verdict.EQUIVALENT},
            (False, False): {Verdict.CANNOT_TELL},
        }
        assert told in wanted[bool(changed), bool(inside)]


def test_log_ratios_are_the_log_of_the_ratios() -> None:
    assert log_ratios([1, 2], [2, 2]) == pytest.approx([math.log(2), 0.0])
