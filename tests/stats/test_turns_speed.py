"""Pairs of turns adjusted for the processors' speed: what that does to verdicts on a machine whose
neighbours come and go on the other hardware threads, simulated in the order of time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_rates import Array, at_most

from dbdyno.stats import NotComparable, Pairs, TurnsEffect, turns_of_blocks

SHARED = 0.7
"""Speed of a processor whose other hardware thread is busy."""
TURN_S, PERIOD_S, STEP_S = 0.2, 0.3, 0.005
BURST_S = 0.02
"""From one burst of known work to the next one's (`crates/cli/src/speed.rs`)."""
TURN_SD, SPEED_SD, BLOCK_SD = 0.05, 0.017, 0.005
STUDIES = 150


def processor(rng: np.random.Generator, mean_s: float, length_s: float) -> Array:
    """Its speed step by step; neighbours come and go at exponential times of this mean."""
    speed, place, busy = np.ones(int(length_s / STEP_S) + 1), 0, rng.random() < 0.5
    while place < speed.size:
        steps = max(1, int(rng.exponential(mean_s) / STEP_S))
        speed[place : place + steps] = SHARED if busy else 1.0
        place, busy = place + steps, not busy
    return speed


def block(
    rng: np.random.Generator, pairs: int, mean_s: float, *, gain: float, effect: float
) -> Pairs:
    """`gain`: by how much the load gains per gain in speed."""
    one, other = (processor(rng, mean_s, 2 * pairs * PERIOD_S + 1) for _ in range(2))
    speed = one + other
    begins = (np.arange(2 * pairs) * PERIOD_S / STEP_S).astype(int)
    during = speed[begins[:, None] + np.arange(round(TURN_S / STEP_S))]
    rate = 1000 * during.mean(axis=1) ** gain * np.exp(TURN_SD * rng.normal(size=2 * pairs))
    every = round(BURST_S / STEP_S)
    bursts = during[:, rng.integers(every) :: every]
    seen = bursts.mean(axis=1) * (1 + SPEED_SD * rng.normal(size=2 * pairs))
    first = np.resize([0, 1, 1, 0], pairs)  # AB BA BA AB
    base, candidate = 2 * np.arange(pairs) + first, 2 * np.arange(pairs) + 1 - first
    shift = math.exp(effect + BLOCK_SD * rng.normal())
    return Pairs(rate[base], rate[candidate] * shift, (seen[base], seen[candidate]))


def study(
    rng: np.random.Generator, blocks: int, pairs: int, mean_s: float, gain: float, effect: float
) -> list[Pairs]:
    return [block(rng, pairs, mean_s, gain=gain, effect=effect) for _ in range(blocks)]


def unadjusted(pairs: Pairs) -> Pairs:
    return Pairs(pairs.baseline, pairs.candidate)


def told(blocks: list[Pairs]) -> TurnsEffect:
    found = turns_of_blocks(blocks)
    assert isinstance(found, TurnsEffect)
    return found


@pytest.mark.parametrize(("blocks", "pairs"), [(2, 6), (3, 25), (6, 5), (6, 25)])
@pytest.mark.parametrize("mean_s", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("gain", [0.0, 1.0])
def test_wrong_verdicts_stay_at_the_stated_rate(
    gain: float, mean_s: float, blocks: int, pairs: int
) -> None:
    rng = np.random.default_rng([blocks, pairs, int(10 * mean_s)])
    wrong = sum(
        told(study(rng, blocks, pairs, mean_s, gain, 0.0)).effect.p < 0.05 for _ in range(STUDIES)
    )
    assert wrong / STUDIES <= at_most(0.05, STUDIES)


@pytest.mark.parametrize("mean_s", [0.1, 1.0, 10.0])
def test_an_interval_holds_the_truth(mean_s: float) -> None:
    rng, missed = np.random.default_rng(3), 0
    for _ in range(STUDIES):
        effect = told(study(rng, 6, 20, mean_s, 1.0, -0.04)).effect
        missed += not effect.low95 < -0.04 < effect.high95
    assert missed / STUDIES <= at_most(0.05, STUDIES)


def test_an_effect_that_drowned_is_found() -> None:
    rng = np.random.default_rng(4)
    studies = [study(rng, 6, 20, 1.0, 1.0, 0.03) for _ in range(100)]
    adjusted = sum(told(blocks).effect.p < 0.05 for blocks in studies)
    plain = sum(told([unadjusted(one) for one in blocks]).effect.p < 0.05 for blocks in studies)
    assert adjusted >= 90
    assert plain <= 60


def test_the_elasticity_is_that_of_the_load() -> None:
    rng = np.random.default_rng(5)
    found = told(study(rng, 6, 200, 1.0, 0.6, 0.0))
    assert found.elasticity == pytest.approx(0.6, abs=0.05)
    assert 0.2 < found.explained < 0.9
    none = told(study(rng, 6, 200, 1.0, 0.0, 0.0))
    assert none.elasticity == pytest.approx(0.0, abs=0.05)
    assert none.explained < 0.01


def test_a_load_that_gained_by_slowness_is_not_believed() -> None:
    found = told(study(np.random.default_rng(6), 6, 100, 1.0, -1.0, 0.0))
    assert (found.elasticity, found.explained) == (0.0, 0.0)


def test_without_every_speed_or_with_few_pairs_nothing_is_adjusted() -> None:
    blocks = study(np.random.default_rng(7), 3, 20, 1.0, 1.0, 0.0)
    assert told([unadjusted(blocks[0]), *blocks[1:]]).elasticity is None
    assert told(study(np.random.default_rng(7), 2, 6, 1.0, 1.0, 0.0)).elasticity is not None
    assert told(study(np.random.default_rng(7), 2, 5, 1.0, 1.0, 0.0)).elasticity is None


def test_a_block_is_the_ratio_of_its_sums_and_a_turn_without_an_event_counts() -> None:
    pairs = Pairs([100.0, 90.0, 110.0], [120.0, 0.0, 120.0])
    assert pairs.ratios().mean() == pytest.approx(math.log(80 / 100))
    assert pairs.ratios()[1] == pytest.approx(math.log(0.8) - 0.9)
    nothing = turns_of_blocks([Pairs([1.0, 2.0], [0.0, 0.0]), Pairs([1.0, 2.0], [1.0, 2.0])])
    assert isinstance(nothing, NotComparable)
    assert "did nothing" in nothing.reason
