"""Balanced orders: who comes first, and after whom, block by block or turn by turn. Pure.

An order drawn anew for each block is fair in the long run only: in three blocks, one seed in four
gives two cells the same order every time, and a drift of the machine then looks like an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from dbdyno.design.seeds import shuffled


def balanced_orders(items: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Orders of 0…items−1 without end, a row each; the first is uniformly random.

    Rows of a Williams design (Williams 1949) with randomly drawn names, in mirrored pairs: each
    even row is the one before it backwards, so that over a pair a steady drift falls on all alike.
    Every other pair begins with the mirror, so that noise which lasts from one row to the next
    falls on neighbouring rows' differences with either sign. Two items go AB BA BA AB AB BA ….
    Over `items` rows (2 · `items` where that is odd) everyone has had every place equally often,
    and has come after every other equally often. What comes first never depends on how many rows
    are taken.
    """
    names = shuffled(items, seed, "names")
    pairs = items if items % 2 else items // 2
    forwards = True
    for time in count():
        for start in shuffled(pairs, seed, "rows", time):
            row = tuple(names[(place + start) % items] for place in _zigzag(items))
            pair = (row, row[::-1])
            yield from pair if forwards else reversed(pair)
            forwards = not forwards


def first_orders(items: int, rows: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The first `rows` of them."""
    return tuple(islice(balanced_orders(items, seed), rows))


def _zigzag(items: int) -> Iterator[int]:
    """0, n−1, 1, n−2, …: neighbours differ by each of 1…n−1 once (modulo n)."""
    low, high = 0, items - 1
    while low <= high:
        yield low
        if low < high:
            yield high
        low, high = low + 1, high - 1
