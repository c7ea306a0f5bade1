"""Stalls and cycles: what coincides by chance, and what does not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dbdyno.stats.coincidence import coincidence_p


def bursts(rng: np.random.Generator, n: int, number: int, length: int) -> NDArray[np.bool_]:
    found = np.zeros(n, dtype=np.bool_)
    for start in rng.integers(0, n - length, number):
        found[start : start + length] = True
    return found


def test_p_is_the_share_of_shifts_that_do_as_well() -> None:
    slow, busy = np.zeros(10), np.zeros(10)
    slow[3], busy[2:5] = 1, 1

    assert coincidence_p(slow, busy) == pytest.approx(0.3)
    assert coincidence_p(slow, np.roll(busy, 5)) == 1.0


@pytest.mark.parametrize("busy", [np.zeros(50), np.ones(50)])
def test_what_is_always_there_or_never_coincides_with_nothing(busy: NDArray[np.float64]) -> None:
    slow = np.zeros(50)
    slow[10:13] = 1

    assert coincidence_p(slow, busy) == 1.0
    assert coincidence_p(np.zeros(50), slow) == 1.0


@pytest.mark.parametrize(("number", "length"), [(1, 3), (3, 5), (6, 20)])
def test_bursts_that_have_nothing_to_do_with_each_other_seldom_coincide(
    number: int, length: int
) -> None:
    rng = np.random.default_rng(number)
    studies = 2000
    found = sum(
        coincidence_p(bursts(rng, 300, number, 3), bursts(rng, 300, 3, length)) < 0.05
        for _ in range(studies)
    )

    assert found / studies <= 0.05 + 3.1 * (0.05 * 0.95 / studies) ** 0.5


def test_stalls_within_a_cycle_are_found() -> None:
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(200):
        busy = bursts(rng, 300, 3, 8)
        starts = np.flatnonzero(np.diff(busy.astype(int)) == 1) + 2
        slow = np.zeros(300, dtype=np.bool_)
        for start in starts:
            slow[start : start + 3] = True
        found += coincidence_p(slow, busy) < 0.05

    assert found >= 190
