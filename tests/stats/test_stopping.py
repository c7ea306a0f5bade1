"""Studies that stop once their intervals are narrow: wrong verdicts, in the order of time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t
from test_rates import (
    SD,
    Array,
    Noise,
    at_most,
    differences,
    drifting,
    heavy,
    normal,
    remembering,
    with_outliers,
)

from dbdyno.model import FIRST_LOOK
from dbdyno.stats import NotComparable, PairedEffect, effect_of, is_precise, widened
from dbdyno.stats.stopping import WIDER

MOST = 40


def stopped(d: Array, half_width: float, wider: float = WIDER) -> tuple[Array, Array]:
    """Blocks at which each study stops, and whether its interval then lacks the truth, 0."""
    blocks = np.arange(1, d.shape[1] + 1)
    mean = np.cumsum(d, axis=1) / blocks
    squares = np.cumsum(d**2, axis=1) - blocks * mean**2
    degrees = np.maximum(blocks - 1, 1)
    error = wider * np.sqrt(np.maximum(squares, 0) / degrees / blocks)
    reach = t.ppf(0.975, degrees) * error
    enough = (blocks >= FIRST_LOOK) & (reach <= np.log1p(half_width))
    enough[:, -1] = True
    at = enough.argmax(axis=1)
    studies = np.arange(d.shape[0])
    return blocks[at], np.abs(mean[studies, at]) > reach[studies, at]


@pytest.mark.parametrize("sds", [2.5, 1.5, 1.2, 1.0, 0.85, 0.7, 0.6, 0.5])
@pytest.mark.parametrize("noise", [normal, remembering, drifting, heavy, with_outliers])
def test_wrong_verdicts_stay_at_the_stated_rate(noise: Noise, sds: float) -> None:
    """The half-width asked for is so many standard deviations of a block's difference."""
    d = differences(noise(np.random.default_rng(3), 2 * MOST), MOST)
    _, missed = stopped(d, np.expm1(sds * SD * np.sqrt(2)))
    assert missed.mean() <= at_most(0.05)


def test_without_the_widening_there_would_be_more() -> None:
    """So that the test above is known to see it."""
    d = differences(normal(np.random.default_rng(3), 2 * MOST), MOST)
    _, missed = stopped(d, np.expm1(0.6 * SD * np.sqrt(2)), wider=1.0)
    assert missed.mean() > at_most(0.05)


def test_studies_stop_where_the_simulated_rule_says() -> None:
    half_width = np.expm1(0.85 * SD * np.sqrt(2))
    d = differences(normal(np.random.default_rng(5), 2 * MOST), MOST)[:60]
    expected, _ = stopped(d, half_width)
    for row, blocks in zip(d, expected, strict=True):
        looks = range(FIRST_LOOK, MOST)
        told = [n for n in looks if is_precise([widened(effect_of(row[:n]))], half_width)]
        assert (told or [MOST])[0] == blocks


def test_all_comparisons_must_be_precise() -> None:
    sure = widened(effect_of([0.1, 0.1001, 0.0999, 0.1, 0.1002]))
    unsure = widened(effect_of([0.1, 0.5, -0.2, 0.1, 0.3]))
    assert is_precise([sure, sure], 0.02)
    assert not is_precise([sure, unsure], 0.02)
    assert not is_precise([sure, NotComparable("no block")], 0.02)
    assert not is_precise([], 0.02)
    assert not is_precise([widened(effect_of([0.1, 0.1001, 0.0999, 0.1]))], 0.02), "too early"


def test_a_widened_effect_says_so_in_every_interval() -> None:
    plain = effect_of([0.1, 0.12, 0.08, 0.11, 0.09])
    wide = widened(plain)
    assert isinstance(plain, PairedEffect)
    assert isinstance(wide, PairedEffect)
    assert wide.high95 - wide.low95 == pytest.approx(WIDER * (plain.high95 - plain.low95))
    assert wide.p > plain.p
    assert wide.log_effect == plain.log_effect
