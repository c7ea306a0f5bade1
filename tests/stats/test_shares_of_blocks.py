"""Shares of what depends on one another are compared over blocks."""

from __future__ import annotations

import numpy as np
import pytest

from dbdyno.stats import (
    NotComparable,
    Share,
    Verdict,
    judge_shares,
    share_effect_of_blocks,
    would_be_found,
)
from dbdyno.stats.paired import effect_of

TRIALS = 20_000


def blocks(values: list[float]) -> list[Share]:
    return [Share(round(value * TRIALS), TRIALS) for value in values]


def test_it_is_student_s_t_over_the_differences_of_blocks() -> None:
    effect = share_effect_of_blocks(blocks([0.10, 0.12, 0.11]), blocks([0.15, 0.16, 0.18]))

    assert not isinstance(effect, NotComparable)
    reference = effect_of(np.array(effect.differences))
    assert not isinstance(reference, NotComparable)
    assert effect.difference == pytest.approx(0.16 / 3)
    assert effect.p == pytest.approx(reference.p)
    assert effect.interval() == pytest.approx((reference.low95, reference.high95))
    assert effect.interval(0.90) == pytest.approx((reference.low90, reference.high90))
    assert would_be_found(effect) == pytest.approx(would_be_found(reference))


def test_blocks_that_agree_are_no_more_certain_than_trials() -> None:
    nothing = share_effect_of_blocks(blocks([0.0] * 3), blocks([0.0] * 3))
    alike = share_effect_of_blocks(blocks([0.1] * 3), blocks([0.1] * 3))

    assert not isinstance(nothing, NotComparable) and not isinstance(alike, NotComparable)
    assert nothing.interval()[0] < 0 < nothing.interval()[1]
    assert alike.standard_error > nothing.standard_error > 0
    (judged,) = judge_shares([nothing], smallest_effect=0.01, higher_is_better=False)
    assert judged.verdict is Verdict.EQUIVALENT


def test_one_block_holds_no_spread() -> None:
    assert isinstance(share_effect_of_blocks(blocks([0.1]), blocks([0.2])), NotComparable)


def test_blocks_that_differ_by_more_than_chance_are_seldom_called_different() -> None:
    """400 studies of 3 to 8 blocks whose shares move by 3 points from block to block, each side by
    itself; independent trials would call nearly all of them different."""
    rng = np.random.default_rng(1)
    wrong = 0
    for study in range(400):
        sides = [blocks([*np.clip(rng.normal(0.2, 0.03, 3 + study % 6), 0, 1)]) for _ in ("a", "b")]
        effect = share_effect_of_blocks(*sides)
        assert not isinstance(effect, NotComparable)
        wrong += effect.p < 0.05

    assert wrong <= 0.05 * 400 + 2 * (400 * 0.05 * 0.95) ** 0.5
