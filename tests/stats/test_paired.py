"""Published worked examples, algebraic properties, and rates of false verdicts under the null."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from dbdyno.stats import (
    Equivalence,
    NotComparable,
    PairedEffect,
    Verdict,
    benjamini_hochberg,
    blocks_needed,
    judge,
    log_ratios,
    paired_effect,
    sign_flip_p,
    tost_p,
)

rates = st.floats(min_value=1.0, max_value=1e6, allow_nan=False)
pairs = st.lists(st.tuples(rates, rates), min_size=2, max_size=12)


def effect(baseline: list[float], candidate: list[float]) -> PairedEffect:
    found = paired_effect(baseline, candidate)
    assert isinstance(found, PairedEffect)
    return found


@pytest.mark.parametrize(
    ("blocks", "p"), [(5, 0.0625), (6, 0.03125), (8, 0.0078125), (10, 0.001953125)]
)
def test_the_smallest_sign_flip_p_is_two_in_all_flips(blocks: int, p: float) -> None:
    assert sign_flip_p(np.linspace(0.01, 0.1, blocks)) == p


def test_sign_flip_agrees_with_scipys_permutation_test() -> None:
    d = np.array([0.05, -0.02, 0.04, 0.07, -0.01, 0.03, 0.06])
    oracle = scipy_stats.permutation_test(
        (d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True
    )
    assert sign_flip_p(d) == pytest.approx(oracle.pvalue, abs=1e-12)


def test_darwins_maize_gives_fishers_published_p() -> None:
    # Fisher, The Design of Experiments, section 21: 1,726 of 32,768 sign patterns.
    d = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sign_flip_p(d) == pytest.approx(1726 / 32768, abs=1e-12)


def test_many_blocks_are_sampled_and_reproducible() -> None:
    d = np.random.default_rng(3).normal(0.5, 1, 20)
    assert sign_flip_p(d, seed=4) == sign_flip_p(d, seed=4)
    assert sign_flip_p(d, seed=4) == pytest.approx(
        float(scipy_stats.ttest_1samp(d, 0).pvalue), abs=0.02
    )


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
    assert found.method == "t"
    assert found.ratio == pytest.approx(scipy_stats.gmean(np.divide(candidate, baseline)))


def test_eight_blocks_take_the_bootstrap_t_and_stay_near_the_t_interval() -> None:
    d = np.random.default_rng(11).normal(0.03, 0.02, 24)
    found = effect([1.0] * 24, list(np.exp(d)))
    assert found.method == "bootstrap-t"
    expected = scipy_stats.ttest_1samp(d, 0).confidence_interval()
    assert (found.low95, found.high95) == pytest.approx((expected.low, expected.high), abs=0.003)


@given(pairs)
def test_swapping_the_sides_mirrors_the_effect(both: list[tuple[float, float]]) -> None:
    a, b = (list(side) for side in zip(*both, strict=True))
    there, back = paired_effect(a, b), paired_effect(b, a)
    if isinstance(there, NotComparable):
        assert isinstance(back, NotComparable)
        return
    assert isinstance(back, PairedEffect)
    assert there.log_effect == pytest.approx(-back.log_effect, abs=1e-9)
    assert there.p == back.p
    assert there.low95 <= there.low90 <= there.high90 <= there.high95
    if there.method == "t":
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
        equivalence = tost_p(d, 0.03)
        assert isinstance(equivalence, Equivalence)
        assert (equivalence.p < 0.05) == inside
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


@pytest.mark.parametrize(
    ("cv", "margin", "blocks"), [(0.01, 0.01, 10), (0.02, 0.02, 10), (0.01, 0.1, 3)]
)
def test_blocks_needed_follows_the_formula(cv: float, margin: float, blocks: int) -> None:
    assert blocks_needed(cv, margin) == blocks


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


def test_cannot_tell_says_how_many_blocks_are_missing() -> None:
    found = effect([1.0] * 3, list(np.exp([0.05, -0.03, 0.02])))
    told = judge(found, smallest_effect=0.02, higher_is_better=True)
    assert told.more_blocks == blocks_needed(found.log_sd, math.log1p(0.02)) - 3


def simulate(blocks: int, shift: float, *, studies: int = 2_000, sd: float = 0.02) -> float:
    """Share of simulated studies with a better-or-worse verdict."""
    rng = np.random.default_rng(2026)
    drift = np.linspace(0, 0.2, blocks)
    decided = 0
    for _ in range(studies):
        a = np.exp(drift + rng.normal(0, sd, blocks))
        b = np.exp(drift + shift + rng.normal(0, sd, blocks))
        told = judge(paired_effect(list(a), list(b)), smallest_effect=0.02, higher_is_better=True)
        decided += told.verdict in (Verdict.BETTER, Verdict.WORSE)
    return decided / studies


@pytest.mark.parametrize("blocks", [2, 3, 6])
def test_without_a_difference_at_most_five_percent_are_called_one(blocks: int) -> None:
    assert simulate(blocks, 0.0) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)


def test_the_bootstrap_keeps_its_level_too() -> None:
    assert simulate(8, 0.0, studies=300) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_an_injected_ten_percent_is_found() -> None:
    assert simulate(6, -0.10) >= 0.95


def test_log_ratios_are_the_log_of_the_ratios() -> None:
    assert log_ratios([1, 2], [2, 2]) == pytest.approx([math.log(2), 0.0])
