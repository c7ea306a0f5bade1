"""The order of turns within a block: who is driven when, row by row. Pure."""

from __future__ import annotations

from dbdyno.design.order import first_orders
from dbdyno.design.seeds import derive_seed

CANARIES_APART_S = 4.0
"""Canaries run before a turn where the last ones ran at least so long ago: between shorter turns
their 0.2 s would cost too much of a study's time."""


def turn_orders(arms: int, rows: int, *, seed: int, block: int) -> tuple[tuple[int, ...], ...]:
    """Rows in which each of `arms` has one turn; two go AB BA BA AB (ABBA, then BAAB).

    More: rows of a Williams square in mirrored pairs, see `order.balanced_orders`. `seed` is the
    study's: blocks with an even number have the mirror images, so that what an odd number of rows
    leaves unbalanced cancels over two blocks. More rows leave the first ones alone.
    """
    orders = first_orders(arms, rows, derive_seed(seed, "turns", (block - 1) // 2))
    return orders if block % 2 else tuple(row[::-1] for row in orders)
