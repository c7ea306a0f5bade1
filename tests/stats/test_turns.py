"""Blocks of turns: rates of wrong verdicts in the order of time, variances recovered, guards."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from dbdyno.design import turn_orders
from dbdyno.stats import (
    NotComparable,
    TurnsEffect,
    Within,
    advise,
    detectable,
    stolen,
    turns_effect,
)
from dbdyno.stats.paired import rule

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Array]

SD = 0.05
MARGIN = math.log1p(0.02)


def normal(rng: np.random.Generator, studies: int, turns: int) -> Array:
    return rng.normal(0, SD, (studies, turns))


def remembering(rng: np.random.Generator, studies: int, turns: int) -> Array:
    """AR(1): seven tenths of what a turn suffers is left for the next."""
    noise = normal(rng, studies, turns)
    noise[:, 0] /= math.sqrt(1 - 0.7**2)
    for turn in range(1, turns):
        noise[:, turn] += 0.7 * noise[:, turn - 1]
    return noise


def drifting(rng: np.random.Generator, studies: int, turns: int) -> Array:
    return normal(rng, studies, turns) + 0.03 * np.arange(turns)


def heavy(rng: np.random.Generator, studies: int, turns: int) -> Array:
    return SD * rng.standard_t(2, (studies, turns))


def with_outliers(rng: np.random.Generator, studies: int, turns: int) -> Array:
    """One turn in ten is 30 % slow."""
    slow = rng.random((studies, turns)) < 0.1
    return normal(rng, studies, turns) + math.log(0.7) * slow


NOISES = [normal, remembering, drifting, heavy, with_outliers]


def paired(noise: Array, pairs: int, block: int = 1) -> Array:
    """ln(candidate / baseline), study by pair, in the orders that blocks really have."""
    orders = np.array([turn_orders(2, pairs, seed=seed, block=block) for seed in range(16)])
    chosen = orders[np.arange(noise.shape[0]) % 16]
    places = np.argsort(chosen, axis=2) + 2 * np.arange(pairs)[None, :, None]
    baseline = np.take_along_axis(noise, places[:, :, 0], axis=1)
    told: Array = np.take_along_axis(noise, places[:, :, 1], axis=1) - baseline
    return told


def at_most(rate: float, studies: int) -> float:
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / studies)


def told(*blocks: Array) -> TurnsEffect:
    found = turns_effect(blocks)
    assert isinstance(found, TurnsEffect)
    return found


@pytest.mark.parametrize("pairs", [6, 20, 100])
@pytest.mark.parametrize("noise", NOISES)
def test_one_block_without_a_difference_seldom_gives_a_verdict(noise: Noise, pairs: int) -> None:
    studies = 400
    rng = np.random.default_rng(pairs)
    d = paired(noise(rng, studies, 2 * pairs), pairs)
    wrong = sum(told(row).effect.p < 0.05 for row in d)
    assert wrong / studies <= at_most(0.05, studies)


@pytest.mark.parametrize("blocks", [2, 3, 5, 10])
@pytest.mark.parametrize("pairs", [5, 30, 100])
@pytest.mark.parametrize("between", [0.0, 0.02])
@pytest.mark.parametrize("noise", NOISES)
def test_blocks_without_a_difference_seldom_give_a_verdict(
    noise: Noise, between: float, pairs: int, blocks: int
) -> None:
    """Also where blocks differ by more than their turns explain: each has a shift of its own."""
    studies = 1000
    rng = np.random.default_rng([pairs, blocks])
    d = studies_of(noise, rng, studies, pairs, blocks, between)
    changed, inside = rule(*summed_up(d), blocks - 1, MARGIN)
    assert float((changed & ~inside).mean()) <= at_most(0.05, studies)


def studies_of(
    noise: Noise, rng: np.random.Generator, studies: int, pairs: int, blocks: int, between: float
) -> Array:
    """ln(ratio) by study, block and pair."""
    told = [
        paired(noise(rng, studies, 2 * pairs), pairs, block + 1)
        + between * rng.standard_normal((studies, 1))
        for block in range(blocks)
    ]
    return np.stack(told, axis=1)


def summed_up(d: Array, *, floor: bool = True) -> tuple[Array, Array]:
    """Effects and their errors for many studies at once, as `turns_effect` has them."""
    _, blocks, pairs = d.shape
    means = d.mean(axis=2)
    sd = means.std(axis=1, ddof=1)
    if floor:
        c = Within(1.0, pairs - 1).least_sd(blocks)
        sd = np.maximum(sd, c * np.sqrt(d.var(axis=2, ddof=1).mean(axis=1) / pairs))
    return means.mean(axis=1), sd / math.sqrt(blocks)


@pytest.mark.parametrize("blocks", [2, 3, 6])
def test_the_simulated_rule_is_the_one_in_use(blocks: int) -> None:
    d = np.random.default_rng(1).normal(0.02, 0.05, (20, blocks, 20))
    for study, theta, error in zip(d, *summed_up(d), strict=True):
        effect = told(*study).effect
        assert effect.log_effect == pytest.approx(theta)
        assert effect.standard_error == pytest.approx(error)
        assert (effect.degrees, effect.blocks) == (blocks - 1, blocks)


@pytest.mark.parametrize("blocks", [2, 3, 5, 10])
@pytest.mark.parametrize("pairs", [5, 15, 40])
@pytest.mark.parametrize("noise", NOISES)
def test_the_floor_from_turns_costs_little_power(noise: Noise, pairs: int, blocks: int) -> None:
    """Of effects that t over blocks alone finds in some three of four studies."""
    d = studies_of(noise, np.random.default_rng([pairs, blocks]), 1000, pairs, blocks, 0.0)
    theta, error = summed_up(d, floor=False)
    effect = detectable(float(np.median(error)) * math.sqrt(blocks), blocks)
    edge = float(scipy.stats.t.ppf(0.975, blocks - 1))
    plain = float((theta + effect > edge * error).mean())
    floored = float((theta + effect > edge * summed_up(d)[1]).mean())
    assert plain > 0.5
    assert floored >= plain - 0.08


def test_two_blocks_that_agree_by_luck_are_no_surer_than_their_turns() -> None:
    """Fifteen pairs a block that spread by 13 %, and means that lie 0.1 % apart."""
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.13, (2, 15))
    noise -= noise.mean(axis=1, keepdims=True)
    effect = told(noise[0] + 0.0295, noise[1] + 0.0305).effect
    pairs = noise.ravel()
    alone = float(scipy.stats.t.ppf(0.975, 28)) * pairs.std(ddof=2) / math.sqrt(30)
    assert effect.high95 - effect.log_effect >= alone
    assert effect.low95 < 0 < effect.high95
    assert advise(effect, MARGIN).limit > 0.01


@pytest.mark.parametrize("noise", [normal, remembering, drifting])
def test_five_percent_are_found_in_six_blocks_of_turns(noise: Noise) -> None:
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(100):
        blocks = paired(noise(rng, 6, 80), 40) - 0.05
        found += told(*blocks).effect.high95 < 0
    assert found >= 95


def test_the_variances_of_both_levels_are_recovered() -> None:
    rng = np.random.default_rng(2)
    blocks = [rng.normal(rng.normal(0, 0.03), 0.06, 40) for _ in range(200)]
    found = told(*blocks)
    assert found.within_sd == pytest.approx(0.06, rel=0.05)
    assert found.between_sd == pytest.approx(0.03, rel=0.15)
    assert found.between_share == pytest.approx(0.03**2 / (0.03**2 + 0.06**2 / 40), abs=0.05)
    assert found.blocks_help_more
    alike = told(*[rng.normal(0, 0.06, 10) for _ in range(50)])
    assert not alike.blocks_help_more


def test_one_block_says_that_it_is_one_set_up_and_few_turns_say_nothing() -> None:
    found = told(np.random.default_rng(3).normal(0, 0.02, 12))
    assert found.one_set_up
    assert found.effect.method == "t over turns of one block"
    few = turns_effect([[0.1, 0.2, 0.1, 0.2, 0.1]])
    assert isinstance(few, NotComparable)
    assert "at least 6" in few.reason
    assert isinstance(turns_effect([]), NotComparable)
    assert isinstance(turns_effect([[0.1, math.nan]]), NotComparable)


def test_after_one_block_nobody_knows_how_many_would_do() -> None:
    """Its turns spread by 5 %, so 5 more blocks of 20 pairs might do, if set-ups were all alike."""
    pairs = np.random.default_rng(6).normal(0, 0.05, 20)
    advice = advise(told(pairs - pairs.mean() + 0.01).effect, MARGIN)
    assert advice.most is None
    assert advice.fewest is not None
    assert advice.fewest < 10
    assert advice.limit < 0.01


def test_turns_that_remember_widen_the_interval_of_one_block() -> None:
    rng = np.random.default_rng(9)
    shocks = rng.normal(0, 0.02, 60)
    slow = np.convolve(shocks, np.ones(6) / 6, mode="valid")
    alone = told(slow).effect
    assert alone.standard_error > 1.5 * slow.std(ddof=1) / math.sqrt(slow.size)
    assert alone.degrees < 30


def test_disturbed_turns_are_set_aside_by_a_rule_that_knows_no_result() -> None:
    reasons = stolen([0.0, 0.05, 0.2])
    assert reasons == (None, None, "20\u202f% of the processors' time was stolen")


def test_the_least_disturbed_quarter_stays_where_processors_are_always_shared() -> None:
    always = stolen([0.12, 0.06, 0.08, 0.07, 0.09, 0.1, 0.11, 0.13])
    assert [why is None for why in always] == [False, True, False, True] + 4 * [False]


def test_no_turn_stays_that_lost_a_large_part_of_the_processors() -> None:
    assert None not in stolen([0.4, 0.3])


def test_turns_go_abba_baab() -> None:
    rows = turn_orders(2, 4, seed=1, block=1)
    assert rows[0] == rows[3] == rows[1][::-1] == rows[2][::-1]
    assert turn_orders(2, 4, seed=1, block=2) == tuple(row[::-1] for row in rows)
    assert len({turn_orders(5, 1, seed=seed, block=1) for seed in range(9)}) > 3
