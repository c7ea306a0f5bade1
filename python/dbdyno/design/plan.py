"""The order: complete blocks, balanced and randomised.

Every cell runs once in every block, in balanced orders (`order.py`), so that slow drift of the
machine falls on all cells alike and is taken out by comparing within blocks. Order and seeds are
digests of (study seed, what they are for): adding a block leaves the others alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dbdyno.design.batches import order_of, together
from dbdyno.design.cells import cells
from dbdyno.design.order import first_orders
from dbdyno.design.seeds import derive_seed
from dbdyno.model import ENGINE, Cell, Load, Plan, PlannedRun, Step, Study


def plan(study: Study, *, seed: int | None = None, blocks: int | None = None) -> Plan:
    """All runs of the study in order; `seed` and `blocks` replace the study's own.

    Whoever measures draws a seed for a study that names none; a plan to look at takes 0.
    The fingerprint is the study's identity: cells, load, order and seeds. How many blocks are run
    is its extent and not in it, so a longer plan goes on where a shorter one ended; nor is, in
    turns, how many turns a block has, since the block stays the unit whatever its length.
    """
    if seed is None:
        seed = study.design.seed or 0
    blocks = study.design.blocks if blocks is None else blocks
    matrix = cells(study)
    varying = [factor.name for factor in study.factors if len(factor.levels) > 1]
    orders = first_orders(len(matrix), blocks, derive_seed(seed, "order"))
    if order_of(study) == "turns":
        orders = _batch_by_batch(matrix, orders, derive_seed(seed, "batches"))
    runs: list[PlannedRun] = []
    for block, order in enumerate(orders, 1):
        for cell in (matrix[place] for place in order):
            levels = [cell.levels[name] for name in varying] or ["all"]
            run_id = f"b{block}-{','.join(levels)}"
            runs.append(_run(study, seed, block, len(runs) + 1, cell, run_id))
    return Plan(
        study=study.name,
        scale=study.scale,
        seed=seed,
        runs=tuple(runs),
        fingerprint=_fingerprint(study, seed, matrix),
        order=order_of(study),
    )


def _batch_by_batch(
    matrix: Sequence[Cell], orders: Sequence[tuple[int, ...]], seed: int
) -> tuple[tuple[int, ...], ...]:
    """`orders` of cells with those side by side that are up together, and batches in balanced
    orders of their own: a batch that only followed its first cell would follow the same batch too
    often."""
    keys = [together(cell) for cell in matrix]
    names = list(dict.fromkeys(keys))
    of_cells = [names.index(key) for key in keys]
    return tuple(
        tuple(sorted(order, key=lambda cell: batches.index(of_cells[cell])))
        for order, batches in zip(orders, first_orders(len(names), len(orders), seed), strict=True)
    )


def _run(study: Study, seed: int, block: int, position: int, cell: Cell, run_id: str) -> PlannedRun:
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


def design_digest(study: Study) -> str:
    """A digest of its cells and load, length of windows included, whatever its seed and the number
    of its blocks."""
    return whole_fingerprint(study, 0)


def whole_fingerprint(study: Study, seed: int) -> str:
    """The fingerprint with the length of windows in it, as plans in turns had it at first."""
    return _digest(study, seed, cells(study), _load_shape(study.load))


def _load_shape(load: Load) -> dict[str, object]:
    """All of the load but its steps, which the runs hold."""
    arrivals = (load.arrival, *(group.arrival for group in load.groups))
    kinds = [arrival.kind for arrival in arrivals]
    shape = {**asdict(load), "arrivals": kinds}
    del shape["clients"]
    if load.find_max is None:
        del shape["find_max"]
    return shape


def _parts_shape(cell: Cell) -> dict[str, object]:
    """The parts of a cell beside server and script; those that it has."""
    parts: dict[str, object] = {
        "host": dict(cell.host),
        "generator": cell.generator,
        "connection": dict(cell.connection),
        "proxy": dict(cell.proxy),
        "most_clients": cell.most_clients,
        "tables": None if cell.tables is None else asdict(cell.tables),
        "c_functions": list(cell.c_functions),
    }
    return {name: value for name, value in parts.items() if value and value != ENGINE}


def _turns_shape(study: Study) -> dict[str, object]:
    """What turns add to a study's identity; nothing where cells run one by one."""
    if order_of(study) == "runs":
        return {}
    design = study.design
    asked = {"reconnect": design.reconnect, "freeze": design.freeze}
    asked = {name: wanted for name, wanted in asked.items() if wanted}
    return {"turn_s": design.turn_s, "lead_in_s": design.lead_in_s, **asked}


def _stop_shape(study: Study) -> dict[str, object]:
    """When it stops is decided before anything is measured: another rule is another study."""
    stop = study.design.stop_half_width
    return {} if stop is None else {"stop_half_width": stop}


def _fingerprint(study: Study, seed: int, matrix: tuple[Cell, ...]) -> str:
    load = _load_shape(study.load)
    if order_of(study) == "turns":
        del load["measure_s"]
    return _digest(study, seed, matrix, load)


def _digest(study: Study, seed: int, matrix: tuple[Cell, ...], load: Mapping[str, object]) -> str:
    shape = {
        "study": study.name,
        "scale": study.scale,
        "seed": seed,
        "load": load,
        **_turns_shape(study),
        **_stop_shape(study),
        "clients": study.load.clients,
        "cells": [
            {
                "levels": dict(cell.levels),
                "provision": cell.provision,
                "settings": dict(cell.settings),
                "script": cell.script,
                "options": dict(cell.options),
                **_parts_shape(cell),
            }
            for cell in matrix
        ],
    }
    return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16]
