"""Balanced orders: places, predecessors and a steady drift fall on all alike."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.design import first_orders

items = st.integers(1, 13)
seeds = st.integers(0, 2**48 - 1)


@given(items, st.integers(1, 30), seeds)
def test_each_row_holds_all_once_and_does_not_depend_on_the_length(
    count: int, rows: int, seed: int
) -> None:
    orders = first_orders(count, rows, seed)
    assert all(sorted(row) == list(range(count)) for row in orders)
    assert first_orders(count, rows + 3, seed)[:rows] == orders


@given(items, st.integers(1, 15), seeds)
def test_a_steady_drift_cancels_over_every_pair_of_rows(count: int, pairs: int, seed: int) -> None:
    orders = first_orders(count, 2 * pairs, seed)
    for first, second in zip(orders[::2], orders[1::2], strict=True):
        assert second == first[::-1]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 12])
def test_places_and_predecessors_are_balanced_over_a_whole_design(count: int) -> None:
    orders = first_orders(count, count if count % 2 == 0 else 2 * count, seed=7)
    times = 1 if count % 2 == 0 else 2
    places = Counter((place, item) for row in orders for place, item in enumerate(row))
    assert set(places.values()) == {times}
    assert len(places) == count**2
    followers = Counter(pair for row in orders for pair in pairwise(row))
    assert set(followers.values()) == {times}
    assert len(followers) == count * (count - 1)


def test_two_go_abba_baab() -> None:
    orders = first_orders(2, 8, seed=1)
    first, second = orders[0], orders[0][::-1]
    assert orders == (first, second, second, first) * 2


def test_who_begins_is_drawn() -> None:
    begins = Counter(first_orders(3, 1, seed)[0] for seed in range(1200))
    assert len(begins) == 6
    assert all(140 < times < 260 for times in begins.values())


def test_orders_stay_what_they_were() -> None:
    """A stored study must plan alike for ever."""
    assert first_orders(4, 3, seed=1) == ORDERS_OF_1


ORDERS_OF_1 = ((1, 0, 2, 3), (3, 2, 0, 1), (0, 3, 1, 2))
