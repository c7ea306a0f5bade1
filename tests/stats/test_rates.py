"""Rates of wrong and right verdicts, simulated in the order of time.

Runs stand one after another, in the orders that plans really have; noise and drift run along them.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from dbdyno.design import first_orders
from dbdyno.stats import (
    PairedEffect,
    advise,
    blocks_needed,
    detectable,
    effect_of,
    power,
    would_be_found,
)
from dbdyno.stats.multiple import benjamini_hochberg
from dbdyno.stats.paired import rule

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Array]

STUDIES = 4_000
SD = 0.02
MARGIN = math.log1p(0.02)


def at_most(rate: float, studies: int = STUDIES) -> float:
    """What a true rate gives in so many studies with a probability of 99.9 %."""
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / studies)


def normal(rng: np.random.Generator, runs: int) -> Array:
    return rng.normal(0, SD, (STUDIES, runs))


def remembering(rng: np.random.Generator, runs: int) -> Array:
    """AR(1): half of what one run suffers is left for the next."""
    noise = normal(rng, runs)
    noise[:, 0] /= math.sqrt(1 - 0.5**2)
    for run in range(1, runs):
        noise[:, run] += 0.5 * noise[:, run - 1]
    return noise


def drifting(rng: np.random.Generator, runs: int) -> Array:
    return normal(rng, runs) + 0.03 * np.arange(runs)


def heavy(rng: np.random.Generator, runs: int) -> Array:
    return SD * rng.standard_t(2, (STUDIES, runs))


def with_outliers(rng: np.random.Generator, runs: int) -> Array:
    """One run in ten is 30 % slow."""
    return normal(rng, runs) + math.log(0.7) * (rng.random((STUDIES, runs)) < 0.1)


def differences(noise: Array, blocks: int, cells: int = 2, candidate: int = 1) -> Array:
    """ln(candidate / baseline) of every block of every study; each study has its own order."""
    orders = np.array([first_orders(cells, blocks, seed) for seed in range(32)])
    chosen = orders[np.arange(noise.shape[0]) % 32]
    places = np.argsort(chosen, axis=2) + cells * np.arange(blocks)[None, :, None]
    baseline = np.take_along_axis(noise, places[:, :, 0], axis=1)
    told: Array = np.take_along_axis(noise, places[:, :, candidate], axis=1) - baseline
    return told


def summed_up(d: Array) -> tuple[Array, Array]:
    return d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(d.shape[1])


def wrong(d: Array) -> float:
    """Share of studies that call a difference where there is none."""
    changed, inside = rule(*summed_up(d), d.shape[1] - 1, MARGIN)
    return float((changed & ~inside).mean())


@pytest.mark.parametrize("blocks", range(2, 11))
@pytest.mark.parametrize("noise", [normal, remembering, drifting, heavy, with_outliers])
def test_without_a_difference_at_most_five_percent_are_called_one(
    noise: Noise, blocks: int
) -> None:
    runs = noise(np.random.default_rng(blocks), 2 * blocks)
    assert wrong(differences(runs, blocks)) <= at_most(0.05)


@pytest.mark.parametrize("blocks", [3, 6])
def test_a_drift_over_many_cells_is_no_effect_of_any_of_them(blocks: int) -> None:
    runs = drifting(np.random.default_rng(blocks), 6 * blocks)
    for cell in range(1, 6):
        assert wrong(differences(runs, blocks, 6, cell)) <= at_most(0.05)


@pytest.mark.parametrize("blocks", [3, 6, 10])
def test_power_is_what_was_printed(blocks: int) -> None:
    sd = SD * math.sqrt(2)
    shift = detectable(sd, blocks)
    assert power(sd, shift, blocks) == pytest.approx(0.8, abs=1e-6)
    d = differences(normal(np.random.default_rng(blocks), 2 * blocks), blocks) + shift
    changed, _ = rule(*summed_up(d), blocks - 1, MARGIN)
    assert float(changed.mean()) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("blocks", "family"), [(2, 1), (3, 6), (5, 12), (10, 4)])
def test_what_would_be_found_is_found_at_the_level_that_a_family_leaves(
    blocks: int, family: int
) -> None:
    rng = np.random.default_rng(blocks)
    effect = effect_of(rng.normal(0, SD, blocks))
    assert isinstance(effect, PairedEffect)
    level = 0.05 / family
    size = would_be_found(effect, level)
    d = rng.normal(size, effect.log_sd, (STUDIES, blocks))
    t = d.mean(axis=1) / d.std(axis=1, ddof=1) * math.sqrt(blocks)
    found = 2 * scipy.stats.t.sf(np.abs(t), blocks - 1) < level
    assert float(found.mean()) == pytest.approx(0.8, abs=0.03)
    assert would_be_found(effect) == pytest.approx(detectable(effect.log_sd, blocks))


@pytest.mark.parametrize(("sd_over_effect", "blocks"), [(0.5, 5), (1.0, 10), (2.0, 34)])
def test_blocks_needed_are_those_of_the_published_tables(
    sd_over_effect: float, blocks: int
) -> None:
    # Paired t test, two-sided 5 %, power 80 %, effect size 2, 1 and 0.5: n = 5, 10, 34 (Cohen).
    assert blocks_needed(sd_over_effect, 1.0) == blocks


def test_twelve_comparisons_without_effect_seldom_give_a_verdict() -> None:
    """The false-discovery rate under no effect at all is the rate of studies with any verdict."""
    blocks, cells = 5, 13
    runs = normal(np.random.default_rng(4), cells * blocks)[:1500]
    p = np.empty((runs.shape[0], cells - 1))
    for cell in range(1, cells):
        d = differences(runs, blocks, cells, cell)
        theta, error = summed_up(d)
        found = [
            PairedEffect((), blocks, t, 0.0, e, blocks - 1, "").p
            for t, e in zip(theta, error, strict=True)
        ]
        p[:, cell - 1] = found
    any_found = np.array([(benjamini_hochberg(row) < 0.05).any() for row in p])
    assert float(any_found.mean()) <= at_most(0.05, 1500)


def test_the_advice_is_a_range_that_holds_what_was_needed() -> None:
    """Of studies of four blocks that came out open, most are told a range that holds the truth."""
    rng = np.random.default_rng(12)
    truth, sd = 0.03, 0.03
    needed = (blocks_needed(sd, truth) or 0) - 4
    held = studies = 0
    while studies < 40:
        found = effect_of(rng.normal(truth, sd, 4))
        assert isinstance(found, PairedEffect)
        if rule(found.log_effect, found.standard_error, 3, MARGIN)[0]:
            continue
        studies += 1
        told = advise(found, MARGIN)
        held += (told.fewest or 99) <= needed <= (told.most or 99)
    assert held >= 20


def test_noise_beyond_patience_gives_a_limit_instead_of_a_number() -> None:
    found = effect_of([0.5, -0.6, 0.4, -0.45, 0.6, -0.5])
    assert isinstance(found, PairedEffect)
    told = advise(found, MARGIN)
    assert told.fewest is None
    assert told.most is None
    assert 0.15 < told.limit < 0.5
