"""The order: complete blocks, balanced and randomised.

Every cell runs once in every block, in balanced orders (`order.py`), so that slow drift of the
machine falls on all cells alike and is taken out by comparing within blocks. Order and seeds are
digests of (study seed, what they are for): adding a block leaves the others alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dbdyno.design.batches import order_of, together
from dbdyno.design.cells import cells
from dbdyno.design.identity import fingerprint
from dbdyno.design.order import first_orders
from dbdyno.design.seeds import derive_seed
from dbdyno.model import Cell, Plan, PlannedRun, Step, Study


def plan(study: Study, *, seed: int | None = None, blocks: int | None = None) -> Plan:
    """All runs of the study in order; `seed` and `blocks` replace the study's own.

    Whoever measures draws a seed for a study that names none; a plan to look at takes 0.
    """
    if seed is None:
        seed = study.design.seed or 0
    blocks = study.design.blocks if blocks is None else blocks
    matrix = cells(study)
    varying = [factor.name for factor in study.factors if len(factor.levels) > 1]
    orders = first_orders(len(matrix), blocks, derive_seed(seed, "order"))
    if order_of(study) == "turns":
        orders = _batch_by_batch(study, matrix, orders, derive_seed(seed, "batches"))
    runs: list[PlannedRun] = []
    for block, order in enumerate(orders, 1):
        for cell in (matrix[place] for place in order):
            levels = [cell.levels[name] for name in varying] or ["all"]
            run_id = f"b{block}-{','.join(levels)}"
            runs.append(_run(study, cell, run_id, seed=seed, block=block, position=len(runs) + 1))
    return Plan(
        study=study.name,
        scale=study.scale,
        seed=seed,
        runs=tuple(runs),
        fingerprint=fingerprint(study, seed),
        order=order_of(study),
        together=study.design.together,
    )


def _batch_by_batch(
    study: Study, matrix: Sequence[Cell], orders: Sequence[tuple[int, ...]], seed: int
) -> tuple[tuple[int, ...], ...]:
    """`orders` of cells with those side by side that are up together, and batches in balanced
    orders of their own: a batch that only followed its first cell would follow the same batch too
    often."""
    keys = [together(cell, study.design.together) for cell in matrix]
    names = list(dict.fromkeys(keys))
    of_cells = [names.index(key) for key in keys]
    return tuple(
        tuple(sorted(order, key=lambda cell: batches.index(of_cells[cell])))
        for order, batches in zip(orders, first_orders(len(names), len(orders), seed), strict=True)
    )


def _run(
    study: Study, cell: Cell, run_id: str, *, seed: int, block: int, position: int
) -> PlannedRun:
    run_seed = derive_seed(seed, "run", block, _key(cell))
    return PlannedRun(
        id=run_id,
        cell=cell,
        block=block,
        position=position,
        data_seed=derive_seed(seed, "data"),
        seed=run_seed,
        steps=tuple(
            Step(index=index, clients=clients, seed=derive_seed(run_seed, "step", clients))
            for index, clients in enumerate(study.load.clients)
            if cell.most_clients is None or clients <= cell.most_clients
        ),
    )


def _key(cell: Cell) -> str:
    return json.dumps(dict(cell.levels))
