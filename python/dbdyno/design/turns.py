"""The order of turns within a block: who is driven when, row by row. Pure."""

from __future__ import annotations

from dbdyno.design.order import first_orders
from dbdyno.design.seeds import derive_seed


def turn_orders(arms: int, rows: int, *, seed: int) -> tuple[tuple[int, ...], ...]:
    """Rows in which each of `arms` has one turn; two go AB BA BA AB (ABBA, then BAAB).

    More: rows of a Williams square in mirrored pairs, see `order.balanced_orders`. `seed` is that
    of the block and load step; more rows leave the first ones alone.
    """
    return first_orders(arms, rows, derive_seed(seed, "turns"))
