"""Shares of trials against published intervals, and verdicts where one of them is zero."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dbdyno.stats import (
    NotComparable,
    Share,
    ShareEffect,
    Verdict,
    judge_shares,
    would_be_found,
)
from dbdyno.stats.shares import difference_found


@pytest.mark.parametrize(
    ("found", "trials", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, 857, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)],
)
def test_intervals_are_the_published_ones(found: int, trials: int, low: float, high: float) -> None:
    assert Share(found, trials).interval() == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("with_it", "trials", "bound"),
    [(0, 50, (0.0, 0.06)), (50, 50, (0.94, 1.0)), (0, 2, (0.0, 1.0)), (0, 300, (0.0, 0.01))],
)
def test_where_nothing_was_found_three_by_n_bounds_the_share(
    with_it: int, trials: int, bound: tuple[float, float]
) -> None:
    assert Share(with_it, trials).bound() == pytest.approx(bound)


def test_where_something_was_found_the_bound_is_wilsons() -> None:
    assert Share(1, 50).bound() == Share(1, 50).interval()


def test_an_interval_holds_what_was_found() -> None:
    for trials in (1, 3, 200):
        for found in (0, trials):
            low, high = Share(found, trials).interval()
            assert 0 <= low <= found / trials <= high <= 1


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, 873, table II, method 10.
    [
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 10), (10, 10), 0.6075, 1.0),
    ],
)
def test_differences_have_the_published_intervals(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    effect = ShareEffect(Share(*one), Share(*other), 1)

    assert effect.interval() == pytest.approx((low, high), abs=5e-5)


def test_verdicts_need_no_ratio() -> None:
    wrong, none = Share(24, 40), Share(0, 40)
    many = ShareEffect(Share(600, 1000), Share(605, 1000), 1)

    told = judge_shares(
        [ShareEffect(wrong, none, 2), ShareEffect(none, wrong, 2), many, NotComparable("no trial")],
        smallest_effect=0.1,
        higher_is_better=False,
    )

    assert [one.verdict for one in told] == [
        Verdict.BETTER,
        Verdict.WORSE,
        Verdict.EQUIVALENT,
        Verdict.CANNOT_TELL,
    ]


def test_a_few_trials_can_not_tell() -> None:
    (told,) = judge_shares(
        [ShareEffect(Share(1, 4), Share(0, 4), 1)], smallest_effect=0.1, higher_is_better=False
    )

    assert told.verdict is Verdict.CANNOT_TELL


@pytest.mark.parametrize(
    ("found", "trials", "level"),
    [(15, 30, 0.05), (6, 60, 0.05), (24, 30, 0.05), (2, 30, 0.05), (15, 30, 0.05 / 12)],
)
def test_the_difference_that_would_be_found_is_found_four_times_in_five(
    found: int, trials: int, level: float
) -> None:
    effect = ShareEffect(Share(found, trials), Share(found, trials), 1)
    one = (found + 1) / (trials + 2)
    up, down = difference_found(effect, level, 0.8)

    others = [one + up if up else None, one - down if down else None]
    powers = [fisher_power(one, other, trials, level) for other in others if other is not None]
    assert powers == pytest.approx([0.8] * len(powers), abs=0.06)
    assert would_be_found(effect, level) == max(up or 0, down or 0) > 0


def fisher_power(one: float, other: float, trials: int, level: float) -> float:
    """Over all tables, weighted by how often each comes."""
    counts = np.arange(trials + 1)
    chance = np.outer(*(scipy.stats.binom.pmf(counts, trials, share) for share in (one, other)))
    power = 0.0
    for total in range(2 * trials + 1):
        a = np.arange(max(0, total - trials), min(total, trials) + 1)
        likely = scipy.stats.hypergeom.pmf(a, 2 * trials, total, trials)
        p = np.array([likely[likely <= each * (1 + 1e-7)].sum() for each in likely])
        power += float(chance[a[p < level], total - a[p < level]].sum())
    return power


def test_where_no_share_is_far_enough_no_difference_would_be_found() -> None:
    assert would_be_found(ShareEffect(Share(1, 2), Share(1, 2), 1)) == float("inf")
