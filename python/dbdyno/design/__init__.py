"""From a study to the ordered list of its runs. Pure: the same study and seed, the same plan."""

from dbdyno.design.cells import cells
from dbdyno.design.identity import design_digest
from dbdyno.design.order import balanced_orders, first_orders
from dbdyno.design.plan import plan
from dbdyno.design.seeds import derive_seed
from dbdyno.design.turns import turn_orders

__all__ = [
    "balanced_orders",
    "cells",
    "derive_seed",
    "design_digest",
    "first_orders",
    "plan",
    "turn_orders",
]
